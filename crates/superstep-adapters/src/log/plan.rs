//! Turns a commit into rows, with what is known of the line it goes on with.
//!
//! Decides where a value gets one more change and where it is written whole: when reading its changes would cost more
//! than twice the value. So what is stored stays within a small multiple of what changed, and loading within twice the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Ahead, Checkpoint, FieldChange, Mark, Origin};
use superstep_core::datum::Datum;
use superstep_core::error::{Error, Result};
use superstep_core::id::CheckpointId;
use superstep_core::port::{Commit, StateRef};

use super::form::{Form, Tails};
use super::head::{End, Head, Heads};
use super::row::{OriginRow, PartRow, Row, change_text, datum_to_json, put_value, to_json};

/// Whole values up to this length stand in the row of their checkpoint.
const SHORT: usize = 256;
/// Values up to this length are written whole whatever changed in them: a part would be longer.
const SMALL: u64 = 96;
/// What a row costs to read beside its bytes.
const ROW: u64 = 32;
/// Changes that cost less than this to read are never replaced by a whole value.
const SLACK: u64 = 1_024;
/// Names that are looked through faster than looked up.
const FEW: usize = 8;

/// A line as its writer knows it.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The number of the newest checkpoint; 0 when there is none.
    pub(crate) newest: u64,
    /// The number of the newest part; 0 when there is none.
    parts: u64,
    /// The fields by number, as they were first seen.
    names: Vec<Arc<str>>,
    /// The numbers of names, once there are more than a few.
    numbers: BTreeMap<Arc<str>, u32>,
    /// What the next checkpoint builds on.
    pub(crate) base: Base,
}

/// A checkpoint as far as the next one builds on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Base {
    /// The checkpoint; `None` before the first.
    pub(crate) id: Option<CheckpointId>,
    pub(crate) number: u64,
    pub(crate) heads: Vec<Option<Head>>,
    /// How many rows away the last one with all values is.
    pub(crate) way: u64,
    /// What its run has in common, and the checkpoint that brought it.
    pub(crate) origin: Option<(u64, Origin)>,
    /// How its values end, as far as that is known.
    pub(crate) tails: Tails,
}

/// The rows of one checkpoint.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) row: Row,
    pub(crate) origin: Option<OriginRow>,
    pub(crate) parts: Vec<PartRow>,
    /// All names of fields, when there are new ones.
    pub(crate) names: Option<Vec<Arc<str>>>,
}

impl Line {
    /// A line with its newest checkpoint, its newest part and its fields.
    pub(crate) fn new((newest, parts): (u64, u64), names: Vec<Arc<str>>, base: Base) -> Self {
        let mut line = Self { newest, parts, names, numbers: BTreeMap::new(), base };
        line.index();
        line
    }

    /// The rows of a checkpoint on top of `base`, which is then the base of the next.
    pub(crate) fn plan(&mut self, checkpoint: &Checkpoint, commit: &Commit, form: Form) -> Result<Draft> {
        let number = self.newest + 1;
        let known = self.names.len();
        let state = commit.state.as_ref();
        let (values, parts, tails) = (Vec::new(), Vec::new(), std::mem::take(&mut self.base.tails));
        let mut writing = Writing { number, newest: self.parts, values, parts, state, form, tails };
        let mut made = SmallVec::new();
        for change in commit.changes.iter().filter(|change| !change.change.is_unchanged()) {
            let field = self.number(&change.field);
            if made.iter().any(|(other, _): &(u32, Head)| *other == field) {
                return Err(Error::internal(format!("field `{}` changes twice in one commit", change.field)));
            }
            let head = self.base.heads.get(field as usize).copied().flatten();
            made.push((field, writing.change(field, change, head)?));
        }
        let Writing { values, parts, newest, tails, .. } = writing;
        (self.parts, self.base.tails) = (newest, tails);
        let heads = self.heads(made);
        let origin = self.origin(number, checkpoint, form)?;
        let row = Row {
            number,
            mark: Mark::from(checkpoint),
            origin: self.base.origin.as_ref().map_or(number, |(number, _)| *number),
            ahead: form.pack(to_json(&Ahead::from(checkpoint))?),
            heads: heads.to_bytes(number),
            values,
        };
        (self.newest, self.base.number, self.base.way, self.base.id) = (number, number, heads.way, Some(checkpoint.id));
        let names = (self.names.len() > known).then(|| self.names.clone());
        Ok(Draft { row, origin, parts, names })
    }

    /// The values of `base` after these were made, and the form of them in the row.
    fn heads(&mut self, mut made: SmallVec<[(u32, Head); 2]>) -> Heads {
        self.base.heads.resize(self.names.len(), None);
        for (field, head) in &made {
            self.base.heads[*field as usize] = Some(*head);
        }
        let way = self.base.way.saturating_add(1);
        if self.base.number == 0 || Heads::is_whole(self.names.len(), way) {
            let all = self.base.heads.iter().enumerate();
            let entries = all.filter_map(|(field, head)| Some((field as u32, (*head)?))).collect();
            return Heads { base: None, way: 0, entries };
        }
        made.sort_unstable_by_key(|(field, _)| *field);
        Heads { base: Some(self.base.number), way, entries: made }
    }

    fn origin(&mut self, number: u64, checkpoint: &Checkpoint, form: Form) -> Result<Option<OriginRow>> {
        if self.base.origin.as_ref().is_some_and(|(_, origin)| origin.is_of(checkpoint)) {
            return Ok(None);
        }
        let origin = Origin::from(checkpoint);
        let row = OriginRow::new(number, &origin, form)?;
        self.base.origin = Some((number, origin));
        Ok(Some(row))
    }

    fn number(&mut self, field: &Arc<str>) -> u32 {
        if let Some(number) = self.find(field) {
            return number;
        }
        self.names.push(field.clone());
        self.index();
        (self.names.len() - 1) as u32
    }

    fn find(&self, field: &Arc<str>) -> Option<u32> {
        if self.names.len() > FEW {
            return self.numbers.get(field).copied();
        }
        let place = self.names.iter().position(|name| Arc::ptr_eq(name, field) || name == field);
        place.map(|place| place as u32)
    }

    fn index(&mut self) {
        if self.names.len() > FEW {
            let known = self.numbers.len();
            self.numbers.extend(self.names[known..].iter().cloned().zip(known as u32..));
        }
    }
}

/// The values of one checkpoint while they are being written.
struct Writing<'a> {
    number: u64,
    /// The number of the newest part.
    newest: u64,
    values: Vec<u8>,
    parts: Vec<PartRow>,
    state: Option<&'a StateRef>,
    form: Form,
    tails: Tails,
}

impl Writing<'_> {
    /// One change on top of a value, or a whole value where that is cheaper or there is nothing to build on.
    fn change(&mut self, field: u32, change: &FieldChange, head: Option<Head>) -> Result<Head> {
        let FieldChange { field: name, change, part } = change;
        if *change == Change::Set {
            return self.whole(field, name, part);
        }
        let copy = || self.state.and_then(|state| state.full(name));
        let Some(head) = head else {
            let missing = || Error::internal(format!("field `{name}` has no value that its change could be made on"));
            let copy = copy().ok_or_else(missing)?;
            return self.whole(field, name, &copy);
        };
        if head.full <= SMALL
            && let Some(copy) = copy()
        {
            return self.whole(field, name, &copy);
        }
        let body = datum_to_json(part, name)?;
        let length = body.len() as u64;
        let full = if matches!(change, Change::Appended { .. }) { head.full + length } else { head.full };
        let weight = head.weight + length + ROW + change_text(change)?.len() as u64;
        if weight > 2 * full + SLACK
            && let Some(copy) = copy()
        {
            return self.whole(field, name, &copy);
        }
        let end = self.part(field, Some(head.end), change.clone(), body);
        Ok(Head { end, weight, full })
    }

    fn whole(&mut self, field: u32, name: &str, value: &Datum) -> Result<Head> {
        let body = datum_to_json(value, name)?;
        let full = body.len() as u64;
        if body.len() <= SHORT {
            put_value(&mut self.values, field, &body);
            return Ok(Head { end: End::Row(self.number), weight: full, full });
        }
        let end = self.part(field, None, Change::Set, body);
        Ok(Head { end, weight: full, full })
    }

    fn part(&mut self, field: u32, before: Option<End>, change: Change, body: Vec<u8>) -> End {
        self.newest += 1;
        let end = End::Part(self.newest);
        let mut tail = self.tails.take(field, before);
        let stored = self.form.pack_on(&body, &tail);
        if self.form == Form::Squeezed {
            tail.push(&body);
            self.tails.keep(field, end, tail);
        }
        let body = stored.unwrap_or(body);
        self.parts.push(PartRow { number: self.newest, field, before, change, body });
        end
    }
}

/// Whether the last change of a field is what a commit says it is; it may be a whole value in place of the change.
pub(crate) fn is_made_by(last: &(Change, Datum), change: &FieldChange, state: Option<&StateRef>) -> bool {
    if last.0 == change.change {
        return last.1 == change.part;
    }
    let whole = state.and_then(|state| state.full(&change.field));
    last.0 == Change::Set && whole.is_none_or(|whole| whole == last.1)
}

/// A checkpoint that says it belongs elsewhere would be found in the wrong place for ever.
pub(crate) fn check_place(commit: &Commit) -> Result<()> {
    let Some(checkpoint) = &commit.checkpoint else { return Ok(()) };
    if checkpoint.thread == commit.lease.thread && checkpoint.namespace == commit.namespace {
        return Ok(());
    }
    let (thread, namespace) = (&checkpoint.thread, checkpoint.namespace.as_str());
    Err(Error::internal(format!("checkpoint {} belongs to thread `{thread}`, graph `{namespace}`", checkpoint.id)))
}
