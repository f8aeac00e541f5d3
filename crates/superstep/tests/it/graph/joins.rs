//! Joins, sequences, entries and finishes.

use serde_json::{Value, json};
use superstep::Record;
use superstep::prelude::*;

use crate::engine::{log_of, outcome, says};

/// The log of a graph whose branches have these lengths and are joined into `end`.
async fn joined(lengths: &[usize]) -> Value {
    log_of(|g| {
        let join = g.node("join", says("join"));
        let mut last = Vec::new();
        for (branch, length) in lengths.iter().enumerate() {
            let mut from = START;
            for place in 0..*length {
                let name = format!("{branch}.{place}");
                let next = g.node(&name, says(&name));
                g.edge(from, next);
                from = next.into();
            }
            last.push(from);
        }
        g.join(last, join).edge(join, END);
    })
    .await
}

/// R-FWK-3, R-REF-22: a join runs its target once, after the last source, whether sources end together or apart.
#[tokio::test]
async fn a_join_waits_for_all_sources_in_the_same_or_different_supersteps() {
    assert_eq!(joined(&[1, 1]).await, json!(["0.0", "1.0", "join"]));
    assert_eq!(joined(&[1, 2]).await, json!(["0.0", "1.0", "1.1", "join"]));
    assert_eq!(joined(&[3, 1, 2]).await, json!(["0.0", "1.0", "2.0", "0.1", "2.1", "0.2", "join"]));
}

/// R-FWK-3, R-REF-22: a join in a loop fires again for each round in which all its sources have run.
#[tokio::test]
async fn a_join_in_a_loop_is_armed_again() {
    let log = log_of(|g| {
        let begin = g.node("begin", says("begin"));
        let (a, b, slow) = (g.node("a", says("a")), g.node("b", says("b")), g.node("slow", says("slow")));
        let join = g.node("join", || json!({ "log": ["join"], "n": 1 }));
        g.edge(START, begin).edge(begin, a).edge(begin, b).edge(b, slow).join([a, slow], join);
        let again = move |s: &Record| if s.get("n").as_i64() < Some(3) { Go::to(begin) } else { Go::end() };
        g.route(join, again, [begin.into(), END]);
    })
    .await;
    let round = ["begin", "a", "b", "slow", "join"];
    assert_eq!(log, json!([round, round, round].concat()));
}

/// R-FWK-3, R-REF-22, R-DEF-7: one source finishing twice does not stand for the other.
#[tokio::test]
async fn a_source_that_runs_twice_does_not_fill_a_join() {
    let done = outcome(
        |g| {
            let a = g.node("a", || json!({ "log": ["a"], "n": 1 }));
            let never = g.node("never", says("never"));
            let join = g.node("join", says("join"));
            g.entry_by(|s: &Record| if s.get("n").as_i64() < Some(9) { "a" } else { "never" }, [a, never]);
            g.join([a, never], join).edge(join, END);
            let again = move |s: &Record| if s.get("n").as_i64() < Some(2) { Go::to(a) } else { Go::end() };
            g.route(a, again, [a.into(), END]);
        },
        json!({ "n": 0 }),
    )
    .await
    .unwrap();
    assert_eq!(crate::engine::field(&done, "log"), json!(["a", "a"]));
    assert!(
        done.warnings.iter().any(|text| text.contains("`join`") && text.contains("`never`")),
        "{:?}",
        done.warnings
    );
}

/// R-FWK-3, R-REF-23: a plain edge beside a join runs the target for each of the two.
#[tokio::test]
async fn a_join_and_an_edge_into_one_node_both_count() {
    let log = log_of(|g| {
        let (a, b, c) = (g.node("a", says("a")), g.node("b", says("b")), g.node("c", says("c")));
        let target = g.node("target", says("target"));
        g.edge(START, a).edge(START, b).edge(b, c).join([a, c], target).edge(a, target).edge(target, END);
    })
    .await;
    assert_eq!(log, json!(["a", "b", "c", "target", "target"]));
}

/// R-FWK-5: sequence, entry, finish and an entry by decision are short for the edges they mean.
#[tokio::test]
async fn sequences_entries_and_finishes_are_edges() {
    let sequence = log_of(|g| {
        let (a, b, c) = (g.node("a", says("a")), g.node("b", says("b")), g.node("c", says("c")));
        g.entry(a).sequence([a, b, c]).finish(c);
    });
    assert_eq!(sequence.await, json!(["a", "b", "c"]));
    let by_name = log_of(|g| {
        g.node("a", says("a"));
        g.node("b", says("b"));
        g.sequence(["__start__", "b", "a", "__end__"]);
    });
    assert_eq!(by_name.await, json!(["b", "a"]));
}

/// R-FWK-5, R-PRB-6: a conditional entry sees the state after the input.
#[tokio::test]
async fn an_entry_by_decision_sees_the_input() {
    for (title, entered) in [("left", json!(["left"])), ("right", json!(["right"])), ("both", json!(["left", "right"]))]
    {
        let done = outcome(
            |g| {
                let (left, right) = (g.node("left", says("left")), g.node("right", says("right")));
                let decide = move |s: &Record| match s.get("title").as_str() {
                    Some("left") => vec![left],
                    Some("right") => vec![right],
                    _ => vec![left, right],
                };
                g.entry_by(decide, [left, right]).finish(left).finish(right);
            },
            json!({ "title": title }),
        );
        assert_eq!(crate::engine::field(&done.await.unwrap(), "log"), entered);
    }
}
