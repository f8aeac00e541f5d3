//! A graph whose whole state is a conversation.

use serde::{Deserialize, Serialize};

use crate::core::command::Output;
use crate::{Graph, IntoOutput, Message, Messages, NodeError, State};

/// A state of messages and nothing else. Its nodes may return a [`Message`], or several.
#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "messages")]
pub struct MessagesState {
    /// What was said.
    #[reduce(messages)]
    pub messages: Messages,
}

/// A graph over a conversation, ready for nodes and edges.
///
/// ```
/// use superstep::agent::{MessagesState, messages_graph};
/// use superstep::prelude::*;
///
/// let mut graph = messages_graph("echo");
/// let echo = graph.node("echo", |state: View<MessagesState>| {
///     Message::assistant(state.messages.last().map_or_else(String::new, |said| said.text().to_uppercase()))
/// });
/// graph.edge(START, echo).edge(echo, END);
/// let done = graph.compile()?.run("hello").wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "HELLO");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use]
pub fn messages_graph(name: &str) -> Graph<MessagesState> {
    Graph::new(name)
}

impl IntoOutput<MessagesState> for Message {
    fn into_output(self) -> Result<Output, NodeError> {
        MessagesState::update().messages(self).into_output()
    }
}

impl IntoOutput<MessagesState> for Vec<Message> {
    fn into_output(self) -> Result<Output, NodeError> {
        MessagesState::update().messages(self).into_output()
    }
}
