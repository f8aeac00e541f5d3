//! Run context of a debate, which is not saved: model, approval mode, fact checks.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::models::SharedModel;

use crate::evidence::Evidence;
use crate::state::DebateState;

/// Run context of a debate. Resume a debate with the options it was started with.
#[derive(Clone)]
pub struct DebateContext {
    /// Model for all three agents.
    pub model: SharedModel,
    /// Times at which the user is asked for approval.
    pub approval: ApprovalMode,
    /// Times at which claims are checked.
    pub fact_check: FactCheckMode,
    /// Documents for fact checks.
    pub evidence: Option<Arc<Evidence>>,
    /// Seed for sampling of local weights.
    pub seed: u64,
}

impl DebateContext {
    /// Creates a context without approvals and fact checks.
    #[must_use]
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self {
            model: model.into(),
            approval: ApprovalMode::Off,
            fact_check: FactCheckMode::Off,
            evidence: None,
            seed: 0,
        }
    }

    /// Sets when the user is asked for approval.
    #[must_use]
    pub fn approval(mut self, approval: ApprovalMode) -> Self {
        self.approval = approval;
        self
    }

    /// Sets when claims are checked.
    #[must_use]
    pub fn fact_check(mut self, fact_check: FactCheckMode) -> Self {
        self.fact_check = fact_check;
        self
    }

    /// Sets the seed for sampling of local weights.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the documents for fact checks.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<Arc<Evidence>>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }

    /// Returns true if the user is asked for approval after this number of rounds.
    pub(crate) fn needs_approval_after(&self, round: u32, debate: &DebateState) -> bool {
        match self.approval {
            ApprovalMode::Off => false,
            ApprovalMode::BeforeSummary => round >= debate.max_rounds,
            ApprovalMode::EachRound => true,
        }
    }
}

/// Times at which the user is asked to approve a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Never.
    #[default]
    Off,
    /// Once, after the last round.
    BeforeSummary,
    /// After every round.
    EachRound,
}

/// Times at which claims are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactCheckMode {
    /// Never.
    #[default]
    Off,
    /// After every round, in parallel with the next agent.
    EachRound,
    /// Once, before the summary.
    AtEnd,
}
