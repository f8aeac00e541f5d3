//! Diagrams as JSON, Mermaid, DOT, text and SVG.

use serde_json::{Value, json};
use superstep::DynamicState;
use superstep::core::diagram::Diagram;
use superstep::prelude::*;

use crate::fixtures::{graph, log_word};

fn drawing() -> Diagram {
    let mut inner = graph("inner");
    let deep = inner.add_node("deep", log_word("deep"));
    inner.add_edge(START, deep).add_edge(deep, END);
    let mut g = graph("outer");
    let (left, right) = (g.add_node("left", log_word("l")), g.add_node("right", log_word("r")));
    let begin = g.add_node("begin", node(log_word("b")).metadata("team", "red").tag("slow"));
    let join = g.add_node("join", log_word("j"));
    let child = g.add_node("child", inner.compile().unwrap());
    let last = g.add_node("last", node(Command::<DynamicState>::end).goto_targets([begin.into(), END]).defer());
    g.add_edge(START, begin).add_edge(begin, left).add_edge(begin, right).add_join([left, right], join);
    g.add_conditional_edges_by_key(join, |_| "again", [("again", begin), ("on", child)], Some(END))
        .add_edge(child, last);
    g.compile().unwrap().diagram()
}

fn edge(drawing: &Value, from: &str, to: &str) -> Value {
    let edges = drawing["edges"].as_array().unwrap();
    edges.iter().find(|edge| edge["source"] == from && edge["target"] == to).cloned().unwrap_or(Value::Null)
}

fn node_of(drawing: &Value, id: &str) -> Value {
    drawing["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).cloned().unwrap_or(Value::Null)
}

/// R-FWK-10, R-FWK-2: the JSON has nodes with metadata, edges, conditions with labels, joins and subgraphs.
#[test]
fn the_diagram_json_is_complete() {
    let json = drawing().to_json();
    assert_eq!(json["name"], "outer");
    assert_eq!(node_of(&json, "begin")["metadata"], json!({ "team": "red", "tags": ["slow"] }));
    assert_eq!(node_of(&json, "last")["deferred"], true);
    assert_eq!(node_of(&json, "__start__")["kind"], "start");
    assert_eq!(node_of(&json, "child")["graph"]["nodes"][1]["id"], "deep");
    assert_eq!(edge(&json, "begin", "left")["kind"], "plain");
    let (left, right) = (edge(&json, "left", "join"), edge(&json, "right", "join"));
    assert_eq!((&left["kind"], &left["join"]), (&json!("join"), &right["join"]));
    assert_eq!(edge(&json, "join", "begin")["label"], "again");
    assert_eq!(edge(&json, "join", "__end__")["label"], "otherwise");
    assert_eq!(edge(&json, "join", "child")["conditional"], true);
    assert_eq!(edge(&json, "last", "__end__")["kind"], "goto");
}

/// R-FWK-10: every format shows every node, the subgraph and the labels of conditions.
#[test]
fn every_form_shows_every_node() {
    let drawing = drawing();
    for form in [drawing.to_mermaid(), drawing.to_dot(), drawing.to_text(), drawing.to_svg()] {
        for word in ["begin", "left", "right", "join", "child", "deep", "last", "again", "on", "otherwise"] {
            assert!(form.contains(word), "{word} in {form}");
        }
    }
}

/// R-FWK-10: a conditional edge without a map is drawn with its declared targets.
#[test]
fn a_route_without_a_map_is_drawn_with_its_targets() {
    let mut g = graph("g");
    let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
    g.add_edge(START, a)
        .add_conditional_edges(a, move |_: &DynamicState| Goto::node(b), [b.into(), END])
        .add_edge(b, END);
    let drawing = g.compile().unwrap().diagram();
    let json = drawing.to_json();
    assert_eq!(
        (&edge(&json, "a", "b")["kind"], &edge(&json, "a", "__end__")["kind"]),
        (&json!("conditional"), &json!("conditional"))
    );
    let lines = drawing.to_text();
    assert!(lines.contains("a ┄► b") && lines.contains("a ┄► __end__") && lines.contains("b ─► __end__"), "{lines}");
}
