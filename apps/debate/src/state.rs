//! State of a debate: its fields, their reducers, and the validation of a complete state.
//!
//! Names are camelCase wherever a state leaves the process. Older schema versions are migrated in `migration`; the
//! nodes that write the fields are in `nodes`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use superstep::core::error::Diagnostic;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, GraphState, Message, Messages, Result};

use crate::fact_check::result::FactCheckResult;
use crate::prompt::DebateAgent;

/// Maximum length of a topic in characters.
pub const MAX_TOPIC_CHARS: usize = 500;
/// Maximum number of rounds.
pub const MAX_ROUNDS: u32 = 10;
/// Default number of rounds.
pub const DEFAULT_ROUNDS: u32 = 3;

/// State of a debate: messages, progress, results.
#[derive(GraphState, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "debate", version = 2, rename_all = "camelCase")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebateState {
    /// Messages, including those of the user.
    #[reduce(messages)]
    pub messages: Messages,
    /// Number of finished rounds.
    pub round: u32,
    /// Topic of the debate.
    #[state(set_once, max = 500)]
    pub topic: String,
    /// Number of rounds.
    #[state(set_once, default = DEFAULT_ROUNDS, min = 1, max = 10)]
    pub max_rounds: u32,
    /// Status of the debate.
    #[reduce(with = status_reducer)]
    pub status: DebateStatus,
    /// True while an approval of the user is pending.
    pub awaiting_approval: bool,
    /// Last decision of the user.
    pub user_approved: Option<bool>,
    /// Results of fact checks.
    #[reduce(append)]
    pub fact_check_results: Vec<FactCheckResult>,
    /// Total number of tokens; nodes return the tokens they used.
    #[reduce(add)]
    pub token_usage: u64,
    /// Time at which the topic was submitted.
    #[state(set_once)]
    pub start_time: Option<Time>,
    /// Time at which the status left `running`.
    pub end_time: Option<Time>,
}

/// Status of a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DebateStatus {
    /// The debate is running, or waits for the user.
    #[default]
    Running,
    /// The moderator has written the summary.
    Completed,
    /// The debate has failed.
    Error,
}

impl DebateStatus {
    /// Returns the serialized name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

impl<'de> Deserialize<'de> for DebateStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let all = [Self::Running, Self::Completed, Self::Error];
        all.into_iter().find(|status| value == status.name()).ok_or_else(|| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            serde::de::Error::custom(format!("Invalid status: {text}"))
        })
    }
}

/// Reduces the status: the last value wins, except that `completed` never replaces `error`, so that no node makes a
/// failed debate look successful.
///
/// Use `Overwrite` to correct a thread from outside.
fn status_reducer(current: &mut DebateStatus, next: DebateStatus) -> Result<(), String> {
    if (*current, next) == (DebateStatus::Error, DebateStatus::Completed) {
        return Err("a debate cannot change from `error` to `completed`".to_owned());
    }
    *current = next;
    Ok(())
}

impl DebateState {
    /// Returns the input that starts a debate at this time: topic, rounds and the message of the user.
    ///
    /// ```
    /// use superstep::core::time::Time;
    /// use superstep_debate::DebateState;
    ///
    /// let now = Time::parse("2026-03-01T09:30:00Z")?;
    /// assert!(DebateState::initial_state("  Should AI be regulated? ", 3, now).is_ok());
    /// assert_eq!(DebateState::initial_state(" ", 11, now).unwrap_err().diagnostics().len(), 2);
    /// # Ok::<(), superstep::core::validation_error::ValidationError>(())
    /// ```
    ///
    /// # Errors
    /// Lists every validation error, with JSON pointers: a topic that is empty or longer than [`MAX_TOPIC_CHARS`],
    /// rounds out of range.
    pub fn initial_state(topic: &str, max_rounds: u32, now: Time) -> Result<DebateStateUpdate> {
        let (topic, message) = opening_message(topic, max_rounds)?;
        Ok(Self::input().messages(message).topic(topic).max_rounds(max_rounds).start_time(now))
    }

    /// Returns the input of [`DebateState::initial_state`] as JSON; without a start time for a debate that has one
    /// already.
    ///
    /// # Errors
    /// Returns the errors of [`DebateState::initial_state`].
    pub fn initial_state_json(topic: &str, max_rounds: u32, now: Option<Time>) -> Result<Value> {
        let (topic, message) = opening_message(topic, max_rounds)?;
        let mut input = json!({ "messages": [message], "topic": topic, "maxRounds": max_rounds });
        if let Some(now) = now {
            input["startTime"] = json!(now);
        }
        Ok(input)
    }

    /// Returns all validation errors of the state, with JSON pointers.
    ///
    /// The topic may be missing before the first turn, and in a debate that ended because of that.
    #[must_use]
    pub fn problems(&self) -> Vec<Diagnostic> {
        let may_lack_topic = self.status == DebateStatus::Error || self.turns().next().is_none();
        let topic = topic_problem(self.topic.trim()).filter(|_| !(may_lack_topic && self.topic.trim().is_empty()));
        topic.into_iter().chain(rounds_problem(self.max_rounds)).collect()
    }

    /// Rejects an incomplete state.
    ///
    /// # Errors
    /// Lists every error of [`DebateState::problems`].
    pub fn check(&self) -> Result<()> {
        match self.problems() {
            problems if problems.is_empty() => Ok(()),
            problems => Err(Error::with_diagnostics(ErrorCode::InputInvalid, "the debate state is invalid", problems)),
        }
    }

    /// Returns the messages of the optimist and the skeptic.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let is_turn = |message: &&Message| {
            [DebateAgent::Optimist, DebateAgent::Skeptic]
                .iter()
                .any(|role| message.name.as_deref() == Some(role.name()))
        };
        self.messages.iter().filter(is_turn)
    }

    /// Returns the notes of the user to the agents.
    pub fn user_notes(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let is_user_note = |message: &&Message| message.name.is_none() && message.metadata.contains_key("round");
        self.messages.iter().filter(is_user_note).map(Message::text)
    }

    /// Returns the summary of the moderator; `None` until the moderator has written one.
    #[must_use]
    pub fn summary(&self) -> Option<&Message> {
        let is_summary = |message: &&Message| message.name.as_deref() == Some(DebateAgent::Moderator.name());
        self.messages.iter().find(is_summary)
    }

    /// Returns true if the moderator's turn is next.
    #[must_use]
    pub fn is_ready_for_summary(&self) -> bool {
        self.round >= self.max_rounds || self.user_approved == Some(false)
    }

    /// Returns true if some token counts are estimates, not counts of the provider.
    #[must_use]
    pub fn is_usage_estimated(&self) -> bool {
        self.messages.iter().filter_map(|message| message.usage.as_ref()).any(|usage| usage.estimated)
    }
}

/// Returns the trimmed topic, and the message of the user about it.
fn opening_message(topic: &str, max_rounds: u32) -> Result<(&str, Message)> {
    let topic = topic.trim();
    let problems: Vec<Diagnostic> = topic_problem(topic).into_iter().chain(rounds_problem(max_rounds)).collect();
    if !problems.is_empty() {
        return Err(Error::with_diagnostics(ErrorCode::InputInvalid, "invalid debate input", problems));
    }
    // A fixed message id, so that an input repeated after a crash does not duplicate the message.
    Ok((topic, Message::user(format!("Debate topic: {topic}")).with_id("topic")))
}

fn topic_problem(topic: &str) -> Option<Diagnostic> {
    match topic.chars().count() {
        0 => Some(problem("/topic", "a debate needs a topic".to_owned())),
        length if length > MAX_TOPIC_CHARS => {
            Some(problem("/topic", format!("the topic has {length} characters; the maximum is {MAX_TOPIC_CHARS}")))
        }
        _ => None,
    }
}

fn rounds_problem(rounds: u32) -> Option<Diagnostic> {
    let is_allowed = (1..=MAX_ROUNDS).contains(&rounds);
    (!is_allowed)
        .then(|| problem("/maxRounds", format!("the number of rounds must be from 1 to {MAX_ROUNDS}, not {rounds}")))
}

fn problem(pointer: &str, message: String) -> Diagnostic {
    Diagnostic { pointer: pointer.to_owned(), message, help: None }
}
