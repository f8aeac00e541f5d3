//! What stands in a checkpoint where a large value is beside the store, and how one becomes the other.
//!
//! Each way is gone twice: once to see what is needed, and again, when that is there, to put it in place. Moves no bytes
//! itself.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use superstep_core::change::Change;
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};

use crate::squeeze::unsqueeze;
use crate::walk::{Slot, Walk};

/// The one key of an object that stands for a value beside the store.
const SPILLED: &str = "__spilled__";
/// The one key of an object that holds a value which looks like one of these two.
const KEPT: &str = "__kept__";

/// Keys of values begin with this.
pub(super) const VALUES: &str = "superstep/value/";
/// Keys of what is said of values that are to be removed begin with this.
pub(super) const DOOMED: &str = "superstep/doomed/";
/// Keys that are there as long as such a value is not to be removed yet begin with this.
pub(super) const WAITING: &str = "superstep/waiting/";

/// Which value: its SHA-256, and which copy of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Reference {
    sha256: String,
    copy: u32,
}

impl Reference {
    fn to(value: &[u8]) -> Self {
        let sha256 = Sha256::digest(value).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { sha256, copy: 0 }
    }

    /// The reference in a key.
    pub(super) fn from_key(key: &str) -> Option<Self> {
        let (_, name) = key.rsplit_once('/')?;
        let (sha256, copy) = name.split_once('.')?;
        Some(Self { sha256: sha256.to_owned(), copy: copy.parse().ok()? })
    }

    pub(super) fn next_copy(&self) -> Self {
        Self { sha256: self.sha256.clone(), copy: self.copy + 1 }
    }

    pub(super) fn key(&self) -> String {
        format!("{VALUES}{}.{}", self.sha256, self.copy)
    }

    pub(super) fn doomed_key(&self) -> String {
        format!("{DOOMED}{}.{}", self.sha256, self.copy)
    }

    pub(super) fn waiting_key(&self) -> String {
        format!("{WAITING}{}.{}", self.sha256, self.copy)
    }

    fn to_json(&self) -> Value {
        json!({ SPILLED: self })
    }

    /// The reference that a value is, where it is one.
    fn read(value: &Value) -> Option<Self> {
        let inside = only(value, SPILLED)?;
        // What is written here is never a pattern or a path: digits only.
        let reference = Self::deserialize(inside).ok()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (reference.sha256.len() == 64 && reference.sha256.bytes().all(is_digit)).then_some(reference)
    }
}

/// What stands under the one key of an object.
fn only<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) if map.len() == 1 => map.get(key),
        _ => None,
    }
}

/// Whether a value would look like one of ours.
fn looks_ours(json: &[u8]) -> bool {
    [SPILLED, KEPT].iter().any(|mark| {
        json.strip_prefix(b"{\"")
            .and_then(|json| json.strip_prefix(mark.as_bytes()))
            .is_some_and(|json| json.starts_with(b"\""))
    })
}

/// Whether a value passes as it is.
pub(super) fn is_short_and_plain(part: &Datum, above: usize) -> bool {
    let mut json = Vec::new();
    part.write_json(&mut json).is_ok() && json.len() <= above && !looks_ours(&json)
}

/// Values on their way down.
pub(super) struct Down {
    above: usize,
    /// What is too large.
    found: RefCell<BTreeMap<Reference, Vec<u8>>>,
    /// Something has to be written in another form.
    is_touched: Cell<bool>,
    /// Where each large value is; `None` while they are looked for.
    places: Option<BTreeMap<Reference, Reference>>,
}

impl Down {
    /// Looks for values that are too large.
    pub(super) fn seek(above: usize) -> Self {
        Self { above, found: RefCell::default(), is_touched: Cell::new(false), places: None }
    }

    /// Leaves references in their place.
    pub(super) fn leave(above: usize, places: BTreeMap<Reference, Reference>) -> Self {
        Self { places: Some(places), ..Self::seek(above) }
    }

    pub(super) fn is_seeking(&self) -> bool {
        self.places.is_none()
    }

    /// What is too large; `None` when everything can pass as it is.
    pub(super) fn into_found(self) -> Option<BTreeMap<Reference, Vec<u8>>> {
        self.is_touched.get().then(|| self.found.into_inner())
    }

    /// The form in which a value goes down; `None` when it goes as it is.
    fn form(&self, json: Vec<u8>, slot: &Slot<'_>) -> Result<Option<Value>> {
        let is_large = json.len() > self.above;
        if !is_large && !looks_ours(&json) {
            return Ok(None);
        }
        self.is_touched.set(true);
        let lost = |why: String| Error::internal(format!("{}: {why}", name(slot)));
        match (&self.places, is_large) {
            (None, false) => Ok(None),
            (None, true) => {
                self.found.borrow_mut().insert(Reference::to(&json), json);
                Ok(None)
            }
            (Some(_), false) => {
                let value: Value = serde_json::from_slice(&json).map_err(|error| lost(error.to_string()))?;
                Ok(Some(json!({ KEPT: value })))
            }
            (Some(places), true) => {
                let place = places.get(&Reference::to(&json));
                Ok(Some(place.ok_or_else(|| lost("a value changed while it was saved".to_owned()))?.to_json()))
            }
        }
    }
}

impl Walk for Down {
    fn is_downward(&self) -> bool {
        true
    }

    fn datum(&self, datum: &mut Datum, slot: &Slot<'_>) -> Result<()> {
        let mut json = Vec::new();
        datum.write_json(&mut json).map_err(|fault| unwritten(slot, &fault.message))?;
        if let Some(form) = self.form(json, slot)? {
            *datum = Datum::json(form);
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &Slot<'_>) -> Result<()> {
        let json = serde_json::to_vec(value).map_err(|error| unwritten(slot, &error.to_string()))?;
        if let Some(form) = self.form(json, slot)? {
            *value = form;
        }
        Ok(())
    }

    fn text(&self, _: &mut String, _: &Slot<'_>) -> Result<()> {
        Ok(())
    }

    fn change(&self, _: &mut Change, _: &Slot<'_>) -> Result<()> {
        Ok(())
    }
}

/// Values on their way up.
pub(super) struct Up {
    wanted: RefCell<BTreeSet<Reference>>,
    is_touched: Cell<bool>,
    /// The values that are there, as they are stored; `None` while references are looked for.
    found: Option<BTreeMap<Reference, Vec<u8>>>,
}

impl Up {
    /// Looks for references.
    pub(super) fn seek() -> Self {
        Self { wanted: RefCell::default(), is_touched: Cell::new(false), found: None }
    }

    /// Puts values in their place.
    pub(super) fn fill(found: BTreeMap<Reference, Vec<u8>>) -> Self {
        Self { found: Some(found), ..Self::seek() }
    }

    /// What is referred to; `None` when everything is as it was.
    pub(super) fn into_wanted(self) -> Option<BTreeSet<Reference>> {
        self.is_touched.get().then(|| self.wanted.into_inner())
    }

    /// The value that stands for another; `None` when it stands for itself.
    fn form(&self, value: &Value, slot: &Slot<'_>) -> Result<Option<Value>> {
        if let Some(kept) = only(value, KEPT) {
            self.is_touched.set(true);
            return Ok(self.found.is_some().then(|| kept.clone()));
        }
        let Some(reference) = Reference::read(value) else { return Ok(None) };
        self.is_touched.set(true);
        let Some(found) = &self.found else {
            self.wanted.borrow_mut().insert(reference);
            return Ok(None);
        };
        let lost = |how: &str| {
            Error::new(
                Code::CheckpointCorrupt,
                format!("{}: its value, kept beside the store under `{}`, {how}", name(slot), reference.key()),
            )
        };
        let stored = found.get(&reference).ok_or_else(|| lost("is gone"))?;
        let value = match stored.first() {
            Some(1..9) => unsqueeze(stored, &[]).map_err(|_| lost("was changed"))?,
            _ => stored.clone(),
        };
        if Reference::to(&value).sha256 != reference.sha256 {
            return Err(lost("was changed"));
        }
        serde_json::from_slice(&value).map(Some).map_err(|_| lost("is not JSON"))
    }
}

impl Walk for Up {
    fn is_downward(&self) -> bool {
        false
    }

    fn datum(&self, datum: &mut Datum, slot: &Slot<'_>) -> Result<()> {
        let Datum::Json(value) = &*datum else { return Ok(()) };
        if let Some(form) = self.form(value, slot)? {
            *datum = Datum::json(form);
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &Slot<'_>) -> Result<()> {
        if let Some(form) = self.form(value, slot)? {
            *value = form;
        }
        Ok(())
    }

    fn text(&self, _: &mut String, _: &Slot<'_>) -> Result<()> {
        Ok(())
    }

    fn change(&self, _: &mut Change, _: &Slot<'_>) -> Result<()> {
        Ok(())
    }
}

fn name(slot: &Slot<'_>) -> String {
    slot.names.iter().map(|(kind, name)| format!("{kind} `{name}`")).collect::<Vec<_>>().join(", ")
}

fn unwritten(slot: &Slot<'_>, why: &str) -> Error {
    Error::new(Code::TypeMismatch, format!("{} cannot be written as JSON: {why}", name(slot)))
}
