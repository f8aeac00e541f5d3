//! One run that is disturbed until it ends, and what must hold then, whatever the store and the disturbance.
//!
//! Everything that was ever told must be stored, nothing told finished may have begun again, and the state must be that
//! of a run that nobody disturbed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::check;
use crate::child::{Child, Heard, command};
use crate::effects;
use crate::random::Random;
use crate::reader::Question;
use crate::report::Report;
use crate::store::Place;
use crate::told::Told;
use crate::victim::Order;
use crate::work::NODES;

/// A run that has not ended after so many kills is stuck.
const MOST_LIVES: u32 = 300;

/// A run, and where it is.
pub(crate) struct Trial<'a> {
    pub(crate) place: Place,
    pub(crate) thread: String,
    /// The file of effects.
    pub(crate) effects: PathBuf,
    /// How often the graph goes round, and how much it carries.
    pub(crate) size: (u64, u64),
    /// A bug of the engine to live with.
    pub(crate) planted: Option<&'a str>,
    /// The values of a run that nobody disturbed.
    pub(crate) expected: &'a str,
}

/// What became of a run.
#[derive(Default)]
pub(crate) struct Course {
    pub(crate) heard: effects::Heard,
    pub(crate) kills: u64,
    /// What must not have happened.
    pub(crate) problems: Vec<String>,
}

/// One life.
struct Life {
    told: Vec<Told>,
    was_killed: bool,
    problem: Option<String>,
}

impl Trial<'_> {
    /// What a victim is told for one of its lives.
    pub(crate) fn order(&self, life: u32) -> Order {
        Order {
            threads: vec![self.thread.clone()],
            laps: self.size.0,
            weight: self.size.1,
            effects: Some(self.effects.clone()),
            life,
            // The lock on a file goes with the process; a server has to miss it first.
            waits: !self.place.is_file(),
            keeps: true,
            planted: self.planted.map(str::to_owned),
            ..Order::default()
        }
    }

    /// Starts a victim.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(&self, life: u32) -> Result<Child, String> {
        Child::start(&command("victim", &self.place, &self.order(life))?)
    }

    /// As many lives as it takes, most of them ended by a kill.
    ///
    /// # Errors
    /// When a victim does not start.
    pub(crate) fn kill_until_over(&self, random: &mut Random) -> Result<Course, String> {
        let mut course = Course::default();
        for life in 1..=MOST_LIVES {
            let ended = live(self.start(life)?, random)?;
            course.kills += u64::from(ended.was_killed);
            course.problems.extend(ended.problem);
            course.heard.extend(ended.told.into_iter().map(|told| (life, told)));
            if !course.problems.is_empty() || matches!(course.heard.last(), Some((_, Told::Ended { .. }))) {
                return Ok(course);
            }
        }
        course.problems.push(format!("the run did not end in {MOST_LIVES} lives"));
        Ok(course)
    }

    /// Holds what was heard against what is stored. What must not be, with what was wrong before.
    ///
    /// # Errors
    /// When nobody can look.
    pub(crate) fn judge(&self, course: Course, report: &mut Report) -> Result<Vec<String>, String> {
        let Course { heard, mut problems, .. } = course;
        let checkpoints = heard.iter().filter(|(_, told)| matches!(told, Told::Checkpoint { .. })).count();
        report.count("checkpoints acknowledged", checkpoints as u64);
        let question =
            Question { threads: vec![self.thread.clone()], integrity: self.place.is_file(), ..Question::default() };
        let stored = check::read(&self.place, &question)?;
        problems.extend(stored.problems());
        let lost = stored.lost(&self.thread, heard.iter().map(|(_, told)| told));
        report.count("acknowledgements lost", lost.len() as u64);
        problems.extend(lost);
        let line = stored.line(&self.thread, "");
        problems.extend(check::broken_line(&line).into_iter().filter(|_| self.planted.is_none()));
        if line.first().is_none_or(|newest| newest.digest != self.expected) {
            problems.push("the run ended with other values than one that nobody disturbed".to_owned());
        }
        let kept = stored.kept.get(&self.thread).cloned().unwrap_or_default();
        report.count("events kept", kept.events);
        let laps = NODES.map(|node| (node.to_owned(), self.size.0)).into();
        if kept.ends != laps {
            problems.push(format!("tasks that the kept events tell to have ended: {:?}", kept.ends));
        }
        let verdict = effects::judge(&effects::read(&self.effects)?, &heard);
        report.count("tasks in flight run again", verdict.in_flight);
        report.count("finished tasks run again", verdict.problems.len() as u64);
        problems.extend(verdict.problems);
        Ok(problems)
    }
}

/// One life: until it ends by itself, or is ended.
fn live(mut child: Child, random: &mut Random) -> Result<Life, String> {
    // About every eighth life is left alone, so that some runs end, and most die early or halfway.
    let after = if random.one_in(8) { u32::MAX } else { random.below(40) };
    let then = Duration::from_micros(u64::from(random.below(2_000)));
    let (mut told, mut was_killed, mut reports) = (Vec::new(), false, 0);
    loop {
        match child.hear() {
            Err(stuck) => return Ok(Life { told, was_killed, problem: Some(stuck) }),
            Ok(Heard::End) => break,
            Ok(Heard::Told(one)) => {
                reports += u32::from(!matches!(one, Told::Born { .. }));
                told.push(one);
            }
        }
        if reports >= after && !was_killed {
            spin(then);
            child.kill();
            was_killed = true;
        }
    }
    let end = child.end()?;
    let is_over = matches!(told.last(), Some(Told::Ended { .. }));
    // Struck after its last word, it had ended all the same.
    let died = was_killed && !end.status.success();
    let problem = match told.last() {
        Some(Told::Failed { code, message }) => Some(format!("a victim failed: {code}: {message}")),
        _ if !died && !is_over => Some(format!("a victim ended by itself with {}", end.spoken())),
        _ => None,
    };
    Ok(Life { told, was_killed: died, problem })
}

/// Waits for less than the system would let us sleep.
pub(crate) fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}
