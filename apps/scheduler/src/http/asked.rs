//! What requests in plain words ask for, and what is stored with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::SystemClock;
use superstep::core::id::ThreadId;
use superstep::core::json_reducer::overwrite_marker;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep_server::{Order, Problem, What, fresh_run};
use utoipa::{IntoParams, ToSchema};

use super::GRAPH;
use super::refusal::invalid;
use crate::state::{Agent, Step, WorkflowStatus};
use crate::workflow::new_conversation_id;

/// The longest request, in characters.
const LONGEST: usize = 2_000;

/// Something that is said in plain words.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Telling {
    /// What is said; up to 2,000 characters.
    pub(super) text: String,
    /// Who says it: the id of a member.
    pub(super) user_id: String,
    /// The conversation it belongs to, `conv_` and 16 hexadecimal digits; a fresh one unless given.
    conversation_id: Option<String>,
    /// Who reads it beside the rules: a model of the server, or one such as `groq/llama-3.1-8b-instant`. `local` is the
    /// rules alone. Unless given, who read what was said before in the conversation.
    model: Option<String>,
}

impl Telling {
    /// Lets pass what has words, and not too many.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.text.trim().is_empty() {
            return Err(invalid("/text", "this has no words", "say what you would like, in plain words"));
        }
        let count = self.text.chars().count();
        if count > LONGEST {
            let fact = format!("this has {count} characters, and may have {LONGEST}");
            return Err(invalid("/text", fact, "say one thing at a time"));
        }
        Ok(())
    }

    /// What is stored with the request; `before` are those of the request before it.
    pub(super) fn options(&self, is_query: bool, before: Option<Options>) -> Options {
        let model = self.model.clone().or_else(|| before.and_then(|before| before.model));
        Options { user_id: self.user_id.clone(), is_query, model }
    }

    /// The conversation.
    pub(super) fn thread(&self) -> Result<ThreadId, Problem> {
        let Some(id) = self.conversation_id.as_deref() else { return Ok(new_conversation_id().into()) };
        if is_conversation(id) {
            return Ok(id.into());
        }
        let fact = format!("`{}` cannot be the id of a conversation", id.chars().take(80).collect::<String>());
        Err(invalid("/conversation_id", fact, "use one that was given, or none"))
    }
}

/// Whether a text can be the id of a conversation: 16 digits, or 8 as they once were.
fn is_conversation(id: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.strip_prefix("conv_").is_some_and(|digits| matches!(digits.len(), 8 | 16) && digits.bytes().all(is_digit))
}

/// An order that begins a conversation.
///
/// ```
/// let order = superstep_scheduler::order("Piano every Tuesday at 5pm", "mom", "conv_0000000000000001");
/// assert_eq!(order.title.as_deref(), Some("Piano every Tuesday at 5pm"));
/// ```
#[must_use]
pub fn order(text: &str, user_id: &str, conversation: &str) -> Order {
    let options = Options { user_id: user_id.to_owned(), ..Options::default() };
    turn_order(text, &ThreadId::from(conversation), &options, true)
}

/// An order for what is said in a conversation, its first request or a further one.
pub(super) fn turn_order(text: &str, thread: &ThreadId, options: &Options, is_first: bool) -> Order {
    let mut input = turn(text, &options.user_id);
    if is_first {
        input["conversation_id"] = json!(thread);
    }
    let order = Order::new(GRAPH, thread, What::Start(input)).options(options.to_json());
    if is_first { order.titled_by(text) } else { order }
}

/// What [`new_turn`](crate::workflow::new_turn) is, as JSON.
fn turn(text: &str, user_id: &str) -> Value {
    let now = Time::from_unix_micros(SystemClock.now()).ok();
    // With an id, so that an input that is given again after a crash does not double the message.
    let message = json!({
        "role": "user", "content": text, "id": format!("asked-{}", fresh_run()), "metadata": { "timestamp": now },
    });
    json!({
        "user_input": text,
        "user_id": user_id,
        "current_step": Step::Start,
        "workflow_status": overwrite_marker(json!(WorkflowStatus::InProgress)),
        "next_action": Agent::NlParser.name(),
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

/// An order with whose the conversation is and what lists show of it, as far as whoever gave it has not said so.
pub(crate) fn noted(mut order: Order) -> Order {
    let What::Start(input) = &order.what else { return order };
    if order.options.is_null() {
        let user_id = input["user_id"].as_str().unwrap_or_default().to_owned();
        order.options = Options { user_id, ..Options::default() }.to_json();
    }
    match input["user_input"].as_str().map(str::to_owned) {
        Some(said) => order.titled_by(&said),
        None => order,
    }
}

/// Whose a request is and who reads it; stored with its orders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Who asks: the id of a member.
    pub user_id: String,
    /// Whether it is a question, which changes nothing whatever is answered later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_query: bool,
    /// Who reads it beside the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Options {
    /// As they are stored.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// As they were stored.
    #[must_use]
    pub fn read(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// Who asks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Whose {
    /// The id of a member.
    pub(super) user_id: String,
}

/// Who asks, as far as that is known.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Looking {
    /// The id of a member; without one, only who there is to choose from is told.
    pub(super) user_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-24: ids have 16 digits, 8 are accepted, and nothing else is.
    #[test]
    fn ids_of_conversations() {
        let rows = [
            ("conv_0123456789abcdef", true),
            ("conv_01234567", true),
            ("conv_0123456789ABCDEF", false),
            ("conv_0123", false),
            ("conv_", false),
            ("0123456789abcdef", false),
            ("conv_0123456789abcde/", false),
        ];
        for (id, is_one) in rows {
            assert_eq!(is_conversation(id), is_one, "{id}");
        }
        assert!(is_conversation(&new_conversation_id()));
    }

    /// R-FAM-23: what begins a turn as JSON is what begins it in Rust.
    #[test]
    fn a_turn_has_every_field_that_begins_anew() {
        let turn = turn("Piano", "mom");
        let anew = ["agent_outputs", "validation_results", "notes", "workflow_status"];
        assert!(anew.iter().all(|name| turn[*name].get("__overwrite__").is_some()), "{turn}");
        let kept = ["conversation_id", "errors", "audit_log"];
        assert!(kept.iter().all(|name| turn.get(*name).is_none()), "{turn}");
    }
}
