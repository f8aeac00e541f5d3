//! How often tools may be called.

use serde::{Deserialize, Serialize};

use super::Middleware;
use super::model_calls::reached;
use crate::NodeError;
use crate::agent::hook::{Effect, Hook, Hooks, Jump};
use crate::agent::route::{open_calls, refusal};
use crate::core::message::{MessageEdits, ToolCall};

/// Limits how often tools, or one of them, are called in a turn and on a thread. Calls beyond the limit are not made, and
/// the model is told so; or the agent ends, or fails.
///
/// As a node of another graph, an agent begins anew with each visit, and so do these counts.
///
/// ```
/// use superstep::agent::ToolCallLimit;
/// let searches = ToolCallLimit::of("search").per_turn(3);
/// let all = ToolCallLimit::all().per_thread(200).end();
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to an agent"]
pub struct ToolCallLimit {
    name: String,
    tool: Option<String>,
    turn: Option<u32>,
    thread: Option<u32>,
    over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Tell,
    End,
    Fail,
}

impl ToolCallLimit {
    /// Of all tools together.
    pub fn all() -> Self {
        Self { name: "ToolCallLimit".to_owned(), tool: None, turn: None, thread: None, over: Over::Tell }
    }

    /// Of this tool.
    pub fn of(tool: impl Into<String>) -> Self {
        let tool = tool.into();
        Self { name: format!("ToolCallLimit({tool})"), tool: Some(tool), ..Self::all() }
    }

    /// The most calls between a message of the user and the answer to it.
    pub fn per_turn(mut self, calls: u32) -> Self {
        self.turn = Some(calls);
        self
    }

    /// The most calls on a thread.
    pub fn per_thread(mut self, calls: u32) -> Self {
        self.thread = Some(calls);
        self
    }

    /// The agent ends at the limit.
    pub fn end(mut self) -> Self {
        self.over = Over::End;
        self
    }

    /// The run fails at the limit.
    pub fn fail(mut self) -> Self {
        self.over = Over::Fail;
        self
    }

    fn counts(&self, call: &ToolCall) -> bool {
        self.tool.as_ref().is_none_or(|tool| *tool == call.name)
    }

    fn what(&self) -> String {
        match &self.tool {
            Some(tool) => format!("`{tool}` may not be called more often"),
            None => "tools may not be called more often".to_owned(),
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Made {
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
        if self.over == Over::End { hooks.may_jump([Jump::End]) } else { hooks }
    }

    async fn after_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let Some((_, open)) = open_calls(hook.messages()) else { return Ok(Effect::none()) };
        let counted: Vec<&ToolCall> = open.iter().copied().filter(|call| self.counts(call)).collect();
        if counted.is_empty() {
            return Ok(Effect::none());
        }
        let mut made: Made = hook.kept()?;
        let turn = hook.turn().message().map(str::to_owned);
        if made.turn != turn {
            made = Made { turn, in_turn: 0, ..made };
        }
        let room = |most: Option<u32>, made: u32| most.map_or(u32::MAX, |most| most.saturating_sub(made));
        let room = room(self.turn, made.in_turn).min(room(self.thread, made.on_thread));
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(counted.len());
        let (_, beyond) = counted.split_at(room);
        if !beyond.is_empty() && self.over != Over::Tell {
            // A call that is left open would spoil the conversation.
            let closed: MessageEdits = open.iter().map(|call| refusal(call, &self.what())).collect();
            let effect = reached(&self.what(), self.over == Over::Fail)?;
            return Ok(Effect { messages: MessageEdits([closed.0, effect.messages.0].concat()), ..effect });
        }
        let more = u32::try_from(room).unwrap_or(u32::MAX);
        (made.in_turn, made.on_thread) = (made.in_turn.saturating_add(more), made.on_thread.saturating_add(more));
        let refused: MessageEdits = beyond.iter().map(|call| refusal(call, &self.what())).collect();
        Effect::none().messages(refused).keep(made)
    }
}
