//! A debate as its readers see it: the saved state, and what only the thread knows.
//!
//! A turn that failed is no part of the state: nothing of its superstep is, so that going on repeats that turn and no
//! other. Readers are shown such a debate as one in `error`.

use superstep::core::checkpoint::{Question, StoredError};
use superstep::core::id::ThreadId;
use superstep::core::time::Time;
use superstep::{Error, HistoryQuery, Result, Snapshot, ThreadStatus, Threads};

use crate::hall::Hall;
use crate::state::{Debate, Status};

/// A debate as its readers see it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The state: `error` after a turn that failed, with the time of the last turn that did not as its end.
    pub debate: Debate,
    /// Why the last turn failed, where it did. `Compiled::go_on` tries it again.
    pub failure: Option<StoredError>,
    /// What a person is asked, where the debate waits for one.
    pub question: Option<Question>,
    /// Who is to speak next.
    pub next: Vec<String>,
}

/// Reads a debate.
///
/// # Errors
/// When there is no such thread, or what is stored is no debate, or not a whole one.
pub async fn read(threads: &Threads<Debate, Hall>, thread: impl Into<ThreadId>) -> Result<Seen> {
    let thread = thread.into();
    let snapshot = threads.state(thread.clone()).await?;
    snapshot.state.check()?;
    let has_failed = threads.status(thread.clone()).await? == Some(ThreadStatus::Error);
    let mut debate = Debate::clone(&snapshot.state);
    if debate.start_time.is_none() {
        debate.start_time = Some(began(threads, thread, &snapshot).await?);
    }
    let failure = snapshot.tasks.iter().find_map(|task| task.error.clone()).filter(|_| has_failed);
    if has_failed {
        fail(&mut debate, Some(time(snapshot.checkpoint.time)?));
    }
    let question = snapshot.questions().first().map(|question| (*question).clone());
    Ok(Seen { debate, failure, question, next: snapshot.next })
}

/// Shows a debate as one in `error` after a turn that failed; one that is over stays as it is.
pub(crate) fn fail(debate: &mut Debate, at: Option<Time>) {
    if debate.status == Status::Running {
        (debate.status, debate.end_time) = (Status::Error, at);
    }
}

/// Writes down what a debate of an older version does not say of itself: when it began. True when there was something
/// to write.
///
/// # Errors
/// When there is no such thread, a run moves it, or the store fails.
pub async fn bring_up_to_date(threads: &Threads<Debate, Hall>, thread: impl Into<ThreadId>) -> Result<bool> {
    let thread = thread.into();
    let snapshot = threads.state(thread.clone()).await?;
    if snapshot.state.start_time.is_some() {
        return Ok(false);
    }
    let began = began(threads, thread.clone(), &snapshot).await?;
    threads.update(thread, Debate::update().start_time(began)).await?;
    Ok(true)
}

/// The time of the first checkpoint that is still there.
async fn began(threads: &Threads<Debate, Hall>, thread: ThreadId, newest: &Snapshot<Debate>) -> Result<Time> {
    let history = threads.history(thread, &HistoryQuery::default()).await?;
    time(history.last().unwrap_or(newest).checkpoint.time)
}

fn time(micros: i64) -> Result<Time> {
    Time::from_unix_micros(micros).map_err(|fault| Error::internal(fault.message))
}
