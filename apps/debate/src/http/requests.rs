//! Bodies and query parameters of requests.

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::id::ThreadId;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::core::time::Time;
use superstep::core::validation_error::ValidationError;
use superstep_server::{Problem, RunInput, RunRequest, RunStatus, ThreadRecord};
use utoipa::{IntoParams, ToSchema};

use crate::app::RULE_MODEL_NAMES;
use crate::context::{ApprovalMode, FactCheckMode};
use crate::state::{DEFAULT_ROUNDS, DebateState};

/// Request to start a debate.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateDebateRequest {
    /// Topic of the debate: one line, up to 500 characters.
    #[schemars(length(min = 1, max = 500))]
    pub(crate) topic: String,
    /// Number of rounds, 1 to 10; default 3.
    #[serde(default = "default_rounds")]
    #[schemars(range(min = 1, max = 10))]
    max_rounds: u32,
    /// Times at which the user is asked for approval; default `off`.
    #[serde(default)]
    #[schema(value_type = String)]
    approval: ApprovalMode,
    /// Times at which claims are checked; default `off`.
    #[serde(default)]
    #[schema(value_type = String)]
    fact_check: FactCheckMode,
    /// Id of the debate; default: a new id.
    thread_id: Option<String>,
    /// Model of the agents: `local`, a model of the settings, or one such as `groq/llama-3.1-8b-instant`.
    model: Option<String>,
    /// Seed for random choices of the rule model and of local weights.
    seed: Option<u64>,
    /// Format of the stream; default `events`.
    #[serde(default)]
    pub(crate) format: StreamFormat,
    /// Continue the debate when the client disconnects (default: false).
    #[serde(default)]
    pub(crate) detach: bool,
}

const fn default_rounds() -> u32 {
    DEFAULT_ROUNDS
}

impl CreateDebateRequest {
    /// Returns the requested thread id, validated.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(id) = self.thread_id.as_deref() else { return Ok(None) };
        // Clients normalize dots in paths, and `settings` is another route.
        if !ThreadId::from(id).is_valid() || id.chars().all(|letter| letter == '.') || id == "settings" {
            let error = ValidationError::new(format!("`{id}` is not a valid debate id")).with_pointer("/threadId");
            let error =
                error.with_help("use 1 to 128 letters, digits and `_ . : -`, not only dots, and not `settings`");
            return Err(Problem::invalid("the body is invalid", [error.into()]));
        }
        Ok(Some(id.into()))
    }

    /// Returns the initial state; with a start time only for a new debate.
    pub(crate) fn input(&self, is_new: bool) -> Result<Value, Problem> {
        let now = is_new.then(now).transpose()?;
        Ok(DebateState::initial_state_json(&self.topic, self.max_rounds, now)?)
    }

    /// Returns the options of the debate, which stay the same when the debate is requested again.
    ///
    /// # Errors
    /// Returns 409 if the debate was started with other options.
    pub(crate) fn options(&self, existing: Option<&ThreadRecord>) -> Result<DebateOptions, Problem> {
        let Some(existing) = existing else { return Ok(self.new_options()) };
        let (original, requested) = (DebateOptions::from_json(&existing.context), self.new_options());
        let topic = existing.title.as_deref();
        let differences = [
            ("topic", topic.is_some_and(|topic| topic != self.topic.trim())),
            ("maxRounds", requested.max_rounds != original.max_rounds),
            ("approval", requested.approval != original.approval),
            ("factCheck", requested.fact_check != original.fact_check),
            ("model", requested.named_model() != original.named_model()),
            ("seed", self.seed.is_some_and(|seed| seed != original.seed)),
        ];
        let other: Vec<String> =
            differences.iter().filter(|(_, is_other)| *is_other).map(|(name, _)| format!("`{name}`")).collect();
        if other.is_empty() {
            return Ok(original);
        }
        let detail = format!("debate `{}` was started with another {}", existing.thread, other.join(" and another "));
        let hint = "use the same options, or start a new debate without `threadId`";
        Err(Problem::conflict(detail).with_hint(hint).with_thread(&existing.thread))
    }

    fn new_options(&self) -> DebateOptions {
        let Self { approval, fact_check, model, .. } = self;
        let seed = self.seed.unwrap_or_else(|| now().map_or(0, |now| now.as_unix_micros().unsigned_abs()));
        let (approval, fact_check, max_rounds) = (*approval, *fact_check, self.max_rounds);
        DebateOptions { approval, fact_check, model: model.clone(), seed, max_rounds, has_typing_delay: true }
    }
}

fn now() -> Result<Time, Problem> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
    Time::from_unix_micros(micros).map_err(|error| superstep::Error::internal(error.message).into())
}

/// Options of a debate, except its topic; stored with its run requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DebateOptions {
    /// Times at which the user is asked for approval.
    pub approval: ApprovalMode,
    /// Times at which claims are checked.
    pub fact_check: FactCheckMode,
    /// Name of the model. Default: the rule model.
    pub model: Option<String>,
    /// Seed for random choices of the rule model and of local weights.
    pub seed: u64,
    /// Number of rounds, for lists.
    pub max_rounds: u32,
    /// True if the rule model writes at reading speed.
    #[serde(rename = "isPaced")]
    pub has_typing_delay: bool,
}

impl DebateOptions {
    /// Converts the options to their stored form.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the name of the model; `None` for the rule model.
    pub(crate) fn named_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|name| !RULE_MODEL_NAMES.contains(name))
    }

    /// Derives the options of a debate that was started with an input alone.
    fn from_input(input: &Value) -> Self {
        let rounds = input["maxRounds"].as_u64().and_then(|rounds| u32::try_from(rounds).ok());
        Self { max_rounds: rounds.unwrap_or(DEFAULT_ROUNDS), ..Self::default() }
    }

    /// Parses stored options; invalid ones become the defaults.
    #[must_use]
    pub fn from_json(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// Adds the title and options that lists show, if the request lacks them.
pub(crate) fn annotate_request(mut request: RunRequest) -> RunRequest {
    let RunInput::Input(input) = &request.input else { return request };
    if request.context.is_null() {
        request.context = DebateOptions::from_input(input).to_json();
    }
    let topic = input["topic"].as_str().map(|topic| topic.trim().to_owned());
    request.title = request.title.or(topic);
    request
}

/// Format of a streamed debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamFormat {
    /// Events of version 2.
    #[default]
    Events,
    /// Debate events for web pages.
    Debate,
    /// AG-UI events.
    AgUi,
}

/// Query parameters of a stream.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamParams {
    /// Format of the stream: `events`, `debate` or `ag-ui`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: StreamFormat,
    /// Number of the last received event; only later events are sent. Same as the header `Last-Event-ID`.
    #[expect(dead_code, reason = "read by the extractor `LastEventId`; declared here to be accepted and documented")]
    after: Option<u64>,
}

/// Answer to a pending approval.
#[derive(Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalRequest {
    /// Continue the debate; otherwise the moderator sums up.
    approved: bool,
    /// Note of the user to the agents, up to 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    note: Option<String>,
    /// Id of the interrupt to answer; default: the pending one.
    #[serde(default, rename = "interruptId", skip_serializing)]
    pub(crate) interrupt_id: Option<String>,
}

/// Query parameters of the list of debates.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDebatesParams {
    /// Words to search for in the topics.
    pub(crate) q: Option<String>,
    /// Status of the debates: `running`, `waiting`, `completed`, `error` or `stopped`.
    status: Option<String>,
    /// Maximum number of debates, 1 to 200; default 50.
    pub(crate) limit: Option<usize>,
    /// Number of debates to skip; default 0.
    pub(crate) after: Option<usize>,
}

impl ListDebatesParams {
    /// Maps the requested status to statuses of run records.
    pub(crate) fn statuses(&self) -> Result<Vec<RunStatus>, Problem> {
        let Some(status) = self.status.as_deref() else { return Ok(Vec::new()) };
        Ok(match status {
            "running" => vec![RunStatus::Running, RunStatus::Suspended],
            "waiting" => vec![RunStatus::AwaitingInput],
            "completed" => vec![RunStatus::Succeeded],
            "error" => vec![RunStatus::Failed],
            "stopped" => vec![RunStatus::Cancelled, RunStatus::Orphaned],
            other => {
                let hint = did_you_mean_or_list(other, &["running", "waiting", "completed", "error", "stopped"]);
                return Err(Problem::invalid(format!("no debate has the status `{other}`"), []).with_hint(hint));
            }
        })
    }
}

/// Query parameters of a transcript.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct TranscriptParams {
    /// Format of the transcript: `md`, `json` or `txt`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: TranscriptFormat,
}

/// Format of a transcript.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TranscriptFormat {
    #[default]
    Md,
    Json,
    Txt,
}
