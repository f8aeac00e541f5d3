//! A simulated client with goals for a thread. After an error it does what the documentation recommends: it reads the
//! thread and continues.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::core::checkpoint::Interrupt;
use superstep::core::id::InterruptId;
use superstep::core::port::{Clock, SharedCheckpointer};
use superstep::{ErrorCode, EventKind, Outcome, Result, ResumeValues, RunBuilder, RunControl, RunEnd, StateSnapshot};

use crate::checkpointer_backend::THREAD;
use crate::faulty_checkpointer::FaultyCheckpointer;
use crate::graphs::SimGraph;
use crate::invariants::{Counter, Rule};
use crate::process::{AwaitPoint, Process};
use crate::scenario::{ClientStep, ScenarioInstance};
use crate::state::SimState;

/// Compiled graphs of the processes that run at the same time.
pub(crate) type ProcessGraphs = [SimGraph; 3];

/// A client with goals for a thread.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) case: Arc<ScenarioInstance>,
    pub(crate) graphs: Arc<ProcessGraphs>,
}

/// The thread as the client reads it.
struct ObservedThread {
    phase: ThreadPhase,
    inputs: Vec<u64>,
    notes: Vec<u64>,
}

/// Status of the thread.
enum ThreadPhase {
    New,
    Interrupted(Vec<Interrupt>),
    HasNextTasks,
    Idle,
}

/// Next action of the client.
enum ClientAction {
    Send(u64),
    SendBoth(u64, u64),
    Update(u64),
    Resume(Vec<Interrupt>),
    Continue,
}

impl Client {
    /// Reads the thread and performs the remaining actions.
    ///
    /// # Errors
    /// Returns the first error; the caller starts again.
    pub(crate) async fn run(self, process: Process) -> Result<()> {
        let mut observed = self.observe(&process).await?;
        self.resume_twice(&process, &observed).await?;
        while let Some(action) = self.next(&observed) {
            if process.is_zombie() {
                return self.resume_after_lease_loss(&process, &observed).await;
            }
            observed = match action {
                ClientAction::Send(number) => self.send(&process, number).await?,
                ClientAction::SendBoth(one, other) => self.send_both(&process, one, other).await?,
                ClientAction::Update(number) => self.update_value(&process, number).await?,
                ClientAction::Resume(interrupts) => self.resume_interrupts(&process, &interrupts).await?,
                ClientAction::Continue => self.perform(&process, self.graph(&process).continue_thread(THREAD)).await?,
            };
        }
        Ok(())
    }

    fn graph(&self, process: &Process) -> &SimGraph {
        &self.graphs[process.number % self.graphs.len()]
    }

    /// Returns the next remaining action.
    fn next(&self, observed: &ObservedThread) -> Option<ClientAction> {
        match &observed.phase {
            ThreadPhase::HasNextTasks => return Some(ClientAction::Continue),
            ThreadPhase::Interrupted(interrupts) => {
                let number = self.case.update_at(interrupts.len()).filter(|number| !observed.notes.contains(number));
                return Some(number.map_or_else(|| ClientAction::Resume(interrupts.clone()), ClientAction::Update));
            }
            ThreadPhase::New | ThreadPhase::Idle => {}
        }
        let is_missing = |number: &u64| !observed.inputs.contains(number);
        self.case.items.iter().find_map(|item| match item {
            ClientStep::Input(number) => is_missing(number).then_some(ClientAction::Send(*number)),
            ClientStep::Update(number) => (!observed.notes.contains(number)).then_some(ClientAction::Update(*number)),
            ClientStep::Pair(one, other) => match (is_missing(one), is_missing(other)) {
                (true, true) => Some(ClientAction::SendBoth(*one, *other)),
                (true, false) => Some(ClientAction::Send(*one)),
                (false, true) => Some(ClientAction::Send(*other)),
                (false, false) => None,
            },
        })
    }

    async fn observe(&self, process: &Process) -> Result<ObservedThread> {
        let threads = self.graph(process).threads().checkpointer(FaultyCheckpointer(process.clone()));
        let observed = match threads.get_state(THREAD).await {
            Ok(snapshot) => ObservedThread::from_snapshot(&snapshot),
            Err(error) if error.code() == ErrorCode::NotFound => {
                ObservedThread { phase: ThreadPhase::New, inputs: Vec::new(), notes: Vec::new() }
            }
            Err(error) => return Err(error),
        };
        process.check_observed_inputs(&observed.inputs);
        Ok(observed)
    }

    async fn send(&self, process: &Process, number: u64) -> Result<ObservedThread> {
        self.perform(process, self.graph(process).invoke(self.case.input(number))).await
    }

    /// Sends two inputs concurrently; returns the first error.
    async fn send_both(&self, process: &Process, one: u64, other: u64) -> Result<ObservedThread> {
        let (first, second) = tokio::join!(self.send(process, one), self.send(process, other));
        first?;
        second?;
        self.observe(process).await
    }

    async fn update_value(&self, process: &Process, number: u64) -> Result<ObservedThread> {
        let threads = self.graph(process).threads().checkpointer(FaultyCheckpointer(process.clone()));
        let update =
            threads.update_state(THREAD, SimState::update().notes(number)).environment(Arc::new(process.clone()));
        let checkpoint = update.await?;
        process.check_checkpoint(checkpoint);
        self.observe(process).await
    }

    async fn resume_interrupts(&self, process: &Process, interrupts: &[Interrupt]) -> Result<ObservedThread> {
        let resumes_one = self.case.resumes_one_by_one() || process.one_in(2);
        let first = if resumes_one { process.below(interrupts.len()) } else { 0 };
        let selected = if resumes_one { &interrupts[first..=first] } else { interrupts };
        let ids: Vec<InterruptId> = selected.iter().map(|interrupt| interrupt.id).collect();
        process.record_resumed(&ids);
        let graph = self.graph(process);
        // A resume value without an id goes to the interrupt that is open when it arrives, so it is only used without
        // a concurrent process.
        let without_id = process.one_in(2) && !process.has_rival();
        let run = match interrupts {
            [interrupt] if without_id => graph.resume(THREAD, resume_value(interrupt)),
            _ => graph.resume_with(
                THREAD,
                selected
                    .iter()
                    .map(|interrupt| (interrupt.id, json!(resume_value(interrupt))))
                    .collect::<ResumeValues>(),
            ),
        };
        let observed = self.perform(process, run).await?;
        if process.one_in(6) {
            self.resume_again(process, ids[0]).await?;
        }
        Ok(observed)
    }

    /// Resumes an interrupt a second time with another value, which must be rejected.
    async fn resume_again(&self, process: &Process, id: InterruptId) -> Result<()> {
        let resume_values = ResumeValues::from([(id, json!(1_000))]);
        let run = self.configure(process, self.graph(process).resume_with(THREAD, resume_values));
        match run.await {
            Ok(_) => process
                .report(Rule::ResumedOnce.broken(format!("a second resume value of interrupt {id} was accepted"))),
            Err(error) if error.code() == ErrorCode::InvalidResume => process.count(Counter::SecondResumesRejected),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Resumes an interrupt again: a client that restarts may not know whether its resume value was accepted.
    async fn resume_twice(&self, process: &Process, observed: &ObservedThread) -> Result<()> {
        let open: &[Interrupt] =
            if let ThreadPhase::Interrupted(interrupts) = &observed.phase { interrupts } else { &[] };
        match process.resumed_before(open) {
            Some(id) if process.one_in(4) => self.resume_again(process, id).await,
            _ => Ok(()),
        }
    }

    /// Resumes interrupts after losing the thread: only one of the two resume values may count.
    async fn resume_after_lease_loss(&self, process: &Process, observed: &ObservedThread) -> Result<()> {
        if let ThreadPhase::Interrupted(interrupts) = &observed.phase
            && !self.case.resumes_one_by_one()
            && process.one_in(2)
        {
            self.resume_interrupts(process, interrupts).await?;
        }
        Ok(())
    }

    fn configure(&self, process: &Process, run: RunBuilder<SimState, Process>) -> RunBuilder<SimState, Process> {
        let control = RunControl::new();
        process.state().register_run(process.number, &control);
        run.thread(THREAD)
            .context(process.clone())
            .checkpointer(SharedCheckpointer::new(FaultyCheckpointer(process.clone())))
            .clock(process.clone())
            .environment(Arc::new(process.clone()))
            .max_concurrency(self.case.max_concurrency)
            .control(control)
    }

    /// Runs and compares the reported result with the stored data.
    async fn perform(&self, process: &Process, run: RunBuilder<SimState, Process>) -> Result<ObservedThread> {
        let failures = process.state().failures;
        let run = self.configure(process, run);
        let result = if process.one_in(3) { run_streamed(process, run).await } else { run.await };
        process.state().end_runs(process.number);
        let is_alone = !self.case.is_pair();
        process.check_outcome(&result, is_alone.then_some(failures));
        result.map(|outcome| ObservedThread::from_outcome(&outcome))
    }
}

/// Runs with a slow subscriber of its events.
async fn run_streamed(process: &Process, run: RunBuilder<SimState, Process>) -> Result<Outcome<SimState>> {
    let mut stream = run.stream();
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(machine_event) = &event.kind {
            process.check_event(event.namespace(), machine_event);
        }
        if process.one_in(8) {
            process.pause(AwaitPoint::Reader).await;
        }
    }
    stream.finish().await
}

/// Waits like a client that retries later.
pub(crate) async fn wait_before_retry(process: &Process) {
    Clock::sleep(process, Duration::from_millis(25)).await;
}

fn resume_value(interrupt: &Interrupt) -> u64 {
    interrupt.name.trim_start_matches('q').parse().unwrap_or(0)
}

impl ObservedThread {
    fn from_snapshot(snapshot: &StateSnapshot<SimState>) -> Self {
        let open: Vec<Interrupt> = snapshot.interrupts().into_iter().cloned().collect();
        let phase = match (open.is_empty(), snapshot.next.is_empty()) {
            (false, _) => ThreadPhase::Interrupted(open),
            (true, false) => ThreadPhase::HasNextTasks,
            (true, true) => ThreadPhase::Idle,
        };
        Self { phase, inputs: snapshot.state.inputs.clone(), notes: snapshot.state.notes.clone() }
    }

    fn from_outcome(outcome: &Outcome<SimState>) -> Self {
        let phase = match &outcome.end {
            RunEnd::Finished => ThreadPhase::Idle,
            RunEnd::Interrupted(interrupts) => ThreadPhase::Interrupted(interrupts.clone()),
            _ => ThreadPhase::HasNextTasks,
        };
        Self { phase, inputs: outcome.state.inputs.clone(), notes: outcome.state.notes.clone() }
    }
}
