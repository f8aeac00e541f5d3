//! Idempotent changes: a change that is applied once per task, even if the task runs again.

use std::sync::{Arc, OnceLock};

use superstep::Result;

use super::write_plan::ChangeAuthor;
use super::{CalendarStore, ChangeResult};
use crate::calendar::{CalendarChange, CalendarSnapshot};
use crate::store::audit::AuditEntry;

/// Result of an idempotent change.
#[derive(Debug, Clone, PartialEq)]
pub enum IdempotentResult {
    /// The change was applied now, or there was nothing to change.
    Applied(ChangeResult),
    /// The task had applied a change before; its audit entry. Nothing was decided or written.
    AlreadyApplied(Box<AuditEntry>),
}

impl CalendarStore {
    /// Changes a calendar like [`CalendarStore::change`], at most once per task: a task that runs again after a crash
    /// gets the audit entry of its earlier change. The idempotency key `task` is stored with the change.
    ///
    /// # Errors
    /// As [`CalendarStore::change`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the changes are written completely or not at all.
    pub async fn change_once(
        &self,
        family: &str,
        (actor, action): (&str, &str),
        task: &str,
        decide: impl FnOnce(&CalendarSnapshot) -> Result<Vec<CalendarChange>> + Send + 'static,
    ) -> Result<IdempotentResult> {
        let earlier = Arc::new(OnceLock::new());
        let entry_cell = earlier.clone();
        let decide = move |snapshot: &CalendarSnapshot, done: &[AuditEntry]| match done.first() {
            Some(entry) => {
                // `set` cannot fail: the closure runs at most once.
                let _ = entry_cell.set(entry.clone());
                Ok(Vec::new().into())
            }
            None => decide(snapshot).map(Into::into),
        };
        let mut job = self.change_job(family, (actor, action), Box::new(decide))?;
        job.author = ChangeAuthor { task: Some(task.to_owned()), ..job.author };
        let changed = self.run(job).await?;
        Ok(match earlier.get() {
            Some(entry) => IdempotentResult::AlreadyApplied(Box::new(entry.clone())),
            None => IdempotentResult::Applied(changed),
        })
    }
}
