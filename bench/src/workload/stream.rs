//! W9: one node calls a model that responds in many chunks, and a subscriber reads them.

use std::time::Instant;

use serde_json::json;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, SharedModel};
use superstep::prelude::*;
use superstep::{CompiledGraph, Result, StreamMode};

use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

/// Kind of stream that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReaderKind {
    Messages,
    Events,
}

impl ReaderKind {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "messages" => Some(Self::Messages),
            "events" => Some(Self::Events),
            _ => None,
        }
    }
}

struct StreamingModel(usize);

impl Model for StreamingModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("bench", "speaker", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut text = String::new();
        for _ in 0..self.0 {
            out.text("tok ").await;
            text.push_str("tok ");
            tokio::task::yield_now().await;
        }
        Ok(ChatResponse::new(Message::assistant(text), self.info()))
    }
}

async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    let response = cx.model(&model).messages(&chat.messages).await?;
    Ok(Chat::update().messages(response.message))
}

pub(crate) fn run(id: &str, runtime: &Runtime, tokens: usize, reader: ReaderKind) {
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let think = graph.add_node("think", think);
    graph.add_edge(START, think).add_edge(think, END);
    let chat = graph.compile().expect("one node compiles");
    let model: SharedModel = StreamingModel(tokens).into();
    let mut first_token_times = Vec::new();
    let (times, (token_count, chars)) = measure::time_batches(|| {
        let (token_count, chars, first_token_time) = runtime.block_on(read(&chat, &model, reader));
        first_token_times.push(first_token_time);
        (token_count, chars)
    });
    let result = json!({ "tokens": token_count, "final_chars": chars });
    let extra = json!({
        "ttft_s": measure::spread(&first_token_times),
        "cpu_us_per_token": times.min_cpu() / tokens as f64 * 1e6,
    });
    let mode = if reader == ReaderKind::Messages { "messages" } else { "events" };
    let report = Report { extra, ..Report::new(json!({ "tokens": tokens, "mode": mode }), result) };
    report.print(id, runtime, &times);
}

/// Returns the number of chunks with text, the length of the message, and the time of the first chunk.
async fn read(chat: &CompiledGraph<Chat, SharedModel>, model: &SharedModel, reader: ReaderKind) -> (usize, usize, f64) {
    let started_at = Instant::now();
    let run = chat.invoke(Chat::input().messages("go")).context(model.clone());
    let (mut token_count, mut first_token_time) = (0, 0.0);
    let mut count = |has_text: bool| {
        if has_text && token_count == 0 {
            first_token_time = started_at.elapsed().as_secs_f64();
        }
        token_count += usize::from(has_text);
    };
    let outcome = match reader {
        ReaderKind::Messages => {
            let mut stream = run.stream_mode([StreamMode::Messages, StreamMode::Values]);
            while let Some(part) = stream.next().await {
                count(part.data.text().is_some_and(|text| !text.is_empty()));
            }
            stream.finish().await
        }
        ReaderKind::Events => {
            let mut stream = run.stream_events();
            while let Some(event) = stream.next().await {
                count(event.data.text().is_some_and(|text| !text.is_empty()));
            }
            stream.finish().await
        }
    };
    let outcome = outcome.expect("the workload succeeds");
    let chars = outcome.state.messages.last().map_or(0, |message| message.text().len());
    (token_count, chars, first_token_time)
}
