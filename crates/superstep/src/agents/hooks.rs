//! The context and the result of a hook: state and task as input; messages, middleware state and a jump as output.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::state::{ADDED_BY, AgentState, TurnCounters};
use crate::core::message::{MessageUpdate, MessageUpdates, Role};
use crate::tools::{ToolSet, ToolSpec};
use crate::{Messages, NodeError, Result, TaskContext, View};

/// The hooks that a middleware implements. The agent builds no nodes for hooks that are not listed.
///
/// ```
/// use superstep::agents::{Hooks, JumpTo};
/// let hooks = Hooks::none().before_model().can_jump_to([JumpTo::End]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "hooks have no effect until a middleware returns them"]
pub struct Hooks {
    pub(super) before_agent: bool,
    pub(super) before_model: bool,
    pub(super) after_model: bool,
    pub(super) after_agent: bool,
    pub(super) wrap_model_call: bool,
    pub(super) wrap_tool_call: bool,
    pub(super) handles_tool_approval: bool,
    pub(super) jumps: Vec<JumpTo>,
}

impl Hooks {
    /// Creates an empty set of hooks.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds [`super::Middleware::before_agent`].
    pub fn before_agent(mut self) -> Self {
        self.before_agent = true;
        self
    }

    /// Adds [`super::Middleware::before_model`].
    pub fn before_model(mut self) -> Self {
        self.before_model = true;
        self
    }

    /// Adds [`super::Middleware::after_model`].
    pub fn after_model(mut self) -> Self {
        self.after_model = true;
        self
    }

    /// Adds [`super::Middleware::after_agent`].
    pub fn after_agent(mut self) -> Self {
        self.after_agent = true;
        self
    }

    /// Adds [`super::Middleware::wrap_model_call`].
    pub fn wrap_model_call(mut self) -> Self {
        self.wrap_model_call = true;
        self
    }

    /// Adds [`super::Middleware::wrap_tool_call`].
    pub fn wrap_tool_call(mut self) -> Self {
        self.wrap_tool_call = true;
        self
    }

    /// Declares the jump targets of the hooks.
    pub fn can_jump_to(mut self, to: impl IntoIterator<Item = JumpTo>) -> Self {
        self.jumps.extend(to);
        self
    }

    /// Declares that the middleware handles tool approval. The tool node then requests approval only for tools that
    /// its policy names.
    pub fn handles_tool_approval(mut self) -> Self {
        self.handles_tool_approval = true;
        self
    }
}

/// Target of a hook that skips the default edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JumpTo {
    /// The model call, including the `before_model` hooks.
    Model,
    /// The tool node, which runs the tool calls of the last message.
    Tools,
    /// The end of the agent, including the `after_agent` hooks.
    End,
}

/// Input of a hook.
#[derive(Clone)]
pub struct HookContext {
    pub(super) state: View<AgentState>,
    pub(super) task: TaskContext,
    pub(super) name: Arc<str>,
    pub(super) tools: ToolSet,
}

impl HookContext {
    /// Returns the state of the agent.
    #[must_use]
    pub fn state(&self) -> &AgentState {
        &self.state
    }

    /// Returns the messages of the conversation.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.state.messages
    }

    /// Returns the counters of the current turn.
    #[must_use]
    pub fn turn(&self) -> TurnCounters {
        TurnCounters::from_state(&self.state)
    }

    /// Returns the task context of the hook: interrupts, clock, models.
    #[must_use]
    pub fn task(&self) -> &TaskContext {
        &self.task
    }

    /// Returns the specifications of the tools that are currently available.
    ///
    /// # Errors
    /// Returns an error if a tool source fails.
    pub async fn tools(&self) -> Result<Vec<Arc<ToolSpec>>> {
        self.tools.specs().await
    }

    /// Returns the state that this middleware saved last on the thread with [`HookUpdate::set_middleware_state`], or
    /// the default value.
    ///
    /// # Errors
    /// Returns an error if the saved state does not deserialize as `T`.
    pub fn middleware_state<T: DeserializeOwned + Default>(&self) -> Result<T, NodeError> {
        match self.state.middleware_state.get(&*self.name) {
            Some(value) => Ok(serde_json::from_value(value.clone())?),
            None => Ok(T::default()),
        }
    }
}

/// Result of a hook: changes to the conversation, middleware state, and a jump.
#[derive(Debug, Clone, Default)]
#[must_use = "a hook update has no effect until the hook returns it"]
pub struct HookUpdate {
    pub(super) messages: MessageUpdates,
    pub(super) middleware_state: Option<Value>,
    pub(super) jump: Option<JumpTo>,
}

impl HookUpdate {
    /// Creates a result without changes. The agent follows its default edge.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates a result that jumps to `to`. The middleware must declare the target with [`Hooks::can_jump_to`].
    pub fn jump(to: JumpTo) -> Self {
        Self::none().and_jump(to)
    }

    /// Adds a jump to `to`.
    pub fn and_jump(mut self, to: JumpTo) -> Self {
        self.jump = Some(to);
        self
    }

    /// Adds, replaces (by id) or removes messages of the conversation.
    ///
    /// Messages with the role of the user are marked with the name of the middleware as not written by the user.
    pub fn messages(mut self, edits: impl Into<MessageUpdates>) -> Self {
        self.messages.0.extend(edits.into().0);
        self
    }

    /// Saves a value for this middleware on the thread. Replaces the value that the middleware saved before.
    ///
    /// # Errors
    /// Returns an error if the value does not serialize to JSON.
    pub fn set_middleware_state(mut self, state: impl Serialize) -> Result<Self, NodeError> {
        self.middleware_state = Some(serde_json::to_value(state)?);
        Ok(self)
    }

    /// Marks added messages with the role of the user as added by middleware `name`.
    pub(super) fn mark_added(messages: MessageUpdates, name: &str) -> MessageUpdates {
        let mark = |edit: MessageUpdate| match edit {
            MessageUpdate::Put(mut message) if message.role == Role::User => {
                message.metadata.entry(ADDED_BY.to_owned()).or_insert_with(|| name.into());
                MessageUpdate::Put(message)
            }
            edit => edit,
        };
        MessageUpdates(messages.0.into_iter().map(mark).collect())
    }
}
