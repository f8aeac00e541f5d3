//! The mark of a call that must not be made twice: kept before the call begins.
//!
//! A call that has ended is recorded. Whoever finds the mark and no such record cannot know whether the call was carried
//! out: the process ended in between. A call that asks a person is let go of and runs again with the answer, which is no
//! such end; that it waits is marked as well.

use crate::context::Cx;
use crate::output::NodeError;

/// Where a call is marked.
#[derive(Clone)]
pub(super) struct Marks {
    pub(super) cx: Cx,
    /// The name of the call in the records of the task.
    pub(super) key: String,
}

impl Marks {
    /// Marks that the call begins; false where it began before and nobody knows how it ended.
    pub(super) async fn begin(&self) -> Result<bool, NodeError> {
        let mut run = 0;
        while self.cx.has_record(&self.begun(run)) {
            if !self.cx.has_record(&self.waits(run)) {
                return Ok(false);
            }
            run += 1;
        }
        self.mark(&self.begun(run)).await?;
        Ok(true)
    }

    /// Marks that the call asks a person and will begin again.
    pub(super) async fn wait(&self) -> Result<(), NodeError> {
        let begun = (0..).take_while(|run| self.cx.has_record(&self.begun(*run))).last();
        match begun {
            Some(run) => self.mark(&self.waits(run)).await,
            None => Ok(()),
        }
    }

    async fn mark(&self, name: &str) -> Result<(), NodeError> {
        self.cx.once(name, async { Ok::<(), NodeError>(()) }).await
    }

    fn begun(&self, run: u32) -> String {
        format!("{} begun {run}", self.key)
    }

    fn waits(&self, run: u32) -> String {
        format!("{} waits {run}", self.key)
    }
}
