//! Events of tool calls. Created only if there is a subscriber.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::id::RunId;
use superstep_core::message::ToolCall;
use superstep_core::port::{BoxFuture, ProgressListener, ToolProgress};
use superstep_core::redaction::Redaction;

use super::redaction::redact_progress;
use super::result::CallFrame;
use crate::engine::context::TaskContext;
use crate::events::event::{EventPublisher, ToolEvent, ToolExecution};

/// Emitter of the events of one call.
#[derive(Clone)]
pub(super) struct ToolEventEmitter(Option<Arc<EmitterInner>>);

struct EmitterInner {
    publisher: EventPublisher,
    cx: TaskContext,
    run: Arc<ToolExecution>,
    redaction: Option<Redaction>,
}

impl ToolEventEmitter {
    pub(super) fn new(cx: &TaskContext, call: &ToolCall, redaction: Option<&Redaction>) -> Self {
        let shared = &cx.0.shared;
        let publisher =
            shared.publisher.as_ref().filter(|publisher| publisher.is_wanted(|filter| filter.model_and_tool_calls));
        Self(publisher.cloned().map(|publisher| {
            let run = ToolExecution {
                id: RunId::from_bits(shared.environment.new_id()),
                node: cx.node().into(),
                task: cx.task_id(),
                step: cx.step(),
                tool: call.name.clone(),
                call: call.id.clone(),
            };
            Arc::new(EmitterInner { publisher, cx: cx.clone(), run: Arc::new(run), redaction: redaction.cloned() })
        }))
    }

    pub(super) async fn started(&self, call: &ToolCall) {
        self.emit(|| ToolEvent::Started { input: call.args.clone() }).await;
    }

    pub(super) async fn ended(&self, output: impl FnOnce() -> Value, frame: &CallFrame<'_>) {
        let (duration, redacted) = (frame.duration, &frame.redacted);
        self.emit(|| ToolEvent::Ended { output: output(), duration, redacted: redacted.clone() }).await;
    }

    pub(super) async fn failed(&self, error: &str, attempt: u32, will_retry: bool) {
        self.emit(|| ToolEvent::Failed { error: error.to_owned(), attempt, will_retry }).await;
    }

    /// Returns the progress reporter of the tool.
    pub(super) fn progress(&self) -> ToolProgress {
        match &self.0 {
            Some(emitter) => ToolProgress::new(emitter.clone()),
            None => ToolProgress::default(),
        }
    }

    async fn emit(&self, event: impl FnOnce() -> ToolEvent) {
        if let Some(emitter) = &self.0 {
            emitter.publisher.tool(&emitter.cx, &emitter.run, event()).await;
        }
    }
}

impl ProgressListener for EmitterInner {
    fn on_progress(&self, mut value: Value) -> BoxFuture<'_, ()> {
        self.cx.heartbeat_if_idle_timeout();
        redact_progress(self.redaction.as_ref(), &mut value);
        Box::pin(self.publisher.tool(&self.cx, &self.run, ToolEvent::Progress { value }))
    }
}
