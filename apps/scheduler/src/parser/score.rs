//! How sure the rules are: 0.30, plus what was found, less 0.20 for each doubt and 0.10 for each unknown name.

use crate::models::{Confidence, EventType};

/// What was looked for, in hundredths, and whether it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Weights(Vec<(&'static str, i32, bool)>);

/// What a sentence starts with, in hundredths.
const START: i32 = 30;
const PER_DOUBT: i32 = 20;
const PER_UNKNOWN: i32 = 10;

impl Weights {
    pub(super) fn add(&mut self, name: &'static str, hundredths: i32, is_found: bool) {
        self.0.push((name, hundredths, is_found));
    }

    /// The number.
    pub(super) fn confidence(&self, doubts: usize, unknown: usize) -> Confidence {
        let found: i32 = self.0.iter().filter(|(_, _, is_found)| *is_found).map(|(_, hundredths, _)| hundredths).sum();
        let many = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let less = many(doubts).saturating_mul(PER_DOUBT).saturating_add(many(unknown).saturating_mul(PER_UNKNOWN));
        confidence((START + found).saturating_sub(less))
    }

    /// How it came about.
    pub(super) fn written(&self, doubts: usize, unknown: usize) -> String {
        let mut parts = vec!["0.30".to_owned()];
        for (name, hundredths, is_found) in &self.0 {
            match is_found {
                true => parts.push(format!("+ 0.{hundredths:02} {name}")),
                false => parts.push(format!("(no {name})")),
            }
        }
        parts.extend((doubts > 0).then(|| format!("- {doubts} x 0.20 doubt")));
        parts.extend((unknown > 0).then(|| format!("- {unknown} x 0.10 unknown name")));
        parts.join(" ")
    }
}

/// Hundredths as a number that is never quite sure, either way.
pub(super) fn confidence(hundredths: i32) -> Confidence {
    let value = f64::from(hundredths.clamp(5, 99)) / 100.0;
    Confidence::new(value).expect("it lies between 0.05 and 0.99")
}

/// What is wanted, in a word.
pub(super) fn name(wanted: EventType) -> &'static str {
    match wanted {
        EventType::Create => "create",
        EventType::Modify => "modify",
        EventType::Cancel => "cancel",
        EventType::Query => "query",
    }
}
