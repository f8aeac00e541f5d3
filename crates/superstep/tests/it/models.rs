//! Models without providers: scripts, recordings, rules, and wrappers.

mod budgets;
mod evaluation;
mod prompts;
mod recording;
mod rules;
mod scripted;
mod streaming;
mod wrappers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::Result;
use superstep::core::port::{BoxFuture, Clock};
use superstep::models::{
    ChatRequest, ChatResponse, ChunkListener, ChunkSender, MessageChunk, Model, ModelInfo, ModelKind, ScriptedModel,
    SharedModel, ToolCallChunk,
};

/// A scripted model that identifies itself as remote.
#[derive(Clone)]
pub(crate) struct RemoteScriptedModel(pub(crate) &'static str, pub(crate) ScriptedModel);

impl Model for RemoteScriptedModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", self.0, ModelKind::Remote)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut answer = self.1.generate(request, out).await?;
        answer.model = self.info();
        Ok(answer)
    }
}

/// A listener that records all chunks.
#[derive(Default)]
pub(crate) struct RecordingListener(pub(crate) Vec<MessageChunk>);

impl ChunkListener for RecordingListener {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        self.0.push(chunk);
        None
    }
}

impl RecordingListener {
    pub(crate) fn texts(&self) -> Vec<&str> {
        let texts =
            self.0.iter().filter_map(|chunk| if let MessageChunk::Text(text) = chunk { Some(&**text) } else { None });
        texts.collect()
    }

    pub(crate) fn calls(&self) -> Vec<&ToolCallChunk> {
        let calls =
            self.0.iter().filter_map(|chunk| if let MessageChunk::ToolCall(call) = chunk { Some(call) } else { None });
        calls.collect()
    }
}

/// Calls a model with a listener.
pub(crate) async fn call_with_listener(
    model: impl Into<SharedModel>,
    request: impl Into<ChatRequest>,
) -> (RecordingListener, Result<ChatResponse>) {
    let mut listener = RecordingListener::default();
    let answer = model.into().generate(&request.into(), &mut ChunkSender::new(&mut listener)).await;
    (listener, answer)
}

/// A clock on which no time passes, and which records all sleeps.
#[derive(Clone, Default)]
pub(crate) struct RecordingClock(Arc<Mutex<Vec<Duration>>>);

impl RecordingClock {
    pub(crate) fn millis(&self) -> Vec<u128> {
        self.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

impl Clock for RecordingClock {
    fn now(&self) -> i64 {
        0
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }
}
