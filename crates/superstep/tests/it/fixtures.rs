//! Shared fixtures: a state, a deterministic environment, and transcripts of run events.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::machine::{Environment, MachineEvent};
use superstep::core::port::{BoxFuture, Clock};
use superstep::{DynamicState, EventKind, GraphEnd, Outcome, Result, RunBuilder, RunEvent, Schema, StateGraph};

/// A state with a list, a sum, a text that grows and two plain fields.
pub(crate) fn schema() -> Arc<Schema> {
    Schema::from_json(
        "state",
        &json!({
            "log": { "type": "array", "reducer": "append", "default": [] },
            "n": { "type": "integer", "reducer": "add", "default": 0 },
            "text": { "type": "string", "reducer": "add", "default": "" },
            "title": {},
            "secret": { "private": true, "default": "none" },
        }),
    )
    .unwrap()
}

/// Creates an empty graph over that state.
pub(crate) fn graph(name: &str) -> StateGraph<DynamicState> {
    StateGraph::with_schema(name, schema())
}

/// A node that adds a word to the log.
pub(crate) fn log_word(word: &str) -> impl Fn() -> Value + Send + Sync + 'static {
    let word = word.to_owned();
    move || json!({ "log": [word] })
}

/// Builds a graph and runs it once.
pub(crate) async fn outcome(
    draw: impl FnOnce(&mut StateGraph<DynamicState>),
    input: Value,
) -> Result<Outcome<DynamicState>> {
    let mut graph = graph("g");
    draw(&mut graph);
    graph.compile()?.invoke(input).await
}

/// Builds a graph, runs it once with `n` = 0 and returns the log.
pub(crate) async fn log_of(draw: impl FnOnce(&mut StateGraph<DynamicState>)) -> Value {
    field(&outcome(draw, json!({ "n": 0 })).await.unwrap(), "log")
}

/// Returns a field of an outcome.
pub(crate) fn field(outcome: &Outcome<DynamicState>, name: &str) -> Value {
    outcome.state.get(name).into_owned()
}

/// A call counter.
#[derive(Clone, Default)]
pub(crate) struct CallCounter(Arc<AtomicUsize>);

impl CallCounter {
    pub(crate) fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Lets all ready tasks make progress.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// A clock that stands still until a test advances it.
#[derive(Clone, Default)]
pub(crate) struct SettableClock(Arc<AtomicI64>);

impl SettableClock {
    pub(crate) fn at(seconds: i64) -> Self {
        Self(Arc::new(AtomicI64::new(seconds * 1_000_000)))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for SettableClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A clock that follows tokio's: with paused time both advance together.
pub(crate) struct TokioClock(tokio::time::Instant);

impl TokioClock {
    pub(crate) fn new() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> i64 {
        1_000_000 + i64::try_from(self.0.elapsed().as_micros()).unwrap()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// An environment whose ids count from 1 and whose time stands still.
#[derive(Default)]
pub(crate) struct DeterministicEnvironment(AtomicU64);

impl Environment for DeterministicEnvironment {
    fn now(&self) -> i64 {
        42
    }

    fn new_id(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// Returns the events of a run, one line each, and its outcome.
pub(crate) async fn transcript(run: RunBuilder<DynamicState>) -> (Vec<String>, Result<Outcome<DynamicState>>) {
    let mut stream = run.stream();
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(line(&event));
    }
    (lines, stream.finish().await)
}

fn line(event: &RunEvent) -> String {
    let path = event.namespace().as_str().split('|').map(|part| part.split(':').next().unwrap_or_default());
    let path = path.collect::<Vec<_>>().join("/");
    let description = match &event.kind {
        EventKind::Machine(event) => machine_line(event),
        EventKind::Custom { node, value, .. } => format!("{node} says {value}"),
        EventKind::Retry { node, attempt, delay, error, .. } => {
            format!("{node} retry {attempt} in {delay:?}: {}", error.code())
        }
        EventKind::Started { input } => format!("begins with {input}"),
        EventKind::Ended { end: GraphEnd::Finished, .. } => "ends".to_owned(),
        EventKind::Ended { end: GraphEnd::Interrupted(_), .. } => "ends with a question".to_owned(),
        EventKind::Ended { end: GraphEnd::Failed(error), .. } => format!("fails: {}", error.code()),
        _ => "?".to_owned(),
    };
    if path.is_empty() { description } else { format!("{path}: {description}") }
}

fn machine_line(event: &MachineEvent) -> String {
    match event {
        MachineEvent::TaskStarted { node, step, .. } => format!("{step} {node} started"),
        MachineEvent::TaskFinished { node, step, cached: false, .. } => format!("{step} {node} done"),
        MachineEvent::TaskFinished { node, step, .. } => format!("{step} {node} cached"),
        MachineEvent::TaskFailed { node, step, error, .. } => format!("{step} {node} failed: {}", error.code()),
        MachineEvent::Values { step, .. } => format!("{step} values"),
        MachineEvent::Checkpoint { step, next, .. } => format!("{step} saved, next {next:?}"),
        MachineEvent::TaskInterrupted { node, step, .. } => format!("{step} {node} asked"),
        MachineEvent::Interrupted { interrupts } => format!("asks {}", interrupts.len()),
        MachineEvent::Warning { message, .. } => format!("warning: {message}"),
        _ => "?".to_owned(),
    }
}
