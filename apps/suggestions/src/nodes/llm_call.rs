//! Asks the model, with all tools bound until its last round.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use superstep::model::Request;
use superstep::tool::ToolSpec;
use superstep::{Code, Ctx, Cx, Error, FromTask, Message, Node, NodeError, View};

use crate::context::Context;
use crate::prompt;
use crate::state::{Suggestions, SuggestionsUpdate, without_text};
use crate::tools::specs;

/// The node `llmCall`.
pub(crate) struct LlmCall {
    rounds: u32,
    tools: Vec<Arc<ToolSpec>>,
}

impl LlmCall {
    /// Asks this often at most; the last time without tools.
    pub(crate) fn new(rounds: u32) -> Self {
        Self { rounds, tools: specs() }
    }

    /// What the model is asked. In its last round it can only answer: a message that asks for tools then would leave
    /// nothing to format, and a history that cannot be continued.
    fn request(&self, state: &Suggestions) -> Request {
        let said = Request::from(&state.messages);
        if self.is_last(state) {
            let mut request = said;
            request.messages.push(Arc::new(prompt::answer_now()));
            return request;
        }
        said.tools(self.tools.iter().cloned())
    }

    fn is_last(&self, state: &Suggestions) -> bool {
        state.llm_call_count.saturating_add(1) >= self.rounds
    }
}

impl Node<Suggestions, Context> for LlmCall {
    type Output = SuggestionsUpdate;

    async fn run(&self, cx: Cx) -> Result<SuggestionsUpdate, NodeError> {
        let state = <View<Suggestions> as FromTask<Suggestions, Context>>::from_task(&cx)?;
        let context = <Ctx<Context> as FromTask<Suggestions, Context>>::from_task(&cx)?;
        context.check()?;
        if prompt::post(&state.messages).text.is_empty() {
            return Err(without_text().into());
        }
        let Some(model) = context.decider() else {
            let error = Error::new(Code::MissingContext, "the context has no model");
            return Err(error.help("give one, or search without: `suggest` does so").into());
        };
        let limit = context.bounds().model;
        let asked = cx.model(model).request(self.request(&state)).into_future();
        let answer = match select(asked, pin!(cx.sleep(limit))).await {
            Either::Left((answer, _)) => answer?,
            Either::Right(_) => {
                let fact = format!("the model `{}` took longer than {limit:?}", model.info());
                return Err(Error::new(Code::Timeout, fact).into());
            }
        };
        let mut message: Message = answer.message;
        if self.is_last(&state) {
            // A model that asks for tools it was not given would leave calls open.
            message.tool_calls.clear();
        }
        Ok(Suggestions::update().messages(message).llm_call_count(1u32))
    }
}
