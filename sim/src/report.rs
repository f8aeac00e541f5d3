//! What is said at the end, for people and for programs.

use std::time::Duration;

use serde_json::{Map, Value, json};
use superstep::core::planted::Bug;

use crate::campaign::Total;
use crate::rules::{Fact, Rule};
use crate::seed::Found;

/// A planted bug, and after how many schedules it was found.
pub(crate) type PlantedFound = (Bug, Option<u64>);

/// Everything that was done.
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) planted: Vec<PlantedFound>,
    pub(crate) total: Total,
    pub(crate) time: Duration,
    /// Rules that nothing has put to the test.
    pub(crate) untried: Vec<Rule>,
}

impl Report {
    /// Whether everything is as it should be.
    pub(crate) fn is_good(&self) -> bool {
        self.total.found.is_none() && self.untried.is_empty() && self.planted.iter().all(|(_, at)| at.is_some())
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<String> = self.planted.iter().map(planted_line).collect();
        for fact in Fact::ALL {
            lines.push(format!("{:>14}  {}", self.total.tally.of(*fact), fact.name()));
        }
        lines.extend(self.untried.iter().map(|rule| format!("never put to the test: {rule}")));
        lines.extend(self.total.found.iter().map(|found| found_text(found, None)));
        let schedules = self.total.tally.of(Fact::Schedules);
        let speed = schedules as f64 / self.total.time.as_secs_f64().max(0.001);
        let planted = self.planted.iter().filter(|(_, at)| at.is_some()).count();
        lines.push(format!(
            "{schedules} schedules of {} seeds, {} violations, {speed:.0} schedules per second; {planted} of {} planted \
             bugs found; {:.1} s in all",
            self.total.seeds,
            u8::from(self.total.found.is_some()),
            self.planted.len(),
            self.time.as_secs_f64(),
        ));
        lines.join("\n")
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let facts: Map<String, Value> =
            Fact::ALL.iter().map(|fact| (fact.name().replace(' ', "_"), json!(self.total.tally.of(*fact)))).collect();
        let planted: Map<String, Value> =
            self.planted.iter().map(|(bug, at)| (bug.name().to_owned(), json!(at))).collect();
        json!({
            "seed": self.seed,
            "seeds": self.total.seeds,
            "schedules": self.total.tally.of(Fact::Schedules),
            "violations": u8::from(self.total.found.is_some()),
            "found": self.total.found.as_ref().map(|found| found_text(found, None)),
            "untried": self.untried.iter().map(|rule| rule.name()).collect::<Vec<_>>(),
            "planted": planted,
            "facts": facts,
            "seconds": (self.time.as_secs_f64() * 10.0).round() / 10.0,
        })
    }
}

fn planted_line((bug, at): &PlantedFound) -> String {
    match at {
        Some(at) => format!("planted `{bug}` found at schedule {at}"),
        None => format!("planted `{bug}` NOT FOUND"),
    }
}

/// A broken rule, and how to see it again.
pub(crate) fn found_text(found: &Found, planted: Option<Bug>) -> String {
    let Found { seed, schedule, scenario, plan, violation } = found;
    let planted = planted.map(|bug| format!(" --planted {bug}")).unwrap_or_default();
    format!(
        "VIOLATION of {}\n  {}\n  scenario: {scenario}; fault: {plan}\nREPRO: seed={seed} schedule={schedule}\n  \
         cargo xtask sim --seed {seed} --schedule {schedule}{planted} --trace",
        violation.rule, violation.text
    )
}
