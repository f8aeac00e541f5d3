//! Verdict of the verifier on the results of tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict of the verifier on the outputs of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Status that determines the next step.
    pub status: VerdictStatus,
    /// Reason why the outputs are not sufficient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<VerdictReason>,
    /// Information that the outputs lack.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// Status of a verdict; its name is the `status` of the verdict event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// The outputs answer the question, and the answer is written next.
    Verified,
    /// The outputs do not answer the question, and a new plan follows.
    PlanningRetry,
    /// The user answered a clarification question, and a new plan follows.
    ClarificationNeeded,
    /// The maximum number of plans is reached; the answer names the missing information.
    GivingUp,
}

/// Reason why outputs are not sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictReason {
    /// The calls returned no data.
    Empty,
    /// The calls failed.
    Error,
    /// The results do not answer the question.
    Irrelevant,
    /// The results fit several interpretations of the question.
    Ambiguous,
}

impl VerdictReason {
    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Error => "error",
            Self::Irrelevant => "irrelevant",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Response of a model to `task: verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// True if the outputs answer the question.
    pub answers: bool,
    /// Reason why the outputs do not answer the question.
    #[serde(default)]
    pub reason: Option<VerdictReason>,
    /// Missing information, a few words per entry.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Possible interpretations of an ambiguous question.
    #[serde(default)]
    pub choices: Vec<String>,
}
