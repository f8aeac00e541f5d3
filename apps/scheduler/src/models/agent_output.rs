//! Output of an agent, and errors of steps.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::core::time::Time;

/// What an agent found, for machines and for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOutput {
    /// For the next agent.
    pub data: Map<String, Value>,
    /// For the family: one or two sentences.
    pub explanation: String,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// Why it decided so, for who looks closer.
    pub reasoning: String,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Time,
}

/// How sure an agent is, from 0 to 1.
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
    pub fn near(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// Returns the larger of the confidence and `value`.
    #[must_use]
    pub fn at_least(self, value: f64) -> Self {
        Self(self.0.max(Self::near(value).0))
    }

    /// Returns the smaller of the confidence and `value`.
    #[must_use]
    pub fn at_most(self, value: f64) -> Self {
        Self(self.0.min(Self::near(value).0))
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
        Self::new(value).ok_or_else(|| format!("confidence is {value}, and goes from 0 to 1"))
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

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorInfo {
    /// In which step.
    pub step: String,
    /// Of what kind it is.
    pub error_type: String,
    /// What happened.
    pub message: String,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Time,
    /// Whether trying again may help.
    pub retryable: bool,
}
