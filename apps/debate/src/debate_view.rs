//! View of a debate: the saved state, and the data that only the thread has.
//!
//! A failed turn is not part of the state: nothing of its superstep is saved, so that continuing repeats only that
//! turn. Readers see such a debate with status `error`.

use superstep::core::checkpoint::{Interrupt, StoredError};
use superstep::core::id::ThreadId;
use superstep::core::time::Time;
use superstep::{Error, HistoryQuery, Result, StateSnapshot, ThreadStatus, Threads};

use crate::context::DebateContext;
use crate::state::{DebateState, DebateStatus};

/// View of a debate for its readers.
#[derive(Debug, Clone)]
pub struct DebateView {
    /// State of the debate; after a failed turn with status `error`, and the time of the last successful turn as
    /// its end.
    pub state: DebateState,
    /// Error of the last turn, if it failed. `CompiledGraph::continue_thread` retries the turn.
    pub failure: Option<StoredError>,
    /// Pending approval, if there is one.
    pub pending_interrupt: Option<Interrupt>,
    /// Nodes of the next tasks.
    pub next: Vec<String>,
}

/// Loads the view of a debate.
///
/// # Errors
/// Returns an error if the thread does not exist, or if its state is not a complete debate.
pub async fn load_debate_view(
    threads: &Threads<DebateState, DebateContext>,
    thread: impl Into<ThreadId>,
) -> Result<DebateView> {
    let thread = thread.into();
    let snapshot = threads.get_state(thread.clone()).await?;
    snapshot.state.check()?;
    let has_failed = threads.status(thread.clone()).await? == Some(ThreadStatus::Error);
    let mut debate = DebateState::clone(&snapshot.state);
    if debate.start_time.is_none() {
        debate.start_time = Some(first_checkpoint_time(threads, thread, &snapshot).await?);
    }
    let failure = snapshot.tasks.iter().find_map(|task| task.error.clone()).filter(|_| has_failed);
    if has_failed {
        mark_failed(&mut debate, Some(time(snapshot.checkpoint.time)?));
    }
    let pending_interrupt = snapshot.interrupts().first().map(|interrupt| (*interrupt).clone());
    Ok(DebateView { state: debate, failure, pending_interrupt, next: snapshot.next })
}

/// Sets the status of a running debate to `error` after a failed turn; a debate that has ended is not changed.
pub(crate) fn mark_failed(debate: &mut DebateState, end_time: Option<Time>) {
    if debate.status == DebateStatus::Running {
        (debate.status, debate.end_time) = (DebateStatus::Error, end_time);
    }
}

/// Writes the start time to the state of a debate of an older version. Returns true if something was written.
///
/// # Errors
/// Returns an error if the thread does not exist or has a run, or if the checkpointer fails.
pub async fn backfill_start_time(
    threads: &Threads<DebateState, DebateContext>,
    thread: impl Into<ThreadId>,
) -> Result<bool> {
    let thread = thread.into();
    let snapshot = threads.get_state(thread.clone()).await?;
    if snapshot.state.start_time.is_some() {
        return Ok(false);
    }
    let start_time = first_checkpoint_time(threads, thread.clone(), &snapshot).await?;
    threads.update_state(thread, DebateState::update().start_time(start_time)).await?;
    Ok(true)
}

/// Returns the time of the first checkpoint that still exists.
async fn first_checkpoint_time(
    threads: &Threads<DebateState, DebateContext>,
    thread: ThreadId,
    newest: &StateSnapshot<DebateState>,
) -> Result<Time> {
    let history = threads.get_state_history(thread, &HistoryQuery::default()).await?;
    time(history.last().unwrap_or(newest).checkpoint.time)
}

fn time(micros: i64) -> Result<Time> {
    Time::from_unix_micros(micros).map_err(|error| Error::internal(error.message))
}
