//! Human decisions about tool calls, in the JSON format of LangChain's human-in-the-loop middleware.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::core::message::ToolCall;
use crate::tools::ToolSpec;

/// Human decision about a tool call.
///
/// ```
/// use superstep::agents::Decision;
/// let no = serde_json::to_value(Decision::reject("not today")).unwrap();
/// assert_eq!(no, serde_json::json!({ "type": "reject", "message": "not today" }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Runs the call unchanged.
    Approve,
    /// Runs a changed call.
    Edit {
        /// Call to run.
        edited_action: EditedAction,
    },
    /// Does not run the call; the model receives the reason.
    Reject {
        /// Reason for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Does not run the call; the message becomes its result.
    Respond {
        /// Result of the call, for the model.
        message: String,
    },
}

/// The call that runs in place of the requested one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditedAction {
    /// Name of the tool. Default: the requested tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Arguments of the call.
    pub args: Map<String, Value>,
}

impl Decision {
    /// Creates a decision that runs the call with other arguments.
    #[must_use]
    pub fn edit(args: Map<String, Value>) -> Self {
        Self::Edit { edited_action: EditedAction { name: None, args } }
    }

    /// Creates a decision that rejects the call for a reason.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject { message: Some(reason.into()) }
    }

    /// Creates a decision that uses `result` as the result of the call.
    pub fn respond(result: impl Into<String>) -> Self {
        Self::Respond { message: result.into() }
    }
}

/// Allowed decisions, as listed in `allowed_decisions`.
const KINDS: [&str; 4] = ["approve", "edit", "reject", "respond"];

/// Returns the payload of one interrupt for several calls.
pub(super) fn action_requests_json(calls: &[(&ToolCall, &ToolSpec)]) -> Value {
    let requests = calls.iter().map(|(call, spec)| {
        json!({ "name": call.name, "args": call.args, "description": spec.description, "tool_call_id": call.id })
    });
    let configs = calls.iter().map(|(call, _)| json!({ "action_name": call.name, "allowed_decisions": KINDS }));
    json!({ "action_requests": requests.collect::<Vec<_>>(), "review_configs": configs.collect::<Vec<_>>() })
}

/// Returns the payload of an interrupt for one call.
pub(super) fn action_request_json(call: &ToolCall, spec: &ToolSpec) -> Value {
    json!({
        "type": "tool_approval", "tool_call_id": call.id, "name": call.name, "args": call.args,
        "description": spec.description,
    })
}

/// Returns the schema of the resume value of one interrupt for `calls` calls.
pub(super) fn schema_together(calls: usize) -> Value {
    let decisions = json!({ "type": "array", "items": schema(None), "minItems": calls, "maxItems": calls });
    json!({ "type": "object", "properties": { "decisions": decisions }, "required": ["decisions"] })
}

/// Returns the schema of one decision. The decision about a single call (`tool`) cannot name another tool.
pub(super) fn schema(tool: Option<&str>) -> Value {
    let name = tool.map_or_else(|| json!({ "type": "string" }), |tool| json!({ "const": tool }));
    let edited = json!({
        "type": "object", "properties": { "name": name, "args": { "type": "object" } }, "required": ["args"],
    });
    let form = |kind: &str, more: Value, required: &[&str]| {
        let mut properties = Map::from_iter([("type".to_owned(), json!({ "const": kind }))]);
        properties.extend(more.as_object().cloned().unwrap_or_default());
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let text = json!({ "type": "string" });
    json!({ "anyOf": [
        form("approve", json!({}), &["type"]),
        form("edit", json!({ "edited_action": edited }), &["type", "edited_action"]),
        form("reject", json!({ "message": { "type": ["string", "null"] } }), &["type"]),
        form("respond", json!({ "message": text }), &["type", "message"]),
    ]})
}
