//! The state of an agent, and what is counted of the turn it is in.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::message::{Message, Role};
use crate::{Code, Error, Messages, Result, State};

/// Marks messages that the agent or a middleware put into the conversation in the role of the user.
pub(super) const ADDED_BY: &str = "added_by";

/// The state of an agent.
///
/// Inside another graph it shares `messages`, and `structured` where that graph has one, by name. The rest stays inside.
#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "agent")]
pub struct AgentState {
    /// What was said.
    #[reduce(messages)]
    pub messages: Messages,
    /// The answer as data, where the agent was told its form: see [`super::ReactAgent::answer_as`] and
    /// [`AgentState::answer`].
    pub structured: Option<Value>,
    /// What is counted of the turn.
    #[state(private)]
    pub(super) turn: Turn,
    /// What each middleware keeps, by its name.
    #[state(private)]
    #[reduce(merge)]
    pub(super) rooms: BTreeMap<String, Value>,
}

impl AgentState {
    /// The answer as a value of its type.
    ///
    /// # Errors
    /// When there is none, or it is of another type.
    pub fn answer<T: DeserializeOwned>(&self) -> Result<T> {
        let value = self.structured.clone().ok_or_else(|| {
            Error::new(Code::OutputInvalid, "the agent has given no answer as data")
                .help("tell it the form: `react_agent(..).answer_as::<T>()`")
        })?;
        serde_json::from_value(value)
            .map_err(|error| Error::new(Code::OutputInvalid, format!("the answer is of another type: {error}")))
    }
}

/// The fields that no graph around an agent, and no caller, sees.
pub(super) const PRIVATE: [&str; 2] = ["turn", "rooms"];

/// What is counted of a turn: everything between a message of the user and the answer to it, however many runs that
/// takes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// The message of the user that began it.
    of: Option<String>,
    /// How often the model was asked.
    rounds: u32,
    /// How often it was told that its answer has not the form it must have.
    corrections: u32,
}

impl Turn {
    /// The turn that a state is in: a new one where the user has said something since.
    #[must_use]
    pub fn of(state: &AgentState) -> Self {
        let begun_by = state.messages.iter().rev().find(|message| is_said_by_user(message));
        let id = begun_by.and_then(|message| message.id.as_ref());
        match id {
            // Without one it was summed up on the way: the turn is still the same.
            None => state.turn.clone(),
            Some(id) if state.turn.of.as_deref() == Some(id.as_str()) => state.turn.clone(),
            Some(id) => Self { of: Some(id.as_str().to_owned()), ..Self::default() },
        }
    }

    /// How often the model was asked so far.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The id of the message that began the turn, where it has one.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.of.as_deref()
    }

    pub(super) fn corrections(&self) -> u32 {
        self.corrections
    }

    pub(super) fn asked(mut self) -> Self {
        self.rounds += 1;
        self
    }

    pub(super) fn corrected(mut self) -> Self {
        self.corrections += 1;
        self
    }
}

pub(super) fn is_said_by_user(message: &Message) -> bool {
    message.role == Role::User && !message.metadata.contains_key(ADDED_BY)
}
