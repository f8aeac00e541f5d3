//! Output of an agent, and errors of steps.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::core::time::Time;

/// Output of an agent, for other agents and for users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOutput {
    /// Data for the next agent.
    pub data: Map<String, Value>,
    /// Explanation for the family, one or two sentences.
    pub explanation: String,
    /// Confidence of the agent.
    pub confidence: Confidence,
    /// Reasons for the decision, for debugging.
    pub reasoning: String,
    /// Time of the output.
    #[schemars(with = "String")]
    pub timestamp: Time,
}

/// Confidence of an agent, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(#[schemars(range(min = 0.0, max = 1.0))] f64);

impl Confidence {
    /// Creates a confidence from a number; `None` if the number is outside 0 to 1.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Creates a confidence from a number, clamped to 0 to 1. NaN becomes 0.
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// Returns the larger of the confidence and `value`.
    #[must_use]
    pub fn at_least(self, value: f64) -> Self {
        Self(self.0.max(Self::clamped(value).0))
    }

    /// Returns the smaller of the confidence and `value`.
    #[must_use]
    pub fn at_most(self, value: f64) -> Self {
        Self(self.0.min(Self::clamped(value).0))
    }

    /// Returns the confidence as a number from 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Confidence {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        Self::new(value).ok_or_else(|| format!("confidence is {value}, but must be from 0 to 1"))
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An error of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorInfo {
    /// Name of the step.
    pub step: String,
    /// Kind of the error.
    pub error_type: String,
    /// Error message.
    pub message: String,
    /// Time of the error.
    #[schemars(with = "String")]
    pub timestamp: Time,
    /// True if a retry may succeed.
    pub retryable: bool,
}
