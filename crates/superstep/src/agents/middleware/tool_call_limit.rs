//! Limit on the number of tool calls.

use serde::{Deserialize, Serialize};

use super::Middleware;
use super::model_call_limit::reached;
use crate::NodeError;
use crate::agents::hooks::{HookContext, HookUpdate, Hooks, JumpTo};
use crate::agents::routing::{open_calls, rejected_tool_message};
use crate::core::message::{MessageUpdates, ToolCall};

/// Limits calls of all tools, or of one tool, per turn and per thread. Calls beyond the limit do not run, and the
/// model receives the reason; optionally the agent ends, or the run fails.
///
/// Each visit of an agent that is a node of another graph starts with new counts.
///
/// ```
/// use superstep::agents::ToolCallLimit;
/// let searches = ToolCallLimit::for_tool("search").per_turn(3);
/// let all = ToolCallLimit::all().per_thread(200).end();
/// ```
#[derive(Debug, Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ToolCallLimit {
    name: String,
    tool: Option<String>,
    turn: Option<u32>,
    thread: Option<u32>,
    over: OnLimitExceeded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnLimitExceeded {
    Continue,
    End,
    Fail,
}

impl ToolCallLimit {
    /// Creates a limit on calls of all tools together.
    pub fn all() -> Self {
        Self { name: "ToolCallLimit".to_owned(), tool: None, turn: None, thread: None, over: OnLimitExceeded::Continue }
    }

    /// Creates a limit on calls of one tool.
    pub fn for_tool(tool: impl Into<String>) -> Self {
        let tool = tool.into();
        Self { name: format!("ToolCallLimit({tool})"), tool: Some(tool), ..Self::all() }
    }

    /// Sets the maximum number of calls between a user message and its response.
    pub fn per_turn(mut self, calls: u32) -> Self {
        self.turn = Some(calls);
        self
    }

    /// Sets the maximum number of calls on a thread.
    pub fn per_thread(mut self, calls: u32) -> Self {
        self.thread = Some(calls);
        self
    }

    /// Ends the agent at the limit.
    pub fn end(mut self) -> Self {
        self.over = OnLimitExceeded::End;
        self
    }

    /// Makes the run fail at the limit.
    pub fn fail(mut self) -> Self {
        self.over = OnLimitExceeded::Fail;
        self
    }

    fn counts(&self, call: &ToolCall) -> bool {
        self.tool.as_ref().is_none_or(|tool| *tool == call.name)
    }

    fn limit_message(&self) -> String {
        match &self.tool {
            Some(tool) => format!("call limit of tool `{tool}` reached"),
            None => "tool call limit reached".to_owned(),
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct CallCounts {
    turn: Option<String>,
    in_turn: u32,
    on_thread: u32,
}

impl Middleware for ToolCallLimit {
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> Hooks {
        let hooks = Hooks::none().after_model();
        if self.over == OnLimitExceeded::End { hooks.can_jump_to([JumpTo::End]) } else { hooks }
    }

    async fn after_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        let Some((_, open)) = open_calls(hook.messages()) else { return Ok(HookUpdate::none()) };
        let counted: Vec<&ToolCall> = open.iter().copied().filter(|call| self.counts(call)).collect();
        if counted.is_empty() {
            return Ok(HookUpdate::none());
        }
        let mut counts: CallCounts = hook.middleware_state()?;
        let turn = hook.turn().message_id().map(str::to_owned);
        if counts.turn != turn {
            counts = CallCounts { turn, in_turn: 0, ..counts };
        }
        let remaining_calls = |max: Option<u32>, used: u32| max.map_or(u32::MAX, |max| max.saturating_sub(used));
        let remaining = remaining_calls(self.turn, counts.in_turn).min(remaining_calls(self.thread, counts.on_thread));
        let remaining = usize::try_from(remaining).unwrap_or(usize::MAX).min(counted.len());
        let (_, beyond) = counted.split_at(remaining);
        if !beyond.is_empty() && self.over != OnLimitExceeded::Continue {
            // Every call needs a result, because providers reject a conversation with open calls.
            let closed: MessageUpdates =
                open.iter().map(|call| rejected_tool_message(call, &self.limit_message())).collect();
            let effect = reached(&self.limit_message(), self.over == OnLimitExceeded::Fail)?;
            return Ok(HookUpdate { messages: MessageUpdates([closed.0, effect.messages.0].concat()), ..effect });
        }
        let more = u32::try_from(remaining).unwrap_or(u32::MAX);
        (counts.in_turn, counts.on_thread) =
            (counts.in_turn.saturating_add(more), counts.on_thread.saturating_add(more));
        let rejected: MessageUpdates =
            beyond.iter().map(|call| rejected_tool_message(call, &self.limit_message())).collect();
        HookUpdate::none().messages(rejected).set_middleware_state(counts)
    }
}
