//! What whoever watches a run hears of its tools. Nothing is made where nobody does.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::id::RunId;
use superstep_core::message::ToolCall;
use superstep_core::port::{BoxFuture, Progress, Watcher};
use superstep_core::redact::Redaction;

use super::outcome::Frame;
use super::redacting::redact_progress;
use crate::context::Cx;
use crate::stream::{Sink, ToolEvent, ToolRun};

/// Says what happens to one call.
#[derive(Clone)]
pub(super) struct Teller(Option<Arc<Watched>>);

struct Watched {
    sink: Sink,
    cx: Cx,
    run: Arc<ToolRun>,
    redaction: Option<Redaction>,
}

impl Teller {
    pub(super) fn new(cx: &Cx, call: &ToolCall, redaction: Option<&Redaction>) -> Self {
        let shared = &cx.0.shared;
        let heard = shared.sink.as_ref().filter(|sink| sink.wants(|interest| interest.calls));
        Self(heard.cloned().map(|sink| {
            let run = ToolRun {
                id: RunId::from_bits(shared.world.fresh()),
                node: cx.node().into(),
                task: cx.task_id(),
                step: cx.step(),
                tool: call.name.clone(),
                call: call.id.clone(),
            };
            Arc::new(Watched { sink, cx: cx.clone(), run: Arc::new(run), redaction: redaction.cloned() })
        }))
    }

    pub(super) async fn started(&self, call: &ToolCall) {
        self.say(|| ToolEvent::Started { input: call.args.clone() }).await;
    }

    pub(super) async fn ended(&self, output: impl FnOnce() -> Value, frame: &Frame<'_>) {
        let (took, redacted) = (frame.took, &frame.redacted);
        self.say(|| ToolEvent::Ended { output: output(), took, redacted: redacted.clone() }).await;
    }

    pub(super) async fn failed(&self, error: &str, attempt: u32, will_retry: bool) {
        self.say(|| ToolEvent::Failed { error: error.to_owned(), attempt, will_retry }).await;
    }

    /// Where the tool says how far it is.
    pub(super) fn progress(&self) -> Progress {
        match &self.0 {
            Some(watched) => Progress::to(watched.clone()),
            None => Progress::default(),
        }
    }

    async fn say(&self, what: impl FnOnce() -> ToolEvent) {
        if let Some(watched) = &self.0 {
            watched.sink.tool(&watched.cx, &watched.run, what()).await;
        }
    }
}

impl Watcher for Watched {
    fn progress(&self, mut value: Value) -> BoxFuture<'_, ()> {
        self.cx.heartbeat_if_watched();
        redact_progress(self.redaction.as_ref(), &mut value);
        Box::pin(self.sink.tool(&self.cx, &self.run, ToolEvent::Progress { value }))
    }
}
