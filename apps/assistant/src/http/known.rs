//! Which conversations there are, and whose they are.

use superstep::Code;
use superstep::core::id::ThreadId;
use superstep_server::{Desk, Problem, RecordsQuery, ThreadRecord};

use super::shown::{options, state};
use super::{GRAPH, Options};
use crate::app::Office;

/// How many records are looked through at a time.
const PAGE: usize = 200;

/// What is known of a conversation.
///
/// # Errors
/// 404 where there is none.
pub(super) async fn known(desk: &Desk, id: &str) -> Result<ThreadRecord, Problem> {
    let missing = || {
        let problem = Problem::not_found(format!("there is no conversation `{id}`"));
        problem.hint("`GET /api/assistant?userId=` lists those of a user")
    };
    let record = desk.record(&ThreadId::from(id)).await?.ok_or_else(missing)?;
    if record.graph == GRAPH { Ok(record) } else { Err(missing()) }
}

/// The same, for its user.
///
/// # Errors
/// 404 where there is none, 403 where nobody knows the user or it is of another.
pub(super) async fn owned(desk: &Desk, office: &Office, (id, user): (&str, &str)) -> Result<ThreadRecord, Problem> {
    office.check_user(user)?;
    let record = known(desk, id).await?;
    match Options::read(&record.options).user_id == user {
        true => Ok(record),
        false => Err(of_another(&record.thread)),
    }
}

/// What the last turn of a conversation was begun with; nothing where the conversation is new.
///
/// # Errors
/// 403 where it is of another user, 409 where the thread is no conversation.
pub(super) async fn started(desk: &Desk, thread: &ThreadId, user: &str) -> Result<Option<Options>, Problem> {
    if let Some(record) = desk.record(thread).await? {
        if record.graph != GRAPH {
            let detail = format!("thread `{thread}` is no conversation");
            return Err(Problem::conflict(detail).on_thread(thread));
        }
        let before = options(desk, &record).await?;
        return if before.user_id == user { Ok(Some(before)) } else { Err(of_another(thread)) };
    }
    // One that was brought from another store has a state before it has a record here.
    let owner = state(desk, thread).await?.and_then(|state| state.values["user_id"].as_str().map(str::to_owned));
    match owner {
        Some(owner) if !owner.is_empty() && owner != user => Err(of_another(thread)),
        _ => Ok(None),
    }
}

/// The conversations of a user, the newest first.
pub(super) async fn of_user(desk: &Desk, user: &str, limit: usize) -> Result<Vec<ThreadRecord>, Problem> {
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

fn of_another(thread: &ThreadId) -> Problem {
    let detail = format!("conversation `{thread}` is of another user");
    Problem::new(403, Code::PolicyRefused, detail).on_thread(thread)
}
