//! Streams by modes and as events: content, order, and no duplicates.

use serde_json::{Value, json};
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, SharedModel};
use superstep::prelude::*;
use superstep::{EventFormat, EventKind, GraphEnd, Result, RunBuilder, StreamMode};

mod delivery;
mod events;
mod journal;
mod modes;
mod react;
mod readers;

#[derive(GraphState, Clone, Debug, Serialize, Deserialize, Default)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    #[reduce(append)]
    log: Vec<String>,
    topic: Option<String>,
}

/// A model that sends a fixed text word by word, with a pause after each.
#[derive(Clone)]
struct Speaker(&'static str);

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        for word in self.0.split_inclusive(' ') {
            out.text(word).await;
            tokio::task::yield_now().await;
        }
        Ok(ChatResponse::new(Message::assistant(self.0), self.info()))
    }
}

fn speaker(words: &'static str) -> SharedModel {
    Speaker(words).into()
}

async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    let answer = cx.model(&model).messages(&chat.messages).await?;
    Ok(Chat::update().messages(answer.message))
}

/// Creates a minimal input.
fn hello() -> ChatUpdate {
    Chat::input().topic("hello".to_owned())
}

/// Returns the parts of a run, each as `mode path data`, and its outcome.
async fn parts<C: std::marker::Send + Sync + 'static>(
    run: RunBuilder<Chat, C>,
    modes: impl IntoIterator<Item = StreamMode>,
) -> (Vec<(String, Value)>, Result<superstep::Outcome<Chat>>) {
    let mut stream = run.stream_mode(modes);
    let mut streamed = Vec::new();
    while let Some(part) = stream.next().await {
        let path = part.namespace.as_str().split('|').map(|part| part.split(':').next().unwrap_or_default());
        let path = path.collect::<Vec<_>>().join("/");
        streamed.push((format!("{}{}{path}", part.mode, if path.is_empty() { "" } else { " " }), part.data.to_json()));
    }
    (streamed, stream.finish().await)
}

fn data_of_mode(streamed: &[(String, Value)], mode: &str) -> Vec<Value> {
    streamed.iter().filter(|(name, _)| name == mode).map(|(_, value)| value.clone()).collect()
}
