//! What becomes of runs that did not end: found by their records when a server starts, and by their list every few seconds;
//! taken up or marked.
//!
//! Taking up is harmless where a run had in fact ended and only its record did not say so: the checkpoints decide, the
//! record does not. Several servers may find the same run: whoever decides about it holds its thread meanwhile
//! ([`super::standing::Turn`]), looks at the record once more, and says in it that the run is taken up before the thread is given back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use superstep::ThreadStatus;
use superstep::core::id::{InterruptId, RunId};
use superstep::settings::ResumeRuns;
use tokio::time::{Instant, sleep_until};

use super::look::{Sightings, is_young};
use super::{Begins, Desk, Start};
use crate::ledger::{Record, RunFailure, RunStatus, ThreadRecord, Unfinished};
use crate::problem::Problem;
use crate::registry::{Order, Served, What};

/// How long apart runs are looked for that died. A process is known to be dead after 15 seconds at most, its run is looked at
/// twice, and a run is to move on within 20 seconds.
pub(super) const PAUSE: Duration = Duration::from_millis(1_500);

/// What became of runs that did not end.
#[derive(Default)]
pub(crate) struct TakenUp {
    /// How many were taken up, marked, or wait for a place.
    pub(crate) count: usize,
    /// Those that wait until fewer runs are under way, or a trouble has passed.
    waiting: VecDeque<Unfinished>,
    /// There was a trouble that may pass: it is given time.
    is_troubled: bool,
}

/// What became of one run that did not end.
enum Took {
    /// It was taken up or marked, or has ended meanwhile.
    Up,
    /// Another process, or another run of this one, moves its thread, or is about to.
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
        let mut taken = TakenUp::default();
        for record in self.0.ledger.unfinished().await? {
            // Another program on the same store may serve it.
            let Ok(served) = self.served(&record.order.graph) else { continue };
            let (run, found) = (record.order.run, Unfinished::from(&record));
            if self.may_begin_yet(&*served, &found).await? {
                // Its process may live and be about to take the thread: the next looks tell.
                taken.count += usize::from(!self.is_busy(&found).await);
                self.0.ledger.list(run).await?;
                continue;
            }
            match self.try_take_up(found, &mut taken).await {
                // It is looked at again, also where an older version has put it on no list.
                Took::Driven => self.0.ledger.list(run).await?,
                Took::Up | Took::NoPlace => taken.count += 1,
            }
        }
        Ok(taken)
    }

    /// Whether a run was written down so lately that its process may be about to take the thread. One that has saved something had
    /// taken it.
    async fn may_begin_yet(&self, served: &dyn Served, found: &Unfinished) -> Result<bool, Problem> {
        let thread = self.0.ledger.thread(&found.thread).await?;
        if !thread.is_some_and(|thread| thread.run == found.run && is_young(&thread)) {
            return Ok(false);
        }
        let has_begun =
            served.status(&found.thread).await?.is_some() && served.has_saved(&found.thread, found.run).await?;
        Ok(found.taken_up > 0 || !has_begun)
    }

    /// Looks every few seconds for runs whose process has died, and takes up those that wait for a place as soon as there is
    /// one; until the server stops.
    pub(crate) async fn take_up_later(&self, TakenUp { mut waiting, mut is_troubled, .. }: TakenUp) {
        let (mut sightings, mut at) = (Sightings::default(), Instant::now() + PAUSE);
        loop {
            let is_look = tokio::select! {
                () = sleep_until(at) => true,
                // A run that could not be written down frees its place too, and would be tried without a pause.
                () = self.0.worker.freed(), if !is_troubled && !waiting.is_empty() => false,
            };
            if self.is_closing() {
                return;
            }
            if is_look {
                let known = waiting.iter().map(|run| run.run).collect();
                waiting.extend(self.dead(&mut sightings, &known).await);
                at = Instant::now() + PAUSE;
            }
            TakenUp { waiting, is_troubled, .. } = self.take_up_waiting(waiting).await;
        }
    }

    /// Takes up one after the other, until there is no place or a trouble: what is behind is not looked at in vain.
    async fn take_up_waiting(&self, mut queue: VecDeque<Unfinished>) -> TakenUp {
        let mut taken = TakenUp::default();
        while let Some(found) = queue.pop_front() {
            self.try_take_up(found, &mut taken).await;
            if !taken.waiting.is_empty() {
                break;
            }
        }
        // One that makes trouble does not keep the others from their turn.
        match taken.is_troubled {
            true => queue.append(&mut taken.waiting),
            false => queue = taken.waiting.into_iter().chain(queue).collect(),
        }
        TakenUp { waiting: queue, ..taken }
    }

    /// Takes one up, or notes that it waits. One that cannot be taken up keeps no other from it.
    async fn try_take_up(&self, found: Unfinished, taken: &mut TakenUp) -> Took {
        let Ok(served) = self.served(&found.graph) else { return Took::Driven };
        match self.take_up_one(served, &found).await {
            Ok(Took::NoPlace) => taken.waiting.push_back(found),
            Ok(took) => return took,
            Err(problem) if problem.is_retryable() => {
                tracing::warn!(run = %found.run, "a run is taken up later: {}", problem.detail());
                taken.is_troubled = true;
                taken.waiting.push_back(found);
            }
            Err(problem) => {
                self.not_taken_up(&found, problem).await;
                return Took::Up;
            }
        }
        Took::NoPlace
    }

    /// Writes down why a run was not taken up: somebody can go on with it once that is mended.
    async fn not_taken_up(&self, found: &Unfinished, problem: Problem) {
        tracing::error!(run = %found.run, "a run could not be taken up: {}", problem.detail());
        // A server that stops leaves it to the next; whoever moves the thread by now has written more than is known here.
        let Ok(_place) = self.0.worker.hold(&found.thread, found.run) else { return };
        let written = async {
            let Some(_turn) = self.turn(&found.thread).await? else { return Ok(()) };
            let now = self.0.ledger.run(found.run).await?.filter(Record::is_unfinished);
            let Some(mut record) = now.filter(|now| now.taken_up == found.taken_up) else { return Ok(()) };
            record.ended(RunStatus::Interrupted, Some(problem.into()));
            match self.followed_by(&record).await? {
                None => self.0.ledger.write(&record).await,
                Some(_) => Ok(()),
            }
        };
        if let Err(problem) = written.await {
            tracing::error!(run = %found.run, "that could not be written down: {}", problem.detail());
        }
    }

    /// What is known of the thread where a later run was asked for on it: it is none of this one's business any more.
    async fn followed_by(&self, record: &Record) -> Result<Option<ThreadRecord>, Problem> {
        let thread = self.0.ledger.thread(&record.order.thread).await?;
        Ok(thread.filter(|thread| thread.run != record.order.run))
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

    async fn take_up_one(&self, served: Arc<dyn Served>, found: &Unfinished) -> Result<Took, Problem> {
        let place = match self.0.worker.hold(&found.thread, found.run) {
            Ok(place) => place,
            // It is asked for again.
            Err(problem) if problem.status() == 409 => return Ok(Took::Driven),
            Err(problem) => return Err(problem),
        };
        let Some(turn) = self.turn(&found.thread).await? else { return Ok(Took::Driven) };
        // What others wrote meanwhile counts; from here on nobody else decides about it.
        let Some(mut record) = self.0.ledger.run(found.run).await?.filter(Record::is_unfinished) else {
            self.0.ledger.list(found.run).await?;
            return Ok(Took::Up);
        };
        if record.taken_up != found.taken_up {
            self.0.ledger.list(found.run).await?;
            return Ok(Took::Driven);
        }
        match self.followed_by(&record).await? {
            None => {}
            // It may be refused yet, and the thread be this one's again.
            Some(later) if later.is_unfinished() => return Ok(Took::Driven),
            Some(_) => {
                record.ended(RunStatus::Stopped, None);
                return self.0.ledger.close(&record).await.map(|()| Took::Up);
            }
        }
        match next(&served, &record).await? {
            Next::Was(status, failure) => {
                record.ended(status, failure);
                self.tell_end(&*served, &record, &turn).await;
                self.0.ledger.write(&record).await?;
            }
            Next::Run(_) if self.0.config.resume == ResumeRuns::OnRequest => {
                record.ended(RunStatus::Interrupted, None);
                self.0.ledger.write(&record).await?;
            }
            Next::Run(_) if self.0.worker.is_over_full() => return Ok(Took::NoPlace),
            Next::Run(what) => {
                tracing::info!(run = %found.run, thread = %found.thread, "a run is taken up again");
                (record.status, record.ended_at, record.taken_up) = (RunStatus::Running, None, record.taken_up + 1);
                // Its record keeps what was asked at first: the next server needs that, should this one die too.
                let begins = Begins::Again(turn);
                self.drive(&served, place, Start { record, what, begins, pass: None }).await?;
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
