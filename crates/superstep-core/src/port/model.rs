//! The port for language models, and for rules that replace them.

use std::sync::Arc;

use super::BoxFuture;
use crate::error::Result;
use crate::model::{ChatRequest, ChatResponse, MessageChunk, ModelInfo, ToolCallChunk};

/// A language model. Implement it with `async fn`; `SharedModel` boxes each call once.
///
/// ```
/// use superstep_core::error::Result;
/// use superstep_core::message::Message;
/// use superstep_core::model::{ChatResponse, ModelInfo, ModelKind, ChatRequest};
/// use superstep_core::port::{Model, ChunkSender};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn info(&self) -> ModelInfo {
///         ModelInfo::new("local", "echo", ModelKind::Rules)
///     }
///
///     async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
///         let text = request.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
///         out.text(&text).await;
///         Ok(ChatResponse::new(Message::assistant(text), self.info()))
///     }
/// }
/// ```
pub trait Model: Send + Sync + 'static {
    /// Returns the provider and the name of the model.
    fn info(&self) -> ModelInfo;

    /// Generates a response. The chunks sent to `out`, joined, are the message of the response; a model without a
    /// listener ([`ChunkSender::has_listener`]) need not send chunks.
    fn generate(
        &self,
        request: &ChatRequest,
        out: &mut ChunkSender<'_>,
    ) -> impl Future<Output = Result<ChatResponse>> + Send;
}

/// The channel for the chunks of a response while it streams.
pub struct ChunkSender<'a> {
    listener: Option<&'a mut dyn ChunkListener>,
    sent: bool,
}

/// A receiver of chunks.
pub trait ChunkListener: Send {
    /// Receives a chunk; returns a future to await if the listener is behind.
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>>;
}

impl<'a> ChunkSender<'a> {
    /// Creates a sender without a listener.
    #[must_use]
    pub fn discard() -> Self {
        Self { listener: None, sent: false }
    }

    /// Creates a sender for this listener.
    pub fn new(listener: &'a mut dyn ChunkListener) -> Self {
        Self { listener: Some(listener), sent: false }
    }

    /// Returns true if a listener is attached.
    #[must_use]
    pub fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Returns true if a chunk was sent already: a retry with another model would then be visible to the listener.
    #[must_use]
    pub fn has_sent(&self) -> bool {
        self.sent
    }

    /// Sends a chunk; waits while the listener is behind.
    pub async fn send(&mut self, chunk: MessageChunk) {
        let Some(listener) = &mut self.listener else { return };
        self.sent = true;
        if let Some(wait) = listener.on_chunk(chunk) {
            wait.await;
        }
    }

    /// Sends more of the text.
    pub async fn text(&mut self, text: &str) {
        if self.has_listener() && !text.is_empty() {
            self.send(MessageChunk::Text(text.to_owned())).await;
        }
    }

    /// Sends more of the model's reasoning.
    pub async fn reasoning(&mut self, text: &str) {
        if self.has_listener() && !text.is_empty() {
            self.send(MessageChunk::Reasoning(text.to_owned())).await;
        }
    }

    /// Sends more of a tool call.
    pub async fn tool_call(&mut self, chunk: ToolCallChunk) {
        if self.has_listener() {
            self.send(MessageChunk::ToolCall(chunk)).await;
        }
    }
}

/// A shared, type-erased model, as used by programs.
#[derive(Clone)]
pub struct SharedModel(Arc<dyn DynModel>);

trait DynModel: Send + Sync {
    fn info(&self) -> ModelInfo;
    fn generate_boxed<'a>(
        &'a self,
        request: &'a ChatRequest,
        out: &'a mut ChunkSender<'_>,
    ) -> BoxFuture<'a, Result<ChatResponse>>;
}

impl<M: Model> DynModel for M {
    fn info(&self) -> ModelInfo {
        Model::info(self)
    }

    fn generate_boxed<'a>(
        &'a self,
        request: &'a ChatRequest,
        out: &'a mut ChunkSender<'_>,
    ) -> BoxFuture<'a, Result<ChatResponse>> {
        Box::pin(Model::generate(self, request, out))
    }
}

impl<M: Model> From<M> for SharedModel {
    fn from(model: M) -> Self {
        Self(Arc::new(model))
    }
}

impl std::fmt::Debug for SharedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedModel({})", self.info())
    }
}

impl SharedModel {
    /// Calls [`Model::info`].
    #[must_use]
    pub fn info(&self) -> ModelInfo {
        self.0.info()
    }

    /// Calls [`Model::generate`].
    ///
    /// # Errors
    /// Returns an error if the model fails; see [`crate::model::ModelErrorKind`].
    pub async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        self.0.generate_boxed(request, out).await
    }

    /// Returns the complete response, without a listener.
    ///
    /// # Errors
    /// Returns an error if the model fails; see [`crate::model::ModelErrorKind`].
    pub async fn complete(&self, request: impl Into<ChatRequest>) -> Result<ChatResponse> {
        self.generate(&request.into(), &mut ChunkSender::discard()).await
    }
}
