//! Streams by modes and as events: what is shown, in which order, and that nothing is shown twice.

use serde_json::{Value, json};
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, SharedModel};
use superstep::prelude::*;
use superstep::{EventForm, EventKind, GraphEnd, Result, Run, StreamMode};

mod events;
mod kept;
mod modes;
mod react;
mod readers;
mod whole;

#[derive(State, Clone, Debug, Serialize, Deserialize, Default)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    #[reduce(append)]
    log: Vec<String>,
    topic: Option<String>,
}

/// Says given words, one by one, with a pause after each.
#[derive(Clone)]
struct Speaker(&'static str);

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Rules)
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        for word in self.0.split_inclusive(' ') {
            out.text(word).await;
            tokio::task::yield_now().await;
        }
        Ok(Answer::new(Message::assistant(self.0), self.info()))
    }
}

fn speaker(words: &'static str) -> SharedModel {
    Speaker(words).into()
}

async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
    let answer = cx.model(&model).messages(&chat.messages).await?;
    Ok(Chat::update().messages(answer.message))
}

/// An input that says as little as an input may.
fn hello() -> ChatUpdate {
    Chat::input().topic("hello".to_owned())
}

/// The parts of a run, each as `mode path data`, and its result.
async fn parts<C: std::marker::Send + Sync + 'static>(
    run: Run<Chat, C>,
    modes: impl IntoIterator<Item = StreamMode>,
) -> (Vec<(String, Value)>, Result<superstep::Outcome<Chat>>) {
    let mut stream = run.stream_mode(modes);
    let mut shown = Vec::new();
    while let Some(part) = stream.next().await {
        let path = part.namespace.as_str().split('|').map(|part| part.split(':').next().unwrap_or_default());
        let path = path.collect::<Vec<_>>().join("/");
        shown.push((format!("{}{}{path}", part.mode, if path.is_empty() { "" } else { " " }), part.data.to_json()));
    }
    (shown, stream.finish().await)
}

fn said(shown: &[(String, Value)], mode: &str) -> Vec<Value> {
    shown.iter().filter(|(name, _)| name == mode).map(|(_, value)| value.clone()).collect()
}
