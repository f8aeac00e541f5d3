//! How a calendar is changed: one transaction with the family locked, the same on every database.
//!
//! When the way to the database is lost, all of it is done again. Whether a commit of which nothing was heard went through
//! is read off the audit, so that nothing is written twice.

use std::sync::Arc;

use superstep::{Code, Error, Result};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::cell::Statement;
use super::plan::{Author, Decision, Plan, Rejected};
use super::read::{self, Answers};
use super::{Changed, Scan, rows};
use crate::audit::Entry;
use crate::calendar::{Board, Change, Family};

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To write.
    Write,
    /// To make tables; nobody else does so meanwhile.
    Migrate,
}

/// A connection while somebody uses it.
pub(super) trait Session: Send {
    /// What goes wrong on it.
    type Failure: From<Error> + Send;

    /// What stands behind a `SELECT` that nobody else may overtake.
    const LOCK: &'static str;

    /// Names of the tables that are there.
    fn tables(&self) -> Statement;

    /// Starts a transaction.
    fn begin(&mut self, access: Access) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Runs statements one after the other, and gives what each has found.
    fn ask(&mut self, statements: Vec<Statement>) -> impl Future<Output = Result<Answers, Self::Failure>> + Send;

    /// Runs a file of statements.
    fn script(&mut self, sql: &str) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Ends the transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Takes the transaction back, as far as there is one.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;
}

/// Says what is to be changed, of the board and of what was changed lately, or by the same piece of work.
pub(super) type Decide = Box<dyn FnOnce(&Board, &[Entry]) -> Result<Decision> + Send>;

/// A change on its way, over as many tries as it takes.
pub(super) struct Work {
    pub(super) family: String,
    /// The family, where it is to be made.
    pub(super) creation: Option<Family>,
    pub(super) author: Author,
    /// From when on, in microseconds, it matters what was changed lately.
    pub(super) since: Option<i64>,
    pub(super) scan: Option<Scan>,
    /// The board as it was last seen.
    pub(super) known: Option<Arc<Board>>,
    pub(super) decide: Option<Decide>,
    /// What was decided, and of which board.
    pub(super) decided: Option<(Arc<Board>, Decision)>,
    /// What may have been written.
    pub(super) planned: Option<Plan>,
}

/// Changes a calendar, or nothing.
pub(super) async fn change<S: Session>(session: &mut S, work: &mut Work) -> Result<Changed, S::Failure> {
    session.begin(Access::Write).await?;
    let mut changed = within(session, work).await;
    if changed.is_ok()
        && let Err(failure) = session.commit().await
    {
        changed = Err(failure);
    }
    if changed.is_err() {
        session.rollback().await;
    }
    changed
}

async fn within<S: Session>(session: &mut S, work: &mut Work) -> Result<Changed, S::Failure> {
    if let Some(family) = &work.creation {
        session.ask(vec![rows::first(family)?]).await?;
    }
    let mut lock = read::revision(&work.family);
    lock.sql.to_mut().push_str(S::LOCK);
    let revision = read::to_revision(session.ask(vec![lock]).await?)?.ok_or_else(|| missing(&work.family))?;
    let (board, decision) = match work.decided.take() {
        None => decide(session, work, revision).await?,
        Some(decided) if decided.0.revision == revision => decided,
        Some(_) => return settle(session, work).await,
    };
    work.decided = Some((board.clone(), decision.clone()));
    let rejected = rejected(session, &board, &decision.changes).await?;
    let plan = apart(|| Plan::new(&board, &rejected, decision, &work.author, work.scan))?;
    let (statements, changed) = (plan.statements.clone(), plan.changed());
    work.planned = Some(plan);
    session.ask(statements).await?;
    Ok(changed)
}

/// Has it decided, by the board as it is now.
async fn decide<S: Session>(
    session: &mut S,
    work: &mut Work,
    revision: u64,
) -> Result<(Arc<Board>, Decision), S::Failure> {
    let board = match &work.known {
        Some(board) if board.revision == revision => board.clone(),
        _ => {
            let board = read::to_board(session.ask(read::board(&work.family)).await?)?;
            Arc::new(board.ok_or_else(|| missing(&work.family))?)
        }
    };
    let lately = work.since.map(|since| read::entries_since(&work.family, since));
    let done = work.author.task.as_ref().map(|task| read::entries_of(&work.family, task));
    let entries = match lately.or(done) {
        Some(entries) => read::to_entries(session.ask(vec![entries]).await?)?,
        None => Vec::new(),
    };
    let decide = work.decide.take().ok_or_else(|| Error::internal("a change was decided twice"))?;
    let decision = apart(|| decide(&board, &entries))?;
    Ok((board, decision))
}

/// Computes something that may take a while where that holds nobody else up: a runtime of many threads lets another one go
/// on with its tasks.
fn apart<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(compute),
        _ => compute(),
    }
}

/// Somebody changed the calendar since this was decided: perhaps it was us, and only the answer was lost.
async fn settle<S: Session>(session: &mut S, work: &mut Work) -> Result<Changed, S::Failure> {
    if let Some(plan) = work.planned.as_ref().filter(|plan| !plan.entry.images.is_empty()) {
        let entry = read::entry(&work.family, plan.entry.revision);
        let found = read::to_entries(session.ask(vec![entry]).await?)?;
        if found.first() == Some(&plan.entry) {
            return Ok(plan.changed());
        }
    }
    let message = format!("somebody changed the calendar of `{}` while the database was away", work.family);
    Err(Error::new(Code::StoreUnavailable, message).help("nothing of this was written; try again").into())
}

/// Those of the rejected events that a change touches.
async fn rejected<S: Session>(session: &mut S, board: &Board, changes: &[Change]) -> Result<Rejected, S::Failure> {
    let unseen = |change: &Change| match change {
        Change::Event(event) => !board.events.contains_key(&event.id),
        Change::RemoveEvent(id) => !board.events.contains_key(id),
        _ => false,
    };
    let family = &board.family.id;
    if !changes.iter().any(unseen) {
        return Ok(Rejected::new());
    }
    // There seldom is one, and to know that only their names are needed.
    let ids = session.ask(vec![read::rejected_ids(family)]).await?.into_iter().flatten();
    let ids = ids.map(|mut row| row.text()).collect::<Result<std::collections::BTreeSet<String>>>()?;
    let is_rejected = |change: &Change| match change {
        Change::Event(event) => ids.contains(&event.id),
        Change::RemoveEvent(id) => ids.contains(id),
        _ => false,
    };
    if !changes.iter().any(is_rejected) {
        return Ok(Rejected::new());
    }
    let events = read::to_events(session.ask(read::rejected(family)).await?)?;
    Ok(events.into_iter().map(|event| (event.id.clone(), event)).collect())
}

pub(super) fn missing(family: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no family `{family}`"))
}
