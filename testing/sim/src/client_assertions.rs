//! Checks of everything reported to a client against the stored data at that moment.

use superstep::core::checkpoint::{CheckpointNamespace, Interrupt};
use superstep::core::id::{CheckpointId, InterruptId};
use superstep::core::machine::MachineEvent;
use superstep::core::port::CheckpointSelector;
use superstep::{Error, ErrorCode, Outcome, Result, RunEnd};

use crate::checkpointer_backend::SimulatedDisk;
use crate::fault_plan::FaultPlan;
use crate::invariants::{CheckResult, Counter, Rule, Violation};
use crate::oracle::describe_event;
use crate::process::Process;
use crate::simulation::SimulationState;
use crate::state::SimState;

/// Memory of the clients, which survives processes.
#[derive(Default)]
pub(crate) struct ClientMemory {
    /// Inputs whose runs were reported as finished.
    finished: Vec<u64>,
    /// Interrupts for which a resume value was sent.
    resumed: Vec<InterruptId>,
}

impl Process {
    pub(crate) fn report(&self, check_result: CheckResult) {
        self.state().check(check_result);
    }

    pub(crate) fn count(&self, counter: Counter) {
        self.state().counters.count(counter);
    }

    /// Records that resume values are being sent.
    pub(crate) fn record_resumed(&self, ids: &[InterruptId]) {
        self.state().client_memory.resumed.extend(ids);
    }

    /// Returns an interrupt for which a resume value was sent and that is not open.
    pub(crate) fn resumed_before(&self, open: &[Interrupt]) -> Option<InterruptId> {
        let state = self.state();
        let is_open = |id: &InterruptId| open.iter().any(|interrupt| interrupt.id == *id);
        state.client_memory.resumed.iter().rev().find(|id| !is_open(id)).copied()
    }

    /// Checks a thread read by a client: inputs reported as finished must be present.
    pub(crate) fn check_observed_inputs(&self, inputs: &[u64]) {
        let mut state = self.state();
        state.trace_event(|| format!("process {}: a client reads the inputs {inputs:?}", self.number));
        let lost = state.client_memory.finished.iter().find(|number| !inputs.contains(number)).copied();
        if let Some(number) = lost {
            state.check(
                Rule::ReportedIsSaved.broken(format!("input {number} was reported as finished, and is missing")),
            );
        }
    }

    /// Checks a checkpoint reported to a client.
    pub(crate) fn check_checkpoint(&self, checkpoint: CheckpointId) {
        let mut state = self.state();
        state.counters.count(Counter::ReportsChecked);
        let check_result = state.oracle.checkpoint_published(checkpoint);
        state.check(check_result);
    }

    /// Checks an event reported to a client.
    pub(crate) fn check_event(&self, namespace: &CheckpointNamespace, event: &MachineEvent) {
        let mut state = self.state();
        state.trace_event(|| format!("process {} publishes: {}", self.number, describe_event(event)));
        let check_result = match state.oracle.event_published(namespace, event) {
            Ok(count) => {
                state.counters.add(Counter::ReportsChecked, u64::from(count));
                if !state.random.one_in(4) {
                    return;
                }
                check_values(&self.sim.disk, namespace, event)
            }
            Err(violation) => Err(violation),
        };
        state.check(check_result);
    }

    /// Checks the result of a run; `failures` is the number of store failures before the run, if it was the only run.
    pub(crate) fn check_outcome(&self, result: &Result<Outcome<SimState>>, failures: Option<u32>) {
        let mut state = self.state();
        state.counters.count(Counter::ReportsChecked);
        let number = self.number;
        let check_result = match result {
            Ok(outcome) => {
                state.trace_event(|| format!("process {number}: the run ended: {:?}", outcome.end));
                check_run_end(&mut state, &self.sim.disk, outcome, failures)
            }
            Err(error) => {
                state.trace_event(|| format!("process {number}: the run failed: {}", error.message()));
                check_run_failure(&mut state, &self.sim.disk, error, failures.is_some())
            }
        };
        state.check(check_result);
    }
}

fn check_run_end(
    state: &mut SimulationState,
    disk: &SimulatedDisk,
    outcome: &Outcome<SimState>,
    failures: Option<u32>,
) -> CheckResult {
    check_no_silent_failure(failures, state.failures)?;
    let Some(id) = outcome.checkpoint else { return Rule::ReportedIsSaved.broken("a run ended without a checkpoint") };
    state.oracle.checkpoint_published(id)?;
    let Some((stored, loaded)) = read(disk, CheckpointSelector::Id(id))? else {
        return Rule::ReportedIsSaved.broken(format!("a run ended at checkpoint {id}, which cannot be read"));
    };
    if *stored != *outcome.state {
        let reported = &*outcome.state;
        return Rule::ReportedIsSaved.broken(format!("a run reported the state {reported:?}, and {stored:?} is saved"));
    }
    match &outcome.end {
        RunEnd::Finished if !loaded.checkpoint.next_tasks.is_empty() => {
            Rule::ReportedIsSaved.broken("a run was reported as finished, and there are next tasks")
        }
        RunEnd::Finished => {
            state.client_memory.finished.extend(&outcome.state.inputs);
            Ok(())
        }
        RunEnd::Interrupted(interrupts) => {
            let event = MachineEvent::Interrupted { interrupts: interrupts.clone() };
            state.oracle.event_published(&CheckpointNamespace::root(), &event).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Checks that a successful run had no failure of its store.
fn check_no_silent_failure(before: Option<u32>, now: u32) -> CheckResult {
    match before {
        Some(before) if before < now => {
            Rule::FailureReported.broken("a run succeeded although its checkpointer failed")
        }
        _ => Ok(()),
    }
}

/// Checks that the information in an error about the thread is correct.
fn check_run_failure(state: &mut SimulationState, disk: &SimulatedDisk, error: &Error, is_alone: bool) -> CheckResult {
    if error.code() == ErrorCode::Cancelled && matches!(state.plan, FaultPlan::Cancel { .. }) {
        state.counters.count(Counter::CancelsEnded);
        // Of two runs, one may not have started and the other may not have ended.
        if is_alone {
            state.oracle.cancelled()?;
        }
    }
    let (Some(partial), Some(reported)) = (error.partial(), error.partial_state::<SimState>()) else { return Ok(()) };
    let Some(id) = partial.checkpoint else { return Ok(()) };
    state.oracle.checkpoint_published(id)?;
    match read(disk, CheckpointSelector::Id(id))? {
        Some((stored, _)) if *stored == *reported => Ok(()),
        Some((stored, loaded)) => {
            let step = loaded.checkpoint.step;
            Rule::ReportedIsSaved
                .broken(format!("an error at step {step} reported {reported:?}, and {stored:?} is saved"))
        }
        None => Rule::ReportedIsSaved.broken(format!("an error names checkpoint {id}, which cannot be read")),
    }
}

/// Checks reported values against the stored ones, if the thread has not advanced since.
fn check_values(disk: &SimulatedDisk, namespace: &CheckpointNamespace, event: &MachineEvent) -> CheckResult {
    let MachineEvent::Values { step, state, .. } = event else { return Ok(()) };
    if !namespace.is_root() {
        return Ok(());
    }
    let reported = state.state.downcast_ref::<SimState>();
    match read(disk, CheckpointSelector::Latest)? {
        Some((stored, loaded)) if loaded.checkpoint.step == *step && reported != Some(&*stored) => {
            Rule::ReportedIsSaved
                .broken(format!("the values {reported:?} were reported for step {step}, and {stored:?} is saved"))
        }
        _ => Ok(()),
    }
}

type ReadResult = Option<(std::sync::Arc<SimState>, superstep::core::port::CheckpointTuple)>;

fn read(disk: &SimulatedDisk, at: CheckpointSelector) -> Result<ReadResult, Violation> {
    disk.read(at)
        .map_err(|error| Violation { rule: Rule::ReportedIsSaved, text: format!("the disk cannot be read: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reported_as_success_is_detected() {
        check_no_silent_failure(Some(2), 2).unwrap();
        check_no_silent_failure(None, 3).unwrap();
        assert_eq!(check_no_silent_failure(Some(2), 3).unwrap_err().rule, Rule::FailureReported);
    }
}
