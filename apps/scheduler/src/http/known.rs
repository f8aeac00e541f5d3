//! Which conversations there are, and whose they are.

use superstep::core::id::ThreadId;
use superstep::{Code, Error};
use superstep_server::{Desk, Problem, RecordsQuery, Shown, ThreadRecord};

use super::{GRAPH, Options};
use crate::state::Scheduler;

/// How many records are looked through at a time.
const PAGE: usize = 200;

/// What is known of a conversation.
///
/// # Errors
/// 404 where there is none.
pub(super) async fn known(desk: &Desk, id: &str) -> Result<ThreadRecord, Problem> {
    let missing = || {
        let problem = Problem::not_found(format!("there is no conversation `{id}`"));
        problem.hint("`GET /api/scheduler/threads?user_id=` lists those of a member")
    };
    let record = desk.record(&ThreadId::from(id)).await?.ok_or_else(missing)?;
    if record.graph == GRAPH { Ok(record) } else { Err(missing()) }
}

/// The same, for whose it is.
///
/// # Errors
/// 404 where there is none, 403 where it is of another.
pub(super) async fn owned(desk: &Desk, id: &str, user: &str) -> Result<ThreadRecord, Problem> {
    let record = known(desk, id).await?;
    match Options::read(&record.options).user_id == user {
        true => Ok(record),
        false => Err(of_another(&record.thread)),
    }
}

/// A conversation that somebody goes on with; nothing where it is new.
///
/// # Errors
/// 403 where it is of another, 409 where the thread is no conversation.
pub(super) async fn begun(desk: &Desk, thread: &ThreadId, user: &str) -> Result<Option<ThreadRecord>, Problem> {
    if let Some(record) = desk.record(thread).await? {
        if record.graph != GRAPH {
            let detail = format!("thread `{thread}` is no conversation");
            return Err(Problem::conflict(detail).on_thread(thread));
        }
        let is_theirs = Options::read(&record.options).user_id == user;
        return if is_theirs { Ok(Some(record)) } else { Err(of_another(thread)) };
    }
    // One that was brought from another store has a state before it has a record here.
    let owner = state(desk, thread).await?.and_then(|state| state.values["user_id"].as_str().map(str::to_owned));
    match owner {
        Some(owner) if !owner.is_empty() && owner != user => Err(of_another(thread)),
        _ => Ok(None),
    }
}

/// The conversations of a member, the newest first.
pub(super) async fn of_member(desk: &Desk, user: &str, limit: usize) -> Result<Vec<ThreadRecord>, Problem> {
    let mut found = Vec::new();
    let mut query = RecordsQuery { graph: Some(GRAPH.to_owned()), limit: Some(PAGE), ..RecordsQuery::default() };
    loop {
        let page = desk.records(&query).await?;
        let is_last = page.len() < PAGE;
        query.offset += page.len();
        found.extend(page.into_iter().filter(|record| Options::read(&record.options).user_id == user));
        if is_last || found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
    }
}

/// What the last request was begun with; the record of a thread has what the first was begun with.
pub(super) async fn options(desk: &Desk, record: &ThreadRecord) -> Result<Options, Problem> {
    let last = desk.run(record.run).await?.map(|run| run.order.options).filter(|options| !options.is_null());
    Ok(Options::read(last.as_ref().unwrap_or(&record.options)))
}

/// How a conversation stands; nothing where nothing was saved yet.
pub(super) async fn state(desk: &Desk, thread: &ThreadId) -> Result<Option<Shown>, Problem> {
    match desk.served(GRAPH)?.state(thread).await {
        Ok(state) => Ok(Some(state)),
        Err(problem) if problem.status() == 404 => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// What a state says, in our words.
pub(super) fn conversation(state: &Shown) -> Result<Scheduler, Problem> {
    serde_json::from_value(state.values.clone()).map_err(|error| Error::internal(error.to_string()).into())
}

fn of_another(thread: &ThreadId) -> Problem {
    let detail = format!("conversation `{thread}` is of somebody else");
    Problem::new(403, Code::PolicyRefused, detail).on_thread(thread)
}
