//! Bodies and parameters of requests about conversations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::core::validation_error::ValidationError;
use superstep_server::{Problem, RunInput, RunRequest, new_run_id};
use utoipa::{IntoParams, ToSchema};

/// Something to ask.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendMessageRequest {
    /// What is asked; up to 32 KiB unless the policy says otherwise.
    pub(crate) message: String,
    /// The conversation it belongs to; a fresh one unless given.
    session_id: Option<String>,
    /// Who asks.
    pub(crate) user_id: String,
    /// Who answers: `local`, a model of the settings, or one such as `groq/llama-3.1-8b-instant`; the one of the turn
    /// before unless given.
    model: Option<String>,
    /// How the turn is streamed.
    #[serde(default)]
    pub(crate) format: StreamFormat,
    /// Whether the turn goes on when the connection is closed, and can be joined again; it does unless told.
    #[serde(default = "yes")]
    pub(crate) detach: bool,
}

const fn yes() -> bool {
    true
}

impl SendMessageRequest {
    /// Returns the requested thread, if the request names one.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(id) = self.session_id.as_deref() else { return Ok(None) };
        // URL paths are normalised, so ids of dots only are not addressable, and two ids are routes.
        let is_taken = ["settings", "memory"].contains(&id);
        if !ThreadId::from(id).is_valid() || id.chars().all(|letter| letter == '.') || is_taken {
            let fault =
                ValidationError::new(format!("`{id}` cannot be the id of a conversation")).with_pointer("/sessionId");
            let help = "use 1 to 128 letters, digits and `_ . : -`, not only dots, and neither `settings` nor `memory`";
            return Err(Problem::invalid("the body is not valid", [fault.with_help(help).into()]));
        }
        Ok(Some(id.into()))
    }

    /// Rejects messages without text.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !self.message.trim().is_empty() {
            return Ok(());
        }
        let fault = ValidationError::new("the message has no words")
            .with_pointer("/message")
            .with_help("say what you want to know");
        Err(Problem::invalid("the body is not valid", [fault.into()]))
    }

    /// Returns the input of the run.
    pub(crate) fn input(&self) -> Value {
        // The id prevents a duplicate message if the same input is applied again after a crash.
        let id = format!("asked-{}", new_run_id());
        json!({ "messages": [{ "role": "user", "content": self.message, "id": id }], "user_id": self.user_id })
    }

    /// Returns the options that are stored with the run; `before` are the options of the previous turn.
    pub(crate) fn options(&self, before: Option<&TurnOptions>) -> TurnOptions {
        let usual = || before.and_then(|before| before.model.clone());
        TurnOptions { user_id: self.user_id.clone(), model: self.model.clone().or_else(usual) }
    }
}

/// Adds the user and the title of the conversation to a request, unless the request already contains them.
pub(crate) fn annotate_request(mut order: RunRequest) -> RunRequest {
    let RunInput::Input(input) = &order.input else { return order };
    if order.context.is_null() {
        let user_id = input["user_id"].as_str().unwrap_or_default().to_owned();
        order.context = TurnOptions { user_id, model: None }.to_json();
    }
    let first = input["messages"].as_array().and_then(|all| all.first()).unwrap_or(&input["messages"]);
    match first["content"].as_str().or_else(|| first.as_str()).map(str::to_owned) {
        Some(said) => order.title_from_text(&said),
        None => order,
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
    pub fn read(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// How a turn is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamFormat {
    /// Events of version 2.
    #[default]
    Events,
    /// Events of AG-UI.
    AgUi,
}

/// How a stream is read.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// `events` or `ag-ui`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: StreamFormat,
    /// Only what comes after this event; the header `Last-Event-ID` says the same.
    #[expect(dead_code, reason = "read by the extractor `LastEventId`; here so that it is known")]
    after: Option<u64>,
    /// Who reads; another than whose it is, is refused.
    pub(crate) user_id: String,
}

/// Who looks what there is.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OptionalUserParams {
    /// The user; without one, only what everybody may know is told.
    pub(crate) user_id: Option<String>,
}

/// Of whom.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UserParams {
    /// The user; another than whose it is, is refused.
    pub(crate) user_id: String,
}

/// Which conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListSessionsParams {
    /// Whose.
    pub(crate) user_id: String,
    /// At most this many; 50 unless said, 200 at most.
    pub(crate) limit: Option<usize>,
}
