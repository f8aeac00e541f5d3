//! Forks, replays and updates from outside: cases 91 to 101 of the reference that no other test asserts whole.

use serde_json::json;
use superstep::core::checkpoint::Source;
use superstep::prelude::*;
use superstep::{Code, Compat, Status};

use super::PROFILES;
use crate::engine::{field, graph, says};
use crate::support::{Calls, due_at, line, log, only_question, refused, rows};

/// R-REF-91, R-REF-92, R-REF-93: in both profiles a replay runs only what follows, an edited one goes its own way, and
/// the old line stays; only the numbers of the steps differ.
#[tokio::test]
async fn a_replay_leaves_the_old_line_alone_in_both_profiles() {
    for (compat, steps) in [(Compat::Strict, vec![0, 1, 2, 3]), (Compat::LangGraph, vec![-1, 0, 1, 2, 3])] {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b", "c"]).compat(compat).compile().unwrap();
        let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        let old = rows(&graph, "t").await;
        assert_eq!(old.iter().map(|row| row.2).collect::<Vec<_>>(), steps, "{compat:?}");
        let at_b = due_at(&graph, "t", &["b"]).await;
        calls.take();
        let again = graph.go_on("t").at(at_b).await.unwrap();
        assert_eq!((log(&again.state), calls.take().join(" ")), (log(&first.state), "b c".to_owned()), "{compat:?}");
        graph.threads().update("t", json!({ "log": "edited" })).at(at_b).await.unwrap();
        let edited = graph.go_on("t").await.unwrap();
        assert_eq!((log(&edited.state).join(" "), calls.take().join(" ")), ("a edited b c".into(), "b c".to_owned()));
        graph.go_on("t").at(first.checkpoint.unwrap()).await.unwrap();
        assert_eq!(calls.take().len(), 0, "{compat:?}");
        assert_eq!(rows(&graph, "t").await[..old.len()], old, "{compat:?}");
    }
}

/// R-REF-94, R-REF-95: in both profiles a replay from before a question asks it anew, under an id of its own, and takes
/// no old answer for it.
#[tokio::test]
async fn a_replay_asks_anew_in_both_profiles() {
    for compat in PROFILES {
        let mut g = graph("g");
        let before = g.node("before", says("before"));
        let ask = g.node("ask", async |ask: Ask| {
            Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("who", ()).await?] }))
        });
        g.sequence([START, before.into(), ask.into(), END]).compat(compat).checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        let asked = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        graph.resume("t", "Ann").await.unwrap();
        for at in [due_at(&graph, "t", &["before"]).await, asked.checkpoint.unwrap()] {
            let again = graph.go_on("t").at(at).await.unwrap();
            assert_ne!(only_question(&again).id, only_question(&asked).id, "{compat:?}");
            let ended = graph.resume("t", "Bob").await.unwrap();
            assert_eq!(field(&ended, "log"), json!(["before", "Bob"]), "{compat:?}");
        }
    }
}

/// R-REF-96: a checkpoint copied in place has the same state and the same nodes due, and the line it was taken from
/// goes on as it was. Whole threads are copied with `threads().copy`.
#[tokio::test]
async fn a_copied_checkpoint_is_a_line_of_its_own() {
    for compat in PROFILES {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).compat(compat).compile().unwrap();
        let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        let (old, at) = (rows(&graph, "t").await, due_at(&graph, "t", &["b"]).await);
        let original = graph.threads().state_at("t", at).await.unwrap();
        let copy = graph.threads().update("t", json!({})).at(at).await.unwrap();
        let copied = graph.threads().state("t").await.unwrap();
        assert_eq!((copied.id(), copied.checkpoint.source), (copy, Source::Update), "{compat:?}");
        assert_eq!((copied.state.to_json(), &copied.next), (original.state.to_json(), &original.next), "{compat:?}");
        calls.take();
        let ended = graph.go_on("t").await.unwrap();
        assert_eq!((ended.state.to_json(), calls.take().join(" ")), (first.state.to_json(), "b".to_owned()));
        assert_eq!(rows(&graph, "t").await[..old.len()], old, "{compat:?}");
    }
}

/// R-REF-100: an update that names no node belongs to nobody. Nothing has to be guessed, so nothing is ambiguous, where
/// the reference gives up after two parallel nodes; what is due stays due. A node that does not exist is refused.
#[tokio::test]
async fn an_update_without_a_node_is_never_ambiguous() {
    for compat in PROFILES {
        let mut g = graph("g");
        let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, says(name)));
        g.edge(START, a).edge(START, b).join([a, b], c).edge(c, END);
        g.compat(compat).checkpointer(Memory::new()).interrupt_before(["c"]);
        let graph = g.compile().unwrap();
        let paused = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(paused.status, Status::Paused(vec!["c".to_owned()]), "{compat:?}");
        graph.threads().update("t", json!({ "log": ["edited"] })).await.unwrap();
        assert_eq!(graph.threads().state("t").await.unwrap().next, ["c"], "{compat:?}");
        let error = refused(graph.threads().update("t", json!({ "n": 1 })).as_node("d").await);
        assert!(error.code() == Code::InputInvalid && error.message().contains("`d`"), "{error}");
        let ended = graph.go_on("t").await.unwrap();
        assert_eq!(field(&ended, "log"), json!(["a", "b", "edited", "c"]), "{compat:?}");
    }
}

/// R-REF-100: in the reference's profile too an update as a node leads where the node does, one as the end clears what
/// is due, and one as the start begins anew.
#[tokio::test]
async fn an_update_as_somebody_is_the_same_in_both_profiles() {
    for compat in PROFILES {
        let graph = line(&Calls::default(), &["a", "b", "c"]).compat(compat).interrupt_before(["b"]).compile().unwrap();
        graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        for (node, next) in [("b", vec!["c"]), ("__end__", vec![]), ("__start__", vec!["a"]), ("a", vec!["b"])] {
            graph.threads().update("t", json!({ "log": node })).as_node(node).await.unwrap();
            assert_eq!(graph.threads().state("t").await.unwrap().next, next, "{compat:?}: as {node}");
        }
        let ended = graph.go_on("t").await.unwrap();
        assert_eq!(log(&ended.state), ["a", "b", "__end__", "__start__", "a", "b", "c"], "{compat:?}");
    }
}
