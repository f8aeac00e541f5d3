//! What becomes of runs that did not end: found by their records when a server starts, and taken up or marked.
//!
//! Taking up is harmless where a run had in fact ended and only its record did not say so: the checkpoints decide, the
//! record does not.

use std::sync::Arc;

use superstep::ThreadStatus;
use superstep::core::id::InterruptId;
use superstep::settings::ResumeRuns;

use super::{Desk, Start};
use crate::ledger::{Record, RunFailure, RunStatus};
use crate::problem::Problem;
use crate::registry::{Served, What};

/// What is to be done about a run that did not end.
enum Next {
    /// It had ended; only its record did not say so.
    Was(RunStatus, Option<RunFailure>),
    /// It begins with this.
    Run(What),
}

impl Desk {
    /// Takes up the runs that did not end, or marks them; tells how many.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub(crate) async fn take_up(&self) -> Result<usize, Problem> {
        let unfinished = self.0.ledger.unfinished().await?;
        let count = unfinished.len();
        for record in unfinished {
            let run = record.order.run;
            // One that cannot be taken up keeps no other from it.
            if let Err(problem) = self.take_up_one(record).await {
                tracing::error!(%run, "a run could not be taken up: {}", problem.detail());
            }
        }
        Ok(count)
    }

    async fn take_up_one(&self, mut record: Record) -> Result<(), Problem> {
        let served = match self.served(&record.order.graph) {
            Ok(served) => served,
            Err(problem) => {
                record.ended(RunStatus::Failed, Some(RunFailure::from(problem)));
                return self.0.ledger.write(&record).await;
            }
        };
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
                self.drive(&served, Start { record, what, before: None, pass: None }).await.map(drop)
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
