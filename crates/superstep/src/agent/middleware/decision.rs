//! What a person decides about a call, in the forms that agents elsewhere use.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::core::message::ToolCall;
use crate::tool::ToolSpec;

/// What a person decides about a call of a tool.
///
/// ```
/// use superstep::agent::Decision;
/// let no = serde_json::to_value(Decision::reject("not today")).unwrap();
/// assert_eq!(no, serde_json::json!({ "type": "reject", "message": "not today" }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// It is made.
    Approve,
    /// It is made otherwise.
    Edit {
        /// How.
        edited_action: EditedAction,
    },
    /// It is not made, and the model is told so.
    Reject {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// It is not made: this is its result.
    Respond {
        /// The result.
        message: String,
    },
}

/// What is called in place of what the model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditedAction {
    /// The tool; the same one where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl Decision {
    /// It is made with these arguments.
    #[must_use]
    pub fn edit(args: Map<String, Value>) -> Self {
        Self::Edit { edited_action: EditedAction { name: None, args } }
    }

    /// It is not made, for this reason.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject { message: Some(reason.into()) }
    }

    /// It is not made: this is its result.
    pub fn respond(result: impl Into<String>) -> Self {
        Self::Respond { message: result.into() }
    }
}

/// What a person may decide.
const KINDS: [&str; 4] = ["approve", "edit", "reject", "respond"];

/// What a person is shown of calls that are asked about in one question.
pub(super) fn shown_together(calls: &[(&ToolCall, &ToolSpec)]) -> Value {
    let requests = calls.iter().map(|(call, spec)| {
        json!({ "name": call.name, "args": call.args, "description": spec.description, "tool_call_id": call.id })
    });
    let configs = calls.iter().map(|(call, _)| json!({ "action_name": call.name, "allowed_decisions": KINDS }));
    json!({ "action_requests": requests.collect::<Vec<_>>(), "review_configs": configs.collect::<Vec<_>>() })
}

/// What a person is shown of one call.
pub(super) fn shown(call: &ToolCall, spec: &ToolSpec) -> Value {
    json!({
        "type": "tool_approval", "tool_call_id": call.id, "name": call.name, "args": call.args,
        "description": spec.description,
    })
}

/// The form of the answer to one question about so many calls.
pub(super) fn schema_together(calls: usize) -> Value {
    let decisions = json!({ "type": "array", "items": schema(None), "minItems": calls, "maxItems": calls });
    json!({ "type": "object", "properties": { "decisions": decisions }, "required": ["decisions"] })
}

/// The form of one decision; an edit of a call that is asked about by itself cannot name another tool.
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
