//! Checks of everything reported to a client against the stored data at that moment.

use superstep::core::checkpoint::{CheckpointNamespace, Interrupt};
use superstep::core::id::{CheckpointId, InterruptId};
use superstep::core::machine::MachineEvent;
use superstep::core::port::CheckpointSelector;
use superstep::{Error, ErrorCode, Outcome, Result, RunEnd};

use crate::checkpointer_backend::SimulatedDisk;
use crate::fault_plan::FaultPlan;
use crate::invariants::{CheckResult, Fact, Rule, Violation};
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
    answered: Vec<InterruptId>,
}

impl Process {
    pub(crate) fn report(&self, verdict: CheckResult) {
        self.course().judge(verdict);
    }

    pub(crate) fn counts(&self, fact: Fact) {
        self.course().tally.count(fact);
    }

    /// Records that resume values are being sent.
    pub(crate) fn sends_answers(&self, ids: &[InterruptId]) {
        self.course().client_memory.answered.extend(ids);
    }

    /// Returns an interrupt for which a resume value was sent and that is not open.
    pub(crate) fn answered_before(&self, open: &[Interrupt]) -> Option<InterruptId> {
        let course = self.course();
        let is_open = |id: &InterruptId| open.iter().any(|question| question.id == *id);
        course.client_memory.answered.iter().rev().find(|id| !is_open(id)).copied()
    }

    /// Checks a thread read by a client: inputs reported as finished must be present.
    pub(crate) fn check_observed_inputs(&self, inputs: &[u64]) {
        let mut course = self.course();
        course.note(|| format!("process {}: a client reads the inputs {inputs:?}", self.number));
        let lost = course.client_memory.finished.iter().find(|number| !inputs.contains(number)).copied();
        if let Some(number) = lost {
            course.judge(Rule::ToldIsSaved.broken(format!("input {number} was reported as finished, and is missing")));
        }
    }

    /// Checks a checkpoint reported to a client.
    pub(crate) fn check_checkpoint(&self, checkpoint: CheckpointId) {
        let mut course = self.course();
        course.tally.count(Fact::Told);
        let verdict = course.record.checkpoint_published(checkpoint);
        course.judge(verdict);
    }

    /// Checks an event reported to a client.
    pub(crate) fn check_event(&self, namespace: &CheckpointNamespace, event: &MachineEvent) {
        let mut course = self.course();
        course.note(|| format!("process {} publishes: {}", self.number, describe_event(event)));
        let verdict = match course.record.event_published(namespace, event) {
            Ok(counts) => {
                course.tally.add(Fact::Told, u64::from(counts));
                if !course.random.one_in(4) {
                    return;
                }
                same_values(&self.sim.disk, namespace, event)
            }
            Err(violation) => Err(violation),
        };
        course.judge(verdict);
    }

    /// Checks the result of a run; `failures` is the number of store failures before the run, if it was the only run.
    pub(crate) fn check_outcome(&self, result: &Result<Outcome<SimState>>, failures: Option<u32>) {
        let mut course = self.course();
        course.tally.count(Fact::Told);
        let number = self.number;
        let verdict = match result {
            Ok(outcome) => {
                course.note(|| format!("process {number}: the run ended: {:?}", outcome.end));
                check_run_end(&mut course, &self.sim.disk, outcome, failures)
            }
            Err(error) => {
                course.note(|| format!("process {number}: the run failed: {}", error.message()));
                check_run_failure(&mut course, &self.sim.disk, error, failures.is_some())
            }
        };
        course.judge(verdict);
    }
}

fn check_run_end(
    course: &mut SimulationState,
    disk: &SimulatedDisk,
    outcome: &Outcome<SimState>,
    failures: Option<u32>,
) -> CheckResult {
    check_no_silent_failure(failures, course.failures)?;
    let Some(id) = outcome.checkpoint else { return Rule::ToldIsSaved.broken("a run ended without a checkpoint") };
    course.record.checkpoint_published(id)?;
    let Some((work, loaded)) = read(disk, CheckpointSelector::Id(id))? else {
        return Rule::ToldIsSaved.broken(format!("a run ended at checkpoint {id}, which cannot be read"));
    };
    if *work != *outcome.state {
        let reported = &*outcome.state;
        return Rule::ToldIsSaved.broken(format!("a run reported the state {reported:?}, and {work:?} is saved"));
    }
    match &outcome.end {
        RunEnd::Finished if !loaded.checkpoint.next_tasks.is_empty() => {
            Rule::ToldIsSaved.broken("a run was reported as finished, and there are next tasks")
        }
        RunEnd::Finished => {
            course.client_memory.finished.extend(&outcome.state.inputs);
            Ok(())
        }
        RunEnd::Interrupted(questions) => {
            let event = MachineEvent::Interrupted { questions: questions.clone() };
            course.record.event_published(&CheckpointNamespace::root(), &event).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Checks that a successful run had no failure of its store.
fn check_no_silent_failure(before: Option<u32>, now: u32) -> CheckResult {
    match before {
        Some(before) if before < now => Rule::LoudFailure.broken("a run succeeded although its checkpointer failed"),
        _ => Ok(()),
    }
}

/// Checks that the information in an error about the thread is correct.
fn check_run_failure(course: &mut SimulationState, disk: &SimulatedDisk, error: &Error, is_alone: bool) -> CheckResult {
    if error.code() == ErrorCode::Cancelled && matches!(course.plan, FaultPlan::Cancel { .. }) {
        course.tally.count(Fact::CancelsEnded);
        // Of two runs, one may not have started and the other may not have ended.
        if is_alone {
            course.record.cancelled()?;
        }
    }
    let (Some(partial), Some(reported)) = (error.partial(), error.partial_state::<SimState>()) else { return Ok(()) };
    let Some(id) = partial.checkpoint else { return Ok(()) };
    course.record.checkpoint_published(id)?;
    match read(disk, CheckpointSelector::Id(id))? {
        Some((work, _)) if *work == *reported => Ok(()),
        Some((work, loaded)) => {
            let step = loaded.checkpoint.step;
            Rule::ToldIsSaved.broken(format!("an error at step {step} reported {reported:?}, and {work:?} is saved"))
        }
        None => Rule::ToldIsSaved.broken(format!("an error names checkpoint {id}, which cannot be read")),
    }
}

/// Checks reported values against the stored ones, if the thread has not advanced since.
fn same_values(disk: &SimulatedDisk, namespace: &CheckpointNamespace, event: &MachineEvent) -> CheckResult {
    let MachineEvent::Values { step, state, .. } = event else { return Ok(()) };
    if !namespace.is_root() {
        return Ok(());
    }
    let reported = state.state.downcast_ref::<SimState>();
    match read(disk, CheckpointSelector::Latest)? {
        Some((work, loaded)) if loaded.checkpoint.step == *step && reported != Some(&*work) => Rule::ToldIsSaved
            .broken(format!("the values {reported:?} were reported for step {step}, and {work:?} is saved")),
        _ => Ok(()),
    }
}

type ReadResult = Option<(std::sync::Arc<SimState>, superstep::core::port::CheckpointTuple)>;

fn read(disk: &SimulatedDisk, at: CheckpointSelector) -> Result<ReadResult, Violation> {
    disk.read(at)
        .map_err(|error| Violation { rule: Rule::ToldIsSaved, text: format!("the disk cannot be read: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reported_as_success_is_detected() {
        check_no_silent_failure(Some(2), 2).unwrap();
        check_no_silent_failure(None, 3).unwrap();
        assert_eq!(check_no_silent_failure(Some(2), 3).unwrap_err().rule, Rule::LoudFailure);
    }
}
