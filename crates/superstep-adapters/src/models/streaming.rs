//! Streamed responses: each chunk is emitted when it arrives, and the response is assembled from the chunks.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use genai::chat::{ChatStreamEvent, RawFrameRef, StreamEnd};
use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatResponse, ModelErrorKind, StopReason};
use superstep_core::port::ChunkSender;
use tokio::time::timeout_at;

use super::accumulator::{ResponseAccumulator, ToolCallDelta, to_stop_reason};
use super::call::PreparedCall;
use super::error::ErrorReporter;
use super::messages::thinking_blocks;
use super::provider_api::ApiDialect;

/// Sends a request and emits the chunks of the response to `out`.
///
/// # Errors
/// Returns an error if the response is incomplete; chunks emitted before are then invalid.
pub(super) async fn generate(mut call: PreparedCall<'_>, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
    let observer = RawEventObserver::default();
    let (frame_observer, dialect) = (observer.clone(), call.dialect);
    call.options = call.options.with_raw_frame_fn(move |_, frame| frame_observer.state().observe(dialect, frame));
    let response_future = call.client.exec_chat_stream(call.target, call.chat, Some(&call.options));
    let mut stream = response_future.await.map_err(|error| call.report.genai_error(error))?.stream;
    let mut accumulator = ResponseAccumulator::for_request(call.request);
    loop {
        let next = timeout_at(call.deadline, poll_fn(|context| Pin::new(&mut stream).poll_next(context)));
        let event = next.await.map_err(|_| call.report.timeout(call.total))?;
        if observer.state().has_oversized_event {
            return Err(call.report.error(ModelErrorKind::InvalidResponse, "an event is longer than 8 MiB"));
        }
        match event {
            Some(Ok(ChatStreamEvent::End(end))) => {
                finish(end, &observer, &mut accumulator, dialect, &call.report)?;
                break;
            }
            Some(Ok(event)) => handle_event(event, &mut accumulator, dialect, out).await,
            Some(Err(error)) => return Err(observer.state().to_error(error, &call.report)),
            None => return Err(observer.state().truncated_error(&call.report)),
        }
    }
    // A refusal is emitted in one chunk: the library does not report it while it is streamed.
    let refusal = std::mem::take(&mut observer.state().refusal);
    if !refusal.is_empty() {
        out.text(&refusal).await;
        accumulator.text.push_str(&refusal);
        accumulator.stop = Some(StopReason::ContentFilter);
    }
    accumulator.into_response(call.request, &call.report)
}

/// Returns the form of the tool call chunks that the library reports.
fn form(dialect: ApiDialect) -> ToolCallDelta {
    match dialect {
        ApiDialect::OpenAi => ToolCallDelta::Incremental,
        ApiDialect::Anthropic => ToolCallDelta::Cumulative,
        ApiDialect::Google => ToolCallDelta::Complete,
    }
}

async fn handle_event(
    event: ChatStreamEvent,
    accumulator: &mut ResponseAccumulator,
    dialect: ApiDialect,
    out: &mut ChunkSender<'_>,
) {
    match event {
        ChatStreamEvent::Chunk(chunk) => {
            accumulator.text.push_str(&chunk.content);
            out.text(&chunk.content).await;
        }
        ChatStreamEvent::ReasoningChunk(chunk) => {
            accumulator.reasoning.push_str(&chunk.content);
            out.reasoning(&chunk.content).await;
        }
        ChatStreamEvent::ToolCallChunk(chunk) => {
            let chunk = accumulator.call(form(dialect), chunk.tool_call);
            out.tool_call(chunk).await;
        }
        // Signatures of calls arrive with the calls; signatures of texts are not needed later.
        ChatStreamEvent::ThoughtSignatureChunk(_)
        | ChatStreamEvent::Start
        | ChatStreamEvent::Heartbeat
        | ChatStreamEvent::End(_) => {}
    }
}

fn finish(
    end: StreamEnd,
    observer: &RawEventObserver,
    accumulator: &mut ResponseAccumulator,
    dialect: ApiDialect,
    report: &ErrorReporter,
) -> Result<()> {
    // For Google, the library reports an end when the connection closes; a real end has a stop reason.
    if dialect == ApiDialect::Google && end.captured_stop_reason.is_none() {
        return Err(observer.state().truncated_error(report));
    }
    if dialect == ApiDialect::Anthropic {
        accumulator.thinking_blocks = thinking_blocks(end.captured_content.into_iter().flatten());
    }
    accumulator.stop = end.captured_stop_reason.map(to_stop_reason);
    accumulator.usage = end.captured_usage;
    Ok(())
}

/// Observer of the raw events, for information that the library does not report.
#[derive(Debug, Clone, Default)]
struct RawEventObserver(Arc<Mutex<RawEventState>>);

impl RawEventObserver {
    fn state(&self) -> MutexGuard<'_, RawEventState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct RawEventState {
    events: usize,
    has_oversized_event: bool,
    /// Text of a refusal of an OpenAI model, which is sent instead of content.
    refusal: String,
    /// Reason why Google blocked the prompt.
    blocked: Option<String>,
}

/// Maximum size of an event in bytes. The library has already read the event: the limit protects the response, not the
/// memory.
const MAX_EVENT_BYTES: usize = 8 << 20;

impl RawEventState {
    fn observe(&mut self, dialect: ApiDialect, frame: RawFrameRef<'_>) {
        // Comments and lines that are not server-sent events have no data.
        self.events += usize::from(!frame.data.is_empty());
        self.has_oversized_event |= frame.data.len() > MAX_EVENT_BYTES;
        // Only the few events that contain this text are parsed a second time.
        let marker = match dialect {
            ApiDialect::OpenAi => "\"refusal\"",
            ApiDialect::Google => "\"blockReason\"",
            ApiDialect::Anthropic => return,
        };
        if let Some(event) = frame.data.contains(marker).then(|| frame.json()).flatten() {
            let text = |path: &str| event.pointer(path).and_then(Value::as_str);
            self.refusal.push_str(text("/choices/0/delta/refusal").unwrap_or_default());
            self.blocked = self.blocked.take().or(text("/promptFeedback/blockReason").map(str::to_owned));
        }
    }

    fn to_error(&self, error: genai::Error, report: &ErrorReporter) -> Error {
        match &self.blocked {
            Some(reason) => report.blocked(reason),
            None => report.genai_error(error),
        }
    }

    /// Returns the error of a response that ended prematurely.
    fn truncated_error(&self, report: &ErrorReporter) -> Error {
        match self.events {
            0 => report.error(ModelErrorKind::InvalidResponse, "the response contains no events"),
            _ => report.error(ModelErrorKind::StreamInterrupted, "the response ended prematurely"),
        }
    }
}
