//! Results of the tests, as text and JSON.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Maximum number of displayed violations per test; further ones are only counted.
const MAX_DISPLAYED: usize = 8;

/// Result of one test.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    counts: Vec<(String, u64)>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) time: Duration,
    /// Reason why the test cannot be run by this user on this system.
    pub(crate) skipped_because: Option<String>,
}

/// A violation.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    /// Description of lost, repeated or stuck work.
    pub(crate) text: String,
    /// Seed that reproduces the violation.
    pub(crate) seed: u64,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds to a named count; counts are displayed in the order of their first use.
    pub(crate) fn count(&mut self, counter: &str, amount: u64) {
        match self.counts.iter_mut().find(|(name, _)| *name == counter) {
            Some((_, count)) => *count += amount,
            None => self.counts.push((counter.to_owned(), amount)),
        }
    }

    /// Returns a count.
    pub(crate) fn get(&self, counter: &str) -> u64 {
        self.counts.iter().find(|(name, _)| *name == counter).map_or(0, |(_, count)| *count)
    }

    /// Adds a violation.
    pub(crate) fn add_violation(&mut self, seed: u64, text: impl Into<String>) {
        self.violations.push(Violation { text: text.into(), seed });
    }

    /// Adds several violations.
    pub(crate) fn add_violations(&mut self, seed: u64, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add_violation(seed, text));
    }

    /// Adds a violation if a count is too low, because the test would then prove nothing.
    pub(crate) fn require_count(&mut self, seed: u64, counter: &str, at_least: u64) {
        let count = self.get(counter);
        if count < at_least {
            self.add_violation(
                seed,
                format!("the test had too little effect: {count} {counter}, at least {at_least} needed"),
            );
        }
    }

    /// Returns the complete result for the parent process.
    pub(crate) fn to_value(&self) -> Value {
        let violations: Vec<_> = self.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
        json!({ "counts": self.counts, "found": violations })
    }

    /// Adds the result of another process.
    ///
    /// # Errors
    /// Returns an error if the value was not created by [`Report::to_value`].
    pub(crate) fn merge_value(&mut self, value: &Value) -> Result<(), String> {
        let unreadable = |error: serde_json::Error| format!("a report cannot be read: {error}");
        let counts: Vec<(String, u64)> = Deserialize::deserialize(&value["counts"]).map_err(unreadable)?;
        let violations: Vec<(u64, String)> = Deserialize::deserialize(&value["found"]).map_err(unreadable)?;
        counts.into_iter().for_each(|(name, count)| self.count(&name, count));
        violations.into_iter().for_each(|(seed, text)| self.add_violation(seed, text));
        Ok(())
    }

    /// Adds another report.
    pub(crate) fn merge(&mut self, other: Self) {
        other.counts.into_iter().for_each(|(name, count)| self.count(&name, count));
        self.violations.extend(other.violations);
    }

    /// Returns the report as text.
    pub(crate) fn text(&self) -> String {
        if let Some(reason) = &self.skipped_because {
            return format!("{:<8} SKIPPED: {reason}", self.name);
        }
        let counts: Vec<String> = self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let mut lines = vec![format!(
            "{:<8} {}; {} violations; {:.1} s",
            self.name,
            counts.join(", "),
            self.violations.len(),
            self.time.as_secs_f64()
        )];
        for violation in self.violations.iter().take(MAX_DISPLAYED) {
            lines.push(format!("VIOLATION in `{}`: {}", self.name, violation.text));
            let (name, seed) = (self.name, violation.seed);
            lines.push(format!("REPRO: seed={seed}\n  cargo xtask torture --only {name} --seed {seed}"));
        }
        if self.violations.len() > MAX_DISPLAYED {
            lines.push(format!("and {} more", self.violations.len() - MAX_DISPLAYED));
        }
        lines.join("\n")
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self, seed: u64) -> Value {
        let counts: Map<String, Value> =
            self.counts.iter().map(|(name, count)| (name.replace(' ', "_"), json!(count))).collect();
        json!({
            "proof": self.name,
            "seed": seed,
            "counts": counts,
            "violations": self.violations.len(),
            "seconds": (self.time.as_secs_f64() * 10.0).round() / 10.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_printed_with_the_command_that_repeats_it() {
        let mut report = Report::new("kill");
        report.count("kills", 3);
        report.count("kills", 4);
        assert_eq!(report.get("kills"), 7);
        report.add_violation(9, "checkpoint x is missing");
        let text = report.text();
        assert!(text.contains("7 kills") && text.contains("1 violations"), "{text}");
        assert!(text.contains("cargo xtask torture --only kill --seed 9"), "{text}");
        assert_eq!(report.json(9)["counts"]["kills"], 7);
        let mut other = Report::new("kill");
        other.merge_value(&report.to_value()).unwrap();
        assert_eq!(other.text(), text);
    }

    #[test]
    fn a_skipped_test_reports_its_reason() {
        let report = Report { skipped_because: Some("it needs root".to_owned()), ..Report::new("full") };
        let text = report.text();
        assert!(text.contains("SKIPPED") && text.contains("it needs root") && !text.contains("violations"), "{text}");
    }

    #[test]
    fn a_test_without_an_effect_is_a_violation() {
        let mut report = Report::new("io");
        report.require_count(1, "failures injected", 1);
        assert_eq!(report.violations.len(), 1);
    }
}
