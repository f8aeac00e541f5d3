//! What a run of a debate needs and nobody saves: who answers, when people are asked, where facts are looked up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::model::SharedModel;

use crate::evidence::Evidence;
use crate::state::Debate;

/// Where a debate is held. A debate that goes on must be given the options it began with.
#[derive(Clone)]
pub struct Hall {
    /// Who speaks for all three voices.
    pub model: SharedModel,
    /// When a person is asked.
    pub approval: Approval,
    /// When claims are looked up.
    pub fact_check: FactCheck,
    /// Where claims are looked up.
    pub evidence: Option<Arc<Evidence>>,
    /// What weights on this machine draw their chance from.
    pub seed: u64,
}

impl Hall {
    /// A hall in which nobody is asked and nothing is looked up.
    #[must_use]
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self { model: model.into(), approval: Approval::Off, fact_check: FactCheck::Off, evidence: None, seed: 0 }
    }

    /// Asks a person at these times.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Looks claims up at these times.
    #[must_use]
    pub fn fact_check(mut self, fact_check: FactCheck) -> Self {
        self.fact_check = fact_check;
        self
    }

    /// Lets weights on this machine draw their chance from this.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Looks claims up here.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<Arc<Evidence>>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }

    /// Whether a person is asked once this many rounds of a debate are over.
    pub(crate) fn asks_after(&self, round: u32, debate: &Debate) -> bool {
        match self.approval {
            Approval::Off => false,
            Approval::BeforeSummary => round >= debate.max_rounds,
            Approval::EachRound => true,
        }
    }
}

/// When a person is asked to let a debate go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Never.
    #[default]
    Off,
    /// Once, when all rounds are over.
    BeforeSummary,
    /// After every round.
    EachRound,
}

/// When claims are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactCheck {
    /// Never.
    #[default]
    Off,
    /// After every round, beside the next speaker.
    EachRound,
    /// Once, when the arguments are over.
    AtEnd,
}
