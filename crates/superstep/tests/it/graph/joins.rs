//! Joins, sequences, entry and finish points.

use serde_json::{Value, json};
use superstep::DynamicState;
use superstep::prelude::*;

use crate::fixtures::{log_of, log_word, outcome};

/// Returns the log of a graph whose branches have these lengths and are joined into `end`.
async fn joined(lengths: &[usize]) -> Value {
    log_of(|g| {
        let join = g.add_node("join", log_word("join"));
        let mut last = Vec::new();
        for (branch, length) in lengths.iter().enumerate() {
            let mut from = START;
            for index in 0..*length {
                let name = format!("{branch}.{index}");
                let next = g.add_node(&name, log_word(&name));
                g.add_edge(from, next);
                from = next.into();
            }
            last.push(from);
        }
        g.add_join(last, join).add_edge(join, END);
    })
    .await
}

/// R-FWK-3, R-REF-22: a join runs its target once, after the last source, whether sources end together or not.
#[tokio::test]
async fn a_join_waits_for_all_sources_in_the_same_or_different_supersteps() {
    assert_eq!(joined(&[1, 1]).await, json!(["0.0", "1.0", "join"]));
    assert_eq!(joined(&[1, 2]).await, json!(["0.0", "1.0", "1.1", "join"]));
    assert_eq!(joined(&[3, 1, 2]).await, json!(["0.0", "1.0", "2.0", "0.1", "2.1", "0.2", "join"]));
}

/// R-FWK-3, R-REF-22: a join in a loop fires again in each iteration in which all its sources have run.
#[tokio::test]
async fn a_join_in_a_loop_is_armed_again() {
    let log = log_of(|g| {
        let begin = g.add_node("begin", log_word("begin"));
        let (a, b, slow) =
            (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("slow", log_word("slow")));
        let join = g.add_node("join", || json!({ "log": ["join"], "n": 1 }));
        g.add_edge(START, begin).add_edge(begin, a).add_edge(begin, b).add_edge(b, slow).add_join([a, slow], join);
        let route = move |s: &DynamicState| if s.get("n").as_i64() < Some(3) { Goto::node(begin) } else { Goto::end() };
        g.add_conditional_edges(join, route, [begin.into(), END]);
    })
    .await;
    let round = ["begin", "a", "b", "slow", "join"];
    assert_eq!(log, json!([round, round, round].concat()));
}

/// R-FWK-3, R-REF-22, R-DEF-7: a source that finishes twice does not replace another source.
#[tokio::test]
async fn a_source_that_runs_twice_does_not_fill_a_join() {
    let done = outcome(
        |g| {
            let a = g.add_node("a", || json!({ "log": ["a"], "n": 1 }));
            let never = g.add_node("never", log_word("never"));
            let join = g.add_node("join", log_word("join"));
            g.set_conditional_entry_point(
                |s: &DynamicState| if s.get("n").as_i64() < Some(9) { "a" } else { "never" },
                [a, never],
            );
            g.add_join([a, never], join).add_edge(join, END);
            let route = move |s: &DynamicState| if s.get("n").as_i64() < Some(2) { Goto::node(a) } else { Goto::end() };
            g.add_conditional_edges(a, route, [a.into(), END]);
        },
        json!({ "n": 0 }),
    )
    .await
    .unwrap();
    assert_eq!(crate::fixtures::field(&done, "log"), json!(["a", "a"]));
    assert!(
        done.warnings.iter().any(|text| text.contains("`join`") && text.contains("`never`")),
        "{:?}",
        done.warnings
    );
}

/// R-FWK-3, R-REF-23: a plain edge in addition to a join runs the target for each of the two.
#[tokio::test]
async fn a_join_and_an_edge_into_one_node_both_count() {
    let log = log_of(|g| {
        let (a, b, c) =
            (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
        let target = g.add_node("target", log_word("target"));
        g.add_edge(START, a)
            .add_edge(START, b)
            .add_edge(b, c)
            .add_join([a, c], target)
            .add_edge(a, target)
            .add_edge(target, END);
    })
    .await;
    assert_eq!(log, json!(["a", "b", "c", "target", "target"]));
}

/// R-FWK-5: sequence, entry point, finish point and conditional entry point are equivalent to their edges.
#[tokio::test]
async fn sequences_entries_and_finishes_are_edges() {
    let sequence = log_of(|g| {
        let (a, b, c) =
            (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
        g.set_entry_point(a).add_sequence([a, b, c]).set_finish_point(c);
    });
    assert_eq!(sequence.await, json!(["a", "b", "c"]));
    let by_name = log_of(|g| {
        g.add_node("a", log_word("a"));
        g.add_node("b", log_word("b"));
        g.add_sequence(["__start__", "b", "a", "__end__"]);
    });
    assert_eq!(by_name.await, json!(["b", "a"]));
}

/// R-FWK-5, R-PRB-6: a conditional entry point sees the state after the input.
#[tokio::test]
async fn an_entry_by_decision_sees_the_input() {
    for (title, entered) in [("left", json!(["left"])), ("right", json!(["right"])), ("both", json!(["left", "right"]))]
    {
        let done = outcome(
            |g| {
                let (left, right) = (g.add_node("left", log_word("left")), g.add_node("right", log_word("right")));
                let decide = move |s: &DynamicState| match s.get("title").as_str() {
                    Some("left") => vec![left],
                    Some("right") => vec![right],
                    _ => vec![left, right],
                };
                g.set_conditional_entry_point(decide, [left, right]).set_finish_point(left).set_finish_point(right);
            },
            json!({ "title": title }),
        );
        assert_eq!(crate::fixtures::field(&done.await.unwrap(), "log"), entered);
    }
}
