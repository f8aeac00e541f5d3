//! Model calls of a node: chunks are published to subscribers, the cost is counted, and the response names its model.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use superstep_core::error::Result;
use superstep_core::id::{RunId, hash_id};
use superstep_core::message::{MessageId, add_missing_tool_results};
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk, ResponseFormat, ToolChoice, estimate};
use superstep_core::port::{BoxFuture, ChunkListener, ChunkSender, SharedModel};
use superstep_core::tool::ToolSpec;

use super::redacted::{RedactedModel, redact_request};
use crate::engine::context::{OrdinalKind, TaskContext};
use crate::events::event::{HIDDEN, ModelCallInfo, ModelEvent, NO_STREAM};
use crate::graph::extract::StreamWriter;
use crate::telemetry::traced_model_call;

/// Builder of a model call. Await the builder for the response.
///
/// ```
/// use superstep::models::{ScriptedModel, SharedModel};
/// use superstep::prelude::*;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Chat {
///     #[reduce(messages)]
///     messages: Messages,
/// }
///
/// async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
///     let response = cx.model(&model).messages(&chat.messages).temperature(0.0).await?;
///     Ok(Chat::update().messages(response.message))
/// }
///
/// let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
/// let think = graph.add_node("think", think);
/// graph.add_edge(START, think).add_edge(think, END);
/// let chat = graph.compile()?;
/// let done = chat.invoke(Chat::input().messages("Hi")).context(ScriptedModel::new(["Hello!"]).into()).wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Hello!");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a model call has no effect until it is awaited"]
pub struct ModelCallBuilder {
    pub(crate) cx: TaskContext,
    pub(crate) model: SharedModel,
    pub(crate) request: ChatRequest,
    tags: Vec<String>,
}

impl TaskContext {
    /// Creates a model call. Its response is streamed to the subscribers of the run, and its tokens count toward the
    /// run's token budget.
    pub fn model(&self, model: &SharedModel) -> ModelCallBuilder {
        ModelCallBuilder { cx: self.clone(), model: model.clone(), request: ChatRequest::default(), tags: Vec::new() }
    }
}

impl StreamWriter {
    /// Creates a model call, as [`TaskContext::model`] does.
    pub fn model(&self, model: &SharedModel) -> ModelCallBuilder {
        self.0.model(model)
    }
}

impl ModelCallBuilder {
    /// Sets the request, in place of everything that was set before.
    pub fn request(mut self, request: impl Into<ChatRequest>) -> Self {
        self.request = request.into();
        self
    }

    /// Adds messages of the conversation.
    pub fn messages(mut self, messages: impl Into<ChatRequest>) -> Self {
        self.request.messages.extend(messages.into().messages);
        self
    }

    /// Adds a system message before all other messages.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.request.messages.insert(0, Arc::new(superstep_core::message::Message::system(text.into())));
        self
    }

    /// Adds tools that the model may call.
    pub fn tools<T: Into<Arc<ToolSpec>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.request = self.request.tools(tools);
        self
    }

    /// Sets whether the model must call tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = choice;
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Sets the maximum length of the response, in tokens.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// Adds a label of this call for streams. `nostream` excludes its chunks from streams, `hidden` the whole call.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Executes the call and returns a structured response: its JSON Schema is part of the request, and the response
    /// is validated.
    ///
    /// # Errors
    /// Same as awaiting the call. Also returns an error if the response is not valid for the type.
    pub async fn structured_response<T: DeserializeOwned + schemars::JsonSchema>(mut self) -> Result<T> {
        let format = ResponseFormat::for_type::<T>();
        self.request.format = Some(format.clone());
        let response = self.await?;
        response.validate(&format)?;
        response.parse()
    }

    /// Returns the request as published in events, after redaction.
    pub(crate) fn redacted_request(&self) -> ChatRequest {
        let request = self.request.clone();
        self.cx.0.shared.event_redactions().fold(request, |request, redaction| redact_request(redaction, request))
    }

    pub(crate) async fn execute(self) -> Result<ChatResponse> {
        let Self { cx, mut model, mut request, tags } = self;
        // Providers reject a message list with an open tool call.
        if let Cow::Owned(closed) = add_missing_tool_results(&request.messages, "the run continued without it") {
            request.messages = closed;
        }
        if let Some(redaction) = cx.0.shared.redaction() {
            request = redact_request(redaction, request);
            model = RedactedModel::new(model, redaction.clone()).into();
        }
        let call = Arc::new(call_info(&cx, &model, tags));
        let request = Arc::new(request);
        let mut listener = EventChunkListener { cx: &cx, call: &call, index: 0 };
        listener.publish(ModelEvent::Started { request: request.clone() }).await;
        let wants_chunks = listener.wants_chunks();
        let mut chunks = if wants_chunks { ChunkSender::new(&mut listener) } else { ChunkSender::discard() };
        let result = model.generate(&request, &mut chunks).await;
        let result = result.and_then(|response| finalize_response(&cx, &call, &request, response));
        match result {
            Ok(response) => {
                if cx
                    .0
                    .shared
                    .publisher
                    .as_ref()
                    .is_some_and(|publisher| publisher.is_wanted(|filter| filter.model_and_tool_calls))
                {
                    listener.publish(ModelEvent::Ended { response: Arc::new(response.clone()) }).await;
                }
                Ok(response)
            }
            Err(error) => {
                listener.publish(ModelEvent::Failed { error: error.clone() }).await;
                Err(error)
            }
        }
    }
}

impl IntoFuture for ModelCallBuilder {
    type Output = Result<ChatResponse>;
    type IntoFuture = BoxFuture<'static, Result<ChatResponse>>;

    fn into_future(self) -> Self::IntoFuture {
        match self.cx.0.shared.observer.clone() {
            None => Box::pin(self.execute()),
            Some(observer) => Box::pin(traced_model_call(observer, self)),
        }
    }
}

/// Creates the call info, with ids that are the same when the node runs again after a crash. Each attempt has its own
/// ids: a new attempt does not continue the chunks of a failed one.
fn call_info(cx: &TaskContext, model: &SharedModel, tags: Vec<String>) -> ModelCallInfo {
    let ordinal = cx.0.cell.next_ordinal(OrdinalKind::Model);
    let task = cx.task_id();
    let (number, attempt) = (ordinal.number.to_le_bytes(), cx.attempt().to_le_bytes());
    let id = hash_id(&[b"model", &task.bits().to_le_bytes(), ordinal.step.as_bytes(), &number, &attempt]);
    let message = MessageId::from(format!("run-{}", RunId::from_bits(id)));
    let (node, step) = (cx.node().into(), cx.step());
    ModelCallInfo { id: RunId::from_bits(id), node, task, step, model: model.info(), message, tags }
}

/// Sets id, model and usage of a response, and counts its cost.
fn finalize_response(
    cx: &TaskContext,
    call: &ModelCallInfo,
    request: &ChatRequest,
    mut response: ChatResponse,
) -> Result<ChatResponse> {
    let message = &mut response.message;
    // The chunks were published with this id, whatever id the provider uses.
    if let Some(provider_id) = message.id.replace(call.message.clone()).filter(|id| *id != call.message) {
        message.metadata.entry("provider_id".to_owned()).or_insert_with(|| provider_id.as_str().into());
    }
    if let Ok(info) = serde_json::to_value(&response.model) {
        message.metadata.insert("model".to_owned(), info);
    }
    if message.usage.is_none() {
        message.usage = Some(estimate(request, message));
    }
    let tokens = message.usage.as_ref().map_or(0, |usage| usage.total_tokens);
    cx.0.shared.usage.add_response(cx, &response);
    cx.record_tokens(tokens)?;
    Ok(response)
}

/// Listener that publishes chunks as events of the run.
struct EventChunkListener<'a> {
    cx: &'a TaskContext,
    call: &'a Arc<ModelCallInfo>,
    index: u64,
}

impl EventChunkListener<'_> {
    /// Returns true if a subscriber needs the chunks of this call.
    fn wants_chunks(&self) -> bool {
        let shared = &self.cx.0.shared;
        let node = self.cx.node();
        shared.publisher.as_ref().is_some_and(|publisher| publisher.subscriber_wants(|filter| filter.chunks))
            && !self.call.tags.iter().any(|tag| tag == NO_STREAM || tag == HIDDEN)
            && shared.graph.as_ref().is_some_and(|graph| !graph.has_streaming_disabled(node) && !graph.is_hidden(node))
    }

    async fn publish(&self, event: ModelEvent) {
        let is_hidden = self.call.tags.iter().any(|tag| tag == HIDDEN);
        if let Some(publisher) = self.cx.0.shared.publisher.as_ref().filter(|_| !is_hidden) {
            Box::pin(publisher.model(self.cx, self.call, event)).await;
        }
    }
}

impl ChunkListener for EventChunkListener<'_> {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        let index = self.index;
        self.index += 1;
        self.cx.heartbeat_if_idle_timeout();
        let publisher = self.cx.0.shared.publisher.as_ref()?;
        let event = publisher.try_send_chunk(self.cx, self.call, ModelEvent::Chunk { chunk, index })?;
        Some(Box::pin(publisher.model(self.cx, self.call, event)))
    }
}
