//! Replies of scripted and rule-based models: text, tool calls, a complete message, or an error; streamed in chunks.

use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::message::{Message, TokenUsage, ToolCall};
use superstep_core::model::{
    ChatRequest, ChatResponse, ModelErrorKind, ModelInfo, StopReason, ToolCallChunk, estimate,
};
use superstep_core::port::ChunkSender;

/// A reply of a scripted or rule-based model.
///
/// ```
/// use superstep::models::ScriptedReply;
///
/// let plain: ScriptedReply = "It rains.".into();
/// let asks = ScriptedReply::tool_call("weather", serde_json::json!({ "city": "Paris" }));
/// # let _ = (plain, asks);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a reply has no effect until it is added to a model"]
pub struct ScriptedReply {
    kind: ReplyKind,
    chunks: Option<Vec<String>>,
    stop: Option<StopReason>,
    usage: Option<TokenUsage>,
    error_after_chunks: Option<ModelErrorKind>,
}

#[derive(Debug, Clone)]
enum ReplyKind {
    Message(Box<Message>),
    ModelError(ModelErrorKind, String),
    Error(Error),
}

impl ScriptedReply {
    /// Creates a text reply, streamed word by word.
    pub fn text(text: impl Into<String>) -> Self {
        Message::assistant(text.into()).into()
    }

    /// Creates a text reply, streamed in these chunks.
    pub fn chunks<P: Into<String>>(chunks: impl IntoIterator<Item = P>) -> Self {
        let chunks: Vec<String> = chunks.into_iter().map(Into::into).collect();
        Self { chunks: Some(chunks.clone()), ..Self::text(chunks.concat()) }
    }

    /// Creates a reply that calls a tool. The call gets the next id that is unused in the conversation.
    pub fn tool_call(tool: impl Into<String>, args: impl Into<Value>) -> Self {
        Self::text("").and_tool_call(tool, args)
    }

    /// Adds a tool call. Has no effect on an error reply.
    pub fn and_tool_call(self, tool: impl Into<String>, args: impl Into<Value>) -> Self {
        self.with_call(ToolCall::new("", tool, args))
    }

    /// Creates a reply that fails with this error, in the name of the model.
    pub fn error(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ReplyKind::ModelError(kind, message.into()).into()
    }

    /// Sets the stop reason. Default: derived from the message.
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sets the usage. Default: an estimate.
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Streams all chunks and then fails with this error, like a lost connection.
    pub fn then_error(mut self, kind: ModelErrorKind) -> Self {
        self.error_after_chunks = Some(kind);
        self
    }

    fn with_call(mut self, call: ToolCall) -> Self {
        if let ReplyKind::Message(message) = &mut self.kind {
            message.tool_calls.push(call);
        }
        self
    }

    /// Streams the chunks and returns the response.
    pub(super) async fn send(
        self,
        request: &ChatRequest,
        model: ModelInfo,
        out: &mut ChunkSender<'_>,
    ) -> Result<ChatResponse> {
        let mut message = match self.kind {
            ReplyKind::Message(message) => *message,
            ReplyKind::ModelError(kind, fact) => return Err(kind.error(&model, fact)),
            ReplyKind::Error(error) => return Err(error),
        };
        assign_call_ids(&mut message, request);
        let usage = self.usage.or_else(|| message.usage.take()).unwrap_or_else(|| estimate(request, &message));
        send_message(&message, self.chunks, out).await;
        if let Some(kind) = self.error_after_chunks {
            return Err(kind.error(&model, format!("{kind} after {} characters", message.text().chars().count())));
        }
        let response = ChatResponse::new(message, model).with_usage(usage);
        Ok(match self.stop {
            Some(stop) => response.with_stop(stop),
            None => response,
        })
    }
}

/// Assigns ids to calls without one: `call_1`, `call_2` and so on, counted through the conversation.
fn assign_call_ids(message: &mut Message, request: &ChatRequest) {
    let earlier: usize = request.messages.iter().map(|message| message.tool_calls.len()).sum();
    for (index, call) in message.tool_calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
        call.id = format!("call_{}", earlier + index + 1);
    }
}

/// Streams a complete message: its text in these chunks or word by word, then its tool calls.
pub(super) async fn send_message(message: &Message, chunks: Option<Vec<String>>, out: &mut ChunkSender<'_>) {
    if !out.has_listener() {
        return;
    }
    let text = message.text();
    match chunks {
        Some(chunks) => {
            for chunk in &chunks {
                out.text(chunk).await;
            }
        }
        None => {
            for word in text.split_inclusive(char::is_whitespace) {
                out.text(word).await;
            }
        }
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        let (id, name) = (Some(call.id.clone()), Some(call.name.clone()));
        out.tool_call(ToolCallChunk { index, id, name, args: String::new() }).await;
        out.tool_call(ToolCallChunk { index, args: call.args.to_string(), ..ToolCallChunk::default() }).await;
    }
}

impl From<ReplyKind> for ScriptedReply {
    fn from(kind: ReplyKind) -> Self {
        Self { kind, chunks: None, stop: None, usage: None, error_after_chunks: None }
    }
}

impl From<Message> for ScriptedReply {
    fn from(message: Message) -> Self {
        ReplyKind::Message(Box::new(message)).into()
    }
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ScriptedReply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ToolCall> for ScriptedReply {
    fn from(call: ToolCall) -> Self {
        Self::text("").with_call(call)
    }
}

impl From<ModelErrorKind> for ScriptedReply {
    fn from(kind: ModelErrorKind) -> Self {
        Self::error(kind, kind.to_string())
    }
}

impl From<Error> for ScriptedReply {
    fn from(error: Error) -> Self {
        ReplyKind::Error(error).into()
    }
}
