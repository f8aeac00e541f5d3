//! Trying stored threads against a graph before it runs on them.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Checked, Code, Compiled, Depth, Finding, Migration, Record, Schema};

use super::{dynamic, stored, stores};
use crate::support::{log_field, refused};

async fn found(graph: &Compiled<Record>, depth: Depth) -> (Vec<String>, Checked) {
    let mut all = Vec::new();
    let threads = graph.threads();
    let checked = threads.check(depth, |thread, finding| {
        let said = match finding {
            Finding::Fine => "fine".to_owned(),
            Finding::Migrates { from } => format!("migrates from {from}"),
            Finding::Breaks { error, namespace, .. } => {
                let place = namespace.as_str().split(':').next().unwrap_or_default();
                let why = error.message().split_once("cannot ").map_or(error.message(), |(_, why)| why);
                format!("breaks at `{place}`: {why}")
            }
            Finding::OfAnother { graph } => format!("of {graph}"),
            _ => "?".to_owned(),
        };
        all.push(format!("{thread}: {said}"));
    });
    let checked = checked.await.unwrap();
    (all, checked)
}

/// R-FWK-47: threads are fine, migrated, broken or of another graph, and looking writes nothing.
#[tokio::test]
async fn threads_are_told_apart() {
    for store in stores() {
        let fields = |more: Value| {
            let mut fields = json!({ "log": log_field() });
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        let one = dynamic(1, fields(json!({ "size": null })), &store).compile().unwrap();
        one.run(json!({ "size": 1 })).thread("old").await.unwrap();
        one.run(json!({ "size": "no number" })).thread("odd").await.unwrap();
        let sized = json!({ "width": { "type": "integer" } });
        let mut two = dynamic(2, fields(sized), &store);
        two.migrate(1, Migration::to(2).map("size", |size: u8| size).rename("size", "width"));
        let two = two.compile().unwrap();
        two.run(json!({ "width": 2 })).thread("new").await.unwrap();
        two.run(json!({ "width": 2 })).thread("old-and-new").await.unwrap();
        let mut other =
            Graph::<Record>::with_schema("other", Schema::from_json("other", &json!({ "x": null })).unwrap());
        let step = other.node("elsewhere", || json!({ "x": 1 }));
        other.edge(START, step).edge(step, END).checkpointer(store.clone());
        other.compile().unwrap().run(json!({ "x": 0 })).thread("other").await.unwrap();
        let before = stored(&store, "old").await + &stored(&store, "odd").await;
        let (all, checked) = found(&two, Depth::Newest).await;
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
        assert_eq!(checked, Checked { fine: 2, migrates: 1, breaks: 1, of_others: 1 });
        assert_eq!(stored(&store, "old").await + &stored(&store, "odd").await, before);
        two.run(json!({ "width": 9 })).thread("old").await.unwrap();
        assert_eq!(found(&two, Depth::Newest).await.1.migrates, 0);
        assert_eq!(found(&two, Depth::History).await.1.migrates, 1, "its old checkpoints are still there");
    }
}

/// A graph whose node `ask` asks, and with a graph inside that asks.
fn asking(version: u32, ask: &str, inner: &str, store: &SharedCheckpointer) -> Graph<Record> {
    let schema = |name: &str, more: &str| {
        let mut fields = json!({ "log": log_field() });
        fields[more] = Value::Null;
        Schema::builder(name).fields_from_json(&fields).version(version).build().unwrap()
    };
    let mut inside = Graph::<Record>::with_schema("inside", schema("inside", inner));
    let question = |ask: Ask| async move {
        let well: bool = ask.person("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("{well}") }))
    };
    let asked = inside.node("asked", question);
    inside.edge(START, asked).edge(asked, END);
    let mut graph = Graph::with_schema("test", schema("outside", "kind"));
    let done = graph.node("done", || json!({ "log": "done" }));
    let (ask, within) = (graph.node(ask, question), graph.node("within", inside.compile().unwrap()));
    let ways =
        move |state: &Record| if *state.get("kind") == json!("in") { Go::to(within) } else { Go::to(ask).and(done) };
    graph.entry_by(ways, [ask, within, done]).edge(ask, END).edge(within, END).edge(done, END);
    graph.checkpointer(store.clone());
    graph
}

/// R-FWK-47: a node that is gone, and a graph inside that no longer fits, are found before anything runs.
#[tokio::test]
async fn nodes_that_are_gone_and_graphs_inside_are_found() {
    for store in stores() {
        let old = asking(1, "ask", "note", &store).compile().unwrap();
        old.run(json!({ "kind": "out" })).thread("out").await.unwrap();
        old.run(json!({ "kind": "in" })).thread("in").await.unwrap();
        assert_eq!(found(&old, Depth::History).await.1, Checked { fine: 2, ..Checked::default() });
        let new = asking(1, "demand", "remark", &store).compile().unwrap();
        let (all, _) = found(&new, Depth::Newest).await;
        assert!(
            all[0].starts_with("in: breaks at `within`: ") && all[0].contains("`note`, which the state lacks"),
            "{all:?}"
        );
        assert_eq!(all[1], "out: breaks at ``: the thread is due at node `ask`, which this graph does not have");
        let mut renamed = asking(2, "demand", "note", &store);
        renamed.migrate(1, Migration::to(2).rename_node("ask", "demand"));
        let renamed = renamed.compile().unwrap();
        assert_eq!(found(&renamed, Depth::Newest).await.1, Checked { migrates: 2, ..Checked::default() });
        // Once it is answered, nobody goes on with the graph inside.
        old.resume("in", true).await.unwrap();
        assert!(found(&new, Depth::Newest).await.0[0].starts_with("in: fine"));
        assert!(found(&new, Depth::History).await.0[0].starts_with("in: breaks at `within`"));
    }
}

/// A store that cannot be asked ends the look; it is no finding.
#[tokio::test]
async fn a_store_that_is_gone_is_an_error() {
    let disk = Memory::new();
    let one = dynamic(1, json!({ "log": log_field() }), &disk.clone().into()).compile().unwrap();
    one.run(json!({ "log": "x" })).thread("t").await.unwrap();
    let dead = CrashAt::new(disk, 0, LastWrite::Lost);
    refused(one.run(json!({ "log": "x" })).thread("t").checkpointer(dead.clone()).await);
    let error = refused(one.threads().checkpointer(dead).check(Depth::Newest, |_, _| {}).await);
    assert_eq!(error.code(), Code::StoreUnavailable);
}
