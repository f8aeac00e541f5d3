//! A change that is made once, however often the work is done that makes it.

use std::sync::{Arc, OnceLock};

use superstep::Result;

use super::plan::Author;
use super::{Calendars, Changed};
use crate::audit::Entry;
use crate::calendar::{Board, Change};

/// What became of a change that is made once.
#[derive(Debug, Clone, PartialEq)]
pub enum Once {
    /// It was made, or there was nothing to change.
    Done(Changed),
    /// It had been made before: what is remembered of it. Nothing was decided or written.
    Before(Box<Entry>),
}

impl Calendars {
    /// As [`Calendars::change`], but a piece of work that has changed something already changes nothing more: who runs
    /// again after a crash learns what was done. What the work is known by is kept with the change.
    ///
    /// # Errors
    /// As [`Calendars::change`].
    ///
    /// # Cancel safety
    /// Dropped, it is written whole or not at all.
    pub async fn change_once(
        &self,
        family: &str,
        (who, action): (&str, &str),
        task: &str,
        decide: impl FnOnce(&Board) -> Result<Vec<Change>> + Send + 'static,
    ) -> Result<Once> {
        let before = Arc::new(OnceLock::new());
        let found = before.clone();
        let decide = move |board: &Board, done: &[Entry]| match done.first() {
            Some(entry) => {
                // It is decided once, so nobody was here before.
                let _ = found.set(entry.clone());
                Ok(Vec::new().into())
            }
            None => decide(board).map(Into::into),
        };
        let mut work = self.work(family, (who, action), Box::new(decide))?;
        work.author = Author { task: Some(task.to_owned()), ..work.author };
        let changed = self.run(work).await?;
        Ok(match before.get() {
            Some(entry) => Once::Before(Box::new(entry.clone())),
            None => Once::Done(changed),
        })
    }
}
