//! What people decide about calls of tools, each decision for the one call it was asked for.
//!
//! Questions of a node are known by their order, and which calls are asked about may change while one waits: the
//! conversation goes on at another desk, with another policy. So each is asked in a step of its own, named by the call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep::core::canonical::sorted;
use superstep::core::id::derive;
use superstep::core::message::ToolCall;
use superstep::{Ask, Cx, NodeError};

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

/// What a person decides about this call: a call of another id, tool or arguments is another question.
pub(super) async fn decision(call: &ToolCall, shown: Value, (ask, cx): (&Ask, &Cx)) -> Result<Decision, NodeError> {
    let text = sorted(json!([call.name, call.args])).to_string();
    let key = format!("approval {} {:032x}", call.id, derive(&[text.as_bytes()]));
    cx.once(&key, ask.person("approval", shown)).await
}
