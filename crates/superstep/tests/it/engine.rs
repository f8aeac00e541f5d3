//! What the files of these tests share: a state, a world that tests decide on, words for what a run said.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::machine::{Event, World};
use superstep::core::port::{BoxFuture, Clock};
use superstep::{EventKind, Graph, GraphEnd, Outcome, Record, Result, Run, RunEvent, Schema};

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

/// An empty graph over that state.
pub(crate) fn graph(name: &str) -> Graph<Record> {
    Graph::with_schema(name, schema())
}

/// A node that adds a word to the log.
pub(crate) fn says(word: &str) -> impl Fn() -> Value + Send + Sync + 'static {
    let word = word.to_owned();
    move || json!({ "log": [word] })
}

/// Draws a graph and runs it once.
pub(crate) async fn outcome(draw: impl FnOnce(&mut Graph<Record>), input: Value) -> Result<Outcome<Record>> {
    let mut graph = graph("g");
    draw(&mut graph);
    graph.compile()?.run(input).await
}

/// Draws a graph, runs it once with `n` = 0 and gives the log.
pub(crate) async fn log_of(draw: impl FnOnce(&mut Graph<Record>)) -> Value {
    field(&outcome(draw, json!({ "n": 0 })).await.unwrap(), "log")
}

/// One field of an outcome.
pub(crate) fn field(outcome: &Outcome<Record>, name: &str) -> Value {
    outcome.state.get(name).into_owned()
}

/// How often something happened.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
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

/// Lets everything that can move do so.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// A clock that stands still until a test moves it.
#[derive(Clone, Default)]
pub(crate) struct HandClock(Arc<AtomicI64>);

impl HandClock {
    pub(crate) fn at(seconds: i64) -> Self {
        Self(Arc::new(AtomicI64::new(seconds * 1_000_000)))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A clock that goes with tokio's: under paused time both jump together.
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

/// A world whose ids count from 1 and whose time stands still.
#[derive(Default)]
pub(crate) struct CountingWorld(AtomicU64);

impl World for CountingWorld {
    fn now(&self) -> i64 {
        42
    }

    fn fresh(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// What a run said, one line for each event, and how it ended.
pub(crate) async fn transcript(run: Run<Record>) -> (Vec<String>, Result<Outcome<Record>>) {
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
    let what = match &event.kind {
        EventKind::Machine(event) => machine_line(event),
        EventKind::Custom { node, value, .. } => format!("{node} says {value}"),
        EventKind::Retry { node, attempt, wait, error, .. } => {
            format!("{node} retry {attempt} in {wait:?}: {}", error.code())
        }
        EventKind::Started { input } => format!("begins with {input}"),
        EventKind::Ended { end: GraphEnd::Finished, .. } => "ends".to_owned(),
        EventKind::Ended { end: GraphEnd::Interrupted(_), .. } => "ends with a question".to_owned(),
        EventKind::Ended { end: GraphEnd::Failed(error), .. } => format!("fails: {}", error.code()),
        _ => "?".to_owned(),
    };
    if path.is_empty() { what } else { format!("{path}: {what}") }
}

fn machine_line(event: &Event) -> String {
    match event {
        Event::TaskStarted { node, step, .. } => format!("{step} {node} started"),
        Event::TaskDone { node, step, cached: false, .. } => format!("{step} {node} done"),
        Event::TaskDone { node, step, .. } => format!("{step} {node} cached"),
        Event::TaskFailed { node, step, error, .. } => format!("{step} {node} failed: {}", error.code()),
        Event::Values { step, .. } => format!("{step} values"),
        Event::Checkpoint { step, next, .. } => format!("{step} saved, next {next:?}"),
        Event::TaskAsked { node, step, .. } => format!("{step} {node} asked"),
        Event::Interrupted { questions } => format!("asks {}", questions.len()),
        Event::Warning { message, .. } => format!("warning: {message}"),
        _ => "?".to_owned(),
    }
}
