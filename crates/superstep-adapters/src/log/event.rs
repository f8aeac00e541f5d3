//! What a run said, as a row: its form, its checksum, and which events of a transaction are still to be written.

use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::RunId;
use superstep_core::port::{Commit, StoredEvent, events_in_order, events_known};

use super::form::{Form, unpack};
use super::row::check_depth;
use super::save::Job;
use super::sum::Sum;

/// An event.
#[derive(Debug, Clone)]
pub(crate) struct EventRow {
    pub(crate) number: u64,
    pub(crate) run: RunId,
    /// What was said, as JSON that may be squeezed.
    pub(crate) body: Vec<u8>,
}

impl EventRow {
    /// The events of parts of a commit, in the order of their numbers.
    pub(super) fn all(parts: &[&Commit], form: Form) -> Result<Vec<Self>> {
        events_in_order(parts.iter().copied())?.into_iter().map(|event| Self::new(event, form)).collect()
    }

    fn new(event: &StoredEvent, form: Form) -> Result<Self> {
        let StoredEvent { number, run, body } = event;
        let mut json = Vec::new();
        body.write_json(&mut json).map_err(|fault| {
            Error::new(Code::TypeMismatch, format!("event {number} cannot be saved: {}", fault.message))
                .help("what is said is plain data: maps need keys that are text")
        })?;
        check_depth(&json).map_err(|error| Error::new(error.code(), format!("event {number}: {}", error.message())))?;
        Ok(Self { number: *number, run: *run, body: form.pack(json) })
    }

    pub(crate) fn sum(&self) -> u32 {
        Sum::new().number(self.number).id(self.run.bits()).bytes(&self.body).end()
    }

    /// The event that a row is, whole and undamaged: `sum` is the checksum that stands with it.
    pub(crate) fn read(&self, sum: u32) -> Result<StoredEvent> {
        if self.sum() != sum {
            return Err(damaged_event(self.number, "its checksum does not fit"));
        }
        let plain = unpack(&self.body).map_err(|error| match error.code() {
            Code::CheckpointCorrupt => damaged_event(self.number, error.message()),
            code => Error::new(code, format!("event {}: {}", self.number, error.message())),
        })?;
        let body = serde_json::from_slice(&plain).map_err(|error| damaged_event(self.number, &error.to_string()))?;
        Ok(StoredEvent { number: self.number, run: self.run, body: Datum::json(body) })
    }
}

/// The error of an event that is not what was written.
pub(crate) fn damaged_event(number: u64, how: &str) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("event {number} is damaged in the store: {how}"))
        .help("checkpoints and other events are not touched by this: ask for those after it, or forget those up to it")
}

impl Job {
    /// The events that are still to be written, given the last number that was ever kept and which row is kept already.
    pub(crate) fn unsaved_events<E: From<Error>>(
        &self,
        last: u64,
        mut is_kept: impl FnMut(&EventRow) -> std::result::Result<bool, E>,
    ) -> std::result::Result<&[EventRow], E> {
        let numbers = self.events.iter().map(|event| event.number);
        let known = events_known(numbers, last, self.is_repeat, |place| is_kept(&self.events[place]))?;
        Ok(&self.events[known..])
    }
}
