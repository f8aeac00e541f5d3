//! What a client is told, held against the disk at the moment it is told.

use superstep::core::checkpoint::{Namespace, Question};
use superstep::core::id::{CheckpointId, InterruptId};
use superstep::core::machine::Event;
use superstep::core::port::At;
use superstep::{Code, Error, Outcome, Result, Status};

use crate::disk::Disk;
use crate::plan::Plan;
use crate::process::Process;
use crate::record::spoken;
use crate::rules::{Fact, Rule, Verdict, Violation};
use crate::sim::Course;
use crate::work::Work;

/// What clients remember, whatever happens to processes.
#[derive(Default)]
pub(crate) struct Remembered {
    /// Inputs whose runs were told to have finished.
    finished: Vec<u64>,
    /// Questions that an answer was sent for.
    answered: Vec<InterruptId>,
}

impl Process {
    pub(crate) fn judge(&self, verdict: Verdict) {
        self.course().judge(verdict);
    }

    pub(crate) fn counts(&self, fact: Fact) {
        self.course().tally.count(fact);
    }

    /// Answers are on their way.
    pub(crate) fn sends_answers(&self, ids: &[InterruptId]) {
        self.course().remembered.answered.extend(ids);
    }

    /// A question that an answer was sent for and that is not open.
    pub(crate) fn answered_before(&self, open: &[Question]) -> Option<InterruptId> {
        let course = self.course();
        let is_open = |id: &InterruptId| open.iter().any(|question| question.id == *id);
        course.remembered.answered.iter().rev().find(|id| !is_open(id)).copied()
    }

    /// A client looks at the thread: what it was told has finished must be there.
    pub(crate) fn sees(&self, inputs: &[u64]) {
        let mut course = self.course();
        course.note(|| format!("process {}: a client sees the inputs {inputs:?}", self.number));
        let lost = course.remembered.finished.iter().find(|number| !inputs.contains(number)).copied();
        if let Some(number) = lost {
            course.judge(Rule::ToldIsSaved.broken(format!("input {number} was told to have finished, and is gone")));
        }
    }

    /// A client is told that this checkpoint was made.
    pub(crate) fn hears_of(&self, checkpoint: CheckpointId) {
        let mut course = self.course();
        course.tally.count(Fact::Told);
        let verdict = course.record.tells_checkpoint(checkpoint);
        course.judge(verdict);
    }

    /// A client is told an event.
    pub(crate) fn hears_event(&self, namespace: &Namespace, event: &Event) {
        let mut course = self.course();
        course.note(|| format!("process {} tells: {}", self.number, spoken(event)));
        let verdict = match course.record.tells(namespace, event) {
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

    /// A client is told how a run ended; `failures` is how often the store had failed before it began, where it was the
    /// only one.
    pub(crate) fn hears(&self, result: &Result<Outcome<Work>>, failures: Option<u32>) {
        let mut course = self.course();
        course.tally.count(Fact::Told);
        let number = self.number;
        let verdict = match result {
            Ok(outcome) => {
                course.note(|| format!("process {number}: the run ended: {:?}", outcome.status));
                hears_end(&mut course, &self.sim.disk, outcome, failures)
            }
            Err(error) => {
                course.note(|| format!("process {number}: the run failed: {}", error.message()));
                hears_failure(&mut course, &self.sim.disk, error, failures.is_some())
            }
        };
        course.judge(verdict);
    }
}

fn hears_end(course: &mut Course, disk: &Disk, outcome: &Outcome<Work>, failures: Option<u32>) -> Verdict {
    loud(failures, course.failures)?;
    let Some(id) = outcome.checkpoint else { return Rule::ToldIsSaved.broken("a run ended without a checkpoint") };
    course.record.tells_checkpoint(id)?;
    let Some((work, loaded)) = read(disk, At::Id(id))? else {
        return Rule::ToldIsSaved.broken(format!("a run ended at checkpoint {id}, which cannot be read"));
    };
    if *work != *outcome.state {
        let told = &*outcome.state;
        return Rule::ToldIsSaved.broken(format!("a run ended with {told:?}, and {work:?} is saved"));
    }
    match &outcome.status {
        Status::Finished if !loaded.checkpoint.due.is_empty() => {
            Rule::ToldIsSaved.broken("a run was told to have finished, and tasks are due")
        }
        Status::Finished => {
            course.remembered.finished.extend(&outcome.state.inputs);
            Ok(())
        }
        Status::Interrupted(questions) => {
            let event = Event::Interrupted { questions: questions.clone() };
            course.record.tells(&Namespace::root(), &event).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// A run that ended well met no failure of its store.
fn loud(before: Option<u32>, now: u32) -> Verdict {
    match before {
        Some(before) if before < now => Rule::LoudFailure.broken("a run ended well although its store had failed it"),
        _ => Ok(()),
    }
}

/// What an error says of the thread must be so.
fn hears_failure(course: &mut Course, disk: &Disk, error: &Error, is_alone: bool) -> Verdict {
    if error.code() == Code::Cancelled && matches!(course.plan, Plan::Cancel { .. }) {
        course.tally.count(Fact::CancelsEnded);
        // Of two runs one may not have begun, and the other not have ended.
        if is_alone {
            course.record.cancelled()?;
        }
    }
    let (Some(partial), Some(told)) = (error.partial(), error.partial_state::<Work>()) else { return Ok(()) };
    let Some(id) = partial.checkpoint else { return Ok(()) };
    course.record.tells_checkpoint(id)?;
    match read(disk, At::Id(id))? {
        Some((work, _)) if *work == *told => Ok(()),
        Some((work, loaded)) => {
            let step = loaded.checkpoint.step;
            Rule::ToldIsSaved.broken(format!("a failure at step {step} came with {told:?}, and {work:?} is saved"))
        }
        None => Rule::ToldIsSaved.broken(format!("a failure names checkpoint {id}, which cannot be read")),
    }
}

/// The values that were told are those on the disk, where the thread has not moved on since.
fn same_values(disk: &Disk, namespace: &Namespace, event: &Event) -> Verdict {
    let Event::Values { step, state, .. } = event else { return Ok(()) };
    if !namespace.is_root() {
        return Ok(());
    }
    let told = state.state.downcast_ref::<Work>();
    match read(disk, At::Latest)? {
        Some((work, loaded)) if loaded.checkpoint.step == *step && told != Some(&*work) => {
            Rule::ToldIsSaved.broken(format!("the values of step {step} were told as {told:?}, and {work:?} is saved"))
        }
        _ => Ok(()),
    }
}

type Read = Option<(std::sync::Arc<Work>, superstep::core::port::Loaded)>;

fn read(disk: &Disk, at: At) -> Result<Read, Violation> {
    disk.read(at)
        .map_err(|error| Violation { rule: Rule::ToldIsSaved, text: format!("the disk cannot be read: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_became_a_success_is_found() {
        loud(Some(2), 2).unwrap();
        loud(None, 3).unwrap();
        assert_eq!(loud(Some(2), 3).unwrap_err().rule, Rule::LoudFailure);
    }
}
