//! Confidence of the rules: 0.30, plus the weights of the parts found, minus 0.20 per ambiguity and 0.10 per
//! unknown name.

use crate::models::{Confidence, EventType};

/// Expected parts: name, weight in hundredths, and true if found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ConfidenceWeights(Vec<(&'static str, i32, bool)>);

/// Initial confidence in hundredths.
const INITIAL_CONFIDENCE: i32 = 30;
const PER_AMBIGUITY: i32 = 20;
const PER_UNKNOWN: i32 = 10;

impl ConfidenceWeights {
    pub(super) fn add(&mut self, name: &'static str, hundredths: i32, is_found: bool) {
        self.0.push((name, hundredths, is_found));
    }

    /// Computes the confidence.
    pub(super) fn confidence(&self, ambiguities: usize, unknown: usize) -> Confidence {
        let matched: i32 =
            self.0.iter().filter(|(_, _, is_found)| *is_found).map(|(_, hundredths, _)| hundredths).sum();
        let to_i32 = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let penalty = to_i32(ambiguities)
            .saturating_mul(PER_AMBIGUITY)
            .saturating_add(to_i32(unknown).saturating_mul(PER_UNKNOWN));
        confidence((INITIAL_CONFIDENCE + matched).saturating_sub(penalty))
    }

    /// Formats the computation.
    pub(super) fn explanation(&self, ambiguities: usize, unknown: usize) -> String {
        let mut parts = vec!["0.30".to_owned()];
        for (name, hundredths, is_found) in &self.0 {
            match is_found {
                true => parts.push(format!("+ 0.{hundredths:02} {name}")),
                false => parts.push(format!("(no {name})")),
            }
        }
        parts.extend((ambiguities > 0).then(|| format!("- {ambiguities} x 0.20 ambiguity")));
        parts.extend((unknown > 0).then(|| format!("- {unknown} x 0.10 unknown name")));
        parts.join(" ")
    }
}

/// Converts hundredths to a confidence between 0.05 and 0.99.
pub(super) fn confidence(hundredths: i32) -> Confidence {
    let value = f64::from(hundredths.clamp(5, 99)) / 100.0;
    Confidence::new(value).expect("the value is between 0.05 and 0.99")
}

/// Returns the name of an intent.
pub(super) fn name(intent: EventType) -> &'static str {
    match intent {
        EventType::Create => "create",
        EventType::Modify => "modify",
        EventType::Cancel => "cancel",
        EventType::Query => "query",
    }
}
