//! The state of a conversation: fields and reducers.
//!
//! The modules of `nodes` define which node writes which field; `scratchpad` defines entries that are only needed
//! within a turn.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::{GraphState, Message, Messages};

use crate::plan::{NextStep, PlannedCall};
use crate::verdict::Verdict;

/// State of a conversation: messages, the current turn, and user data.
#[derive(GraphState, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "assistant", version = 1)]
#[serde(deny_unknown_fields)]
pub struct AgentState {
    /// Messages of user and assistant, with tool calls and their results.
    #[reduce(messages)]
    pub messages: Messages,
    /// Id of the session. Default: the thread id.
    #[state(set_once)]
    pub session_id: String,
    /// Id of the user.
    #[state(set_once)]
    pub user_id: String,
    /// Data about the user: `name`, `role`, `permissions`, `preferences`, `rights`, and `approved`, the tools that
    /// are approved for this session.
    #[reduce(merge)]
    pub user_context: BTreeMap<String, Value>,
    /// Phase of the turn.
    pub phase: Phase,
    /// Temporary entries of the turn; empty between turns.
    #[reduce(merge)]
    pub scratchpad: BTreeMap<String, Value>,
    /// Number of additional plans in the turn.
    pub retry_count: u32,
    /// Tokens of all model responses; nodes return the tokens that they used.
    #[reduce(add)]
    pub tokens_used: u64,
    /// Start of the turn, in seconds since 1970.
    pub start_time: f64,
    /// True if the policy accepts the message; `None` before the check.
    pub safety_check: Option<bool>,
    /// Next step of the plan.
    pub next_step: Option<NextStep>,
    /// Calls of the plan.
    pub tool_calls: Vec<PlannedCall>,
    /// Results of the calls, in the order of the calls.
    pub tool_outputs: Vec<Message>,
    /// Summary of the messages that were removed.
    pub summary: String,
    /// Verdict of the verifier on the outputs.
    pub verdict: Option<Verdict>,
}

/// Phase of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The planner chooses the next step.
    #[default]
    Plan,
    /// The tool executor runs the planned calls.
    Execute,
    /// The verifier checks the outputs.
    Verify,
    /// The generator writes the answer.
    Generate,
}
