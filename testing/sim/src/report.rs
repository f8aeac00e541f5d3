//! The final report, as text and JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};
use superstep::core::seeded_bugs::SeededBug;

use crate::campaign::CampaignResult;
use crate::invariants::{Counter, Rule};
use crate::seed::FoundViolation;

/// A seeded bug, and the number of schedules after which it was found.
pub(crate) type SeededBugResult = (SeededBug, Option<u64>);

/// Results of the whole simulation.
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) seeded_bugs: Vec<SeededBugResult>,
    pub(crate) total: CampaignResult,
    pub(crate) time: Duration,
    /// Invariants that no schedule has checked.
    pub(crate) unchecked: Vec<Rule>,
}

impl Report {
    /// Returns true if everything is as expected.
    pub(crate) fn is_good(&self) -> bool {
        self.total.violation.is_none()
            && self.unchecked.is_empty()
            && self.seeded_bugs.iter().all(|(_, at)| at.is_some())
    }

    /// Returns the report as text.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<String> = self.seeded_bugs.iter().map(seeded_bug_line).collect();
        for counter in Counter::ALL {
            lines.push(format!("{:>14}  {}", self.total.counters.get(*counter), counter.name()));
        }
        lines.extend(self.unchecked.iter().map(|rule| format!("never checked: {rule}")));
        lines.extend(self.total.violation.iter().map(|violation| found_text(violation, None)));
        let schedules = self.total.counters.get(Counter::Schedules);
        let speed = schedules as f64 / self.total.time.as_secs_f64().max(0.001);
        let found_bugs = self.seeded_bugs.iter().filter(|(_, at)| at.is_some()).count();
        lines.push(format!(
            "{schedules} schedules of {} seeds, {} violations, {speed:.0} schedules per second; {found_bugs} of {} seeded \
             bugs found; {:.1} s",
            self.total.seeds,
            u8::from(self.total.violation.is_some()),
            self.seeded_bugs.len(),
            self.time.as_secs_f64(),
        ));
        lines.join("\n")
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self) -> Value {
        let counters: Map<String, Value> = Counter::ALL
            .iter()
            .map(|counter| (counter.name().replace(' ', "_"), json!(self.total.counters.get(*counter))))
            .collect();
        let seeded_bugs: Map<String, Value> =
            self.seeded_bugs.iter().map(|(bug, at)| (bug.name().to_owned(), json!(at))).collect();
        json!({
            "seed": self.seed,
            "seeds": self.total.seeds,
            "schedules": self.total.counters.get(Counter::Schedules),
            "violations": u8::from(self.total.violation.is_some()),
            "found": self.total.violation.as_ref().map(|found| found_text(found, None)),
            "untried": self.unchecked.iter().map(|rule| rule.name()).collect::<Vec<_>>(),
            "seeded_bugs": seeded_bugs,
            "facts": counters,
            "seconds": (self.time.as_secs_f64() * 10.0).round() / 10.0,
        })
    }
}

fn seeded_bug_line((bug, at): &SeededBugResult) -> String {
    match at {
        Some(at) => format!("seeded bug `{bug}` found at schedule {at}"),
        None => format!("seeded bug `{bug}` NOT FOUND"),
    }
}

/// Describes a violation with the command that reproduces it.
pub(crate) fn found_text(finding: &FoundViolation, seeded_bug: Option<SeededBug>) -> String {
    let FoundViolation { seed, schedule, scenario, plan, violation } = finding;
    let bug_option = seeded_bug.map(|bug| format!(" --seeded-bug {bug}")).unwrap_or_default();
    format!(
        "VIOLATION of {}\n  {}\n  scenario: {scenario}; fault: {plan}\nREPRO: seed={seed} schedule={schedule}\n  \
         cargo xtask sim --seed {seed} --schedule {schedule}{bug_option} --trace",
        violation.rule, violation.text
    )
}
