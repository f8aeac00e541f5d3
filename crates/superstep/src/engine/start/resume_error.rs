//! Errors of rejected resume values: the interrupt may have been resumed long ago.
//!
//! Searches the history page by page, newest first, up to a fixed number of checkpoints: the cost of an error does
//! not grow with the thread.

use superstep_core::checkpoint::{CheckpointNamespace, TaskEntry};
use superstep_core::error::{Error, ErrorCode};
use superstep_core::id::InterruptId;
use superstep_core::machine::{self, Machine, Resume};
use superstep_core::port::{CheckpointTuple, HistoryQuery};

use crate::engine::context::RunShared;
use crate::run::builder::StartInput;

/// Page size in checkpoints. A resume value that is sent twice is usually found in the first page.
const PAGE: usize = 16;

/// Maximum number of checkpoints that are searched. Beyond that, the error only says that the interrupt is not open.
const MAX_CHECKPOINTS_SEARCHED: usize = 256;

/// Returns the ids of the interrupts that a run resumes; empty if it resumes the only open one.
pub(super) fn resumed_interrupt_ids(input: &StartInput) -> Option<Vec<InterruptId>> {
    match input {
        StartInput::Resume(Resume::Single(_)) => Some(Vec::new()),
        StartInput::Resume(Resume::ById(resume_values)) => Some(resume_values.keys().copied().collect()),
        _ => None,
    }
}

/// Adds to the error when the interrupt was resumed, if this is found within the search limit.
pub(super) async fn explain_resume_error(
    shared: &RunShared,
    machine: &Machine,
    resumed_ids: Option<Vec<InterruptId>>,
    error: Error,
) -> Error {
    let (Some(ids), Some(checkpointer), Some(thread)) = (resumed_ids, &shared.checkpointer, &shared.thread) else {
        return error;
    };
    if error.code() != ErrorCode::InvalidResume || (ids.is_empty() && machine.is_interrupted()) {
        return error;
    }
    let mut query = HistoryQuery { limit: Some(PAGE), ..HistoryQuery::default() };
    for _ in 0..MAX_CHECKPOINTS_SEARCHED / PAGE {
        let Ok(page) = checkpointer.history(thread, &CheckpointNamespace::root(), &query).await else { return error };
        if let Some((time, id)) = page.iter().find_map(|loaded| latest_resume_value(loaded, &ids)) {
            return machine::already_resumed(id, time);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => query.before = Some(last.checkpoint.id),
            _ => break,
        }
    }
    error
}

/// Returns the latest resume value at a checkpoint, for one of these interrupts, or for any interrupt if `ids` is
/// empty.
fn latest_resume_value(loaded: &CheckpointTuple, ids: &[InterruptId]) -> Option<(i64, InterruptId)> {
    let resume_values = loaded.pending.iter().filter_map(|pending| match &pending.entry {
        TaskEntry::Resume(resume_value) if ids.is_empty() || ids.contains(&resume_value.id) => {
            Some((resume_value.time, resume_value.id))
        }
        _ => None,
    });
    resume_values.max()
}
