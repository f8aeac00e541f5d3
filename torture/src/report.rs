//! What the proofs found, for people and for programs.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How many findings of a proof are shown; the rest is counted.
const SHOWN: usize = 8;

/// What one proof did and found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    counts: Vec<(String, u64)>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) time: Duration,
    /// Why the proof cannot be performed by this user on this system.
    pub(crate) left_out: Option<String>,
}

/// Something that must not be.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    /// What was lost, or done twice, or stuck.
    pub(crate) text: String,
    /// The seed at which it happens again.
    pub(crate) seed: u64,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Counts something; named counts are shown in the order in which they came up.
    pub(crate) fn count(&mut self, what: &str, more: u64) {
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += more,
            None => self.counts.push((what.to_owned(), more)),
        }
    }

    /// How often something was counted.
    pub(crate) fn of(&self, what: &str) -> u64 {
        self.counts.iter().find(|(name, _)| *name == what).map_or(0, |(_, count)| *count)
    }

    /// Something was found.
    pub(crate) fn find(&mut self, seed: u64, text: impl Into<String>) {
        self.violations.push(Violation { text: text.into(), seed });
    }

    /// Several things were found.
    pub(crate) fn find_all(&mut self, seed: u64, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.find(seed, text));
    }

    /// A proof that did not do what it is there for proves nothing.
    pub(crate) fn must_have(&mut self, seed: u64, what: &str, at_least: u64) {
        let count = self.of(what);
        if count < at_least {
            self.find(seed, format!("the proof itself is not worth much: {count} {what}, at least {at_least} needed"));
        }
    }

    /// Everything, for the process this one was started by.
    pub(crate) fn whole(&self) -> Value {
        let found: Vec<_> = self.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
        json!({ "counts": self.counts, "found": found })
    }

    /// Takes in what another process found.
    ///
    /// # Errors
    /// When that is not what [`Report::whole`] says.
    pub(crate) fn take(&mut self, whole: &Value) -> Result<(), String> {
        let unreadable = |error: serde_json::Error| format!("a report cannot be read: {error}");
        let counts: Vec<(String, u64)> = Deserialize::deserialize(&whole["counts"]).map_err(unreadable)?;
        let found: Vec<(u64, String)> = Deserialize::deserialize(&whole["found"]).map_err(unreadable)?;
        counts.into_iter().for_each(|(name, count)| self.count(&name, count));
        found.into_iter().for_each(|(seed, text)| self.find(seed, text));
        Ok(())
    }

    /// Takes in what was found beside this.
    pub(crate) fn join(&mut self, other: Self) {
        other.counts.into_iter().for_each(|(name, count)| self.count(&name, count));
        self.violations.extend(other.violations);
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        if let Some(why) = &self.left_out {
            return format!("{:<8} LEFT OUT, NOTHING WAS PROVED: {why}", self.name);
        }
        let counts: Vec<String> = self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let mut lines = vec![format!(
            "{:<8} {}; {} violations; {:.1} s",
            self.name,
            counts.join(", "),
            self.violations.len(),
            self.time.as_secs_f64()
        )];
        for violation in self.violations.iter().take(SHOWN) {
            lines.push(format!("VIOLATION in `{}`: {}", self.name, violation.text));
            let (name, seed) = (self.name, violation.seed);
            lines.push(format!("REPRO: seed={seed}\n  cargo xtask torture --only {name} --seed {seed}"));
        }
        if self.violations.len() > SHOWN {
            lines.push(format!("and {} more", self.violations.len() - SHOWN));
        }
        lines.join("\n")
    }

    /// For programs.
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
    fn a_finding_comes_with_the_command_that_repeats_it() {
        let mut report = Report::new("kill");
        report.count("kills", 3);
        report.count("kills", 4);
        assert_eq!(report.of("kills"), 7);
        report.find(9, "checkpoint x is gone");
        let text = report.text();
        assert!(text.contains("7 kills") && text.contains("1 violations"), "{text}");
        assert!(text.contains("cargo xtask torture --only kill --seed 9"), "{text}");
        assert_eq!(report.json(9)["counts"]["kills"], 7);
        let mut other = Report::new("kill");
        other.take(&report.whole()).unwrap();
        assert_eq!(other.text(), text);
    }

    #[test]
    fn a_proof_that_is_left_out_says_so_and_why() {
        let report = Report { left_out: Some("it needs root".to_owned()), ..Report::new("full") };
        let text = report.text();
        assert!(text.contains("LEFT OUT") && text.contains("it needs root") && !text.contains("violations"), "{text}");
    }

    #[test]
    fn a_proof_that_did_nothing_is_a_finding() {
        let mut report = Report::new("io");
        report.must_have(1, "failures injected", 1);
        assert_eq!(report.violations.len(), 1);
    }
}
