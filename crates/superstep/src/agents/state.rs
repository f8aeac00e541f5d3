//! State of an agent, and the counters of its current turn.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::message::{Message, Role};
use crate::{Error, ErrorCode, GraphState, Messages, Result};

/// Metadata key of messages that the agent or a middleware added with the role of the user.
pub(super) const ADDED_BY: &str = "added_by";

/// The state of an agent.
///
/// In a parent graph, the agent shares `messages` by name, and `structured` if the parent has such a field. All other
/// fields are private.
#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "agent")]
pub struct AgentState {
    /// The messages of the conversation.
    #[reduce(messages)]
    pub messages: Messages,
    /// The structured response, if the agent has a response format: see [`super::ReactAgent::response_format`] and
    /// [`AgentState::response`].
    #[serde(rename = "structured")]
    #[state(rename = "structured")]
    pub structured_response: Option<Value>,
    /// Counters of the current turn.
    #[state(private)]
    pub(super) turn: TurnCounters,
    /// State of each middleware, by name.
    #[state(private)]
    #[reduce(merge)]
    #[serde(rename = "rooms")]
    #[state(rename = "rooms")]
    pub(super) middleware_state: BTreeMap<String, Value>,
}

impl AgentState {
    /// Returns the structured response as a typed value.
    ///
    /// # Errors
    /// Returns an error if there is no structured response, or if the response does not deserialize as `T`.
    pub fn response<T: DeserializeOwned>(&self) -> Result<T> {
        let value = self.structured_response.clone().ok_or_else(|| {
            Error::new(ErrorCode::OutputInvalid, "the agent returned no structured response")
                .with_help("set the response type: `react_agent(..).response_format::<T>()`")
        })?;
        serde_json::from_value(value).map_err(|error| {
            Error::new(
                ErrorCode::OutputInvalid,
                format!(
                    "the structured response does not \
                 match the type: {error}"
                ),
            )
        })
    }
}

/// Fields that are hidden from parent graphs and callers.
pub(super) const PRIVATE: [&str; 2] = ["turn", "rooms"];

/// Counters of a turn: everything between a user message and its response, which may take several runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnCounters {
    /// Id of the user message that started the turn.
    #[serde(rename = "of")]
    message_id: Option<String>,
    /// Number of model calls.
    #[serde(rename = "rounds")]
    iterations: u32,
    /// Number of corrections of an invalid structured response.
    corrections: u32,
}

impl TurnCounters {
    /// Returns the turn of a state: a new turn if a user message was added since the last one.
    #[must_use]
    pub fn from_state(state: &AgentState) -> Self {
        let turn_start = state.messages.iter().rev().find(|message| is_from_user(message));
        let id = turn_start.and_then(|message| message.id.as_ref());
        match id {
            // Without an id the message was replaced by a summary: the turn is still the same.
            None => state.turn.clone(),
            Some(id) if state.turn.message_id.as_deref() == Some(id.as_str()) => state.turn.clone(),
            Some(id) => Self { message_id: Some(id.as_str().to_owned()), ..Self::default() },
        }
    }

    /// Returns the number of model calls so far.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Returns the id of the message that started the turn, if the message has one.
    #[must_use]
    pub fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    pub(super) fn corrections(&self) -> u32 {
        self.corrections
    }

    pub(super) fn with_model_call(mut self) -> Self {
        self.iterations += 1;
        self
    }

    pub(super) fn with_format_retry(mut self) -> Self {
        self.corrections += 1;
        self
    }
}

pub(super) fn is_from_user(message: &Message) -> bool {
    message.role == Role::User && !message.metadata.contains_key(ADDED_BY)
}
