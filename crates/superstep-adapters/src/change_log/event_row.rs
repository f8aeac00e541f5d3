//! A journal event as a row: its encoding, its checksum, and which events of a transaction are not stored yet.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::RunId;
use superstep_core::port::{Commit, StoredEvent, count_duplicates, sort_events};
use superstep_core::value::AnyValue;

use super::checksum::ChecksumBuilder;
use super::encoding::{ValueEncoding, decode};
use super::rows::check_depth;
use super::save::RowTransaction;

/// A row of the event journal.
#[derive(Debug, Clone)]
pub(crate) struct EventRow {
    pub(crate) number: u64,
    pub(crate) run: RunId,
    /// JSON of the event, possibly compressed.
    pub(crate) body: Vec<u8>,
}

impl EventRow {
    /// Returns the rows of all events of the parts of a commit, in the order of their numbers.
    pub(super) fn all(parts: &[&Commit], encoding: ValueEncoding) -> Result<Vec<Self>> {
        sort_events(parts.iter().copied())?.into_iter().map(|event| Self::new(event, encoding)).collect()
    }

    fn new(event: &StoredEvent, encoding: ValueEncoding) -> Result<Self> {
        let StoredEvent { number, run, payload: body } = event;
        let mut json = Vec::new();
        body.write_json(&mut json).map_err(|error| {
            Error::new(ErrorCode::TypeMismatch, format!("failed to serialize event {number}: {}", error.message))
                .with_help("an event must be serializable as JSON: maps need string keys")
        })?;
        check_depth(&json).map_err(|error| Error::new(error.code(), format!("event {number}: {}", error.message())))?;
        Ok(Self { number: *number, run: *run, body: encoding.encode(json) })
    }

    pub(crate) fn sum(&self) -> u32 {
        ChecksumBuilder::new().number(self.number).id(self.run.bits()).bytes(&self.body).finish()
    }

    /// Decodes the event; `sum` is the checksum stored with the row.
    pub(crate) fn read(&self, sum: u32) -> Result<StoredEvent> {
        if self.sum() != sum {
            return Err(corrupt_event_error(self.number, "the checksum does not match"));
        }
        let plain = decode(&self.body).map_err(|error| match error.code() {
            ErrorCode::CheckpointCorrupt => corrupt_event_error(self.number, error.message()),
            code => Error::new(code, format!("event {}: {}", self.number, error.message())),
        })?;
        let body =
            serde_json::from_slice(&plain).map_err(|error| corrupt_event_error(self.number, &error.to_string()))?;
        Ok(StoredEvent { number: self.number, run: self.run, payload: AnyValue::json(body) })
    }
}

/// Returns the error of a corrupt event.
pub(crate) fn corrupt_event_error(number: u64, reason: &str) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("event {number} is corrupt: {reason}")).with_help(
        "checkpoints and other events are not affected; read the events after it, or delete the events up to it",
    )
}

impl RowTransaction {
    /// Returns the events that are not stored yet. `last` is the highest number ever stored; `is_saved` returns true
    /// if the row is stored already.
    pub(crate) fn unsaved_events<E: From<Error>>(
        &self,
        last: u64,
        mut is_saved: impl FnMut(&EventRow) -> std::result::Result<bool, E>,
    ) -> std::result::Result<&[EventRow], E> {
        let numbers = self.events.iter().map(|event| event.number);
        let duplicates = count_duplicates(numbers, last, self.is_repeat, |index| is_saved(&self.events[index]))?;
        Ok(&self.events[duplicates..])
    }
}
