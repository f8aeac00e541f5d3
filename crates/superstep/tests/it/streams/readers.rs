//! R-FWK-62 and R-REF-132, R-REF-135: slow subscribers, dropped subscribers, and the cost of a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A model that sends a word repeatedly, and counts how often it could.
#[derive(Clone)]
struct Endless(Arc<AtomicUsize>, usize);

impl Model for Endless {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "endless", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut text = String::new();
        for _ in 0..self.1 {
            out.text("tok ").await;
            text.push_str("tok ");
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
        Ok(ChatResponse::new(Message::assistant(text), self.info()))
    }
}

fn graph() -> superstep::CompiledGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let think = graph.add_node("think", think);
    graph.add_edge(START, think).add_edge(think, END);
    graph.compile().unwrap()
}

/// R-FWK-62, R-REF-135: a slow subscriber slows the run down, whatever drives it, and the outcome is the same.
#[tokio::test]
async fn a_slow_subscriber_slows_the_run() {
    let sent = Arc::new(AtomicUsize::new(0));
    let model: SharedModel = Endless(sent.clone(), 5_000).into();
    let mut stream = graph().invoke(hello()).context(model).stream_mode([StreamMode::Messages]);
    let mut read = 0;
    while let Some(part) = stream.next().await {
        read += usize::from(part.data.text().is_some());
        // The buffer is bounded: the model is never far ahead of its subscriber.
        assert!(sent.load(Ordering::Relaxed) <= read + 70);
        if read % 1_000 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    assert_eq!(read, 5_000);
    assert_eq!(stream.finish().await.unwrap().state.messages.last().unwrap().text().len(), 20_000);
}

/// R-REF-132: a subscriber may stop early; then everything stops.
#[tokio::test]
async fn a_dropped_subscriber_stops_the_run() {
    let sent = Arc::new(AtomicUsize::new(0));
    let mut stream = graph().invoke(hello()).context(Endless(sent.clone(), usize::MAX).into()).stream();
    for _ in 0..10 {
        stream.next().await.unwrap();
    }
    drop(stream);
    let before = sent.load(Ordering::Relaxed);
    tokio::task::yield_now().await;
    assert_eq!(sent.load(Ordering::Relaxed), before);
}

/// Without a subscriber a model gets no listener for chunks.
#[tokio::test]
async fn nothing_is_streamed_without_a_subscriber() {
    struct ListenerProbe(Arc<AtomicUsize>);
    impl Model for ListenerProbe {
        fn info(&self) -> ModelInfo {
            ModelInfo::new("test", "asks", ModelKind::Rules)
        }
        async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
            self.0.fetch_add(usize::from(out.has_listener()), Ordering::Relaxed);
            Ok(ChatResponse::new(Message::assistant("x"), self.info()))
        }
    }
    let listeners = Arc::new(AtomicUsize::new(0));
    let model: SharedModel = ListenerProbe(listeners.clone()).into();
    graph().invoke(hello()).context(model.clone()).await.unwrap();
    parts(graph().invoke(hello()).context(model.clone()), [StreamMode::Updates, StreamMode::Values]).await.1.unwrap();
    assert_eq!(listeners.load(Ordering::Relaxed), 0);
    parts(graph().invoke(hello()).context(model), [StreamMode::Messages]).await.1.unwrap();
    assert_eq!(listeners.load(Ordering::Relaxed), 1);
}

/// Tokens count toward the budget of the run, also without a subscriber.
#[tokio::test]
async fn tokens_count_against_the_budget() {
    let error = graph()
        .invoke(hello())
        .context(speaker("far too many words for so small a budget of tokens"))
        .token_budget(3)
        .await
        .unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::TooLarge);
}

/// R-FWK-68, R-REF-150: a call without a result, which LangGraph rejects, is closed before the model receives it.
#[tokio::test]
async fn open_calls_are_closed_before_a_model_reads_them() {
    use superstep::core::message::ToolCall;
    struct Reads;
    impl Model for Reads {
        fn info(&self) -> ModelInfo {
            ModelInfo::new("test", "reads", ModelKind::Rules)
        }
        async fn generate(&self, request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
            let texts: Vec<String> = request.messages.iter().map(|message| message.text().into_owned()).collect();
            Ok(ChatResponse::new(Message::assistant(texts.join("|")), self.info()))
        }
    }
    let call = Message::assistant("call").with_tool_calls([ToolCall::new("c", "search", json!({}))]);
    let done =
        graph().invoke(Chat::input().messages([call, Message::user("and?")])).context(Reads.into()).await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "call|not executed: the run continued without it|and?");
}

/// R-FWK-62: a subscriber that never yields still receives every event, including the last.
#[tokio::test]
async fn a_busy_reader_gets_the_last_event() {
    for _ in 0..50 {
        let mut stream = graph().invoke(hello()).context(speaker("a b c d e f g h")).stream();
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(matches!(event.kind, EventKind::Ended { .. }));
        }
        assert_eq!(last, Some(true));
    }
}
