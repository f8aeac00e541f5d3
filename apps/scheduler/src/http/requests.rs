//! Requests in natural language, and the options stored with their runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::SystemClock;
use superstep::core::id::ThreadId;
use superstep::core::json_reducer::overwrite_marker;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep_server::{Problem, RunInput, RunRequest, new_run_id};
use utoipa::{IntoParams, ToSchema};

use super::GRAPH;
use super::errors::invalid;
use crate::state::{AgentName, WorkflowStatus, WorkflowStep};
use crate::state_utils::new_conversation_id;

/// Maximum length of a request in characters.
const MAX_TEXT_LENGTH: usize = 2_000;

/// A request in natural language.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleRequest {
    /// Text of the request, up to 2,000 characters.
    pub(super) text: String,
    /// Id of the member who makes the request.
    pub(super) user_id: String,
    /// Id of the conversation, `conv_` and 16 hexadecimal digits; a new conversation if absent.
    conversation_id: Option<String>,
    /// Model that parses the request in addition to the rules: a model of the server, or one such as
    /// `groq/llama-3.1-8b-instant`. `local` uses the rules alone. Default: the previous model of the conversation.
    model: Option<String>,
}

impl ScheduleRequest {
    /// Rejects empty and too long requests.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.text.trim().is_empty() {
            return Err(invalid("/text", "the text is empty", "describe the request in plain text"));
        }
        let count = self.text.chars().count();
        if count > MAX_TEXT_LENGTH {
            let detail = format!("the text has {count} characters; the maximum is {MAX_TEXT_LENGTH}");
            return Err(invalid("/text", detail, "shorten the text, or send several requests"));
        }
        Ok(())
    }

    /// Returns the options to store with the request; `previous` has those of the previous request.
    pub(super) fn options(&self, is_query: bool, previous: Option<ConversationOptions>) -> ConversationOptions {
        let model = self.model.clone().or_else(|| previous.and_then(|previous| previous.model));
        ConversationOptions { user_id: self.user_id.clone(), is_query, model }
    }

    /// Returns the thread of the conversation; a new one if the request names none.
    pub(super) fn thread(&self) -> Result<ThreadId, Problem> {
        let Some(id) = self.conversation_id.as_deref() else { return Ok(new_conversation_id().into()) };
        if is_conversation(id) {
            return Ok(id.into());
        }
        let detail = format!("`{}` is not a valid conversation id", id.chars().take(80).collect::<String>());
        Err(invalid("/conversation_id", detail, "use the id of an existing conversation, or omit it"))
    }
}

/// Returns true if a text is a valid conversation id: 16 hexadecimal digits, or 8 in ids of earlier versions.
fn is_conversation(id: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.strip_prefix("conv_").is_some_and(|digits| matches!(digits.len(), 8 | 16) && digits.bytes().all(is_digit))
}

/// Returns the run request that starts a conversation.
///
/// ```
/// let request = superstep_scheduler::run_request("Piano every Tuesday at 5pm", "mom", "conv_0000000000000001");
/// assert_eq!(request.title.as_deref(), Some("Piano every Tuesday at 5pm"));
/// ```
#[must_use]
pub fn run_request(text: &str, user_id: &str, conversation: &str) -> RunRequest {
    let options = ConversationOptions { user_id: user_id.to_owned(), ..ConversationOptions::default() };
    let now = Time::from_unix_micros(SystemClock.now()).ok();
    turn_run_request((text, now), &ThreadId::from(conversation), &options, true)
}

/// Returns the run request for the first or a further request of a conversation.
pub(super) fn turn_run_request(
    (text, now): (&str, Option<Time>),
    thread: &ThreadId,
    options: &ConversationOptions,
    is_first: bool,
) -> RunRequest {
    let mut input = turn_input(text, &options.user_id, now);
    if is_first {
        input["conversation_id"] = json!(thread);
    }
    let request = RunRequest::new(GRAPH, thread, RunInput::Input(input)).context(options.to_json());
    if is_first { request.title_from_text(text) } else { request }
}

/// Returns the input of [`new_turn`](crate::state_utils::new_turn) as JSON.
fn turn_input(text: &str, user_id: &str, now: Option<Time>) -> Value {
    // The message has an id, so that an input that is applied again after a crash does not duplicate it.
    let message = json!({
        "role": "user", "content": text, "id": format!("asked-{}", new_run_id()), "metadata": { "timestamp": now },
    });
    json!({
        "user_input": text,
        "user_id": user_id,
        "current_step": WorkflowStep::Start,
        "workflow_status": overwrite_marker(json!(WorkflowStatus::InProgress)),
        "next_action": AgentName::NlParser.name(),
        "messages": [message],
        "agent_outputs": overwrite_marker(json!({})),
        "proposed_event": null,
        "validation_results": overwrite_marker(json!([])),
        "parsed_event_data": null,
        "selected_time_slot": null,
        "detected_conflicts": null,
        "selected_resolution": null,
        "retry_count": 0,
        "created_at": now,
        "updated_at": now,
        "notes": overwrite_marker(json!({})),
    })
}

/// Adds the owner of the conversation and its title to a run request that does not have them.
pub(crate) fn annotate_request(mut request: RunRequest) -> RunRequest {
    let RunInput::Input(input) = &request.input else { return request };
    if request.context.is_null() {
        let user_id = input["user_id"].as_str().unwrap_or_default().to_owned();
        request.context = ConversationOptions { user_id, ..ConversationOptions::default() }.to_json();
    }
    match input["user_input"].as_str().map(str::to_owned) {
        Some(text) => request.title_from_text(&text),
        None => request,
    }
}

/// Owner and model of a request; stored with its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationOptions {
    /// Id of the member who made the request.
    pub user_id: String,
    /// True for a query, which never changes the calendar, even after later answers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_query: bool,
    /// Model that parses the request in addition to the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl ConversationOptions {
    /// Serializes the options as they are stored.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Deserializes stored options. Options that cannot be deserialized are the default ones.
    #[must_use]
    pub fn from_json(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// Parameters that identify the requester.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UserParams {
    /// Id of the member.
    pub(super) user_id: String,
}

/// Parameters that may identify the requester.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OptionalUserParams {
    /// Id of the member; without one, the response has only the members to choose from.
    pub(super) user_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-24: conversation ids have 16 digits; 8 digits are accepted, anything else is not.
    #[test]
    fn a_conversation_id_has_16_or_8_digits() {
        let rows = [
            ("conv_0123456789abcdef", true),
            ("conv_01234567", true),
            ("conv_0123456789ABCDEF", false),
            ("conv_0123", false),
            ("conv_", false),
            ("0123456789abcdef", false),
            ("conv_0123456789abcde/", false),
        ];
        for (id, expected) in rows {
            assert_eq!(is_conversation(id), expected, "{id}");
        }
        assert!(is_conversation(&new_conversation_id()));
    }

    /// R-FAM-23: the JSON input of a request resets the same fields as the typed one.
    #[test]
    fn turn_input_resets_every_per_request_field() {
        let turn = turn_input("Piano", "mom", None);
        let reset = ["agent_outputs", "validation_results", "notes", "workflow_status"];
        assert!(reset.iter().all(|name| turn[*name].get("__overwrite__").is_some()), "{turn}");
        let retained = ["conversation_id", "errors", "audit_log"];
        assert!(retained.iter().all(|name| turn.get(*name).is_none()), "{turn}");
    }
}
