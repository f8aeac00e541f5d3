//! W4: one send for each subject to a graph inside, which runs twelve nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use superstep::Compiled;
use superstep::prelude::*;

use super::Store;
use crate::measure::Report;
use crate::runtime::Runtime;
use crate::text::text;

#[derive(State, Clone, Serialize, Deserialize)]
struct Overview {
    subjects: Vec<Arc<str>>,
    #[reduce(append)]
    items: Vec<String>,
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Work {
    subject: String,
    items: Vec<String>,
}

/// What a send gives to the graph inside: its input.
#[derive(Clone, Serialize, Deserialize)]
struct Subject {
    subject: Arc<str>,
}

static EXECUTED: AtomicU64 = AtomicU64::new(0);

async fn edit(work: View<Work>) -> WorkUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    Work::update().subject(format!("{} - edited", work.subject))
}

async fn generate(work: View<Work>) -> WorkUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    Work::update().items(vec![format!("About {}", work.subject)])
}

async fn bump(work: View<Work>) -> WorkUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    Work::update().items(vec![format!("{} a", work.items[0])])
}

fn work() -> Compiled<Work> {
    let mut graph = Graph::<Work>::new("work");
    let (edit, generate, bump) = (graph.node("edit", edit), graph.node("generate", generate), graph.node("bump", bump));
    graph.input(["subject"]).output(["items"]);
    graph.edge(START, edit).edge(edit, generate).edge(generate, bump);
    let is_done = |work: &Work| work.items[0].ends_with(" a a a a a a a a a a");
    graph.route(bump, move |work: &Work| if is_done(work) { Go::end() } else { Go::to(bump) }, [bump.into(), END]);
    graph.compile().expect("the graph inside compiles")
}

fn overview() -> Compiled<Overview> {
    let mut graph = Graph::<Overview>::new("overview");
    let work = graph.node("work", work());
    let sends = move |overview: &Overview| {
        let subjects = overview.subjects.iter().cloned();
        subjects.map(|subject| Send::new(work, Subject { subject })).collect::<Vec<_>>()
    };
    graph.entry_by(sends, [work]).edge(work, END);
    graph.compile().expect("the graph around compiles")
}

pub(crate) fn run(id: &str, runtime: &Runtime, sends: usize, store: Store) {
    let graph = overview();
    let subjects: Vec<Arc<str>> = (0..sends).map(|number| text(1_000, number).into()).collect();
    let call = || {
        EXECUTED.store(0, Ordering::Relaxed);
        graph.run(Overview::input().subjects(subjects.clone()))
    };
    let (times, done, bytes) = super::timed(runtime, store, call);
    let items = &done.state.items;
    let result = json!({
        "items": items.len(), "chars": items.iter().map(String::len).sum::<usize>(),
        "executed": EXECUTED.load(Ordering::Relaxed),
        "firsts": items.iter().filter_map(|item| item.chars().nth(6)).collect::<String>(),
    });
    let params = json!({ "sends": sends, "store": store.name() });
    Report { bytes, ..Report::new(params, result) }.print(id, runtime, &times);
}
