//! An answer in pieces: each is told as soon as it comes, and the answer is made of what was told.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use genai::chat::{ChatStreamEvent, RawFrameRef, StreamEnd};
use serde_json::Value;
use superstep_core::error::{Error, Result};
use superstep_core::model::{Answer, StopReason, Trouble};
use superstep_core::port::Pieces;
use tokio::time::timeout_at;

use super::call::Call;
use super::gathered::{Form, Gathered, stopped};
use super::parts::thoughts;
use super::service::Dialect;
use super::trouble::Report;

/// Asks, and tells `out` what comes.
///
/// # Errors
/// When something goes wrong before the answer is whole; what was told of it then counts for nothing.
pub(super) async fn answer(mut call: Call<'_>, out: &mut Pieces<'_>) -> Result<Answer> {
    let watch = Watch::default();
    let (watching, dialect) = (watch.clone(), call.dialect);
    call.options = call.options.with_raw_frame_fn(move |_, frame| watching.seen().look(dialect, frame));
    let asked = call.client.exec_chat_stream(call.target, call.chat, Some(&call.options));
    let mut stream = asked.await.map_err(|error| call.report.failed(error))?.stream;
    let mut gathered = Gathered::to(call.request);
    loop {
        let next = timeout_at(call.deadline, poll_fn(|context| Pin::new(&mut stream).poll_next(context)));
        let event = next.await.map_err(|_| call.report.too_slow(call.total))?;
        if watch.seen().has_too_long {
            return Err(call.report.tell(Trouble::BadAnswer, "an event is longer than 8 MiB"));
        }
        match event {
            Some(Ok(ChatStreamEvent::End(end))) => {
                finish(end, &watch, &mut gathered, dialect, &call.report)?;
                break;
            }
            Some(Ok(event)) => take(event, &mut gathered, dialect, out).await,
            Some(Err(error)) => return Err(watch.seen().blame(error, &call.report)),
            None => return Err(watch.seen().cut(&call.report)),
        }
    }
    // Why not to answer is told in one piece: the library does not pass it on while it comes.
    let refusal = std::mem::take(&mut watch.seen().refusal);
    if !refusal.is_empty() {
        out.text(&refusal).await;
        gathered.text.push_str(&refusal);
        gathered.stop = Some(StopReason::Refused);
    }
    gathered.answer(call.request, &call.report)
}

/// What the library gives of a call at a time.
fn form(dialect: Dialect) -> Form {
    match dialect {
        Dialect::OpenAi => Form::New,
        Dialect::Anthropic => Form::SoFar,
        Dialect::Google => Form::Whole,
    }
}

async fn take(event: ChatStreamEvent, gathered: &mut Gathered, dialect: Dialect, out: &mut Pieces<'_>) {
    match event {
        ChatStreamEvent::Chunk(chunk) => {
            gathered.text.push_str(&chunk.content);
            out.text(&chunk.content).await;
        }
        ChatStreamEvent::ReasoningChunk(chunk) => {
            gathered.reasoning.push_str(&chunk.content);
            out.reasoning(&chunk.content).await;
        }
        ChatStreamEvent::ToolCallChunk(chunk) => {
            let piece = gathered.call(form(dialect), chunk.tool_call);
            out.tool_call(piece).await;
        }
        // Signatures of calls come with the calls; those of texts need not go back.
        ChatStreamEvent::ThoughtSignatureChunk(_)
        | ChatStreamEvent::Start
        | ChatStreamEvent::Heartbeat
        | ChatStreamEvent::End(_) => {}
    }
}

fn finish(end: StreamEnd, watch: &Watch, gathered: &mut Gathered, dialect: Dialect, report: &Report) -> Result<()> {
    // For Google the library makes up an end where a connection ends; a real one has a reason.
    if dialect == Dialect::Google && end.captured_stop_reason.is_none() {
        return Err(watch.seen().cut(report));
    }
    if dialect == Dialect::Anthropic {
        gathered.thoughts = thoughts(end.captured_content.into_iter().flatten());
    }
    gathered.stop = end.captured_stop_reason.map(stopped);
    gathered.usage = end.captured_usage;
    Ok(())
}

/// What is seen of the events besides what the library tells.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<Seen>>);

impl Watch {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Seen {
    events: usize,
    has_too_long: bool,
    /// The words in which a model of OpenAI refuses, which come instead of a text.
    refusal: String,
    /// Why Google does not answer what was asked.
    blocked: Option<String>,
}

/// The longest event that is taken. The library has read it by then: this keeps it out of the answer, not out of memory.
const LONGEST_EVENT: usize = 8 << 20;

impl Seen {
    fn look(&mut self, dialect: Dialect, frame: RawFrameRef<'_>) {
        // Comments, and lines of what is no stream of events at all, come without data.
        self.events += usize::from(!frame.data.is_empty());
        self.has_too_long |= frame.data.len() > LONGEST_EVENT;
        // Only the few events that hold the word are read a second time.
        let word = match dialect {
            Dialect::OpenAi => "\"refusal\"",
            Dialect::Google => "\"blockReason\"",
            Dialect::Anthropic => return,
        };
        if let Some(event) = frame.data.contains(word).then(|| frame.json()).flatten() {
            let text = |path: &str| event.pointer(path).and_then(Value::as_str);
            self.refusal.push_str(text("/choices/0/delta/refusal").unwrap_or_default());
            self.blocked = self.blocked.take().or(text("/promptFeedback/blockReason").map(str::to_owned));
        }
    }

    fn blame(&self, error: genai::Error, report: &Report) -> Error {
        match &self.blocked {
            Some(reason) => report.blocked(reason),
            None => report.failed(error),
        }
    }

    /// The answer ended without having come to its end.
    fn cut(&self, report: &Report) -> Error {
        match self.events {
            0 => report.tell(Trouble::BadAnswer, "the answer holds no events"),
            _ => report.tell(Trouble::BrokenOff, "the answer broke off before its end"),
        }
    }
}
