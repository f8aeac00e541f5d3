//! Ownership of threads: lookup, ownership checks, listing.

use serde_json::Value;
use superstep::ErrorCode;
use superstep::core::id::ThreadId;

use crate::api::problem::Problem;
use crate::graphs::registry::ThreadState;
use crate::runs::repository::{ThreadRecord, ThreadSearch};
use crate::runs::service::RunService;

/// Number of thread records read per query.
const PAGE: usize = 200;

/// Access to the threads of one graph, each owned by a user.
#[derive(Debug, Clone, Copy)]
pub struct OwnedThreads {
    /// Name of the graph.
    pub graph: &'static str,
    /// Request that lists the threads of a user; the hint of a 404 names it.
    pub list_hint: &'static str,
    /// Extracts the owner from the context values of a run request.
    pub owner: fn(&Value) -> String,
}

impl OwnedThreads {
    /// Returns the record of a thread.
    ///
    /// # Errors
    /// Returns 404 if there is no such thread of this graph.
    pub async fn get(&self, runs: &RunService, id: &str) -> Result<ThreadRecord, Problem> {
        let missing = || {
            let problem = Problem::not_found(format!("thread `{id}` not found"));
            problem.with_hint(format!("`{}` lists the threads of a user", self.list_hint))
        };
        let record = runs.find_thread(&ThreadId::from(id)).await?.ok_or_else(missing)?;
        if record.graph == self.graph { Ok(record) } else { Err(missing()) }
    }

    /// Returns the record of a thread that the user owns.
    ///
    /// # Errors
    /// Returns 404 if there is no such thread, 403 if another user owns it.
    pub async fn get_owned(&self, runs: &RunService, id: &str, user: &str) -> Result<ThreadRecord, Problem> {
        let record = self.get(runs, id).await?;
        self.check_owner(record, user)
    }

    /// Returns the record of a thread that the user continues; `None` if the thread is new.
    ///
    /// # Errors
    /// Returns 403 if another user owns the thread, 409 if the thread belongs to another graph.
    pub async fn find_owned(
        &self,
        runs: &RunService,
        thread: &ThreadId,
        user: &str,
    ) -> Result<Option<ThreadRecord>, Problem> {
        if let Some(record) = runs.find_thread(thread).await? {
            if record.graph != self.graph {
                let detail = format!("thread `{thread}` belongs to another graph");
                return Err(Problem::conflict(detail).with_thread(thread));
            }
            return self.check_owner(record, user).map(Some);
        }
        // A thread imported from another checkpointer has a state before it has a record here.
        let owner = self.state(runs, thread).await?;
        let owner = owner.and_then(|state| state.values["user_id"].as_str().map(str::to_owned));
        match owner {
            Some(owner) if !owner.is_empty() && owner != user => Err(forbidden(thread)),
            _ => Ok(None),
        }
    }

    /// Lists the threads of a user, the newest first.
    ///
    /// # Errors
    /// Returns an error if the records cannot be read.
    pub async fn list_for_user(
        &self,
        runs: &RunService,
        user: &str,
        limit: usize,
    ) -> Result<Vec<ThreadRecord>, Problem> {
        let mut threads = Vec::new();
        let graph = Some(self.graph.to_owned());
        let mut query = ThreadSearch { graph, limit: Some(PAGE), ..ThreadSearch::default() };
        loop {
            let page = runs.search_threads(&query).await?;
            let is_last = page.len() < PAGE;
            query.offset += page.len();
            threads.extend(page.into_iter().filter(|record| (self.owner)(&record.context) == user));
            if is_last || threads.len() >= limit {
                threads.truncate(limit);
                return Ok(threads);
            }
        }
    }

    /// Returns the context values of the last run; the thread record has those of the first run.
    ///
    /// # Errors
    /// Returns an error if the records cannot be read.
    pub async fn latest_context(&self, runs: &RunService, record: &ThreadRecord) -> Result<Value, Problem> {
        let last = runs.find_run(record.run).await?.map(|run| run.request.context).filter(|context| !context.is_null());
        Ok(last.unwrap_or_else(|| record.context.clone()))
    }

    /// Returns the state of a thread; `None` if it has no checkpoint yet.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub async fn state(&self, runs: &RunService, thread: &ThreadId) -> Result<Option<ThreadState>, Problem> {
        match runs.graph(self.graph)?.state(thread).await {
            Ok(state) => Ok(Some(state)),
            Err(problem) if problem.status() == 404 => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn check_owner(&self, record: ThreadRecord, user: &str) -> Result<ThreadRecord, Problem> {
        match (self.owner)(&record.context) == user {
            true => Ok(record),
            false => Err(forbidden(&record.thread)),
        }
    }
}

fn forbidden(thread: &ThreadId) -> Problem {
    let detail = format!("thread `{thread}` belongs to another user");
    Problem::new(403, ErrorCode::PolicyRefused, detail).with_thread(thread)
}
