//! A model wrapper that redacts requests and responses.

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::message::Message;
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk, ModelInfo, ToolCallChunk};
use superstep_core::port::{BoxFuture, ChunkListener, ChunkSender, Model, SharedModel};
use superstep_core::redaction::{Redaction, RedactionCounts, RedactionStream};

/// A model that receives no secrets or personal data, and whose responses contain none. Created by
/// [`ModelExt::with_redaction`](super::ModelExt::with_redaction).
///
/// Chunks are delivered as soon as they cannot be part of redacted text. Rules for field paths do not apply to chunks
/// of tool arguments; they apply to the complete response.
///
/// ```
/// use superstep::models::{ModelExt, ScriptedModel};
/// use superstep::redaction::Redaction;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let script = ScriptedModel::new(["Write to bob@example.com."]);
/// let model = script.clone().with_redaction(Redaction::default());
/// let answer = model.complete("I am ada@example.com. Who can help?").await?;
/// assert_eq!(answer.message.text(), "Write to [REDACTED:mail].");
/// assert_eq!(script.requests()[0].messages[0].text(), "I am [REDACTED:mail]. Who can help?");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RedactedModel {
    model: SharedModel,
    redaction: Redaction,
}

impl RedactedModel {
    pub(super) fn new(model: impl Into<SharedModel>, redaction: Redaction) -> Self {
        Self { model: model.into(), redaction }
    }
}

impl Model for RedactedModel {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let request = redact_request(&self.redaction, request.clone());
        let result = match out.has_listener() {
            false => self.model.generate(&request, out).await,
            true => {
                let mut listener = RedactingListener::new(&self.redaction, out);
                let result = self.model.generate(&request, &mut ChunkSender::new(&mut listener)).await;
                listener.finish().await;
                result
            }
        };
        let mut response = result.map_err(|error| self.redaction.redact_error(error))?;
        self.redaction.redact_message(&mut response.message, &mut RedactionCounts::default());
        Ok(response)
    }
}

/// Redacts a request. Messages without redacted text stay shared.
pub(super) fn redact_request(redaction: &Redaction, mut request: ChatRequest) -> ChatRequest {
    for message in &mut request.messages {
        let (mut redacted, mut counts) = (Message::clone(message), RedactionCounts::default());
        redaction.redact_message(&mut redacted, &mut counts);
        if !counts.is_empty() {
            *message = Arc::new(redacted);
        }
    }
    request
}

/// Listener that holds chunks back until they cannot be part of redacted text.
struct RedactingListener<'a, 'b> {
    out: &'a mut ChunkSender<'b>,
    stream: RedactionStream,
    /// Source of the text that is held back.
    pending_source: Option<ChunkSource>,
}

/// Source of a chunk within a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChunkSource {
    Text,
    Reasoning,
    Call(usize),
}

impl ChunkSource {
    fn from_chunk(chunk: &MessageChunk) -> Option<Self> {
        match chunk {
            MessageChunk::Text(_) => Some(Self::Text),
            MessageChunk::Reasoning(_) => Some(Self::Reasoning),
            MessageChunk::ToolCall(call) => Some(Self::Call(call.index)),
            _ => None,
        }
    }

    fn chunk(self, text: String) -> MessageChunk {
        match self {
            Self::Text => MessageChunk::Text(text),
            Self::Reasoning => MessageChunk::Reasoning(text),
            Self::Call(index) => {
                MessageChunk::ToolCall(ToolCallChunk { index, args: text, ..ToolCallChunk::default() })
            }
        }
    }
}

impl<'a, 'b> RedactingListener<'a, 'b> {
    fn new(redaction: &Redaction, out: &'a mut ChunkSender<'b>) -> Self {
        Self { out, stream: RedactionStream::new(redaction.clone()), pending_source: None }
    }

    /// Returns the part of a chunk that can be delivered, or `None`.
    fn release_safe_prefix(&mut self, chunk: MessageChunk) -> Option<MessageChunk> {
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        match chunk {
            MessageChunk::Text(text) => non_empty(self.stream.push(&text)).map(MessageChunk::Text),
            MessageChunk::Reasoning(text) => non_empty(self.stream.push(&text)).map(MessageChunk::Reasoning),
            MessageChunk::ToolCall(mut call) => {
                call.args = self.stream.push(&call.args);
                let has_content = call.id.is_some() || call.name.is_some() || !call.args.is_empty();
                has_content.then_some(MessageChunk::ToolCall(call))
            }
            other => Some(other),
        }
    }

    /// Returns the text that is still held back, or `None`.
    fn release_rest(&mut self) -> Option<MessageChunk> {
        let source = self.pending_source.take()?;
        let text = self.stream.finish();
        (!text.is_empty()).then(|| source.chunk(text))
    }

    /// Delivers the text that is held back.
    async fn finish(&mut self) {
        if let Some(rest) = self.release_rest() {
            self.out.send(rest).await;
        }
    }
}

impl ChunkListener for RedactingListener<'_, '_> {
    /// Text of another source is delivered first, so that chunks stay in order.
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        let source = ChunkSource::from_chunk(&chunk);
        let rest = if source == self.pending_source { None } else { self.release_rest() };
        self.pending_source = source;
        let chunk = self.release_safe_prefix(chunk);
        if rest.is_none() && chunk.is_none() {
            return None;
        }
        Some(Box::pin(async move {
            for chunk in rest.into_iter().chain(chunk) {
                self.out.send(chunk).await;
            }
        }))
    }
}
