//! One value at a time: sealed on its way down, opened on its way up, and bound to the place where it belongs.
//!
//! Does not know which values a checkpoint has; that is `walk`.

use serde_json::{Map, Value};
use superstep_core::change::Change;
use superstep_core::checkpoint::Namespace;
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};

use super::key::{Ring, Unopened};
use crate::walk::{Slot, Walk};

/// The one key of an object that stands for a sealed value.
const MARK: &str = "__sealed__";
/// How a text begins that stands for a sealed text.
const TEXT_MARK: &str = "__sealed__:";

/// Which way values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the store.
    Seal,
    /// From the store.
    Open {
        /// Whether what was never sealed is taken.
        plain: bool,
    },
}

/// What goes one way through the keys, and whose values these are.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub(super) ring: &'a Ring,
    pub(super) way: Way,
    pub(super) thread: &'a ThreadId,
    pub(super) namespace: &'a Namespace,
    /// The checkpoint, as far as it is known.
    pub(super) checkpoint: Option<CheckpointId>,
}

impl Walk for Pass<'_> {
    fn is_downward(&self) -> bool {
        self.way == Way::Seal
    }

    fn datum(&self, datum: &mut Datum, slot: &Slot<'_>) -> Result<()> {
        if self.way == Way::Seal {
            let mut text = Vec::new();
            datum.write_json(&mut text).map_err(|fault| self.unwritten(slot, &fault.message))?;
            *datum = Datum::json(envelope(self.seal(&text, slot)?));
            return Ok(());
        }
        let sealed = match &*datum {
            Datum::Json(value) => sealed_text(value),
            Datum::Live(_) => None,
        };
        match sealed {
            Some(text) => *datum = Datum::json(self.open_json(text, slot)?),
            None => self.take_plain(slot)?,
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &Slot<'_>) -> Result<()> {
        if self.way == Way::Seal {
            let text = serde_json::to_vec(value).map_err(|error| self.unwritten(slot, &error.to_string()))?;
            *value = envelope(self.seal(&text, slot)?);
            return Ok(());
        }
        match sealed_text(value) {
            Some(text) => *value = self.open_json(text, slot)?,
            None => self.take_plain(slot)?,
        }
        Ok(())
    }

    fn text(&self, text: &mut String, slot: &Slot<'_>) -> Result<()> {
        if self.way == Way::Seal {
            *text = format!("{TEXT_MARK}{}", self.seal(text.as_bytes(), slot)?);
            return Ok(());
        }
        match text.strip_prefix(TEXT_MARK) {
            Some(sealed) => {
                let opened = String::from_utf8(self.open(sealed, slot)?);
                *text = opened.map_err(|_| self.unopened(slot, Unopened::Changed))?;
            }
            None => self.take_plain(slot)?,
        }
        Ok(())
    }

    /// Only one kind has something to hide: the keys of a map, which are sealed as one text.
    fn change(&self, change: &mut Change, slot: &Slot<'_>) -> Result<()> {
        let Change::Merged { set, removed } = change else { return Ok(()) };
        if self.way == Way::Seal {
            let keys = serde_json::to_vec(&(&set, &removed));
            let keys = keys.map_err(|error| self.unwritten(slot, &error.to_string()))?;
            (*set, *removed) = (vec![format!("{TEXT_MARK}{}", self.seal(&keys, slot)?)], Vec::new());
            return Ok(());
        }
        let sealed = match (&set[..], removed.is_empty()) {
            ([only], true) => only.strip_prefix(TEXT_MARK),
            _ => None,
        };
        match sealed {
            Some(text) => {
                let keys = serde_json::from_slice(&self.open(text, slot)?);
                (*set, *removed) = keys.map_err(|_| self.unopened(slot, Unopened::Changed))?;
            }
            None => self.take_plain(slot)?,
        }
        Ok(())
    }
}

impl Pass<'_> {
    fn seal(&self, plain: &[u8], slot: &Slot<'_>) -> Result<String> {
        let place = self.place(slot)?;
        self.ring.seal(plain, &place).ok_or_else(|| {
            let message = format!("{} cannot be sealed: the system gives no randomness", self.name(slot));
            Error::new(Code::StoreUnavailable, message).on_thread(Some(self.thread))
        })
    }

    fn open(&self, sealed: &str, slot: &Slot<'_>) -> Result<Vec<u8>> {
        let (place, first) = (self.place(slot)?, self.first_place(slot)?);
        self.ring.open(sealed, &place, &first).map_err(|why| self.unopened(slot, why))
    }

    fn open_json(&self, sealed: &str, slot: &Slot<'_>) -> Result<Value> {
        let plain = self.open(sealed, slot)?;
        serde_json::from_slice(&plain).map_err(|_| self.unopened(slot, Unopened::Changed))
    }

    /// What a sealed value is bound to.
    fn place(&self, slot: &Slot<'_>) -> Result<Vec<u8>> {
        let checkpoint = self.checkpoint.filter(|_| slot.is_of_checkpoint);
        let place = (self.thread, self.namespace, checkpoint, slot.names, slot.change);
        serde_json::to_vec(&place).map_err(|error| self.unwritten(slot, &error.to_string()))
    }

    /// What a value of the first sealed form is bound to.
    fn first_place(&self, slot: &Slot<'_>) -> Result<Vec<u8>> {
        let checkpoint = self.checkpoint.filter(|_| slot.is_of_checkpoint);
        let place = (self.namespace, checkpoint, slot.names, slot.change);
        serde_json::to_vec(&place).map_err(|error| self.unwritten(slot, &error.to_string()))
    }

    fn take_plain(&self, slot: &Slot<'_>) -> Result<()> {
        if self.way == (Way::Open { plain: true }) {
            return Ok(());
        }
        let help = "if it was saved before the store had a key, `reads_plain(true)` reads it";
        Err(self.damaged(slot, "is stored in the clear").help(help))
    }

    fn unopened(&self, slot: &Slot<'_>, why: Unopened) -> Error {
        match why {
            Unopened::Malformed => self.damaged(slot, "is not of the form in which values are sealed"),
            Unopened::Newer(version) => {
                let message = format!("{} is sealed in form {version}, which is newer than 2", self.name(slot));
                Error::new(Code::CheckpointTooNew, message).on_thread(Some(self.thread))
            }
            Unopened::NoKey(number) => self
                .damaged(slot, &format!("is sealed with the key of number {number}, which the store does not have"))
                .help("give it the key that was used then, with `with_old_key`"),
            Unopened::Changed => self
                .damaged(slot, "cannot be opened: it was changed, or belongs to another place")
                .help("open an earlier checkpoint of the thread, and find out who else writes to the store"),
        }
    }

    fn damaged(&self, slot: &Slot<'_>, fact: &str) -> Error {
        Error::new(Code::CheckpointCorrupt, format!("{} {fact}", self.name(slot))).on_thread(Some(self.thread))
    }

    fn unwritten(&self, slot: &Slot<'_>, why: &str) -> Error {
        let message = format!("{} cannot be written as JSON: {why}", self.name(slot));
        Error::new(Code::TypeMismatch, message).on_thread(Some(self.thread))
    }

    fn name(&self, slot: &Slot<'_>) -> String {
        let names = slot.names.iter().map(|(kind, name)| format!("{kind} `{name}`")).collect::<Vec<_>>().join(", ");
        match self.checkpoint {
            Some(id) => format!("thread `{}`, checkpoint {id}: {names}", self.thread),
            None => format!("thread `{}`: {names}", self.thread),
        }
    }
}

fn envelope(sealed: String) -> Value {
    Value::Object(Map::from_iter([(MARK.to_owned(), Value::String(sealed))]))
}

fn sealed_text(value: &Value) -> Option<&str> {
    match value {
        Value::Object(map) if map.len() == 1 => map.get(MARK)?.as_str(),
        _ => None,
    }
}
