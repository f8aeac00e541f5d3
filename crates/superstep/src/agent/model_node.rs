//! The node that asks the model: what it is told, how often, and what its answer means.

use std::sync::Arc;

use super::around::{Around, ModelRequest, NextModel};
use super::state::{AgentState, AgentStateUpdate, Turn};
use super::structured::{Reading, Structured};
use crate::core::message::MessageEdits;
use crate::model::{Answer, Request, SharedModel, ToolChoice};
use crate::tool::{ToolSpec, Tools};
use crate::{Cx, FromTask, Message, Node, NodeError, Result, View};

/// Says what the model is told to be.
pub(super) type SystemPrompt = Arc<dyn Fn(&AgentState) -> String + Send + Sync>;

/// Asks the model.
pub(super) struct ModelNode {
    pub(super) model: SharedModel,
    pub(super) tools: Tools,
    /// What is told of the tools, where no source can change them.
    pub(super) fixed: Option<Vec<Arc<ToolSpec>>>,
    pub(super) prompt: Option<SystemPrompt>,
    pub(super) structured: Option<Structured>,
    pub(super) around: Around,
    /// The name its answers carry.
    pub(super) speaker: Option<String>,
    pub(super) max_rounds: u32,
    /// How many supersteps another round takes, up to the end.
    pub(super) round_length: u32,
}

impl<C> Node<AgentState, C> for ModelNode {
    type Output = AgentStateUpdate;

    async fn run(&self, cx: Cx) -> Result<AgentStateUpdate, NodeError> {
        let state: View<AgentState> = FromTask::<AgentState, C>::from_task(&cx)?;
        let turn = Turn::of(&state);
        // An answer without tools is worth more than the error that the supersteps are used up.
        let is_last = turn.rounds() + 1 >= self.max_rounds || cx.remaining_steps() <= self.round_length;
        let request = self.request(&state, is_last).await?;
        let had_answer = state.structured.is_some();
        let answer_tool = self.structured.as_ref().and_then(|structured| structured.tool(&self.model));
        let request = ModelRequest { model: self.model.clone(), request, state, cx, answer_tool };
        let answer = NextModel::first(&self.around).run(request).await?;
        self.update(answer, turn.asked(), is_last, had_answer)
    }
}

impl ModelNode {
    async fn request(&self, state: &AgentState, is_last: bool) -> Result<Request> {
        let mut request = Request::from(&state.messages);
        if let Some(prompt) = &self.prompt {
            request.messages.insert(0, Arc::new(Message::system(prompt(state))));
        }
        request.tools = match &self.fixed {
            Some(specs) => specs.clone(),
            None => self.tools.specs().await?,
        };
        if is_last && !request.tools.is_empty() {
            // Providers refuse calls in a history without the tools they are of.
            let has_called = state.messages.iter().any(|message| !message.tool_calls.is_empty());
            request.tools.retain(|_| has_called);
            request.tool_choice = ToolChoice::None;
        }
        if let Some(structured) = &self.structured {
            structured.ask(&self.model, &mut request, is_last)?;
        }
        Ok(request)
    }

    fn update(
        &self,
        mut answer: Answer,
        turn: Turn,
        is_last: bool,
        had_answer: bool,
    ) -> Result<AgentStateUpdate, NodeError> {
        if is_last {
            self.forgo_tools(&mut answer.message);
        }
        let has_tools = self.fixed.as_ref().is_none_or(|tools| !tools.is_empty());
        let read = |structured: &_| Structured::read(structured, &self.model, &answer, has_tools);
        let reading = self.structured.as_ref().map(|structured| (structured, read(structured)));
        let mut message = answer.message;
        message.name = message.name.or_else(|| self.speaker.clone());
        let update = AgentState::update();
        let update = if had_answer { update.structured(None) } else { update };
        match reading {
            None | Some((_, Reading::Pending)) => Ok(update.messages(message).turn(turn)),
            Some((_, Reading::Done(value, closing))) => {
                Ok(update.messages(together(message, closing)).turn(turn).structured(value))
            }
            Some((structured, Reading::Wrong(fault, told))) => {
                if is_last || turn.corrections() >= structured.corrections {
                    return Err(structured.failed(&self.model, &fault).into());
                }
                Ok(update.messages(together(message, told)).turn(turn.corrected()))
            }
        }
    }

    /// Calls that nobody will run must not be left open; some models make them all the same.
    fn forgo_tools(&self, message: &mut Message) {
        let is_answer = |call: &_| self.structured.as_ref().is_some_and(|structured| structured.is_answer(call));
        let asked = message.tool_calls.len();
        message.tool_calls.retain(is_answer);
        if message.tool_calls.len() < asked {
            message.metadata.insert("out_of_rounds".to_owned(), true.into());
        }
    }
}

fn together(message: Message, more: Vec<Message>) -> MessageEdits {
    std::iter::once(message).chain(more).collect()
}
