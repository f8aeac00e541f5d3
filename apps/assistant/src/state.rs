//! The state of a conversation: its fields and how they fold.
//!
//! Who writes which field is in `nodes`; what a turn notes for itself and nobody needs afterwards is in `scratch`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::{Message, Messages, State};

use crate::plan::{NextStep, PlannedCall};
use crate::verdict::Verdict;

/// A conversation: what was said, what is being done about it, and what is remembered.
#[derive(State, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "assistant", version = 1)]
#[serde(deny_unknown_fields)]
pub struct Assistant {
    /// What was said, with the calls of tools and what they gave.
    #[reduce(messages)]
    pub messages: Messages,
    /// The conversation; the thread unless told.
    #[state(set_once)]
    pub session_id: String,
    /// Whose it is.
    #[state(set_once)]
    pub user_id: String,
    /// What is known of the user: `name`, `role`, `permissions`, `preferences`, `rights`, and `approved`, the tools that were
    /// allowed for this session.
    #[reduce(merge)]
    pub user_context: BTreeMap<String, Value>,
    /// Where the turn is.
    pub phase: Phase,
    /// What the turn notes for itself; empty between turns.
    #[reduce(merge)]
    pub scratchpad: BTreeMap<String, Value>,
    /// How often the turn was planned again.
    pub retry_count: u32,
    /// Tokens of all answers of models; nodes return what they used.
    #[reduce(add)]
    pub tokens_used: u64,
    /// When the turn began, in seconds since 1970.
    pub start_time: f64,
    /// Whether the policy lets the message pass.
    pub safety_check: Option<bool>,
    /// What the plan says.
    pub next_step: Option<NextStep>,
    /// The calls of the plan.
    pub tool_calls: Vec<PlannedCall>,
    /// What they gave, in their order.
    pub tool_outputs: Vec<Message>,
    /// What was said before the messages that are kept.
    pub summary: String,
    /// What the verifier thinks of the outputs.
    pub verdict: Option<Verdict>,
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It is decided what to do.
    #[default]
    Plan,
    /// Tools are run.
    Execute,
    /// Their outputs are looked at.
    Verify,
    /// The answer is written.
    Generate,
}
