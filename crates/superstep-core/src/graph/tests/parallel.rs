//! Tests of the warnings about nodes that may write the same field in one superstep.

use super::*;

fn writing(fields: &[&str]) -> NodeOptions {
    let writes = fields.iter().map(|name| (*name).to_owned()).collect();
    NodeOptions { writes: Some(writes), ..NodeOptions::default() }
}

/// Returns the pairs `left right field` in the warnings of a graph whose nodes all write `x`.
fn warned(field: Value, names: &[&str], build: impl FnOnce(&mut TopologyBuilder)) -> Vec<String> {
    let mut builder = TopologyBuilder::new("g", schema(json!({ "x": field })));
    for name in names {
        builder.node(name, true, writing(&["x"]));
    }
    build(&mut builder);
    let topology = builder.compile().expect("compiled");
    let named = |warning: String| warning.split('`').skip(1).step_by(2).take(3).collect::<Vec<_>>().join(" ");
    topology.warnings.into_iter().map(named).collect()
}

fn edges(edges: &'static [&'static str]) -> impl FnOnce(&mut TopologyBuilder) {
    move |builder| edges.iter().for_each(|edge| add_edge(builder, edge))
}

/// R-GRA-55: two nodes that can run in one superstep and both declare to write one field without a reducer cause a
/// warning.
#[test]
fn parallel_writers_of_one_value_are_warned_of() {
    assert_eq!(warned(json!({}), &["a", "b"], edges(&["> a", "> b", "a .", "b ."])), ["a b x"]);
    let later = warned(json!({}), &["a", "b", "c", "d"], edges(&["> a", "> b", "a c", "b d", "c .", "d ."]));
    assert_eq!(later, ["a b x", "c d x"]);
    let mut builder = TopologyBuilder::new("g", schema(json!({ "x": {} })));
    builder.node("a", true, writing(&["x"]));
    builder.node("b", true, writing(&["x"]));
    edges(&["> a", "> b", "a .", "b ."])(&mut builder);
    let warnings = builder.compile().expect("compiled").warnings;
    insta::assert_snapshot!(warnings.join("\n"), @"nodes `a` and `b` can run in the same superstep and both write `x`, which has no reducer; give it a reducer, mark it `last_wins`, or run them one after another");
}

/// R-GRA-55: no warning for nodes in sequence, for a reducer, for `last_wins`, for targets of one conditional edge,
/// and for nodes that declare nothing.
#[test]
fn writers_that_cannot_clash_are_not_warned_of() {
    let none = Vec::<String>::new();
    let parallel = &["> a", "> b", "a .", "b ."];
    assert_eq!(warned(json!({}), &["a", "b"], edges(&["> a", "a b", "b ."])), none);
    assert_eq!(warned(json!({ "reducer": "add" }), &["a", "b"], edges(parallel)), none);
    assert_eq!(warned(json!({ "on_conflict": "last_wins" }), &["a", "b"], edges(parallel)), none);
    let routed = warned(json!({}), &["s", "a", "b"], |builder| {
        edges(&["> s", "a .", "b ."])(builder);
        route(builder, "s", Some(&["a", "b"]));
    });
    assert_eq!(routed, none);
    let mut silent = graph_with_edges(&["a", "b"], parallel);
    assert_eq!(silent.compile().expect("compiled").warnings, none);
    *silent.options_mut(NodeId(0)).expect("a node") = writing(&["a"]);
    *silent.options_mut(NodeId(1)).expect("a node") = writing(&["b"]);
    assert_eq!(silent.compile().expect("compiled").warnings, none);
}

/// R-GRA-55: different conditional edges, or a conditional edge and an edge, of one node may lead to two nodes at
/// once.
#[test]
fn targets_of_different_exits_may_meet() {
    let warnings = warned(json!({}), &["s", "a", "b"], |builder| {
        edges(&["> s", "s a", "a .", "b ."])(builder);
        route(builder, "s", Some(&["b", "."]));
    });
    assert_eq!(warnings, ["a b x"]);
}

/// R-GRA-55: nodes that a join waits for do not run together with its target; other branches may.
#[test]
fn the_target_of_a_join_does_not_run_with_its_sources() {
    let warnings = warned(json!({}), &["short", "one", "two", "end", "other", "late"], |builder| {
        edges(&["> short", "> one", "> other", "one two", "other late", "end .", "late ."])(builder);
        builder.join(["short", "two"], "end");
    });
    for pair in ["short one x", "two late x", "end late x"] {
        assert!(warnings.iter().any(|warning| warning == pair), "{warnings:?}");
    }
    assert!(!warnings.iter().any(|warning| warning.starts_with("two end")), "{warnings:?}");
}
