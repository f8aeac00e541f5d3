//! Verdict of the verifier on the results of tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the verifier decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What follows.
    pub status: VerdictStatus,
    /// What is wrong, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<VerdictReason>,
    /// What the outputs do not say.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// What follows a verdict. The name is the `status` of the event that tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// The outputs answer the question: the answer is written.
    Verified,
    /// It is planned again.
    PlanningRetry,
    /// The user was asked what was meant, and it is planned again.
    ClarificationNeeded,
    /// It was planned often enough: the answer says what is missing.
    GivingUp,
}

/// What is wrong with outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictReason {
    /// Nothing was found.
    Empty,
    /// The calls failed.
    Error,
    /// What was found does not answer the question.
    Irrelevant,
    /// What was found fits several things that the user may have meant.
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

/// What a model says of outputs: the form of its answer to `task: verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Whether the outputs answer the question.
    pub answers: bool,
    /// What is wrong, where they do not.
    #[serde(default)]
    pub reason: Option<VerdictReason>,
    /// What is missing, a few words each.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What the user may have meant, where that is not clear.
    #[serde(default)]
    pub choices: Vec<String>,
}
