//! Delivery of events: saved changes are published, to a slow subscriber of a cancelled run too, and never before
//! they are saved.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::models::{MessageChunk, ModelErrorKind};
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{Durability, MachineEvent, RunControl, StreamPartData};

use super::*;

const STEPS: usize = 300;

/// A graph of many supersteps, each of which ends immediately.
fn steps() -> superstep::CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("steps");
    let work = graph.add_node("work", || Chat::update().log("done".to_owned()));
    let decide = move |chat: &Chat| if chat.log.len() < STEPS { Goto::node(work) } else { Goto::end() };
    graph
        .add_edge(START, work)
        .add_conditional_edges(work, decide, [work.into(), END])
        .checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

/// Returns the number of finished tasks and the saved checkpoints in a stream; `meanwhile` is called at every event.
async fn read_stream(
    mut stream: superstep::RunStream<superstep::Outcome<Chat>>,
    meanwhile: impl Fn(),
) -> (usize, Vec<String>) {
    let (mut tasks, mut saved, mut is_over) = (0, Vec::new(), false);
    while let Some(event) = stream.next().await {
        assert!(!is_over, "something was told after the end");
        is_over = matches!(event.kind, EventKind::Ended { .. });
        match &event.kind {
            EventKind::Machine(MachineEvent::TaskFinished { .. }) => tasks += 1,
            EventKind::Machine(MachineEvent::Checkpoint { id, .. }) => saved.push(id.to_string()),
            _ => {}
        }
        meanwhile();
    }
    assert!(is_over);
    (tasks, saved)
}

/// R-FWK-62, R-FWK-18: a run that is cancelled while its subscriber is slow publishes all saved changes, then its
/// end.
#[tokio::test]
async fn saved_results_of_a_cancelled_run_are_published() {
    let graph = steps();
    let control = RunControl::new();
    let stream = graph.invoke(hello()).thread("t").recursion_limit(999).control(control.clone()).stream();
    let (first, mut saved) = read_stream(stream, || control.cancel()).await;
    assert!(first > 0 && first < STEPS, "{first}");
    let (second, rest) = read_stream(graph.continue_thread("t").recursion_limit(999).stream(), || {}).await;
    saved.extend(rest);
    let history = graph.threads().get_state_history("t", &superstep::HistoryQuery::default()).await.unwrap();
    let history: Vec<String> = history.iter().rev().map(|snapshot| snapshot.id().to_string()).collect();
    assert_eq!((first + second, saved), (STEPS, history));
}

/// A model that fails in the middle of its first response.
struct Stumbles(AtomicUsize);

impl Model for Stumbles {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "stumbles", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        out.text("It ").await;
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(ModelErrorKind::Overloaded.error(&self.info(), "busy"));
        }
        out.text("rains").await;
        Ok(ChatResponse::new(Message::assistant("It rains"), self.info()))
    }
}

/// R-FWK-60: a second attempt has a separate message id: the joined chunks of a message are the message.
#[tokio::test]
async fn an_attempt_does_not_continue_the_message_of_another() {
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let retry = superstep::RetryPolicy::exponential(2).initial_interval(std::time::Duration::ZERO);
    let think = graph.add_node("think", node(think).retry(retry));
    graph.add_edge(START, think).add_edge(think, END);
    let run = graph.compile().unwrap().invoke(hello()).context(Stumbles(AtomicUsize::new(0)).into());
    let mut stream = run.stream_mode([StreamMode::Messages]);
    let mut texts = BTreeMap::<String, String>::new();
    while let Some(part) = stream.next().await {
        if let StreamPartData::Chunk { chunk: MessageChunk::Text(text), call, .. } = &part.data {
            texts.entry(call.message.as_str().to_owned()).or_default().push_str(text);
        }
    }
    let last = stream.finish().await.unwrap().state.messages.last().unwrap().clone();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[last.id.as_ref().unwrap().as_str()], last.text());
}

/// R-FWK-63: with exit durability, an interrupt of a subgraph is published after it is saved.
#[tokio::test]
async fn a_question_of_a_subgraph_is_published_once_it_is_saved() {
    let mut inner = StateGraph::<Chat>::new("inner");
    let gate = inner.add_node("gate", |interrupts: Interrupts| async move {
        let yes: bool = interrupts.raise("ok?", "really?").await?;
        Ok::<_, NodeError>(Chat::update().log(format!("{yes}")))
    });
    inner.add_edge(START, gate).add_edge(gate, END);
    let mut graph = StateGraph::<Chat>::new("outer");
    let inner = graph.add_node("inner", inner.compile().unwrap());
    graph.add_edge(START, inner).add_edge(inner, END);
    let graph = graph.compile().unwrap();
    for (last, is_published) in
        [(CrashedWrite::Lost, false), (CrashedWrite::Persisted, false), (CrashedWrite::Persisted, true)]
    {
        let store = CrashingCheckpointer::new(MemoryCheckpointer::new(), usize::from(is_published), last);
        let run = graph.invoke(hello()).thread("t").checkpointer(store.clone()).durability(Durability::Exit);
        let mut stream = run.stream();
        let mut nested_events = 0;
        while let Some(event) = stream.next().await {
            let EventKind::Machine(machine_event) = &event.kind else { continue };
            if matches!(
                machine_event,
                MachineEvent::TaskInterrupted { .. }
                    | MachineEvent::Interrupted { .. }
                    | MachineEvent::Checkpoint { .. }
            ) {
                nested_events += usize::from(!event.graph.namespace.is_root());
            }
        }
        assert_eq!((nested_events > 0, store.has_crashed()), (is_published, !is_published));
    }
}
