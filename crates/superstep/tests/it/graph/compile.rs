//! Errors of `compile`.

use serde_json::json;
use superstep::prelude::*;
use superstep::{DynamicState, ErrorCode};

use crate::fixtures::{field, graph, log_word};

/// Returns the problems that `compile` lists, one per line.
fn problems(draw: impl FnOnce(&mut StateGraph<DynamicState>)) -> Vec<String> {
    let mut g = graph("g");
    draw(&mut g);
    let error = g.compile().err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidGraph);
    error.diagnostics().iter().map(|problem| problem.message.clone()).collect()
}

type Draw = fn(&mut StateGraph<DynamicState>);

/// Invalid graphs, with the text that their error must contain.
const INVALID: [(&str, Draw); 11] = [
    ("`START` has no outgoing edge", |g| {
        g.add_node("b", log_word("b"));
        g.add_edge("b", END);
    }),
    ("no node `x`", |g| _ = g.add_edge("x", "a")),
    ("no node `y`", |g| _ = g.add_edge("a", "y")),
    ("no node `z`", |g| _ = g.add_conditional_edges("a", |_| END, ["z", "__end__"])),
    ("`END` cannot be a source", |g| _ = g.add_edge(END, "a")),
    ("`START` cannot be a target", |g| _ = g.add_edge("a", START)),
    ("duplicate node `a`", |g| _ = g.add_node("a", log_word("again"))),
    ("node name `__start__` is reserved", |g| {
        g.add_node("__start__", log_word("x"));
        g.add_edge("a", "__start__");
    }),
    ("node `later` has no handler", |g| {
        let later = g.reserve_node("later");
        g.add_edge("a", later).add_edge(later, END);
    }),
    ("node `stuck` has no outgoing edge", |g| {
        let stuck = g.add_node("stuck", log_word("x"));
        g.add_edge("a", stuck);
    }),
    ("node `alone` is unreachable", |g| {
        let alone = g.add_node("alone", log_word("x"));
        g.add_edge(alone, END);
    }),
];

/// R-FWK-9, R-REF-1, R-REF-2: each problem of a graph is rejected with its own message.
#[test]
fn each_problem_has_its_own_message() {
    for (number, (words, draw)) in INVALID.into_iter().enumerate() {
        let diagnostics = problems(|g| {
            if number > 0 {
                let a = g.add_node("a", log_word("a"));
                g.add_edge(START, a).add_edge(a, END);
            }
            draw(g);
        });
        assert!(diagnostics.iter().any(|problem| problem.contains(words)), "{words}: {diagnostics:?}");
    }
}

/// R-FWK-9: all problems are listed at once.
#[test]
fn all_problems_are_listed_at_once() {
    let diagnostics = problems(|g| {
        let a = g.add_node("a", log_word("a"));
        g.add_edge(START, a).add_edge(a, END);
        INVALID[1..].iter().for_each(|(_, draw)| draw(g));
    });
    for (words, _) in &INVALID[1..] {
        // In a graph with a dangling edge, nodes that the edge may reach are not reported as unreachable.
        if !words.contains("is unreachable") {
            assert!(diagnostics.iter().any(|problem| problem.contains(words)), "{words}: {diagnostics:?}");
        }
    }
    assert!(diagnostics.len() >= INVALID.len() - 2, "{diagnostics:?}");
}

/// R-FWK-9: the text of the error lists every problem with its help.
#[test]
fn the_text_of_an_error_can_be_acted_on() {
    let mut g = graph("story");
    let write = g.add_node("write", log_word("x"));
    g.add_edge(START, write).add_edge(write, "revew").add_edge(END, write).interrupt_before(["writ"]);
    g.add_node("review", log_word("z"));
    insta::assert_snapshot!(g.compile().err().unwrap(), @r#"
    error[SS-001]: graph `story` is invalid
      - edge `write` -> `revew`: no node `revew` (did you mean `review`?)
      - edge `__end__` -> `write`: `END` cannot be a source
      - breakpoint at unknown node `writ` (did you mean `write`?)
      - node `review` has no outgoing edge (add an edge from `review` to `END`, or declare its `goto` targets)
    "#);
}

/// R-FWK-9: a node without edges is permitted if it declares the targets of its commands.
#[test]
fn declared_goto_targets_count_as_edges() {
    let mut g = graph("g");
    let a = g.add_node("a", node(Command::<DynamicState>::end).goto_targets([END]));
    g.add_edge(START, a);
    assert!(g.compile().is_ok());
}

/// R-FWK-9: an input or output schema that names an unknown or private field is rejected.
#[test]
fn schema_problems_are_listed_with_the_others() {
    let diagnostics = problems(|g| {
        let a = g.add_node("a", log_word("a"));
        g.add_edge(START, a).add_edge(a, "nowhere").input_fields(["titel"]).output_fields(["secret"]);
    });
    for words in ["`titel`", "private field `secret`", "no node `nowhere`"] {
        assert!(diagnostics.iter().any(|problem| problem.contains(words)), "{words}: {diagnostics:?}");
    }
}

/// R-REF-12: changes of the builder after `compile` do not affect the compiled graph.
#[tokio::test]
async fn a_compiled_graph_does_not_change_any_more() {
    let mut g = graph("g");
    let a = g.add_node("a", log_word("a"));
    g.add_edge(START, a).add_edge(a, END);
    let first = g.compile().unwrap();
    let b = g.add_node("b", log_word("b"));
    g.add_edge(a, b).add_edge(b, END);
    let second = g.compile().unwrap();
    assert_eq!(field(&first.invoke(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a"]));
    assert_eq!(field(&second.invoke(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a", "b"]));
}
