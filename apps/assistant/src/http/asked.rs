//! What requests about conversations ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::fault::Fault;
use superstep::core::id::ThreadId;
use superstep_server::{Order, Problem, What, fresh_run};
use utoipa::{IntoParams, ToSchema};

/// Something to ask.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Asking {
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
    pub(crate) format: Format,
    /// Whether the turn goes on when the connection is closed, and can be joined again; it does unless told.
    #[serde(default = "yes")]
    pub(crate) detach: bool,
}

const fn yes() -> bool {
    true
}

impl Asking {
    /// The thread it asks for.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(id) = self.session_id.as_deref() else { return Ok(None) };
        // An address is normalised, and two have another meaning.
        let is_taken = ["settings", "memory"].contains(&id);
        if !ThreadId::from(id).is_valid() || id.chars().all(|letter| letter == '.') || is_taken {
            let fault = Fault::new(format!("`{id}` cannot be the id of a conversation")).at("/sessionId");
            let help = "use 1 to 128 letters, digits and `_ . : -`, not only dots, and neither `settings` nor `memory`";
            return Err(Problem::invalid("the body is not valid", [fault.help(help).into()]));
        }
        Ok(Some(id.into()))
    }

    /// Lets messages pass that have words.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !self.message.trim().is_empty() {
            return Ok(());
        }
        let fault = Fault::new("the message has no words").at("/message").help("say what you want to know");
        Err(Problem::invalid("the body is not valid", [fault.into()]))
    }

    /// What the turn begins with.
    pub(crate) fn input(&self) -> Value {
        // With an id, so that an input that is given again after a crash does not double the message.
        let id = format!("asked-{}", fresh_run());
        json!({ "messages": [{ "role": "user", "content": self.message, "id": id }], "user_id": self.user_id })
    }

    /// What is stored with the turn; `before` are those of the turn before.
    pub(crate) fn options(&self, before: Option<&Options>) -> Options {
        let usual = || before.and_then(|before| before.model.clone());
        Options { user_id: self.user_id.clone(), model: self.model.clone().or_else(usual) }
    }
}

/// An order with whose the conversation is and what lists show of it, as far as whoever gave it has not said so.
pub(crate) fn noted(mut order: Order) -> Order {
    let What::Start(input) = &order.what else { return order };
    if order.options.is_null() {
        let user_id = input["user_id"].as_str().unwrap_or_default().to_owned();
        order.options = Options { user_id, model: None }.to_json();
    }
    let first = input["messages"].as_array().and_then(|all| all.first()).unwrap_or(&input["messages"]);
    match first["content"].as_str().or_else(|| first.as_str()).map(str::to_owned) {
        Some(said) => order.titled_by(&said),
        None => order,
    }
}

/// Whose a turn is and who answers in it; stored with its orders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Who asks.
    pub user_id: String,
    /// Who answers; rules unless said.
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

/// How a turn is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
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
pub(crate) struct Streaming {
    /// `events` or `ag-ui`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: Format,
    /// Only what comes after this event; the header `Last-Event-ID` says the same.
    #[expect(dead_code, reason = "read by the extractor `After`; here so that it is known")]
    after: Option<u64>,
    /// Who reads; another than whose it is, is refused.
    pub(crate) user_id: String,
}

/// Who looks what there is.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Looking {
    /// The user; without one, only what everybody may know is told.
    pub(crate) user_id: Option<String>,
}

/// Of whom.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Whose {
    /// The user; another than whose it is, is refused.
    pub(crate) user_id: String,
}

/// Which conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Whose.
    pub(crate) user_id: String,
    /// At most this many; 50 unless said, 200 at most.
    pub(crate) limit: Option<usize>,
}
