//! What was saved is told: to a reader that was behind when the run was cancelled, and never before it is saved.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::model::{Piece, Trouble};
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Control, Durability, Event, PartData};

use super::*;

const STEPS: usize = 300;

/// A graph of many supersteps, each of which is over at once.
fn steps() -> superstep::Compiled<Chat> {
    let mut graph = Graph::<Chat>::new("steps");
    let work = graph.node("work", || Chat::update().log("done".to_owned()));
    let decide = move |chat: &Chat| if chat.log.len() < STEPS { Go::to(work) } else { Go::end() };
    graph.edge(START, work).route(work, decide, [work.into(), END]).checkpointer(Memory::new());
    graph.compile().unwrap()
}

/// How many tasks a stream says are done, and what checkpoints are saved; at every event `meanwhile` happens.
async fn told(
    mut stream: superstep::RunStream<superstep::Outcome<Chat>>,
    meanwhile: impl Fn(),
) -> (usize, Vec<String>) {
    let (mut tasks, mut saved, mut is_over) = (0, Vec::new(), false);
    while let Some(event) = stream.next().await {
        assert!(!is_over, "something was told after the end");
        is_over = matches!(event.kind, EventKind::Ended { .. });
        match &event.kind {
            EventKind::Machine(Event::TaskDone { .. }) => tasks += 1,
            EventKind::Machine(Event::Checkpoint { id, .. }) => saved.push(id.to_string()),
            _ => {}
        }
        meanwhile();
    }
    assert!(is_over);
    (tasks, saved)
}

/// R-FWK-62, R-FWK-18: a run that is cancelled while its reader is behind tells all that it saved, then its end.
#[tokio::test]
async fn what_a_cancelled_run_saved_is_told() {
    let graph = steps();
    let control = Control::new();
    let stream = graph.run(hello()).thread("t").recursion_limit(999).control(control.clone()).stream();
    let (first, mut saved) = told(stream, || control.cancel()).await;
    assert!(first > 0 && first < STEPS, "{first}");
    let (second, rest) = told(graph.go_on("t").recursion_limit(999).stream(), || {}).await;
    saved.extend(rest);
    let history = graph.threads().history("t", &superstep::HistoryQuery::default()).await.unwrap();
    let history: Vec<String> = history.iter().rev().map(|snapshot| snapshot.id().to_string()).collect();
    assert_eq!((first + second, saved), (STEPS, history));
}

/// Fails in the middle of its first answer.
struct Stumbles(AtomicUsize);

impl Model for Stumbles {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "stumbles", ModelKind::Rules)
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        out.text("It ").await;
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(Trouble::Overloaded.error(&self.info(), "busy"));
        }
        out.text("rains").await;
        Ok(Answer::new(Message::assistant("It rains"), self.info()))
    }
}

/// R-FWK-60: a second attempt speaks under an id of its own: the pieces of a message joined are the message.
#[tokio::test]
async fn an_attempt_does_not_continue_what_another_said() {
    let mut graph = Graph::<Chat, SharedModel>::new("chat");
    let retry = superstep::Retry::exponential(2).initial_interval(std::time::Duration::ZERO);
    let think = graph.node("think", node(think).retry(retry));
    graph.edge(START, think).edge(think, END);
    let run = graph.compile().unwrap().run(hello()).context(Stumbles(AtomicUsize::new(0)).into());
    let mut stream = run.stream_mode([StreamMode::Messages]);
    let mut said = BTreeMap::<String, String>::new();
    while let Some(part) = stream.next().await {
        if let PartData::Piece { piece: Piece::Text(text), call, .. } = &part.data {
            said.entry(call.message.as_str().to_owned()).or_default().push_str(text);
        }
    }
    let last = stream.finish().await.unwrap().state.messages.last().unwrap().clone();
    assert_eq!(said.len(), 2);
    assert_eq!(said[last.id.as_ref().unwrap().as_str()], last.text());
}

/// R-FWK-63: with everything saved at the end, a question of a graph inside is told when that has happened.
#[tokio::test]
async fn a_question_inside_is_told_once_it_is_saved() {
    let mut inner = Graph::<Chat>::new("inner");
    let gate = inner.node("gate", |ask: Ask| async move {
        let yes: bool = ask.person("ok?", "really?").await?;
        Ok::<_, NodeError>(Chat::update().log(format!("{yes}")))
    });
    inner.edge(START, gate).edge(gate, END);
    let mut graph = Graph::<Chat>::new("outer");
    let inner = graph.node("inner", inner.compile().unwrap());
    graph.edge(START, inner).edge(inner, END);
    let graph = graph.compile().unwrap();
    for (last, is_told) in [(LastWrite::Lost, false), (LastWrite::Kept, false), (LastWrite::Kept, true)] {
        let store = CrashAt::new(Memory::new(), usize::from(is_told), last);
        let run = graph.run(hello()).thread("t").checkpointer(store.clone()).durability(Durability::Exit);
        let mut stream = run.stream();
        let mut inside = 0;
        while let Some(event) = stream.next().await {
            let EventKind::Machine(told) = &event.kind else { continue };
            if matches!(told, Event::TaskAsked { .. } | Event::Interrupted { .. } | Event::Checkpoint { .. }) {
                inside += usize::from(!event.graph.namespace.is_root());
            }
        }
        assert_eq!((inside > 0, store.has_crashed()), (is_told, !is_told));
    }
}
