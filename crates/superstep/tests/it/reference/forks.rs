//! Forks, replays and external updates: LangGraph cases 91 to 101 that no other test covers completely.

use serde_json::json;
use superstep::core::checkpoint::CheckpointSource;
use superstep::prelude::*;
use superstep::{Compat, ErrorCode, RunEnd};

use super::COMPAT_MODES;
use crate::fixtures::{field, graph, log_word};
use crate::support::{Calls, due_at, expect_error, line, log, only_question, rows};

/// R-REF-91, R-REF-92, R-REF-93: in both modes a replay runs only what follows, an edited one has its own branch,
/// and the old branch stays; only the step numbers differ.
#[tokio::test]
async fn a_replay_leaves_the_old_branch_unchanged_in_both_modes() {
    for (compat, steps) in [(Compat::Strict, vec![0, 1, 2, 3]), (Compat::LangGraph, vec![-1, 0, 1, 2, 3])] {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b", "c"]).compat(compat).compile().unwrap();
        let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        let old = rows(&graph, "t").await;
        assert_eq!(old.iter().map(|row| row.2).collect::<Vec<_>>(), steps, "{compat:?}");
        let at_b = due_at(&graph, "t", &["b"]).await;
        calls.take();
        let replayed = graph.continue_thread("t").from_checkpoint(at_b).await.unwrap();
        assert_eq!((log(&replayed.state), calls.take().join(" ")), (log(&first.state), "b c".to_owned()), "{compat:?}");
        graph.threads().update_state("t", json!({ "log": "edited" })).from_checkpoint(at_b).await.unwrap();
        let edited = graph.continue_thread("t").await.unwrap();
        assert_eq!((log(&edited.state).join(" "), calls.take().join(" ")), ("a edited b c".into(), "b c".to_owned()));
        graph.continue_thread("t").from_checkpoint(first.checkpoint.unwrap()).await.unwrap();
        assert_eq!(calls.take().len(), 0, "{compat:?}");
        assert_eq!(rows(&graph, "t").await[..old.len()], old, "{compat:?}");
    }
}

/// R-REF-94, R-REF-95: in both modes a replay from before an interrupt raises it again, with a new id, and uses no
/// old resume value for it.
#[tokio::test]
async fn a_replay_raises_the_interrupt_again_in_both_modes() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let before = g.add_node("before", log_word("before"));
        let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
            Ok::<_, NodeError>(json!({ "log": [interrupt.raise::<String>("who", ()).await?] }))
        });
        g.add_sequence([START, before.into(), interrupt.into(), END])
            .compat(compat)
            .checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        graph.resume("t", "Ann").await.unwrap();
        for at in [due_at(&graph, "t", &["before"]).await, paused.checkpoint.unwrap()] {
            let replayed = graph.continue_thread("t").from_checkpoint(at).await.unwrap();
            assert_ne!(only_question(&replayed).id, only_question(&paused).id, "{compat:?}");
            let ended = graph.resume("t", "Bob").await.unwrap();
            assert_eq!(field(&ended, "log"), json!(["before", "Bob"]), "{compat:?}");
        }
    }
}

/// R-REF-96: a copied checkpoint has the same state and the same next nodes, and the original branch continues
/// unchanged. Complete threads are copied with `threads().copy`.
#[tokio::test]
async fn a_copied_checkpoint_is_a_line_of_its_own() {
    for compat in COMPAT_MODES {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).compat(compat).compile().unwrap();
        let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        let (old, at) = (rows(&graph, "t").await, due_at(&graph, "t", &["b"]).await);
        let original = graph.threads().get_state_at("t", at).await.unwrap();
        let copy = graph.threads().update_state("t", json!({})).from_checkpoint(at).await.unwrap();
        let copied = graph.threads().get_state("t").await.unwrap();
        assert_eq!((copied.id(), copied.checkpoint.source), (copy, CheckpointSource::Update), "{compat:?}");
        assert_eq!((copied.state.to_json(), &copied.next), (original.state.to_json(), &original.next), "{compat:?}");
        calls.take();
        let ended = graph.continue_thread("t").await.unwrap();
        assert_eq!((ended.state.to_json(), calls.take().join(" ")), (first.state.to_json(), "b".to_owned()));
        assert_eq!(rows(&graph, "t").await[..old.len()], old, "{compat:?}");
    }
}

/// R-REF-100: an update without a node is attributed to no node. Nothing is inferred, so nothing is ambiguous,
/// whereas LangGraph fails after two parallel nodes; the next tasks stay. An unknown node is rejected.
#[tokio::test]
async fn an_update_without_a_node_is_never_ambiguous() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let [a, b, c] = ["a", "b", "c"].map(|name| g.add_node(name, log_word(name)));
        g.add_edge(START, a).add_edge(START, b).add_join([a, b], c).add_edge(c, END);
        g.compat(compat).checkpointer(MemoryCheckpointer::new()).interrupt_before(["c"]);
        let graph = g.compile().unwrap();
        let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(paused.end, RunEnd::Paused(vec!["c".to_owned()]), "{compat:?}");
        graph.threads().update_state("t", json!({ "log": ["edited"] })).await.unwrap();
        assert_eq!(graph.threads().get_state("t").await.unwrap().next, ["c"], "{compat:?}");
        let error = expect_error(graph.threads().update_state("t", json!({ "n": 1 })).as_node("d").await);
        assert!(error.code() == ErrorCode::InputInvalid && error.message().contains("`d`"), "{error}");
        let ended = graph.continue_thread("t").await.unwrap();
        assert_eq!(field(&ended, "log"), json!(["a", "b", "edited", "c"]), "{compat:?}");
    }
}

/// R-REF-100: also in compatibility mode an update as a node follows its edges, one as the end clears the next
/// tasks, and one as the start restarts the graph.
#[tokio::test]
async fn an_update_as_a_node_is_the_same_in_both_modes() {
    for compat in COMPAT_MODES {
        let graph = line(&Calls::default(), &["a", "b", "c"]).compat(compat).interrupt_before(["b"]).compile().unwrap();
        graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        for (node, next) in [("b", vec!["c"]), ("__end__", vec![]), ("__start__", vec!["a"]), ("a", vec!["b"])] {
            graph.threads().update_state("t", json!({ "log": node })).as_node(node).await.unwrap();
            assert_eq!(graph.threads().get_state("t").await.unwrap().next, next, "{compat:?}: as {node}");
        }
        let ended = graph.continue_thread("t").await.unwrap();
        assert_eq!(log(&ended.state), ["a", "b", "__end__", "__start__", "a", "b", "c"], "{compat:?}");
    }
}
