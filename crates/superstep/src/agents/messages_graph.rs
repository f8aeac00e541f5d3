//! A graph whose whole state is a conversation.

use serde::{Deserialize, Serialize};

use crate::core::command::TaskOutput;
use crate::{GraphState, IntoOutput, Message, Messages, NodeError, StateGraph};

/// A state with messages only. Nodes may return one [`Message`] or several.
#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "messages")]
pub struct MessagesState {
    /// The messages of the conversation.
    #[reduce(messages)]
    pub messages: Messages,
}

/// Creates a graph over [`MessagesState`], without nodes and edges.
///
/// ```
/// use superstep::agents::{MessagesState, messages_graph};
/// use superstep::prelude::*;
///
/// let mut graph = messages_graph("echo");
/// let echo = graph.add_node("echo", |state: View<MessagesState>| {
///     Message::assistant(state.messages.last().map_or_else(String::new, |message| message.text().to_uppercase()))
/// });
/// graph.add_edge(START, echo).add_edge(echo, END);
/// let done = graph.compile()?.invoke("hello").wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "HELLO");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use]
pub fn messages_graph(name: &str) -> StateGraph<MessagesState> {
    StateGraph::new(name)
}

impl IntoOutput<MessagesState> for Message {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        MessagesState::update().messages(self).into_output()
    }
}

impl IntoOutput<MessagesState> for Vec<Message> {
    fn into_output(self) -> Result<TaskOutput, NodeError> {
        MessagesState::update().messages(self).into_output()
    }
}
