//! What a hook sees of the agent and what it may do: say something, keep something, jump.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::state::{ADDED_BY, AgentState, Turn};
use crate::core::message::{MessageEdit, MessageEdits, Role};
use crate::tool::{ToolSpec, Tools};
use crate::{Cx, Messages, NodeError, Result, View};

/// Which hooks a middleware has. Those it does not have cost nothing.
///
/// ```
/// use superstep::agent::{Hooks, Jump};
/// let hooks = Hooks::none().before_model().may_jump([Jump::End]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a middleware says its hooks to the agent"]
pub struct Hooks {
    pub(super) before_agent: bool,
    pub(super) before_model: bool,
    pub(super) after_model: bool,
    pub(super) after_agent: bool,
    pub(super) wrap_model: bool,
    pub(super) wrap_tool: bool,
    pub(super) judges_tools: bool,
    pub(super) jumps: Vec<Jump>,
}

impl Hooks {
    /// None yet.
    pub fn none() -> Self {
        Self::default()
    }

    /// Has [`super::Middleware::before_agent`].
    pub fn before_agent(mut self) -> Self {
        self.before_agent = true;
        self
    }

    /// Has [`super::Middleware::before_model`].
    pub fn before_model(mut self) -> Self {
        self.before_model = true;
        self
    }

    /// Has [`super::Middleware::after_model`].
    pub fn after_model(mut self) -> Self {
        self.after_model = true;
        self
    }

    /// Has [`super::Middleware::after_agent`].
    pub fn after_agent(mut self) -> Self {
        self.after_agent = true;
        self
    }

    /// Has [`super::Middleware::wrap_model`].
    pub fn wrap_model(mut self) -> Self {
        self.wrap_model = true;
        self
    }

    /// Has [`super::Middleware::wrap_tool`].
    pub fn wrap_tool(mut self) -> Self {
        self.wrap_tool = true;
        self
    }

    /// Its hooks may go on at these places.
    pub fn may_jump(mut self, to: impl IntoIterator<Item = Jump>) -> Self {
        self.jumps.extend(to);
        self
    }

    /// It asks a person about calls itself: the node of the tools then asks about none that its policy does not name.
    pub fn judges_tools(mut self) -> Self {
        self.judges_tools = true;
        self
    }
}

/// Where a hook may go on instead of the usual way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Jump {
    /// The model is asked, with everything that comes before that.
    Model,
    /// The tools that the last message asks for are run.
    Tools,
    /// The agent ends, with everything that comes after it.
    End,
}

/// What a hook sees.
#[derive(Clone)]
pub struct Hook {
    pub(super) state: View<AgentState>,
    pub(super) cx: Cx,
    pub(super) name: Arc<str>,
    pub(super) tools: Tools,
}

impl Hook {
    /// The state of the agent.
    #[must_use]
    pub fn state(&self) -> &AgentState {
        &self.state
    }

    /// What was said.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.state.messages
    }

    /// The turn the agent is in.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn::of(&self.state)
    }

    /// The task of the hook: questions, time, models.
    #[must_use]
    pub fn cx(&self) -> &Cx {
        &self.cx
    }

    /// What the model is told of the tools there are now.
    ///
    /// # Errors
    /// When a source of tools cannot be asked.
    pub async fn tools(&self) -> Result<Vec<Arc<ToolSpec>>> {
        self.tools.specs().await
    }

    /// What this middleware kept last on the thread, with [`Effect::keep`].
    ///
    /// # Errors
    /// When it kept something of another type.
    pub fn kept<T: DeserializeOwned + Default>(&self) -> Result<T, NodeError> {
        match self.state.rooms.get(&*self.name) {
            Some(value) => Ok(serde_json::from_value(value.clone())?),
            None => Ok(T::default()),
        }
    }
}

/// What a hook does to the agent.
#[derive(Debug, Clone, Default)]
#[must_use = "an effect does nothing unless the hook returns it"]
pub struct Effect {
    pub(super) messages: MessageEdits,
    pub(super) kept: Option<Value>,
    pub(super) jump: Option<Jump>,
}

impl Effect {
    /// Nothing: the agent goes its usual way.
    pub fn none() -> Self {
        Self::default()
    }

    /// Goes on elsewhere. The middleware must have said that it may: [`Hooks::may_jump`].
    pub fn jump(to: Jump) -> Self {
        Self::none().and_jump(to)
    }

    /// Goes on elsewhere, too.
    pub fn and_jump(mut self, to: Jump) -> Self {
        self.jump = Some(to);
        self
    }

    /// Changes the conversation: adds messages, replaces them by id, removes them.
    ///
    /// What is said in the role of the user is marked as not said by the user, with the name of the middleware.
    pub fn messages(mut self, edits: impl Into<MessageEdits>) -> Self {
        self.messages.0.extend(edits.into().0);
        self
    }

    /// Keeps something for this middleware, on the thread, in place of what it kept before.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn keep(mut self, what: impl Serialize) -> Result<Self, NodeError> {
        self.kept = Some(serde_json::to_value(what)?);
        Ok(self)
    }

    /// The edits of messages, with a mark on what the user did not say.
    pub(super) fn marked(messages: MessageEdits, name: &str) -> MessageEdits {
        let mark = |edit: MessageEdit| match edit {
            MessageEdit::Put(mut message) if message.role == Role::User => {
                message.metadata.entry(ADDED_BY.to_owned()).or_insert_with(|| name.into());
                MessageEdit::Put(message)
            }
            edit => edit,
        };
        MessageEdits(messages.0.into_iter().map(mark).collect())
    }
}
