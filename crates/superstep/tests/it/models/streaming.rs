//! Streaming responses outside of graphs.

use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, MessageChunk, Model, ModelErrorKind, ModelExt, ModelInfo, ScriptedModel,
    ScriptedReply,
};
use superstep::testing::ManualClock;
use superstep::{Error, Result};

use super::RemoteScriptedModel;

fn text(chunk: Option<Result<MessageChunk>>) -> Option<String> {
    match chunk {
        Some(Ok(MessageChunk::Text(text))) => Some(text),
        _ => None,
    }
}

/// R-FWK-69: a stream returns every chunk and then the complete response.
#[tokio::test]
async fn a_stream_gives_pieces_and_then_the_answer() {
    let long = "word ".repeat(200);
    let mut stream = ScriptedModel::new([long.as_str()]).stream("Talk.");
    let mut joined = String::new();
    while let Some(chunk) = text(stream.next().await) {
        joined.push_str(&chunk);
    }
    assert_eq!(joined, long);
    assert!(stream.next().await.is_none());
    assert_eq!(stream.finish().await.unwrap().message.text(), long);

    let half_read = {
        let mut stream = ScriptedModel::new([long.as_str()]).share().stream("Talk.");
        stream.next().await;
        stream
    };
    assert_eq!(half_read.finish().await.unwrap().message.text(), long);
}

/// R-FWK-69, R-FWK-71: an error follows the chunks before it, once, and is the result.
#[tokio::test]
async fn an_error_is_the_last_item_of_a_stream() {
    let mut stream = ScriptedModel::new([ScriptedReply::text("It is").then_error(ModelErrorKind::StreamInterrupted)])
        .stream("How late?");
    assert_eq!(text(stream.next().await).as_deref(), Some("It "));
    assert_eq!(text(stream.next().await).as_deref(), Some("is"));
    let error: Error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::StreamInterrupted));
    assert!(stream.next().await.is_none());
    assert_eq!(
        ModelErrorKind::from_error(&stream.finish().await.unwrap_err()),
        Some(ModelErrorKind::StreamInterrupted)
    );
}

/// A model that sends a word, waits, and sends another.
#[derive(Clone)]
struct Slow(ManualClock);

impl Model for Slow {
    fn info(&self) -> ModelInfo {
        RemoteScriptedModel("slow", ScriptedModel::default()).info()
    }

    async fn generate(&self, _: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        use superstep::core::port::Clock;
        out.text("one ").await;
        self.0.sleep(std::time::Duration::from_secs(1)).await;
        out.text("two").await;
        Ok(ChatResponse::new(superstep::Message::assistant("one two"), self.info()))
    }
}

/// R-FWK-69: a chunk is available before the rest of the response, and dropping the stream ends the call.
#[tokio::test]
async fn a_piece_is_there_before_the_rest() {
    let clock = ManualClock::new();
    let mut stream = Slow(clock.clone()).stream("Talk.");
    assert_eq!(clock.sleepers(), 0, "nothing happens before somebody looks");
    assert_eq!(text(stream.next().await).as_deref(), Some("one "));
    assert_eq!(clock.sleepers(), 1);
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(text(stream.next().await).as_deref(), Some("two"));
    assert_eq!(stream.finish().await.unwrap().message.text(), "one two");

    let mut dropped = Slow(clock.clone()).stream("Talk.");
    dropped.next().await;
    drop(dropped);
    assert_eq!(clock.sleepers(), 0);
}
