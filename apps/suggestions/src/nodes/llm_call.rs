//! Calls the model, with all tools bound except in the last round.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use superstep::models::ChatRequest;
use superstep::tools::ToolSpec;
use superstep::{Error, ErrorCode, FromTask, Message, Node, NodeError, RunContext, TaskContext, View};

use crate::context::SuggestionsContext;
use crate::prompt;
use crate::state::{SuggestionsState, SuggestionsStateUpdate, no_text_error};
use crate::tools::specs;

/// The node `llmCall`, which calls the model.
pub(crate) struct LlmCall {
    rounds: u32,
    tools: Vec<Arc<ToolSpec>>,
}

impl LlmCall {
    /// Creates the node with a maximum number of model calls. The last call gets no tools.
    pub(crate) fn new(rounds: u32) -> Self {
        Self { rounds, tools: specs() }
    }

    /// Builds the chat request. The last round has no tools: tool calls without results would leave nothing to
    /// format and an invalid message history.
    fn request(&self, state: &SuggestionsState) -> ChatRequest {
        let base_request = ChatRequest::from(&state.messages);
        if self.is_last(state) {
            let mut request = base_request;
            request.messages.push(Arc::new(prompt::final_round_message()));
            return request;
        }
        base_request.tools(self.tools.iter().cloned())
    }

    fn is_last(&self, state: &SuggestionsState) -> bool {
        state.llm_call_count.saturating_add(1) >= self.rounds
    }
}

impl Node<SuggestionsState, SuggestionsContext> for LlmCall {
    type Output = SuggestionsStateUpdate;

    async fn run(&self, cx: TaskContext) -> Result<SuggestionsStateUpdate, NodeError> {
        let state = <View<SuggestionsState> as FromTask<SuggestionsState, SuggestionsContext>>::from_task(&cx)?;
        let context =
            <RunContext<SuggestionsContext> as FromTask<SuggestionsState, SuggestionsContext>>::from_task(&cx)?;
        context.check()?;
        if prompt::post(&state.messages).text.is_empty() {
            return Err(no_text_error().into());
        }
        let Some(model) = context.planner_model() else {
            let error = Error::new(ErrorCode::MissingContext, "the context has no model");
            return Err(error.with_help("set a model, or use `suggest`, which works without one").into());
        };
        let timeout = context.run_timeouts().model;
        let call = cx.model(model).request(self.request(&state)).into_future();
        let response = match select(call, pin!(cx.sleep(timeout))).await {
            Either::Left((response, _)) => response?,
            Either::Right(_) => {
                let detail = format!("the model `{}` took longer than {timeout:?}", model.info());
                return Err(Error::new(ErrorCode::Timeout, detail).into());
            }
        };
        let mut message: Message = response.message;
        if self.is_last(&state) {
            // A model may return tool calls although it was given no tools; they would stay without results.
            message.tool_calls.clear();
        }
        Ok(SuggestionsState::update().messages(message).llm_call_count(1u32))
    }
}
