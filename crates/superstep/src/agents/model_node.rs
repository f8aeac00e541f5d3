//! The node that calls the model: builds the request, limits the iterations, and interprets the response.

use std::sync::Arc;

use super::call_chain::{MiddlewareChain, ModelRequest, NextModel};
use super::state::{AgentState, AgentStateUpdate, TurnCounters};
use super::structured_response::{ParsedResponse, StructuredResponse};
use crate::core::message::MessageUpdates;
use crate::models::{ChatRequest, ChatResponse, SharedModel, ToolChoice};
use crate::tools::{ToolSet, ToolSpec};
use crate::{FromTask, Message, Node, NodeError, Result, TaskContext, View};

/// Function that returns the system prompt.
pub(super) type SystemPrompt = Arc<dyn Fn(&AgentState) -> String + Send + Sync>;

/// Node that calls the model.
pub(super) struct AgentModelNode {
    pub(super) model: SharedModel,
    pub(super) tools: ToolSet,
    /// Tool specifications, if no tool source can change them.
    pub(super) static_tool_specs: Option<Vec<Arc<ToolSpec>>>,
    pub(super) prompt: Option<SystemPrompt>,
    pub(super) structured: Option<StructuredResponse>,
    pub(super) middleware_chain: MiddlewareChain,
    /// Agent name that the responses carry.
    pub(super) agent_name: Option<String>,
    pub(super) max_iterations: u32,
    /// Number of supersteps of one more iteration, up to the end.
    pub(super) supersteps_per_iteration: u32,
}

impl<C> Node<AgentState, C> for AgentModelNode {
    type Output = AgentStateUpdate;

    async fn run(&self, cx: TaskContext) -> Result<AgentStateUpdate, NodeError> {
        let state: View<AgentState> = FromTask::<AgentState, C>::from_task(&cx)?;
        let turn = TurnCounters::from_state(&state);
        // A response without tool calls is more useful than a recursion limit error.
        let is_last =
            turn.iterations() + 1 >= self.max_iterations || cx.remaining_steps() <= self.supersteps_per_iteration;
        let request = self.request(&state, is_last).await?;
        let had_response = state.structured_response.is_some();
        let response_tool = self.structured.as_ref().and_then(|structured| structured.tool(&self.model));
        let request = ModelRequest { model: self.model.clone(), request, state, task: cx, response_tool };
        let response = NextModel::first(&self.middleware_chain).run(request).await?;
        self.update(response, turn.with_model_call(), is_last, had_response)
    }
}

impl AgentModelNode {
    async fn request(&self, state: &AgentState, is_last: bool) -> Result<ChatRequest> {
        let mut request = ChatRequest::from(&state.messages);
        if let Some(prompt) = &self.prompt {
            request.messages.insert(0, Arc::new(Message::system(prompt(state))));
        }
        request.tools = match &self.static_tool_specs {
            Some(specs) => specs.clone(),
            None => self.tools.specs().await?,
        };
        if is_last && !request.tools.is_empty() {
            // Providers reject a history with tool calls if the request does not contain the tools.
            let has_called = state.messages.iter().any(|message| !message.tool_calls.is_empty());
            request.tools.retain(|_| has_called);
            request.tool_choice = ToolChoice::None;
        }
        if let Some(structured) = &self.structured {
            structured.add_to_request(&self.model, &mut request, is_last)?;
        }
        Ok(request)
    }

    fn update(
        &self,
        mut response: ChatResponse,
        turn: TurnCounters,
        is_last: bool,
        had_response: bool,
    ) -> Result<AgentStateUpdate, NodeError> {
        if is_last {
            self.drop_tool_calls(&mut response.message);
        }
        let has_tools = self.static_tool_specs.as_ref().is_none_or(|tools| !tools.is_empty());
        let read = |structured: &_| StructuredResponse::read(structured, &self.model, &response, has_tools);
        let parsed = self.structured.as_ref().map(|structured| (structured, read(structured)));
        let mut message = response.message;
        message.name = message.name.or_else(|| self.agent_name.clone());
        let update = AgentState::update();
        let update = if had_response { update.structured_response(None) } else { update };
        match parsed {
            None | Some((_, ParsedResponse::Pending)) => Ok(update.messages(message).turn(turn)),
            Some((_, ParsedResponse::Done(value, closing))) => {
                Ok(update.messages(message_updates(message, closing)).turn(turn).structured_response(value))
            }
            Some((structured, ParsedResponse::Invalid(error, feedback))) => {
                if is_last || turn.corrections() >= structured.corrections {
                    return Err(structured.failed(&self.model, &error).into());
                }
                Ok(update.messages(message_updates(message, feedback)).turn(turn.with_format_retry()))
            }
        }
    }

    /// Removes tool calls that will not run; some models send calls although tool choice is `none`.
    fn drop_tool_calls(&self, message: &mut Message) {
        let is_response_call =
            |call: &_| self.structured.as_ref().is_some_and(|structured| structured.is_response_call(call));
        let requested_calls = message.tool_calls.len();
        message.tool_calls.retain(is_response_call);
        if message.tool_calls.len() < requested_calls {
            message.metadata.insert("out_of_rounds".to_owned(), true.into());
        }
    }
}

fn message_updates(message: Message, more: Vec<Message>) -> MessageUpdates {
    std::iter::once(message).chain(more).collect()
}
