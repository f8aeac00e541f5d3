//! The refusals of a store, in one wording for all of them.
//!
//! A store of your own uses them as they are: the engine waits or gives up by code and by `is_retryable`.

use super::Lease;
use crate::error::{Code, Error};
use crate::id::{CheckpointId, RunId, ThreadId};

/// The refusal of a write whose lease is not, or no longer, the newest of its thread. Trying again is of no use.
///
/// ```
/// use superstep_core::port::{Lease, refusal};
/// let error = refusal::fenced(&Lease { thread: "t".into(), fence: 7 });
/// assert!(error.message().starts_with("fenced") && !error.is_retryable());
/// ```
#[must_use]
pub fn fenced(lease: &Lease) -> Error {
    let message = format!(
        "fenced: lease {} of thread `{}` was given back or taken over by another run",
        lease.fence, lease.thread
    );
    Error::new(Code::ThreadBusy, message)
        .help("nothing was saved by this run since; go on from what the thread holds now")
        .retryable(false)
        .on_thread(Some(&lease.thread))
}

/// The refusal to give a thread away that `run` moves.
#[must_use]
pub fn busy(thread: &ThreadId, run: RunId) -> Error {
    Error::new(Code::ThreadBusy, format!("run {run} moves thread `{thread}`"))
        .help("wait until it ends, or cancel it")
        .on_thread(Some(thread))
}

/// The refusal of what was read of a thread while a run moved it: it is not of one moment.
#[must_use]
pub fn moved(thread: &ThreadId) -> Error {
    Error::new(Code::ThreadBusy, format!("thread `{thread}` was changed while it was read"))
        .help("the thread is fine: read it again when no run moves it")
}

/// The refusal of a name that cannot be the id of a thread: see [`ThreadId::is_valid`].
#[must_use]
pub fn invalid(thread: &ThreadId) -> Error {
    Error::new(Code::InputInvalid, format!("`{thread}` is not the id of a thread"))
        .help(format!("an id has 1 to {} of `A-Z a-z 0-9 _ . : -`", ThreadId::LONGEST))
}

/// The refusal to build on, or go back to, a checkpoint that is not there.
#[must_use]
pub fn missing(checkpoint: CheckpointId) -> Error {
    Error::new(Code::NotFound, format!("no checkpoint {checkpoint}"))
        .help("it may have been pruned, or belong to another thread or graph")
}

/// The refusal of events that do not come after the last one of their thread: whoever writes them numbers them wrongly.
#[must_use]
pub fn late_event(first: u64, last: u64) -> Error {
    Error::internal(format!("event {first} is to be kept after event {last}: numbers rise within a thread"))
}

/// The refusal to copy a thread on which nothing was saved.
#[must_use]
pub fn nothing_to_copy(from: &ThreadId) -> Error {
    Error::new(Code::NotFound, format!("no thread `{from}` to copy"))
        .help("a thread exists once something was saved on it")
        .on_thread(Some(from))
}

/// The refusal to copy over a thread that exists.
#[must_use]
pub fn exists(to: &ThreadId) -> Error {
    Error::new(Code::InputInvalid, format!("thread `{to}` exists already"))
        .help("name a thread that does not exist, or delete it first")
        .on_thread(Some(to))
}
