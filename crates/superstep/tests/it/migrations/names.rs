//! Nodes that were renamed while threads were due there: what is known of their tasks goes on under the ids it has.

use std::sync::Arc;

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Compiled, Durability, HistoryQuery, Migration, Persistence, Record, Schema};

use super::stores;
use crate::support::{Calls, log, log_field, only_question};

fn schema(version: u32) -> Arc<Schema> {
    let fields = json!({ "log": log_field(), "kind": null });
    Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap()
}

/// A node that finishes beside one that asks, a join that one side has reached, and a node that waits for all others.
fn build(version: u32, names: [&str; 4], store: &SharedCheckpointer, calls: &Calls) -> Graph<Record> {
    let [early, cut, ask, late] = names;
    let mut graph = Graph::with_schema("test", schema(version));
    let asked = calls.clone();
    let ask = graph.node(ask, move |ask: Ask| {
        asked.note("ask");
        async move {
            let well: bool = ask.person("well?", ()).await?;
            Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
        }
    });
    let (early, cut) = (graph.node(early, calls.step("early")), graph.node(cut, calls.step("cut")));
    let report = graph.node("report", calls.step("report"));
    let late = graph.node(late, node(calls.step("late")).defer());
    graph.edge(START, early).edge(START, late).edge(early, cut).edge(early, ask);
    graph.join([early, ask], report).edge(cut, END).edge(report, END).edge(late, END);
    graph.checkpointer(store.clone());
    graph
}

fn old(store: &SharedCheckpointer, calls: &Calls) -> Compiled<Record> {
    build(1, ["early", "cut", "ask", "late"], store, calls).compile().unwrap()
}

fn new(store: &SharedCheckpointer, calls: &Calls) -> Compiled<Record> {
    let mut graph = build(2, ["sooner", "saw", "sign_off", "later"], store, calls);
    let renamed = Migration::to(2).rename_node("early", "sooner").rename_node("cut", "saw");
    graph.migrate(1, renamed.rename_node("ask", "sign_off").rename_node("late", "later"));
    graph.compile().unwrap()
}

/// R-FWK-47: a renamed node finds its finished task, its question, its join and its place in the queue again.
#[tokio::test]
async fn what_is_due_goes_on_under_new_names() {
    for durability in [Durability::Sync, Durability::Exit] {
        for store in stores() {
            let calls = Calls::default();
            let asked = old(&store, &calls).run(json!({ "kind": "x" })).thread("t").await.unwrap();
            let question = only_question(&asked).id;
            assert_eq!(calls.take(), ["early", "ask", "cut"]);
            let graph = new(&store, &calls);
            let seen = graph.threads().state("t").await.unwrap();
            assert_eq!(seen.next, ["sign_off", "saw"]);
            let nodes: Vec<_> = seen.tasks.iter().map(|task| (&*task.node, task.is_done)).collect();
            assert!(nodes.contains(&("saw", true)) && nodes.contains(&("sign_off", false)), "{nodes:?}");
            assert_eq!(seen.questions()[0].id, question);
            let answers = [(question, json!(true))].into();
            let done = graph.resume_with("t", answers).durability(durability).await.unwrap();
            assert!(done.is_finished());
            assert_eq!(calls.take(), ["ask", "report", "late"], "what had finished does not run again");
            assert_eq!(log(&done.state), ["early", "said true", "cut", "report", "late"]);
        }
    }
}

/// R-FWK-47: an update between keeps what is known of tasks under old names, also for who comes after it.
#[tokio::test]
async fn an_update_keeps_tasks_under_old_names() {
    for store in stores() {
        let calls = Calls::default();
        let asked = old(&store, &calls).run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let question = only_question(&asked).id;
        new(&store, &calls).threads().update("t", json!({ "log": "noted" })).await.unwrap();
        let graph = new(&store, &calls);
        let seen = graph.threads().state("t").await.unwrap();
        assert_eq!((seen.checkpoint.schema_version, seen.questions()[0].id), (2, question));
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
        old(&store, &calls).run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let graph = new(&store, &calls);
        let first = graph.threads().history("t", &HistoryQuery::default()).await.unwrap().pop().unwrap();
        calls.take();
        let asked = graph.go_on("t").at(first.id()).await.unwrap();
        assert_eq!((only_question(&asked).node.as_ref(), calls.take().len()), ("sign_off", 3));
    }
}

/// A node that says its old name itself has the same: what is known of its tasks goes on.
#[tokio::test]
async fn a_node_that_says_what_it_was_keeps_its_question() {
    for store in stores() {
        let calls = Calls::default();
        let build = |name: &str, was: Option<&str>| {
            let mut graph = Graph::<Record>::with_schema("test", schema(1));
            let ask = |ask: Ask| async move {
                let well: bool = ask.person("well?", ()).await?;
                Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
            };
            let ask = was.into_iter().fold(node(ask), |node, was| node.was(was));
            let ask = graph.node(name, ask);
            graph.edge(START, ask).edge(ask, END).checkpointer(store.clone());
            graph.compile().unwrap()
        };
        let asked = build("ask", None).run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let question = only_question(&asked).id;
        let done = build("sign_off", Some("ask")).resume_with("t", [(question, json!(true))].into()).await.unwrap();
        assert_eq!(log(&done.state), ["said true"]);
        assert!(calls.take().is_empty());
    }
}

/// A graph inside that counts its visits and asks in each.
fn counting(persistence: Persistence, calls: &Calls) -> Compiled<Record> {
    let fields = json!({ "visits": { "type": "integer", "reducer": "add", "default": 0 }, "log": log_field() });
    let mut graph = Graph::with_schema("counting", Schema::from_json("visits", &fields).unwrap());
    let counted = calls.clone();
    let count = graph.node("count", move || {
        counted.note("count");
        json!({ "visits": 1 })
    });
    let ask = graph.node("ask", |visits: View<Record>, ask: Ask| async move {
        let well: bool = ask.person("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("visit {} {well}", visits.get("visits")) }))
    });
    graph.sequence([START, count.into(), ask.into(), END]).persistence(persistence);
    graph.compile().unwrap()
}

fn around(
    version: u32,
    name: &str,
    persistence: Persistence,
    (store, calls): (&SharedCheckpointer, &Calls),
) -> Graph<Record> {
    let mut graph = Graph::with_schema("test", schema(version));
    let inside = graph.node(name, counting(persistence, calls));
    graph.edge(START, inside).edge(inside, END).checkpointer(store.clone());
    graph
}

/// R-FWK-47: a graph inside a renamed node goes on where it stopped.
#[tokio::test]
async fn a_graph_inside_goes_on_where_it_stopped() {
    for persistence in [Persistence::Inherit, Persistence::PerThread] {
        for store in stores() {
            let calls = Calls::default();
            let with = (&store, &calls);
            let old = around(1, "inside", persistence, with).compile().unwrap();
            old.run(json!({ "kind": "x" })).thread("t").await.unwrap();
            let mut graph = around(2, "within", persistence, with);
            graph.migrate(1, Migration::to(2).rename_node("inside", "within"));
            let graph = graph.compile().unwrap();
            let done = graph.resume("t", true).await.unwrap();
            assert_eq!((log(&done.state), calls.take()), (vec!["visit 1 true".to_owned()], vec!["count".to_owned()]));
        }
    }
}

/// R-FWK-47: what a graph inside remembers on its thread moves to the new name for good.
#[tokio::test]
async fn what_a_graph_inside_remembers_moves_with_the_name() {
    for store in stores() {
        let calls = Calls::default();
        let with = (&store, &calls);
        let old = around(1, "inside", Persistence::PerThread, with).compile().unwrap();
        old.run(json!({ "kind": "x" })).thread("t").await.unwrap();
        old.resume("t", true).await.unwrap();
        old.run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let mut graph = around(2, "within", Persistence::PerThread, with);
        graph.migrate(1, Migration::to(2).rename_node("inside", "within"));
        let graph = graph.compile().unwrap();
        graph.resume("t", true).await.unwrap();
        let before = graph.threads().state("t").await.unwrap().id();
        graph.run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let done = graph.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 3 true");
        // The old name is no longer needed for what goes on from here.
        let later = around(2, "within", Persistence::PerThread, with).compile().unwrap();
        later.run(json!({ "kind": "x" })).thread("t").await.unwrap();
        let done = later.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 4 true");
        // On a line of history from before, it remembers what it did there.
        graph.run(json!({ "kind": "x" })).thread("t").at(before).await.unwrap();
        let done = graph.resume("t", true).await.unwrap();
        assert_eq!(log(&done.state).last().unwrap(), "visit 3 true");
    }
}
