//! The errors of a checkpointer, with one wording for all implementations.
//!
//! A custom checkpointer should use them unchanged: the engine retries or fails depending on the code and on
//! `is_retryable`.

use super::Lease;
use crate::error::{Error, ErrorCode};
use crate::id::{CheckpointId, RunId, ThreadId};

/// Returns the error for a write whose lease is not, or no longer, the newest of its thread. Not retryable.
///
/// ```
/// use superstep_core::port::{Lease, errors};
/// let error = errors::lease_lost(&Lease { thread: "t".into(), fence: 7 });
/// assert!(error.message().starts_with("fenced") && !error.is_retryable());
/// ```
#[must_use]
pub fn lease_lost(lease: &Lease) -> Error {
    let message =
        format!("fenced: lease {} of thread `{}` was released or taken over by another run", lease.fence, lease.thread);
    Error::new(ErrorCode::ThreadBusy, message)
        .with_help("nothing was saved by this run since; continue from the current state of the thread")
        .with_retryable(false)
        .with_thread(Some(&lease.thread))
}

/// Returns the error for a thread whose lease `run` holds.
#[must_use]
pub fn thread_busy(thread: &ThreadId, run: RunId) -> Error {
    Error::new(ErrorCode::ThreadBusy, format!("thread `{thread}` is leased by run {run}"))
        .with_help("wait until the run ends, or cancel it")
        .with_thread(Some(thread))
}

/// Returns the error for a thread that a run changed while it was read, so that the parts read are not consistent.
#[must_use]
pub fn thread_changed_while_reading(thread: &ThreadId) -> Error {
    Error::new(ErrorCode::ThreadBusy, format!("thread `{thread}` changed while it was read"))
        .with_help("read it again when no run is active on it")
}

/// Returns the error for a text that is not a valid thread id: see [`ThreadId::is_valid`].
#[must_use]
pub fn invalid_thread_id(thread: &ThreadId) -> Error {
    Error::new(ErrorCode::InputInvalid, format!("`{thread}` is not a valid thread id"))
        .with_help(format!("use 1 to {} of `A-Z a-z 0-9 _ . : -`", ThreadId::MAX_BYTES))
}

/// Returns the error for a missing checkpoint, as a parent or as the target of a read.
#[must_use]
pub fn checkpoint_not_found(checkpoint: CheckpointId) -> Error {
    Error::new(ErrorCode::NotFound, format!("checkpoint {checkpoint} not found"))
        .with_help("it may have been pruned, or belong to another thread or graph")
}

/// Returns the error for events whose numbers are not above the last one of their thread: a bug in the numbering.
#[must_use]
pub fn event_out_of_order(first: u64, last: u64) -> Error {
    Error::internal(format!(
        "event {first} must not be appended after event {last}: numbers must increase \
         within a thread"
    ))
}

/// Returns the error for copying a thread without any commit.
#[must_use]
pub fn source_thread_not_found(from: &ThreadId) -> Error {
    Error::new(ErrorCode::NotFound, format!("thread `{from}` to copy not found"))
        .with_help("a thread exists after its first commit")
        .with_thread(Some(from))
}

/// Returns the error for copying over an existing thread.
#[must_use]
pub fn thread_already_exists(to: &ThreadId) -> Error {
    Error::new(ErrorCode::InputInvalid, format!("thread `{to}` already exists"))
        .with_help("choose an id that does not exist, or delete the thread first")
        .with_thread(Some(to))
}
