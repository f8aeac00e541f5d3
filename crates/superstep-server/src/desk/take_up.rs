//! What becomes of runs that did not end: found by their records when a server starts, and taken up or marked.
//!
//! Taking up is harmless where a run had in fact ended and only its record did not say so: the checkpoints decide, the
//! record does not.

use std::sync::Arc;
use std::time::Duration;

use superstep::core::id::{InterruptId, ThreadId};
use superstep::settings::ResumeRuns;
use superstep::{Code, ThreadStatus};

use super::{Desk, Start};
use crate::ledger::{Record, RunFailure, RunStatus};
use crate::problem::Problem;
use crate::registry::{Served, What, fresh_run};

/// How often, and how long apart, runs are looked at that another process seemed to drive.
const LOOKS: u32 = 30;
const PAUSE: Duration = Duration::from_secs(2);

/// What became of runs that did not end.
#[derive(Default)]
pub(crate) struct TakenUp {
    /// How many were taken up or marked.
    pub(crate) count: usize,
    /// Those that another process seems to drive.
    pub(crate) left: Vec<Record>,
}

/// What is to be done about a run that did not end.
enum Next {
    /// It had ended; only its record did not say so.
    Was(RunStatus, Option<RunFailure>),
    /// It begins with this.
    Run(What),
}

impl Desk {
    /// Takes up the runs that did not end, or marks them; leaves those alone that another process drives.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub(crate) async fn take_up(&self) -> Result<TakenUp, Problem> {
        self.take_up_all(self.0.ledger.unfinished().await?).await
    }

    /// Looks again at runs that another process seemed to drive: it may have died a moment ago, and a server of databases
    /// knows that only after a while.
    pub(crate) async fn take_up_later(&self, mut left: Vec<Record>) {
        for _ in 0..LOOKS {
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
            let mut still = Vec::new();
            for record in left {
                // What the other process wrote meanwhile counts.
                match self.0.ledger.run(record.order.run).await {
                    Ok(Some(now)) if now.is_unfinished() => still.push(now),
                    _ => {}
                }
            }
            left = self.take_up_all(still).await.map(|taken| taken.left).unwrap_or_default();
        }
    }

    async fn take_up_all(&self, unfinished: Vec<Record>) -> Result<TakenUp, Problem> {
        let mut taken = TakenUp::default();
        for record in unfinished {
            let run = record.order.run;
            // Another program on the same store may serve it.
            let Ok(served) = self.served(&record.order.graph) else { continue };
            // One that cannot be taken up keeps no other from it.
            let tried = match self.is_driven(&record.order.thread).await {
                Ok(true) => {
                    taken.left.push(record);
                    continue;
                }
                Ok(false) => self.take_up_one(served, record).await,
                Err(problem) => Err(problem),
            };
            taken.count += 1;
            if let Err(problem) = tried {
                tracing::error!(%run, "a run could not be taken up: {}", problem.detail());
            }
        }
        Ok(taken)
    }

    /// Whether a process that lives moves the thread: then its run has not died.
    async fn is_driven(&self, thread: &ThreadId) -> Result<bool, Problem> {
        // A run may take its own thread again, so that another asks.
        match self.checkpoints().acquire(thread, fresh_run()).await {
            Ok(lease) => {
                self.checkpoints().release(&lease);
                Ok(false)
            }
            Err(error) if error.code() == Code::ThreadBusy => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    async fn take_up_one(&self, served: Arc<dyn Served>, mut record: Record) -> Result<(), Problem> {
        match next(&served, &record).await? {
            Next::Was(status, failure) => {
                record.ended(status, failure);
                self.0.ledger.write(&record).await
            }
            Next::Run(_) if self.0.config.resume == ResumeRuns::OnRequest => {
                record.ended(RunStatus::Interrupted, None);
                self.0.ledger.write(&record).await
            }
            Next::Run(what) => {
                tracing::info!(run = %record.order.run, thread = %record.order.thread, "a run is taken up again");
                (record.status, record.ended_at, record.taken_up) = (RunStatus::Running, None, record.taken_up + 1);
                // Its record keeps what was asked at first: the next server needs that, should this one die too.
                let place = self.0.worker.enter(&record.order.thread, record.order.run)?;
                self.drive(&served, place, Start { record, what, before: None, pass: None }).await.map(drop)
            }
        }
    }
}

/// How a run that did not end goes on, by what is saved of it.
async fn next(served: &Arc<dyn Served>, record: &Record) -> Result<Next, Problem> {
    let (thread, order) = (&record.order.thread, &record.order);
    let status = served.status(thread).await?;
    let has_saved = status.is_some() && served.has_saved(thread, order.run).await?;
    match &order.what {
        // It died before its input was saved.
        What::Start(_) if !has_saved => return Ok(Next::Run(order.what.clone())),
        What::Answer(answers) if !has_saved => {
            let state = served.state(thread).await?;
            let is_open = |id: &InterruptId| state.questions().any(|question| question.id == *id);
            if answers.keys().any(is_open) {
                return Ok(Next::Run(order.what.clone()));
            }
        }
        What::GoOn if !has_saved => return Ok(Next::Run(What::GoOn)),
        _ => {}
    }
    let state = served.state(thread).await?;
    // Answers are saved before anything runs; until then the thread says that it waits.
    let is_answered = matches!(order.what, What::Answer(_)) && state.questions().next().is_none();
    Ok(match status {
        Some(ThreadStatus::Interrupted) if !is_answered => Next::Was(RunStatus::Waiting, None),
        Some(ThreadStatus::Error) => {
            let failure = state.tasks.into_iter().find_map(|task| task.error);
            Next::Was(RunStatus::Failed, failure)
        }
        _ if state.next.is_empty() => Next::Was(RunStatus::Finished, None),
        _ => Next::Run(What::GoOn),
    })
}
