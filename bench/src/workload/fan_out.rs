//! W4: one send for each subject to a subgraph, which runs twelve nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use superstep::CompiledGraph;
use superstep::prelude::*;

use super::CheckpointerKind;
use crate::fixture_text::text;
use crate::measure::Report;
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Overview {
    subjects: Vec<Arc<str>>,
    #[reduce(append)]
    items: Vec<String>,
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct SubjectState {
    subject: String,
    items: Vec<String>,
}

/// Input of the subgraph: the payload of a send.
#[derive(Clone, Serialize, Deserialize)]
struct Subject {
    subject: Arc<str>,
}

static EXECUTED: AtomicU64 = AtomicU64::new(0);

async fn edit(work: View<SubjectState>) -> SubjectStateUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    SubjectState::update().subject(format!("{} - edited", work.subject))
}

async fn generate(work: View<SubjectState>) -> SubjectStateUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    SubjectState::update().items(vec![format!("About {}", work.subject)])
}

async fn bump(work: View<SubjectState>) -> SubjectStateUpdate {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
    SubjectState::update().items(vec![format!("{} a", work.items[0])])
}

fn work() -> CompiledGraph<SubjectState> {
    let mut graph = StateGraph::<SubjectState>::new("work");
    let (edit, generate, bump) =
        (graph.add_node("edit", edit), graph.add_node("generate", generate), graph.add_node("bump", bump));
    graph.input_fields(["subject"]).output_fields(["items"]);
    graph.add_edge(START, edit).add_edge(edit, generate).add_edge(generate, bump);
    let is_done = |work: &SubjectState| work.items[0].ends_with(" a a a a a a a a a a");
    graph.add_conditional_edges(
        bump,
        move |work: &SubjectState| if is_done(work) { Goto::end() } else { Goto::node(bump) },
        [bump.into(), END],
    );
    graph.compile().expect("the subgraph compiles")
}

fn overview() -> CompiledGraph<Overview> {
    let mut graph = StateGraph::<Overview>::new("overview");
    let work = graph.add_node("work", work());
    let sends = move |overview: &Overview| {
        let subjects = overview.subjects.iter().cloned();
        subjects.map(|subject| SendTo::new(work, Subject { subject })).collect::<Vec<_>>()
    };
    graph.set_conditional_entry_point(sends, [work]).add_edge(work, END);
    graph.compile().expect("the parent graph compiles")
}

pub(crate) fn run(id: &str, runtime: &Runtime, sends: usize, store: CheckpointerKind) {
    let graph = overview();
    let subjects: Vec<Arc<str>> = (0..sends).map(|number| text(1_000, number).into()).collect();
    let call = || {
        EXECUTED.store(0, Ordering::Relaxed);
        graph.invoke(Overview::input().subjects(subjects.clone()))
    };
    let (times, outcome, bytes) = super::timed(runtime, store, call);
    let items = &outcome.state.items;
    let result = json!({
        "items": items.len(), "chars": items.iter().map(String::len).sum::<usize>(),
        "executed": EXECUTED.load(Ordering::Relaxed),
        "firsts": items.iter().filter_map(|item| item.chars().nth(6)).collect::<String>(),
    });
    let params = json!({ "sends": sends, "store": store.name() });
    Report { bytes, ..Report::new(params, result) }.print(id, runtime, &times);
}
