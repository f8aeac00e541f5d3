//! Transaction of a change: locks the family, decides, and writes; the same on every database.
//!
//! If the connection is lost, the whole transaction is repeated. The audit log tells whether a commit without a
//! response was applied, so that nothing is written twice.

use std::sync::Arc;

use superstep::{Error, ErrorCode, Result};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::queries::{self, ResultSets};
use super::sql_value::SqlStatement;
use super::write_plan::{ChangeAuthor, ChangeDecision, RejectedEvents, WritePlan};
use super::{ChangeResult, ConflictScanner, upserts};
use crate::calendar::{CalendarChange, CalendarSnapshot, Family};
use crate::store::audit::AuditEntry;

/// Purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionMode {
    /// Writes rows.
    Write,
    /// Creates tables, exclusively.
    Migrate,
}

/// A connection that runs the statements of a transaction.
pub(super) trait DatabaseSession: Send {
    /// Error of the connection.
    type Failure: From<Error> + Send;

    /// Suffix of a `SELECT` that locks its rows until the transaction ends.
    const LOCK: &'static str;

    /// Returns the statement that lists the names of the existing tables.
    fn tables(&self) -> SqlStatement;

    /// Starts a transaction.
    fn begin(&mut self, access: TransactionMode) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Runs statements in order, and returns the rows of each.
    fn execute(
        &mut self,
        statements: Vec<SqlStatement>,
    ) -> impl Future<Output = Result<ResultSets, Self::Failure>> + Send;

    /// Runs a script of several statements.
    fn script(&mut self, sql: &str) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Rolls back the transaction, if there is one.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;
}

/// Function that returns the changes, given the calendar and the audit entries since a time or of the same task.
pub(super) type DecideFn = Box<dyn FnOnce(&CalendarSnapshot, &[AuditEntry]) -> Result<ChangeDecision> + Send>;

/// State of a change across several attempts.
pub(super) struct ChangeJob {
    pub(super) family: String,
    /// The family, if the change creates it.
    pub(super) creation: Option<Family>,
    pub(super) author: ChangeAuthor,
    /// Time in Unix microseconds from which `decide` needs the audit entries.
    pub(super) since: Option<i64>,
    pub(super) scan: Option<ConflictScanner>,
    /// Last seen calendar snapshot.
    pub(super) last_seen_snapshot: Option<Arc<CalendarSnapshot>>,
    pub(super) decide: Option<DecideFn>,
    /// The decision, and the snapshot on which it was made.
    pub(super) decided: Option<(Arc<CalendarSnapshot>, ChangeDecision)>,
    /// Write plan of an attempt that may have been committed.
    pub(super) planned: Option<WritePlan>,
}

/// Runs a change in one transaction: everything is written, or nothing.
pub(super) async fn change<S: DatabaseSession>(
    session: &mut S,
    job: &mut ChangeJob,
) -> Result<ChangeResult, S::Failure> {
    session.begin(TransactionMode::Write).await?;
    let mut changed = change_in_transaction(session, job).await;
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

async fn change_in_transaction<S: DatabaseSession>(
    session: &mut S,
    job: &mut ChangeJob,
) -> Result<ChangeResult, S::Failure> {
    if let Some(family) = &job.creation {
        session.execute(vec![upserts::insert_family_if_missing(family)?]).await?;
    }
    let mut lock = queries::revision(&job.family);
    lock.sql.to_mut().push_str(S::LOCK);
    let revision =
        queries::to_revision(session.execute(vec![lock]).await?)?.ok_or_else(|| family_not_found(&job.family))?;
    let (snapshot, decision) = match job.decided.take() {
        None => decide(session, job, revision).await?,
        Some(decided) if decided.0.revision == revision => decided,
        Some(_) => return reconcile_after_retry(session, job).await,
    };
    job.decided = Some((snapshot.clone(), decision.clone()));
    let rejected = rejected(session, &snapshot, &decision.changes).await?;
    let plan = block_in_place(|| WritePlan::new(&snapshot, &rejected, decision, &job.author, job.scan))?;
    let (statements, changed) = (plan.statements.clone(), plan.changed());
    job.planned = Some(plan);
    session.execute(statements).await?;
    Ok(changed)
}

/// Calls `decide` with the current calendar.
async fn decide<S: DatabaseSession>(
    session: &mut S,
    job: &mut ChangeJob,
    revision: u64,
) -> Result<(Arc<CalendarSnapshot>, ChangeDecision), S::Failure> {
    let snapshot = match &job.last_seen_snapshot {
        Some(snapshot) if snapshot.revision == revision => snapshot.clone(),
        _ => {
            let snapshot = queries::to_snapshot(session.execute(queries::select_snapshot(&job.family)).await?)?;
            Arc::new(snapshot.ok_or_else(|| family_not_found(&job.family))?)
        }
    };
    let recent = job.since.map(|since| queries::entries_since(&job.family, since));
    let done = job.author.task.as_ref().map(|task| queries::entries_for_task(&job.family, task));
    let entries = match recent.or(done) {
        Some(entries) => queries::to_entries(session.execute(vec![entries]).await?)?,
        None => Vec::new(),
    };
    let decide = job.decide.take().ok_or_else(|| Error::internal("the change was computed twice"))?;
    let decision = block_in_place(|| decide(&snapshot, &entries))?;
    Ok((snapshot, decision))
}

/// Runs a long computation with `block_in_place` on a multi-threaded runtime, so that other tasks of the thread
/// continue elsewhere.
fn block_in_place<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(compute),
        _ => compute(),
    }
}

/// Handles a calendar that changed after the decision: the earlier attempt may have been committed, with only its
/// response lost.
async fn reconcile_after_retry<S: DatabaseSession>(
    session: &mut S,
    job: &mut ChangeJob,
) -> Result<ChangeResult, S::Failure> {
    if let Some(plan) = job.planned.as_ref().filter(|plan| !plan.entry.images.is_empty()) {
        let entry = queries::entry(&job.family, plan.entry.revision);
        let entries = queries::to_entries(session.execute(vec![entry]).await?)?;
        if entries.first() == Some(&plan.entry) {
            return Ok(plan.changed());
        }
    }
    let message = format!("the calendar of `{}` was changed while the database was unavailable", job.family);
    Err(Error::new(ErrorCode::StoreUnavailable, message).with_help("nothing was written; try again").into())
}

/// Reads the rejected events that a change touches.
async fn rejected<S: DatabaseSession>(
    session: &mut S,
    snapshot: &CalendarSnapshot,
    changes: &[CalendarChange],
) -> Result<RejectedEvents, S::Failure> {
    let unseen = |change: &CalendarChange| match change {
        CalendarChange::Event(event) => !snapshot.events.contains_key(&event.id),
        CalendarChange::RemoveEvent(id) => !snapshot.events.contains_key(id),
        _ => false,
    };
    let family = &snapshot.family.id;
    if !changes.iter().any(unseen) {
        return Ok(RejectedEvents::new());
    }
    // A rejected event among the changes is rare, so that only the ids are read first.
    let ids = session.execute(vec![queries::rejected_ids(family)]).await?.into_iter().flatten();
    let ids = ids.map(|mut row| row.text()).collect::<Result<std::collections::BTreeSet<String>>>()?;
    let is_rejected = |change: &CalendarChange| match change {
        CalendarChange::Event(event) => ids.contains(&event.id),
        CalendarChange::RemoveEvent(id) => ids.contains(id),
        _ => false,
    };
    if !changes.iter().any(is_rejected) {
        return Ok(RejectedEvents::new());
    }
    let events = queries::to_events(session.execute(queries::rejected(family)).await?)?;
    Ok(events.into_iter().map(|event| (event.id.clone(), event)).collect())
}

pub(super) fn family_not_found(family: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("family `{family}` not found"))
}
