//! Bodies and parameters of requests about conversations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::core::validation_error::ValidationError;
use superstep_server::{Problem, RunInput, RunRequest, new_run_id};
use utoipa::{IntoParams, ToSchema};

/// Request body for sending a message.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendMessageRequest {
    /// Text of the message. Maximum: 32 KiB, unless the policy sets another limit.
    pub(crate) message: String,
    /// Id of the conversation (default: a new conversation).
    session_id: Option<String>,
    /// Id of the user who sends the message.
    pub(crate) user_id: String,
    /// Model that answers: `local`, a configured model, or a name such as `groq/llama-3.1-8b-instant`. Default: the
    /// model of the previous turn.
    model: Option<String>,
    /// Format of the event stream.
    #[serde(default)]
    pub(crate) format: StreamFormat,
    /// Keep the turn running when the client disconnects, so that it can reconnect (default: true).
    #[serde(default = "detach_by_default")]
    pub(crate) detach: bool,
}

const fn detach_by_default() -> bool {
    true
}

impl SendMessageRequest {
    /// Returns the requested thread, if the request names one.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(id) = self.session_id.as_deref() else { return Ok(None) };
        // URL paths are normalised, so ids of dots only are not addressable, and two ids are routes.
        let is_route = ["settings", "memory"].contains(&id);
        if !ThreadId::from(id).is_valid() || id.chars().all(|letter| letter == '.') || is_route {
            let error =
                ValidationError::new(format!("`{id}` is not a valid conversation id")).with_pointer("/sessionId");
            let help = "use 1 to 128 letters, digits and `_ . : -`, not only dots, and neither `settings` nor `memory`";
            return Err(Problem::invalid("the body is invalid", [error.with_help(help).into()]));
        }
        Ok(Some(id.into()))
    }

    /// Rejects messages without text.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !self.message.trim().is_empty() {
            return Ok(());
        }
        let error = ValidationError::new("the message is empty").with_pointer("/message").with_help("enter a question");
        Err(Problem::invalid("the body is invalid", [error.into()]))
    }

    /// Returns the input of the run.
    pub(crate) fn input(&self) -> Value {
        // The id prevents a duplicate message if the same input is applied again after a crash.
        let id = format!("asked-{}", new_run_id());
        json!({ "messages": [{ "role": "user", "content": self.message, "id": id }], "user_id": self.user_id })
    }

    /// Returns the options that are stored with the run; `previous` are the options of the previous turn.
    pub(crate) fn options(&self, previous: Option<&TurnOptions>) -> TurnOptions {
        let previous_model = || previous.and_then(|previous| previous.model.clone());
        TurnOptions { user_id: self.user_id.clone(), model: self.model.clone().or_else(previous_model) }
    }
}

/// Adds the user and the title of the conversation to a request, unless the request already contains them.
pub(crate) fn annotate_request(mut request: RunRequest) -> RunRequest {
    let RunInput::Input(input) = &request.input else { return request };
    if request.context.is_null() {
        let user_id = input["user_id"].as_str().unwrap_or_default().to_owned();
        request.context = TurnOptions { user_id, model: None }.to_json();
    }
    let first = input["messages"].as_array().and_then(|all| all.first()).unwrap_or(&input["messages"]);
    match first["content"].as_str().or_else(|| first.as_str()).map(str::to_owned) {
        Some(text) => request.title_from_text(&text),
        None => request,
    }
}

/// User and model of a turn, stored with its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnOptions {
    /// Id of the user.
    pub user_id: String,
    /// Name of the model. Default: the rule model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl TurnOptions {
    /// Returns the stored form.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Parses the stored form; invalid options become the defaults.
    #[must_use]
    pub fn from_json(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// Format of an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamFormat {
    /// LangChain events, version 2 (default).
    #[default]
    Events,
    /// Events of the AG-UI protocol.
    AgUi,
}

/// Query parameters of an event stream.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// Format of the events: `events` (default) or `ag-ui`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: StreamFormat,
    /// Id of the last received event; only later events are sent. The header `Last-Event-ID` has the same meaning.
    #[expect(dead_code, reason = "read by the extractor `LastEventId`; declared for the OpenAPI document")]
    after: Option<u64>,
    /// Id of the user. Must be the owner of the conversation.
    pub(crate) user_id: String,
}

/// Query parameters of a request with an optional user.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OptionalUserParams {
    /// Id of the user (default: none; the response then contains public settings only).
    pub(crate) user_id: Option<String>,
}

/// Query parameters of a request on behalf of a user.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UserParams {
    /// Id of the user. Requests for data of another user are rejected.
    pub(crate) user_id: String,
}

/// Query parameters for listing conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListSessionsParams {
    /// Id of the owner of the conversations.
    pub(crate) user_id: String,
    /// Maximum number of conversations, 1 to 200 (default: 50).
    pub(crate) limit: Option<usize>,
}
