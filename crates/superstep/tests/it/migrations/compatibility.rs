//! Compatibility check of stored threads with a graph before it runs on them.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{
    CheckDepth, CompatibilityReport, CompiledGraph, DynamicState, ErrorCode, Migration, Schema, ThreadCompatibility,
};

use super::{dynamic, stored, stores};
use crate::support::{expect_error, log_field};

async fn check_threads(graph: &CompiledGraph<DynamicState>, depth: CheckDepth) -> (Vec<String>, CompatibilityReport) {
    let mut all = Vec::new();
    let threads = graph.threads();
    let checked = threads.check_compatibility(depth, |thread, finding| {
        let text = match finding {
            ThreadCompatibility::Current => "fine".to_owned(),
            ThreadCompatibility::NeedsMigration { from } => format!("migrates from {from}"),
            ThreadCompatibility::Incompatible { error, namespace, .. } => {
                let path = namespace.as_str().split(':').next().unwrap_or_default();
                let reason = error.message().split_once("failed to ").map_or(error.message(), |(_, reason)| reason);
                format!("breaks at `{path}`: {reason}")
            }
            ThreadCompatibility::OtherGraph { graph } => format!("of {graph}"),
            _ => "?".to_owned(),
        };
        all.push(format!("{thread}: {text}"));
    });
    let checked = checked.await.unwrap();
    (all, checked)
}

/// R-FWK-47: threads are current, need migration, are incompatible or belong to another graph, and the check writes
/// nothing.
#[tokio::test]
async fn threads_are_classified() {
    for store in stores() {
        let fields = |more: Value| {
            let mut fields = json!({ "log": log_field() });
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        let one = dynamic(1, fields(json!({ "size": null })), &store).compile().unwrap();
        one.invoke(json!({ "size": 1 })).thread("old").await.unwrap();
        one.invoke(json!({ "size": "no number" })).thread("odd").await.unwrap();
        let sized = json!({ "width": { "type": "integer" } });
        let mut two = dynamic(2, fields(sized), &store);
        two.add_migration(1, Migration::to_version(2).map("size", |size: u8| size).rename("size", "width"));
        let two = two.compile().unwrap();
        two.invoke(json!({ "width": 2 })).thread("new").await.unwrap();
        two.invoke(json!({ "width": 2 })).thread("old-and-new").await.unwrap();
        let mut other = StateGraph::<DynamicState>::with_schema(
            "other",
            Schema::from_json("other", &json!({ "x": null })).unwrap(),
        );
        let step = other.add_node("elsewhere", || json!({ "x": 1 }));
        other.add_edge(START, step).add_edge(step, END).checkpointer(store.clone());
        other.compile().unwrap().invoke(json!({ "x": 0 })).thread("other").await.unwrap();
        let before = stored(&store, "old").await + &stored(&store, "odd").await;
        let (all, checked) = check_threads(&two, CheckDepth::Newest).await;
        assert_eq!(
            all,
            [
                "new: fine",
                "odd: breaks at ``: convert `size`: invalid type: string \"no number\", expected u8",
                "old: migrates from 1",
                "old-and-new: fine",
                "other: of other",
            ]
        );
        assert_eq!(checked, CompatibilityReport { current: 2, needs_migration: 1, incompatible: 1, other_graphs: 1 });
        assert_eq!(stored(&store, "old").await + &stored(&store, "odd").await, before);
        two.invoke(json!({ "width": 9 })).thread("old").await.unwrap();
        assert_eq!(check_threads(&two, CheckDepth::Newest).await.1.needs_migration, 0);
        assert_eq!(
            check_threads(&two, CheckDepth::History).await.1.needs_migration,
            1,
            "its old checkpoints are still there"
        );
    }
}

/// A graph whose node `ask` interrupts, and with a subgraph that interrupts.
fn interrupting_graph(
    version: u32,
    node_name: &str,
    inner: &str,
    store: &SharedCheckpointer,
) -> StateGraph<DynamicState> {
    let schema = |name: &str, more: &str| {
        let mut fields = json!({ "log": log_field() });
        fields[more] = Value::Null;
        Schema::builder(name).fields_from_json(&fields).version(version).build().unwrap()
    };
    let mut subgraph = StateGraph::<DynamicState>::with_schema("inside", schema("inside", inner));
    let question = |interrupts: Interrupts| async move {
        let well: bool = interrupts.raise("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("{well}") }))
    };
    let interrupted = subgraph.add_node("asked", question);
    subgraph.add_edge(START, interrupted).add_edge(interrupted, END);
    let mut graph = StateGraph::with_schema("test", schema("outside", "kind"));
    let done = graph.add_node("done", || json!({ "log": "done" }));
    let (interrupt, within) =
        (graph.add_node(node_name, question), graph.add_node("within", subgraph.compile().unwrap()));
    let route = move |state: &DynamicState| {
        if *state.get("kind") == json!("in") { Goto::node(within) } else { Goto::node(interrupt).and_node(done) }
    };
    graph
        .set_conditional_entry_point(route, [interrupt, within, done])
        .add_edge(interrupt, END)
        .add_edge(within, END)
        .add_edge(done, END);
    graph.checkpointer(store.clone());
    graph
}

/// R-FWK-47: a missing node, and an incompatible subgraph, are detected before anything runs.
#[tokio::test]
async fn missing_nodes_and_incompatible_subgraphs_are_reported() {
    for store in stores() {
        let old = interrupting_graph(1, "ask", "note", &store).compile().unwrap();
        old.invoke(json!({ "kind": "out" })).thread("out").await.unwrap();
        old.invoke(json!({ "kind": "in" })).thread("in").await.unwrap();
        assert_eq!(
            check_threads(&old, CheckDepth::History).await.1,
            CompatibilityReport { current: 2, ..CompatibilityReport::default() }
        );
        let new = interrupting_graph(1, "demand", "remark", &store).compile().unwrap();
        let (all, _) = check_threads(&new, CheckDepth::Newest).await;
        assert!(
            all[0].starts_with("in: breaks at `within`: ") && all[0].contains("`note`, which the state does not have"),
            "{all:?}"
        );
        assert_eq!(
            all[1],
            "out: breaks at ``: the thread has a scheduled task for node `ask`, which this graph does not have"
        );
        let mut renamed = interrupting_graph(2, "demand", "note", &store);
        renamed.add_migration(1, Migration::to_version(2).rename_node("ask", "demand"));
        let renamed = renamed.compile().unwrap();
        assert_eq!(
            check_threads(&renamed, CheckDepth::Newest).await.1,
            CompatibilityReport { needs_migration: 2, ..CompatibilityReport::default() }
        );
        // Once it is resumed, no run continues the subgraph.
        old.resume("in", true).await.unwrap();
        assert!(check_threads(&new, CheckDepth::Newest).await.0[0].starts_with("in: fine"));
        assert!(check_threads(&new, CheckDepth::History).await.0[0].starts_with("in: breaks at `within`"));
    }
}

/// A checkpointer that fails ends the check; it is not a result of a thread.
#[tokio::test]
async fn a_failing_checkpointer_ends_the_check() {
    let disk = MemoryCheckpointer::new();
    let one = dynamic(1, json!({ "log": log_field() }), &disk.clone().into()).compile().unwrap();
    one.invoke(json!({ "log": "x" })).thread("t").await.unwrap();
    let dead = CrashingCheckpointer::new(disk, 0, CrashedWrite::Lost);
    expect_error(one.invoke(json!({ "log": "x" })).thread("t").checkpointer(dead.clone()).await);
    let error = expect_error(one.threads().checkpointer(dead).check_compatibility(CheckDepth::Newest, |_, _| {}).await);
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
}
