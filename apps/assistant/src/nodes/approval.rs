//! Human decisions on tool calls, one interrupt per call.
//!
//! Interrupts of a node are matched by their order, but the set of calls that need approval may change while an
//! interrupt is open, because a run may resume with another context and policy. Therefore every interrupt runs in
//! its own `once`, with a key from the call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep::core::canonical::sort_keys;
use superstep::core::id::hash_id;
use superstep::core::message::ToolCall;
use superstep::{Interrupts, NodeError, TaskContext};

/// Decision of a person on a call of a destructive tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Kind of the decision.
    pub decision: DecisionKind,
    /// Arguments that replace the planned ones; only with `edit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// Reason for `deny`; it is passed to the assistant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Kind of a decision on a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Runs this call.
    AllowOnce,
    /// Runs this call, and approves later calls of the tool in this session.
    AllowSession,
    /// Runs the call with other arguments.
    Edit,
    /// Does not run the call.
    Deny,
}

/// Requests the decision on this call. A call with another id, tool or arguments is a different interrupt.
pub(super) async fn decision(
    call: &ToolCall,
    payload: Value,
    (interrupts, cx): (&Interrupts, &TaskContext),
) -> Result<Decision, NodeError> {
    let text = sort_keys(json!([call.name, call.args])).to_string();
    let key = format!("approval {} {:032x}", call.id, hash_id(&[text.as_bytes()]));
    cx.once(&key, interrupts.raise("approval", payload)).await
}
