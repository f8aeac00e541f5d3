//! The conversations that people have with a graph: which there are, and whose they are.

use serde_json::Value;
use superstep::Code;
use superstep::core::id::ThreadId;

use crate::desk::Desk;
use crate::ledger::{RecordsQuery, ThreadRecord};
use crate::problem::Problem;
use crate::registry::Shown;

/// How many records are looked through at a time.
const PAGE: usize = 200;

/// What an application says of its conversations.
#[derive(Debug, Clone, Copy)]
pub struct Conversations {
    /// The graph they are with.
    pub graph: &'static str,
    /// Which request lists those of a user; told to whoever asks for one that is not there.
    pub list: &'static str,
    /// Whose one is, out of the options of its orders.
    pub owner: fn(&Value) -> String,
}

impl Conversations {
    /// What is known of a conversation.
    ///
    /// # Errors
    /// 404 where there is none.
    pub async fn known(&self, desk: &Desk, id: &str) -> Result<ThreadRecord, Problem> {
        let missing = || {
            let problem = Problem::not_found(format!("there is no conversation `{id}`"));
            problem.hint(format!("`{}` lists those of a user", self.list))
        };
        let record = desk.record(&ThreadId::from(id)).await?.ok_or_else(missing)?;
        if record.graph == self.graph { Ok(record) } else { Err(missing()) }
    }

    /// The same, for whose it is.
    ///
    /// # Errors
    /// 404 where there is none, 403 where it is of another.
    pub async fn owned(&self, desk: &Desk, id: &str, user: &str) -> Result<ThreadRecord, Problem> {
        let record = self.known(desk, id).await?;
        self.check_owner(record, user)
    }

    /// A conversation that somebody goes on with; nothing where it is new.
    ///
    /// # Errors
    /// 403 where it is of another, 409 where the thread is no conversation.
    pub async fn begun(&self, desk: &Desk, thread: &ThreadId, user: &str) -> Result<Option<ThreadRecord>, Problem> {
        if let Some(record) = desk.record(thread).await? {
            if record.graph != self.graph {
                let detail = format!("thread `{thread}` is no conversation");
                return Err(Problem::conflict(detail).on_thread(thread));
            }
            return self.check_owner(record, user).map(Some);
        }
        // One that was brought from another store has a state before it has a record here.
        let owner = self.state(desk, thread).await?;
        let owner = owner.and_then(|state| state.values["user_id"].as_str().map(str::to_owned));
        match owner {
            Some(owner) if !owner.is_empty() && owner != user => Err(of_another(thread)),
            _ => Ok(None),
        }
    }

    /// The conversations of a user, the newest first.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn of_user(&self, desk: &Desk, user: &str, limit: usize) -> Result<Vec<ThreadRecord>, Problem> {
        let mut found = Vec::new();
        let graph = Some(self.graph.to_owned());
        let mut query = RecordsQuery { graph, limit: Some(PAGE), ..RecordsQuery::default() };
        loop {
            let page = desk.records(&query).await?;
            let is_last = page.len() < PAGE;
            query.offset += page.len();
            found.extend(page.into_iter().filter(|record| (self.owner)(&record.options) == user));
            if is_last || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    /// What the last run was begun with; the record of a thread has what the first was begun with.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn options(&self, desk: &Desk, record: &ThreadRecord) -> Result<Value, Problem> {
        let last = desk.run(record.run).await?.map(|run| run.order.options).filter(|options| !options.is_null());
        Ok(last.unwrap_or_else(|| record.options.clone()))
    }

    /// How a conversation stands; nothing where nothing was saved yet.
    ///
    /// # Errors
    /// When its state cannot be read.
    pub async fn state(&self, desk: &Desk, thread: &ThreadId) -> Result<Option<Shown>, Problem> {
        match desk.served(self.graph)?.state(thread).await {
            Ok(state) => Ok(Some(state)),
            Err(problem) if problem.status() == 404 => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn check_owner(&self, record: ThreadRecord, user: &str) -> Result<ThreadRecord, Problem> {
        match (self.owner)(&record.options) == user {
            true => Ok(record),
            false => Err(of_another(&record.thread)),
        }
    }
}

fn of_another(thread: &ThreadId) -> Problem {
    let detail = format!("conversation `{thread}` is of somebody else");
    Problem::new(403, Code::PolicyRefused, detail).on_thread(thread)
}
