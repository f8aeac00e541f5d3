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

/// What a person says about a call of a destructive tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What they decide.
    pub decision: DecisionKind,
    /// The arguments in place of the planned ones, with `edit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// Why, with `deny`; the assistant is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a person decides about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// This call is made.
    AllowOnce,
    /// This call is made, and nobody is asked about the tool again in this session.
    AllowSession,
    /// It is made with other arguments.
    Edit,
    /// It is not made.
    Deny,
}

/// Requests the decision on this call. A call with another id, tool or arguments is a different interrupt.
pub(super) async fn decision(
    call: &ToolCall,
    shown: Value,
    (ask, cx): (&Interrupts, &TaskContext),
) -> Result<Decision, NodeError> {
    let text = sort_keys(json!([call.name, call.args])).to_string();
    let key = format!("approval {} {:032x}", call.id, hash_id(&[text.as_bytes()]));
    cx.once(&key, ask.raise("approval", shown)).await
}
