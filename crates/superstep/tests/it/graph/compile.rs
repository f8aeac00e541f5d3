//! What compile refuses.

use serde_json::json;
use superstep::prelude::*;
use superstep::{Code, Record};

use crate::engine::{field, graph, says};

/// The problems compile lists, one a line.
fn problems(draw: impl FnOnce(&mut Graph<Record>)) -> Vec<String> {
    let mut g = graph("g");
    draw(&mut g);
    let error = g.compile().err().unwrap();
    assert_eq!(error.code(), Code::InvalidGraph);
    error.problems().iter().map(|problem| problem.message.clone()).collect()
}

type Draw = fn(&mut Graph<Record>);

/// A problem of drawing, and the words that must tell it.
const REFUSED: [(&str, Draw); 11] = [
    ("nothing leads out of the start", |g| {
        g.node("b", says("b"));
        g.edge("b", END);
    }),
    ("no node `x`", |g| _ = g.edge("x", "a")),
    ("no node `y`", |g| _ = g.edge("a", "y")),
    ("no node `z`", |g| _ = g.route("a", |_| END, ["z", "__end__"])),
    ("nothing leads out of the end", |g| _ = g.edge(END, "a")),
    ("nothing leads to the start", |g| _ = g.edge("a", START)),
    ("node `a` is added twice", |g| _ = g.node("a", says("again"))),
    ("node name `__start__` is reserved", |g| {
        g.node("__start__", says("x"));
        g.edge("a", "__start__");
    }),
    ("node `later` has no action", |g| {
        let later = g.reserve("later");
        g.edge("a", later).edge(later, END);
    }),
    ("node `stuck` has no way out", |g| {
        let stuck = g.node("stuck", says("x"));
        g.edge("a", stuck);
    }),
    ("node `alone` cannot be reached", |g| {
        let alone = g.node("alone", says("x"));
        g.edge(alone, END);
    }),
];

/// R-FWK-9, R-REF-1, R-REF-2: each problem of a drawing is refused with a message of its own.
#[test]
fn each_problem_has_its_own_message() {
    for (number, (words, draw)) in REFUSED.into_iter().enumerate() {
        let found = problems(|g| {
            if number > 0 {
                let a = g.node("a", says("a"));
                g.edge(START, a).edge(a, END);
            }
            draw(g);
        });
        assert!(found.iter().any(|problem| problem.contains(words)), "{words}: {found:?}");
    }
}

/// R-FWK-9: all problems are listed at once.
#[test]
fn all_problems_are_listed_at_once() {
    let found = problems(|g| {
        let a = g.node("a", says("a"));
        g.edge(START, a).edge(a, END);
        REFUSED[1..].iter().for_each(|(_, draw)| draw(g));
    });
    for (words, _) in &REFUSED[1..] {
        // A graph with a loose end is given the benefit of the doubt: what it may still reach is not told.
        if !words.contains("cannot be reached") {
            assert!(found.iter().any(|problem| problem.contains(words)), "{words}: {found:?}");
        }
    }
    assert!(found.len() >= REFUSED.len() - 2, "{found:?}");
}

/// R-FWK-9: what a person reads lists every problem with what to do about it.
#[test]
fn the_text_of_a_refusal_can_be_acted_on() {
    let mut g = graph("story");
    let write = g.node("write", says("x"));
    g.edge(START, write).edge(write, "revew").edge(END, write).interrupt_before(["writ"]);
    g.node("review", says("z"));
    insta::assert_snapshot!(g.compile().err().unwrap(), @r#"
    error[SS-001]: graph `story` cannot be compiled
      - edge `write` -> `revew`: no node `revew` (did you mean `review`?)
      - edge `__end__` -> `write`: nothing leads out of the end
      - breakpoint at unknown node `writ` (did you mean `write`?)
      - node `review` has no way out (add `edge("review", END)`, or declare where its commands lead)
    "#);
}

/// R-FWK-9: a node without edges is allowed when it declares where its commands lead.
#[test]
fn declared_goto_targets_are_a_way_out() {
    let mut g = graph("g");
    let a = g.node("a", node(Command::<Record>::end).goto([END]));
    g.edge(START, a);
    assert!(g.compile().is_ok());
}

/// R-FWK-9: an input or output schema that names a field the state lacks, or a private one, is refused.
#[test]
fn schema_problems_are_listed_with_the_others() {
    let found = problems(|g| {
        let a = g.node("a", says("a"));
        g.edge(START, a).edge(a, "nowhere").input(["titel"]).output(["secret"]);
    });
    for words in ["`titel`", "private field `secret`", "no node `nowhere`"] {
        assert!(found.iter().any(|problem| problem.contains(words)), "{words}: {found:?}");
    }
}

/// R-REF-12: what is added after compile does not change the compiled graph.
#[tokio::test]
async fn a_compiled_graph_does_not_change_any_more() {
    let mut g = graph("g");
    let a = g.node("a", says("a"));
    g.edge(START, a).edge(a, END);
    let first = g.compile().unwrap();
    let b = g.node("b", says("b"));
    g.edge(a, b).edge(b, END);
    let second = g.compile().unwrap();
    assert_eq!(field(&first.run(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a"]));
    assert_eq!(field(&second.run(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a", "b"]));
}
