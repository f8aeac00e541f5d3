//! Result of a fact check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found about one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactCheckResult {
    /// The claim, as it was said.
    pub claim: String,
    /// What was found.
    pub verdict: Verdict,
    /// Where: addresses, or `file#heading`.
    pub sources: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Evidence supports it, and none contradicts it.
    True,
    /// Evidence contradicts it.
    False,
    /// Neither.
    Unverifiable,
}
