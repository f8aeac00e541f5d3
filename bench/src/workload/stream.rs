//! W9: one node asks a model that speaks in many pieces, and a reader takes them.

use std::time::Instant;

use serde_json::json;
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, SharedModel};
use superstep::prelude::*;
use superstep::{Compiled, Result, StreamMode};

use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

/// What the reader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Messages,
    Events,
}

impl Reader {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "messages" => Some(Self::Messages),
            "events" => Some(Self::Events),
            _ => None,
        }
    }
}

struct Speaker(usize);

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("bench", "speaker", ModelKind::Rules)
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut text = String::new();
        for _ in 0..self.0 {
            out.text("tok ").await;
            text.push_str("tok ");
            tokio::task::yield_now().await;
        }
        Ok(Answer::new(Message::assistant(text), self.info()))
    }
}

async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
    let answer = cx.model(&model).messages(&chat.messages).await?;
    Ok(Chat::update().messages(answer.message))
}

pub(crate) fn run(id: &str, runtime: &Runtime, tokens: usize, reader: Reader) {
    let mut graph = Graph::<Chat, SharedModel>::new("chat");
    let think = graph.node("think", think);
    graph.edge(START, think).edge(think, END);
    let chat = graph.compile().expect("one node compiles");
    let model: SharedModel = Speaker(tokens).into();
    let mut firsts = Vec::new();
    let (times, (seen, chars)) = measure::batch(|| {
        let (seen, chars, first) = runtime.block_on(read(&chat, &model, reader));
        firsts.push(first);
        (seen, chars)
    });
    let result = json!({ "tokens": seen, "final_chars": chars });
    let extra =
        json!({ "ttft_s": measure::spread(&firsts), "cpu_us_per_token": times.least_cpu() / tokens as f64 * 1e6 });
    let mode = if reader == Reader::Messages { "messages" } else { "events" };
    let report = Report { extra, ..Report::new(json!({ "tokens": tokens, "mode": mode }), result) };
    report.print(id, runtime, &times);
}

/// How many pieces with text the reader got, how long the message is, and when the first piece came.
async fn read(chat: &Compiled<Chat, SharedModel>, model: &SharedModel, reader: Reader) -> (usize, usize, f64) {
    let begun = Instant::now();
    let run = chat.run(Chat::input().messages("go")).context(model.clone());
    let (mut seen, mut first) = (0, 0.0);
    let mut count = |has_text: bool| {
        if has_text && seen == 0 {
            first = begun.elapsed().as_secs_f64();
        }
        seen += usize::from(has_text);
    };
    let done = match reader {
        Reader::Messages => {
            let mut stream = run.stream_mode([StreamMode::Messages, StreamMode::Values]);
            while let Some(part) = stream.next().await {
                count(part.data.text().is_some_and(|text| !text.is_empty()));
            }
            stream.finish().await
        }
        Reader::Events => {
            let mut stream = run.stream_events();
            while let Some(event) = stream.next().await {
                count(event.data.text().is_some_and(|text| !text.is_empty()));
            }
            stream.finish().await
        }
    };
    let done = done.expect("a workload ends well");
    let chars = done.state.messages.last().map_or(0, |message| message.text().len());
    (seen, chars, first)
}
