//! The state of a debate: its fields, how they fold, and what a whole state must be like.
//!
//! Names are camelCase wherever a state leaves the process. How threads of the first shape are read is in `migration`;
//! who writes which field is in `nodes`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use superstep::core::error::Problem;
use superstep::core::time::Time;
use superstep::{Code, Error, Message, Messages, Result, State};

use crate::fact::FactCheckResult;
use crate::prompt::Role;

/// The longest topic, in characters.
pub const LONGEST_TOPIC: usize = 500;
/// The most rounds a debate may have.
pub const MOST_ROUNDS: u32 = 10;
/// How many rounds a debate has unless told.
pub const ROUNDS: u32 = 3;

/// A debate: what was said, how far it is, and what is known about it.
#[derive(State, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "debate", version = 2, rename_all = "camelCase")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Debate {
    /// What was said, the user's line included.
    #[reduce(messages)]
    pub messages: Messages,
    /// How many rounds are over.
    pub round: u32,
    /// What the debate is about.
    #[state(set_once, max = 500)]
    pub topic: String,
    /// How many rounds it has.
    #[state(set_once, default = ROUNDS, min = 1, max = 10)]
    pub max_rounds: u32,
    /// How it stands.
    #[reduce(with = guard_status)]
    pub status: Status,
    /// Whether a person is asked to let it go on.
    pub awaiting_approval: bool,
    /// What the person said last.
    pub user_approved: Option<bool>,
    /// What was found about claims.
    #[reduce(append)]
    pub fact_check_results: Vec<FactCheckResult>,
    /// Tokens of all answers; nodes return what they used.
    #[reduce(add)]
    pub token_usage: u64,
    /// When the topic was given.
    #[state(set_once)]
    pub start_time: Option<Time>,
    /// When the status left `running`.
    pub end_time: Option<Time>,
}

/// How a debate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on, or waits for a person.
    #[default]
    Running,
    /// The moderator has summed up.
    Completed,
    /// It cannot go on.
    Error,
}

impl Status {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        let known = [Self::Running, Self::Completed, Self::Error];
        known.into_iter().find(|status| given == status.name()).ok_or_else(|| {
            let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            serde::de::Error::custom(format!("Invalid status: {given}"))
        })
    }
}

/// The last status stays, except that an error is not painted over: no node makes a debate that failed a completed one.
///
/// A person who corrects a thread from outside writes past this with `Overwrite`.
fn guard_status(current: &mut Status, next: Status) -> Result<(), String> {
    if (*current, next) == (Status::Error, Status::Completed) {
        return Err("a debate in `error` does not become `completed`".to_owned());
    }
    *current = next;
    Ok(())
}

impl Debate {
    /// The input that opens a debate at this time: topic, rounds and the user's line.
    ///
    /// ```
    /// use superstep::core::time::Time;
    /// use superstep_debate::Debate;
    ///
    /// let now = Time::parse("2026-03-01T09:30:00Z")?;
    /// assert!(Debate::open("  Should AI be regulated? ", 3, now).is_ok());
    /// assert_eq!(Debate::open(" ", 11, now).unwrap_err().problems().len(), 2);
    /// # Ok::<(), superstep::core::fault::Fault>(())
    /// ```
    ///
    /// # Errors
    /// Lists every problem, with JSON pointers: a topic without letters or longer than [`LONGEST_TOPIC`], rounds out
    /// of range.
    pub fn open(topic: &str, max_rounds: u32, now: Time) -> Result<DebateUpdate> {
        let (topic, line) = opening(topic, max_rounds)?;
        Ok(Self::input().messages(line).topic(topic).max_rounds(max_rounds).start_time(now))
    }

    /// As [`Debate::open`], in JSON; without a time for a debate that has one already.
    ///
    /// # Errors
    /// As [`Debate::open`].
    pub fn open_json(topic: &str, max_rounds: u32, now: Option<Time>) -> Result<Value> {
        let (topic, line) = opening(topic, max_rounds)?;
        let mut input = json!({ "messages": [line], "topic": topic, "maxRounds": max_rounds });
        if let Some(now) = now {
            input["startTime"] = json!(now);
        }
        Ok(input)
    }

    /// Everything that is wrong with the state, with JSON pointers.
    ///
    /// A debate that was given no topic may lack it as long as no voice has spoken, and when it ended because of that.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let may_lack_topic = self.status == Status::Error || self.turns().next().is_none();
        let topic = topic_problem(self.topic.trim()).filter(|_| !(may_lack_topic && self.topic.trim().is_empty()));
        topic.into_iter().chain(rounds_problem(self.max_rounds)).collect()
    }

    /// Refuses a state that is not whole.
    ///
    /// # Errors
    /// Lists every problem of [`Debate::problems`].
    pub fn check(&self) -> Result<()> {
        match self.problems() {
            problems if problems.is_empty() => Ok(()),
            problems => Err(Error::listing(Code::InputInvalid, "the debate is not whole", problems)),
        }
    }

    /// What optimist and skeptic have said.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let is_turn = |message: &&Message| {
            [Role::Optimist, Role::Skeptic].iter().any(|role| message.name.as_deref() == Some(role.name()))
        };
        self.messages.iter().filter(is_turn)
    }

    /// What a person said to the voices.
    pub fn remarks(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let is_remark = |message: &&Message| message.name.is_none() && message.metadata.contains_key("round");
        self.messages.iter().filter(is_remark).map(Message::text)
    }

    /// What the moderator said, once that is there.
    #[must_use]
    pub fn summary(&self) -> Option<&Message> {
        let is_summary = |message: &&Message| message.name.as_deref() == Some(Role::Moderator.name());
        self.messages.iter().find(is_summary)
    }

    /// Whether the arguments are over and the moderator's turn is next.
    #[must_use]
    pub fn is_argued(&self) -> bool {
        self.round >= self.max_rounds || self.user_approved == Some(false)
    }

    /// Whether some of the tokens were counted by us and not by the provider.
    #[must_use]
    pub fn is_usage_estimated(&self) -> bool {
        self.messages.iter().filter_map(|message| message.usage.as_ref()).any(|usage| usage.estimated)
    }
}

/// The topic without spaces around it, and the user's line about it.
fn opening(topic: &str, max_rounds: u32) -> Result<(&str, Message)> {
    let topic = topic.trim();
    let problems: Vec<Problem> = topic_problem(topic).into_iter().chain(rounds_problem(max_rounds)).collect();
    if !problems.is_empty() {
        return Err(Error::listing(Code::InputInvalid, "a debate cannot begin like this", problems));
    }
    // With an id, so that an input that is given again after a crash does not double the line.
    Ok((topic, Message::user(format!("Debate topic: {topic}")).with_id("topic")))
}

fn topic_problem(topic: &str) -> Option<Problem> {
    match topic.chars().count() {
        0 => Some(problem("/topic", "a debate needs a topic".to_owned())),
        length if length > LONGEST_TOPIC => {
            Some(problem("/topic", format!("the topic has {length} characters, and may have {LONGEST_TOPIC}")))
        }
        _ => None,
    }
}

fn rounds_problem(rounds: u32) -> Option<Problem> {
    let is_allowed = (1..=MOST_ROUNDS).contains(&rounds);
    (!is_allowed).then(|| problem("/maxRounds", format!("{rounds} rounds: allowed are 1 to {MOST_ROUNDS}")))
}

fn problem(pointer: &str, message: String) -> Problem {
    Problem { pointer: pointer.to_owned(), message, help: None }
}
