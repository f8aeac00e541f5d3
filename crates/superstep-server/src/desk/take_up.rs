//! What becomes of runs that did not end: found by their records when a server starts, and taken up or marked.
//!
//! Taking up is harmless where a run had in fact ended and only its record did not say so: the checkpoints decide, the
//! record does not.

use std::sync::Arc;
use std::time::Duration;

use superstep::core::id::{InterruptId, RunId, ThreadId};
use superstep::settings::ResumeRuns;
use superstep::{Code, ThreadStatus};
use tokio::time::Instant;

use super::{Desk, Start};
use crate::ledger::{Record, RunFailure, RunStatus, ThreadRecord};
use crate::problem::Problem;
use crate::registry::{Order, Served, What, fresh_run};

/// How often, and how long apart, runs are looked at that another process seemed to drive.
const LOOKS: u32 = 30;
const PAUSE: Duration = Duration::from_secs(2);

/// What became of runs that did not end.
#[derive(Default)]
pub(crate) struct TakenUp {
    /// How many were taken up, marked, or wait for a place.
    pub(crate) count: usize,
    /// Those that another process seems to drive.
    driven: Vec<Record>,
    /// Those that wait until fewer runs are under way, or a trouble has passed.
    waiting: Vec<Record>,
    /// There was a trouble that may pass: it is given time.
    is_troubled: bool,
}

/// What became of one run that did not end.
enum Took {
    /// It was taken up or marked.
    Up,
    /// Another process, or another run of this one, moves its thread.
    Driven,
    /// As many runs as may be are under way.
    NoPlace,
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
        Ok(self.take_up_all(self.0.ledger.unfinished().await?).await)
    }

    /// Looks again at runs that wait for a place, and for a while at those that another process seemed to drive: it may have
    /// died a moment ago, and a server of databases knows that only after a while.
    pub(crate) async fn take_up_later(&self, mut taken: TakenUp) {
        let until = Instant::now() + PAUSE * LOOKS;
        while !(taken.driven.is_empty() && taken.waiting.is_empty()) {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                // A run that could not be written down frees its place too, and would be tried without a pause.
                () = self.0.worker.freed(), if !taken.is_troubled => {}
            }
            let mut left = taken.waiting;
            left.extend(taken.driven.into_iter().filter(|_| Instant::now() < until));
            let mut still = Vec::new();
            for record in left {
                // What others wrote meanwhile counts.
                match self.0.ledger.run(record.order.run).await {
                    Ok(now) => still.extend(now.filter(Record::is_unfinished)),
                    Err(_) => still.push(record),
                }
            }
            taken = self.take_up_all(still).await;
        }
    }

    async fn take_up_all(&self, unfinished: Vec<Record>) -> TakenUp {
        let mut taken = TakenUp::default();
        for record in unfinished {
            // Another program on the same store may serve it.
            let Ok(served) = self.served(&record.order.graph) else { continue };
            // One that cannot be taken up keeps no other from it.
            match self.take_up_one(served, record.clone()).await {
                Ok(Took::Driven) => {
                    taken.driven.push(record);
                    continue;
                }
                Ok(Took::NoPlace) => taken.waiting.push(record),
                Ok(Took::Up) => {}
                Err(problem) if problem.is_retryable() => {
                    tracing::warn!(run = %record.order.run, "a run is taken up later: {}", problem.detail());
                    taken.is_troubled = true;
                    taken.waiting.push(record);
                }
                Err(problem) => self.not_taken_up(record, problem).await,
            }
            taken.count += 1;
        }
        taken
    }

    /// Writes down why a run was not taken up: somebody can go on with it once that is mended.
    async fn not_taken_up(&self, mut record: Record, problem: Problem) {
        tracing::error!(run = %record.order.run, "a run could not be taken up: {}", problem.detail());
        // A server that stops leaves it to the next; whoever moves the thread by now has written more than is known here.
        let Ok(_place) = self.0.worker.hold(&record.order.thread, record.order.run) else { return };
        record.ended(RunStatus::Interrupted, Some(problem.into()));
        let written = match self.is_followed(&record).await {
            Ok(false) => self.0.ledger.write(&record).await,
            Ok(true) => Ok(()),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = written {
            tracing::error!(run = %record.order.run, "that could not be written down: {}", problem.detail());
        }
    }

    /// Whether a later run was asked for on the thread: the thread is none of this one's business any more.
    async fn is_followed(&self, record: &Record) -> Result<bool, Problem> {
        let thread = self.0.ledger.thread(&record.order.thread).await?;
        Ok(thread.is_some_and(|thread| thread.run != record.order.run))
    }

    /// Closes the record of a run that did not end, once a later one has begun on its thread.
    pub(super) async fn close_older(&self, run: RunId) {
        let closed = async {
            let older = self.0.ledger.run(run).await?.filter(Record::is_unfinished);
            let Some(mut older) = older else { return Ok(()) };
            older.ended(RunStatus::Stopped, None);
            self.0.ledger.close(&older).await
        };
        if let Err(problem) = closed.await {
            // The next server closes it.
            tracing::warn!(%run, "a run that is over could not be closed: {}", problem.detail());
        }
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

    async fn take_up_one(&self, served: Arc<dyn Served>, mut record: Record) -> Result<Took, Problem> {
        let (thread, run) = (record.order.thread.clone(), record.order.run);
        let place = match self.0.worker.hold(&thread, run) {
            Ok(place) => place,
            // It is asked for again.
            Err(problem) if problem.status() == 409 => return Ok(Took::Driven),
            Err(problem) => return Err(problem),
        };
        if self.is_driven(&thread).await? {
            return Ok(Took::Driven);
        }
        if self.is_followed(&record).await? {
            record.ended(RunStatus::Stopped, None);
            return self.0.ledger.close(&record).await.map(|()| Took::Up);
        }
        match next(&served, &record).await? {
            Next::Was(status, failure) => {
                record.ended(status, failure);
                self.tell_end(&*served, &record).await;
                self.0.ledger.write(&record).await?;
            }
            Next::Run(_) if self.0.config.resume == ResumeRuns::OnRequest => {
                record.ended(RunStatus::Interrupted, None);
                self.0.ledger.write(&record).await?;
            }
            Next::Run(_) if self.0.worker.is_over_full() => return Ok(Took::NoPlace),
            Next::Run(what) => {
                tracing::info!(%run, %thread, "a run is taken up again");
                (record.status, record.ended_at, record.taken_up) = (RunStatus::Running, None, record.taken_up + 1);
                // Its record keeps what was asked at first: the next server needs that, should this one die too.
                self.drive(&served, place, Start { record, what, before: None, pass: None }).await?;
            }
        }
        Ok(Took::Up)
    }

    /// An order that goes on after a run that died begins with what was asked of that one, unless that is saved.
    pub(super) async fn begin_as_asked(
        &self,
        served: &Arc<dyn Served>,
        before: &ThreadRecord,
        order: &mut Order,
    ) -> Result<(), Problem> {
        if !matches!(before.status, RunStatus::Interrupted | RunStatus::Running | RunStatus::Suspended) {
            return Ok(());
        }
        let Some(died) = self.0.ledger.run(before.run).await? else { return Ok(()) };
        if let Next::Run(what) = next(served, &died).await? {
            order.what = what;
            if order.metadata.is_empty() {
                order.metadata = died.order.metadata;
            }
        }
        Ok(())
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
