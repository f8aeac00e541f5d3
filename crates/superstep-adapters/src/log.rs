//! The log of changes as rows: what a store of tables writes for a commit, and how rows become a checkpoint again.
//!
//! Shared by the doors to databases and knows no SQL: `plan` turns a commit into rows, `gather` says which rows are
//! still missing until a checkpoint is whole, `row` and `head` say what is in them, `sum` notices damage.
//!
//! Each graph of a thread has a line of checkpoints, numbered in the order they were saved. A checkpoint names for each
//! field the end of a chain of changes. A chain begins with a whole value, at the checkpoint whose number it bears; a
//! whole value that is short stands in the row of that checkpoint, everything else in rows of its own. A fork goes on
//! with the chains of its parent by a link, so that branches share what came before.

mod bytes;
mod gather;
mod head;
mod plan;
mod prune;
mod row;
mod sum;

pub(crate) use gather::{Gather, Given, Need};
pub(crate) use plan::{Base, Draft, Line, check_place, is_made_by};
pub(crate) use prune::{Candidate, Links, Pruning, has_open_question, prune};
pub(crate) use row::{Link, OriginRow, PartRow, PendingRow, Row, damaged};

use superstep_core::error::{Code, Error};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::port::Lease;

/// The error of a checkpoint that is not there.
pub(crate) fn missing(id: CheckpointId) -> Error {
    Error::new(Code::NotFound, format!("no checkpoint {id}"))
        .help("it may have been pruned, or belong to another thread or graph")
}

/// The error of a lease that is not the newest of its thread.
pub(crate) fn fenced(lease: &Lease) -> Error {
    let message = format!(
        "fenced: lease {} of thread `{}` was given back or taken over by another run",
        lease.fence, lease.thread
    );
    Error::new(Code::ThreadBusy, message)
        .help("nothing was saved by this run since; go on from what the thread holds now")
        .retryable(false)
        .on_thread(Some(&lease.thread))
}

/// The error of a thread that another run moves.
pub(crate) fn busy(thread: &ThreadId, run: RunId) -> Error {
    let error = Error::new(Code::ThreadBusy, format!("run {run} moves thread `{thread}`"));
    error.help("wait until it ends, or cancel it").on_thread(Some(thread))
}

/// The error of an id that no store takes.
pub(crate) fn invalid(thread: &ThreadId) -> Error {
    let message = format!("`{thread}` is not the id of a thread");
    Error::new(Code::InputInvalid, message)
        .help(format!("an id has 1 to {} of `A-Z a-z 0-9 _ . : -`", ThreadId::LONGEST))
}
