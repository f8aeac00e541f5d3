//! Nodes that were renamed while they were scheduled: their pending entries stay valid under their existing ids.

use std::sync::Arc;

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{CompiledGraph, Durability, DynamicState, HistoryQuery, Migration, Schema, SubgraphPersistence};

use super::stores;
use crate::support::{Calls, log, log_field, only_question};

fn schema(version: u32) -> Arc<Schema> {
    let fields = json!({ "log": log_field(), "kind": null });
    Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap()
}

/// A node that finishes in parallel with one that interrupts, a join that one source has reached, and a deferred node.
fn build(version: u32, names: [&str; 4], store: &SharedCheckpointer, calls: &Calls) -> StateGraph<DynamicState> {
    let [early, cut, interrupt_name, late] = names;
    let mut graph = StateGraph::with_schema("test", schema(version));
    let node_calls = calls.clone();
    let interrupt = graph.add_node(interrupt_name, move |interrupt: Interrupts| {
        node_calls.note("ask");
        async move {
            let well: bool = interrupt.raise("well?", ()).await?;
            Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
        }
    });
    let (early, cut) = (graph.add_node(early, calls.step("early")), graph.add_node(cut, calls.step("cut")));
    let report = graph.add_node("report", calls.step("report"));
    let late = graph.add_node(late, node(calls.step("late")).defer());
    graph.add_edge(START, early).add_edge(START, late).add_edge(early, cut).add_edge(early, interrupt);
    graph.add_join([early, interrupt], report).add_edge(cut, END).add_edge(report, END).add_edge(late, END);
    graph.checkpointer(store.clone());
    graph
}

fn old(store: &SharedCheckpointer, calls: &Calls) -> CompiledGraph<DynamicState> {
    build(1, ["early", "cut", "ask", "late"], store, calls).compile().unwrap()
}

fn new(store: &SharedCheckpointer, calls: &Calls) -> CompiledGraph<DynamicState> {
    let mut graph = build(2, ["sooner", "saw", "sign_off", "later"], store, calls);
    let renamed = Migration::to_version(2).rename_node("early", "sooner").rename_node("cut", "saw");
    graph.add_migration(1, renamed.rename_node("ask", "sign_off").rename_node("late", "later"));
    graph.compile().unwrap()
}

/// R-FWK-47: a renamed node keeps its finished task, its interrupt, its join and its position among the next tasks.
#[tokio::test]
async fn next_tasks_continue_under_new_names() {
    for durability in [Durability::Sync, Durability::Exit] {
        for store in stores() {
            let calls = Calls::default();
            let paused = old(&store, &calls).invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
            let question = only_question(&paused).id;
            assert_eq!(calls.take(), ["early", "ask", "cut"]);
            let graph = new(&store, &calls);
            let seen = graph.threads().get_state("t").await.unwrap();
            assert_eq!(seen.next, ["sign_off", "saw"]);
            let nodes: Vec<_> = seen.tasks.iter().map(|task| (&*task.node, task.is_finished)).collect();
            assert!(nodes.contains(&("saw", true)) && nodes.contains(&("sign_off", false)), "{nodes:?}");
            assert_eq!(seen.interrupts()[0].id, question);
            let answers = [(question, json!(true))].into();
            let done = graph.resume_with("t", answers).durability(durability).await.unwrap();
            assert!(done.is_finished());
            assert_eq!(calls.take(), ["ask", "report", "late"], "what had finished does not run again");
            assert_eq!(log(&done.state), ["early", "said true", "cut", "report", "late"]);
        }
    }
}

/// R-FWK-47: an update in between keeps pending entries under old names, also for later readers.
#[tokio::test]
async fn an_update_keeps_tasks_under_old_names() {
    for store in stores() {
        let calls = Calls::default();
        let paused = old(&store, &calls).invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let question = only_question(&paused).id;
        new(&store, &calls).threads().update_state("t", json!({ "log": "noted" })).await.unwrap();
        let graph = new(&store, &calls);
        let seen = graph.threads().get_state("t").await.unwrap();
        assert_eq!((seen.checkpoint.schema_version, seen.interrupts()[0].id), (2, question));
        assert_eq!(seen.next, ["sign_off", "saw"]);
        calls.take();
        let done = graph.resume_with("t", [(question, json!(false))].into()).await.unwrap();
        assert_eq!((done.is_finished(), calls.take()), (true, vec!["ask".into(), "report".into(), "late".into()]));
    }
}

/// R-FWK-47: a fork from before the renaming runs the node under its new name.
#[tokio::test]
async fn a_fork_from_before_runs_under_new_names() {
    for store in stores() {
        let calls = Calls::default();
        old(&store, &calls).invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let graph = new(&store, &calls);
        let first = graph.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap().pop().unwrap();
        calls.take();
        let paused = graph.continue_thread("t").from_checkpoint(first.id()).await.unwrap();
        assert_eq!((only_question(&paused).node.as_ref(), calls.take().len()), ("sign_off", 3));
    }
}

/// A node that declares its former name itself has the same effect: its pending entries stay valid.
#[tokio::test]
async fn a_node_with_a_former_name_keeps_its_interrupt() {
    for store in stores() {
        let calls = Calls::default();
        let build = |name: &str, was: Option<&str>| {
            let mut graph = StateGraph::<DynamicState>::with_schema("test", schema(1));
            let interrupt = |interrupt: Interrupts| async move {
                let well: bool = interrupt.raise("well?", ()).await?;
                Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
            };
            let interrupt = was.into_iter().fold(node(interrupt), |node, was| node.renamed_from(was));
            let interrupt = graph.add_node(name, interrupt);
            graph.add_edge(START, interrupt).add_edge(interrupt, END).checkpointer(store.clone());
            graph.compile().unwrap()
        };
        let paused = build("ask", None).invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let question = only_question(&paused).id;
        let done = build("sign_off", Some("ask")).resume_with("t", [(question, json!(true))].into()).await.unwrap();
        assert_eq!(log(&done.state), ["said true"]);
        assert!(calls.take().is_empty());
    }
}

/// A subgraph that counts its calls and interrupts in each.
fn counting(persistence: SubgraphPersistence, calls: &Calls) -> CompiledGraph<DynamicState> {
    let fields = json!({ "visits": { "type": "integer", "reducer": "add", "default": 0 }, "log": log_field() });
    let mut graph = StateGraph::with_schema("counting", Schema::from_json("visits", &fields).unwrap());
    let counted = calls.clone();
    let count = graph.add_node("count", move || {
        counted.note("count");
        json!({ "visits": 1 })
    });
    let interrupt = graph.add_node("ask", |visits: View<DynamicState>, interrupt: Interrupts| async move {
        let well: bool = interrupt.raise("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("visit {} {well}", visits.get("visits")) }))
    });
    graph.add_sequence([START, count.into(), interrupt.into(), END]).subgraph_persistence(persistence);
    graph.compile().unwrap()
}

fn parent_graph(
    version: u32,
    name: &str,
    persistence: SubgraphPersistence,
    (store, calls): (&SharedCheckpointer, &Calls),
) -> StateGraph<DynamicState> {
    let mut graph = StateGraph::with_schema("test", schema(version));
    let subgraph = graph.add_node(name, counting(persistence, calls));
    graph.add_edge(START, subgraph).add_edge(subgraph, END).checkpointer(store.clone());
    graph
}

/// R-FWK-47: a subgraph in a renamed node continues where it stopped.
#[tokio::test]
async fn a_subgraph_continues_where_it_stopped() {
    for persistence in [SubgraphPersistence::Inherit, SubgraphPersistence::PerThread] {
        for store in stores() {
            let calls = Calls::default();
            let with = (&store, &calls);
            let old = parent_graph(1, "inside", persistence, with).compile().unwrap();
            old.invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
            let mut graph = parent_graph(2, "within", persistence, with);
            graph.add_migration(1, Migration::to_version(2).rename_node("inside", "within"));
            let graph = graph.compile().unwrap();
            let done = graph.resume("t", true).await.unwrap();
            assert_eq!((log(&done.state), calls.take()), (vec!["visit 1 true".to_owned()], vec!["count".to_owned()]));
        }
    }
}

/// R-FWK-47: the per-thread state of a subgraph moves to the new name permanently.
#[tokio::test]
async fn subgraph_state_moves_to_the_new_node_name() {
    for store in stores() {
        let calls = Calls::default();
        let with = (&store, &calls);
        let old = parent_graph(1, "inside", SubgraphPersistence::PerThread, with).compile().unwrap();
        old.invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        old.resume("t", true).await.unwrap();
        old.invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let mut graph = parent_graph(2, "within", SubgraphPersistence::PerThread, with);
        graph.add_migration(1, Migration::to_version(2).rename_node("inside", "within"));
        let graph = graph.compile().unwrap();
        graph.resume("t", true).await.unwrap();
        let before = graph.threads().get_state("t").await.unwrap().id();
        graph.invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let done = graph.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 3 true");
        // The old name is not needed any more for later runs.
        let later = parent_graph(2, "within", SubgraphPersistence::PerThread, with).compile().unwrap();
        later.invoke(json!({ "kind": "x" })).thread("t").await.unwrap();
        let done = later.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 4 true");
        // On a branch from before the renaming, the subgraph has the state of that branch.
        graph.invoke(json!({ "kind": "x" })).thread("t").from_checkpoint(before).await.unwrap();
        let done = graph.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 3 true");
    }
}
