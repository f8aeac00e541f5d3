//! Result of a fact check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of the check of one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactCheckResult {
    /// Text of the claim.
    pub claim: String,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Sources of the evidence: addresses, or `file#heading`.
    pub sources: Vec<String>,
}

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Evidence supports the claim, and none contradicts it.
    True,
    /// Evidence contradicts the claim.
    False,
    /// The evidence neither supports nor contradicts the claim.
    Unverifiable,
}
