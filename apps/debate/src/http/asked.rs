//! What requests about debates ask for.

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::fault::Fault;
use superstep::core::id::ThreadId;
use superstep::core::suggest::known_names;
use superstep::core::time::Time;
use superstep_server::{Order, Problem, RunStatus, ThreadRecord, What};
use utoipa::{IntoParams, ToSchema};

use crate::app::LOCAL;
use crate::hall::{Approval, FactCheck};
use crate::state::{Debate, ROUNDS};

/// A debate to begin.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Opening {
    /// What it is about: one line, up to 500 characters.
    #[schemars(length(min = 1, max = 500))]
    pub(crate) topic: String,
    /// How many rounds it has.
    #[serde(default = "rounds")]
    #[schemars(range(min = 1, max = 10))]
    max_rounds: u32,
    /// When a person is asked to let it go on.
    #[serde(default)]
    #[schema(value_type = String)]
    approval: Approval,
    /// When claims are looked up.
    #[serde(default)]
    #[schema(value_type = String)]
    fact_check: FactCheck,
    /// The id of the debate; a fresh one unless given.
    thread_id: Option<String>,
    /// Who speaks: `local`, a model of the settings, or one such as `groq/llama-3.1-8b-instant`.
    model: Option<String>,
    /// What rule-based voices draw their chance from.
    seed: Option<u64>,
    /// How it is streamed.
    #[serde(default)]
    pub(crate) format: Format,
    /// Whether it goes on when the connection is closed.
    #[serde(default)]
    pub(crate) detach: bool,
}

const fn rounds() -> u32 {
    ROUNDS
}

impl Opening {
    /// The thread it asks for.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(id) = self.thread_id.as_deref() else { return Ok(None) };
        // An address is normalised, and one has another meaning.
        if !ThreadId::from(id).is_valid() || id.chars().all(|letter| letter == '.') || id == "settings" {
            let fault = Fault::new(format!("`{id}` cannot be the id of a debate")).at("/threadId");
            let fault = fault.help("use 1 to 128 letters, digits and `_ . : -`, not only dots, and not `settings`");
            return Err(Problem::invalid("the body is not valid", [fault.into()]));
        }
        Ok(Some(id.into()))
    }

    /// The state it begins with; the time only of a debate that is new.
    pub(crate) fn input(&self, is_new: bool) -> Result<Value, Problem> {
        let now = is_new.then(now).transpose()?;
        Ok(Debate::open_json(&self.topic, self.max_rounds, now)?)
    }

    /// What it is begun with; that stays, however often it is begun.
    ///
    /// # Errors
    /// 409 where it was begun with something else.
    pub(crate) fn options(&self, before: Option<&ThreadRecord>) -> Result<Options, Problem> {
        let Some(before) = before else { return Ok(self.new_options()) };
        let (first, now) = (Options::read(&before.options), self.new_options());
        let topic = before.title.as_deref();
        let differs = [
            ("topic", topic.is_some_and(|topic| topic != self.topic.trim())),
            ("maxRounds", now.max_rounds != first.max_rounds),
            ("approval", now.approval != first.approval),
            ("factCheck", now.fact_check != first.fact_check),
            ("model", now.named_model() != first.named_model()),
            ("seed", self.seed.is_some_and(|seed| seed != first.seed)),
        ];
        let other: Vec<String> =
            differs.iter().filter(|(_, is_other)| *is_other).map(|(name, _)| format!("`{name}`")).collect();
        if other.is_empty() {
            return Ok(first);
        }
        let detail = format!("debate `{}` was begun with another {}", before.thread, other.join(" and another "));
        let hint = "ask for the same, or for a new debate without `threadId`";
        Err(Problem::conflict(detail).hint(hint).on_thread(&before.thread))
    }

    fn new_options(&self) -> Options {
        let Self { approval, fact_check, model, .. } = self;
        let seed = self.seed.unwrap_or_else(|| now().map_or(0, |now| now.as_unix_micros().unsigned_abs()));
        let (approval, fact_check, max_rounds) = (*approval, *fact_check, self.max_rounds);
        Options { approval, fact_check, model: model.clone(), seed, max_rounds, is_paced: true }
    }
}

fn now() -> Result<Time, Problem> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Time::from_unix_micros(micros).map_err(|fault| superstep::Error::internal(fault.message).into())
}

/// What a debate was begun with, beside its topic; stored with its orders.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// When a person is asked.
    pub approval: Approval,
    /// When claims are looked up.
    pub fact_check: FactCheck,
    /// Who speaks; rules unless said.
    pub model: Option<String>,
    /// What rule-based voices draw their chance from.
    pub seed: u64,
    /// How many rounds it has, for lists.
    pub max_rounds: u32,
    /// Whether rule-based voices speak at a speed that people can read.
    pub is_paced: bool,
}

impl Options {
    /// As they are stored.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The model that is named; none where rules speak.
    pub(crate) fn named_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|name| !LOCAL.contains(name))
    }

    /// Those of a debate that was begun with nothing but an input.
    fn of_input(input: &Value) -> Self {
        let rounds = input["maxRounds"].as_u64().and_then(|rounds| u32::try_from(rounds).ok());
        Self { max_rounds: rounds.unwrap_or(ROUNDS), ..Self::default() }
    }

    /// As they were stored.
    #[must_use]
    pub fn read(stored: &Value) -> Self {
        serde_json::from_value(stored.clone()).unwrap_or_default()
    }
}

/// An order with what lists show of a debate, as far as whoever gave it has not said so.
pub(crate) fn noted(mut order: Order) -> Order {
    let What::Start(input) = &order.what else { return order };
    if order.options.is_null() {
        order.options = Options::of_input(input).to_json();
    }
    let topic = input["topic"].as_str().map(|topic| topic.trim().to_owned());
    order.title = order.title.or(topic);
    order
}

/// How a debate is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// Events of version 2.
    #[default]
    Events,
    /// Events of a debate, for pages.
    Debate,
    /// Events of AG-UI.
    AgUi,
}

/// How a stream is read.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Streaming {
    /// `events`, `debate` or `ag-ui`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: Format,
    /// Only what comes after this event; the header `Last-Event-ID` says the same.
    #[expect(dead_code, reason = "read by the extractor `After`; here so that it is known")]
    after: Option<u64>,
}

/// What a person says to a debate that waits.
#[derive(Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approving {
    /// Whether it goes on; otherwise the moderator sums up.
    approved: bool,
    /// Something to say to the voices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    note: Option<String>,
    /// The question that is answered; whichever is open unless given.
    #[serde(default, rename = "interruptId", skip_serializing)]
    pub(crate) interrupt_id: Option<String>,
}

/// Which debates.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listing {
    /// Words of the topic.
    pub(crate) q: Option<String>,
    /// `running`, `waiting`, `completed`, `error` or `stopped`.
    status: Option<String>,
    /// At most this many; 50 unless said, 200 at most.
    pub(crate) limit: Option<usize>,
    /// Only those behind this many.
    pub(crate) after: Option<usize>,
}

impl Listing {
    /// What the records call the status that is asked for.
    pub(crate) fn statuses(&self) -> Result<Vec<RunStatus>, Problem> {
        let Some(status) = self.status.as_deref() else { return Ok(Vec::new()) };
        Ok(match status {
            "running" => vec![RunStatus::Running, RunStatus::Suspended],
            "waiting" => vec![RunStatus::Waiting],
            "completed" => vec![RunStatus::Finished],
            "error" => vec![RunStatus::Failed],
            "stopped" => vec![RunStatus::Stopped, RunStatus::Interrupted],
            other => {
                let known = known_names(other, &["running", "waiting", "completed", "error", "stopped"]);
                return Err(Problem::invalid(format!("no debate has the status `{other}`"), []).hint(known));
            }
        })
    }
}

/// How a transcript is written.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Writing {
    /// `md`, `json` or `txt`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) format: Written,
}

/// How a transcript is written.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Written {
    #[default]
    Md,
    Json,
    Txt,
}
