//! Why an answer was refused: the question may have had its answer long ago.
//!
//! Looks back page by page, newest first, and no further than a fixed number of checkpoints: what a refusal costs does
//! not grow with the thread.

use superstep_core::checkpoint::{Entry, Namespace};
use superstep_core::error::{Code, Error};
use superstep_core::id::InterruptId;
use superstep_core::machine::{self, Machine, Resume};
use superstep_core::port::{HistoryQuery, Loaded};

use crate::call::Input;
use crate::context::Shared;

/// Checkpoints that are read at a time. As a rule an answer that comes twice is found in the first page.
const PAGE: usize = 16;

/// Checkpoints after which nobody looks any further: the refusal then says only that the question is not open.
const FURTHEST: usize = 256;

/// The questions a call answers; none when it answers the one that is open.
pub(super) fn answered_ids(input: &Input) -> Option<Vec<InterruptId>> {
    match input {
        Input::Resume(Resume::One(_)) => Some(Vec::new()),
        Input::Resume(Resume::ById(answers)) => Some(answers.keys().copied().collect()),
        _ => None,
    }
}

/// Says when a question was answered that the thread has left behind, as far as one looks back.
pub(super) async fn told_why(
    shared: &Shared,
    machine: &Machine,
    answers: Option<Vec<InterruptId>>,
    error: Error,
) -> Error {
    let (Some(ids), Some(saver), Some(thread)) = (answers, &shared.saver, &shared.thread) else { return error };
    if error.code() != Code::InvalidResume || (ids.is_empty() && machine.is_asking()) {
        return error;
    }
    let mut query = HistoryQuery { limit: Some(PAGE), ..HistoryQuery::default() };
    for _ in 0..FURTHEST / PAGE {
        let Ok(page) = saver.history(thread, &Namespace::root(), &query).await else { return error };
        if let Some((time, id)) = page.iter().find_map(|loaded| newest_answer(loaded, &ids)) {
            return machine::already_answered(id, time);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => query.before = Some(last.checkpoint.id),
            _ => break,
        }
    }
    error
}

/// The newest answer at a checkpoint, to one of these questions or, without any, to whichever it was.
fn newest_answer(loaded: &Loaded, ids: &[InterruptId]) -> Option<(i64, InterruptId)> {
    let answers = loaded.pending.iter().filter_map(|pending| match &pending.entry {
        Entry::Answer(answer) if ids.is_empty() || ids.contains(&answer.id) => Some((answer.time, answer.id)),
        _ => None,
    });
    answers.max()
}
