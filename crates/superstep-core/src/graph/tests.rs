//! Tests of compilation: accepted and rejected graphs, and the compiled form.

use serde_json::{Value, json};

use super::*;
use crate::diagram::EdgeKind;
use crate::error::ErrorCode;

mod parallel;

pub(super) fn schema(fields: Value) -> Arc<Schema> {
    Schema::from_json("state", &fields).expect("a schema")
}

/// Builds a graph with these nodes.
pub(super) fn graph(names: &[&str]) -> TopologyBuilder {
    let mut builder = TopologyBuilder::new("g", schema(json!({ "a": {}, "b": {} })));
    for name in names {
        builder.node(name, true, NodeOptions::default());
    }
    builder
}

/// Builds a graph as [`graph`] does, with plain edges: `"a b"` leads from `a` to `b`, `>` is the start and `.` the
/// end.
pub(super) fn graph_with_edges(names: &[&str], edges: &[&str]) -> TopologyBuilder {
    let mut builder = graph(names);
    edges.iter().for_each(|edge| add_edge(&mut builder, edge));
    builder
}

fn add_edge(builder: &mut TopologyBuilder, edge: &str) {
    let (from, to) = edge.split_once(' ').expect("two ends");
    builder.edge(end(from), end(to));
}

fn end(name: &str) -> Endpoint {
    match name {
        ">" => START,
        "." => END,
        name => name.into(),
    }
}

/// Adds a conditional edge whose function is never called.
pub(super) fn route(builder: &mut TopologyBuilder, from: &str, targets: Option<&[&str]>) {
    let labelled = |name: &&str| (end(name), Some(format!("to {name}")));
    let targets = targets.map(|targets| targets.iter().map(labelled).collect());
    builder.route(end(from), Arc::new(|_: &AnyState| Ok(Goto::none())), targets);
}

pub(super) fn commanding(targets: &[&str]) -> NodeOptions {
    NodeOptions { goto_targets: Some(targets.iter().map(|name| end(name)).collect()), ..NodeOptions::default() }
}

/// Returns the messages for which the graph is rejected.
fn error_messages(builder: &TopologyBuilder) -> Vec<String> {
    match builder.compile() {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::InvalidGraph);
            error.diagnostics().iter().map(|diagnostic| diagnostic.message.clone()).collect()
        }
    }
}

/// R-FWK-1: the sentinels have these names, and these names are parsed as the sentinels.
#[test]
fn the_start_and_the_end_have_names() {
    assert_eq!((START_NAME, END_NAME), ("__start__", "__end__"));
    assert_eq!((Endpoint::from("__start__"), Endpoint::from("__end__")), (START, END));
    assert_eq!((START.to_string(), END.to_string()), (START_NAME.to_owned(), END_NAME.to_owned()));
    let mut named = graph(&["a"]);
    named.edge("__start__", "a");
    named.edge("a", "__end__");
    assert!(named.compile().is_ok());
}

/// R-FWK-9, R-REF-1, R-REF-2, R-REF-4, R-REF-9: each mistake alone has its own message and no other.
#[test]
fn every_mistake_has_its_own_message() {
    let rows: &[(&[&str], &[&str], &str)] = &[
        (&["a"], &["a ."], "`START` has no outgoing edge"),
        (&["one"], &["> one", "one .", "missing one"], "edge `missing` -> `one`: no node `missing`"),
        (&["one"], &["> one", "one .", "one missing"], "edge `one` -> `missing`: no node `missing`"),
        (&["a"], &["> a", "a .", ". a"], "edge `__end__` -> `a`: `END` cannot be a source"),
        (&["a"], &["> a", "a .", "a >"], "edge `a` -> `__start__`: `START` cannot be a target"),
        (&["a", "a"], &["> a", "a ."], "duplicate node `a`"),
        (&[""], &["> ", " ."], "the name of a node is empty"),
        (&["__a"], &["> __a", "__a ."], "node name `__a` is reserved"),
        (&["a|b"], &["> a|b", "a|b ."], "node name `a|b` contains `|` or `:`"),
        (&["a:b"], &["> a:b", "a:b ."], "node name `a:b` contains `|` or `:`"),
        (&["a"], &["> a"], "node `a` has no outgoing edge"),
        (&["a", "b"], &["> a", "a .", "b ."], "node `b` is unreachable"),
        (&["a", "b"], &["> a", "a b", "b a"], "`END` is unreachable from `a`, `b`"),
    ];
    for (names, edges, message) in rows {
        assert_eq!(error_messages(&graph_with_edges(names, edges)), [*message], "{names:?} {edges:?}");
    }
    let mut undefined = graph_with_edges(&[], &["> a", "a ."]);
    let id = undefined.node("a", false, NodeOptions::default());
    assert_eq!(error_messages(&undefined), ["node `a` has no handler"]);
    undefined.define(id, NodeOptions::default());
    assert!(undefined.compile().is_ok());
    let mut stopped = graph_with_edges(&["first"], &["> first", "first ."]);
    stopped.breakpoint("frist");
    stopped.breakpoint("*");
    assert_eq!(error_messages(&stopped), ["breakpoint at unknown node `frist`"]);
}

/// R-FWK-9: a sentinel cannot be the name of a node.
#[test]
fn a_node_cannot_be_called_like_a_sentinel() {
    for name in [START_NAME, END_NAME] {
        let messages = error_messages(&graph(&[name]));
        assert!(messages.contains(&format!("node name `{name}` is reserved")), "{messages:?}");
    }
}

/// R-FWK-9, R-REF-5: conditional edges, joins and declared commands follow the same rules; messages name both ends.
#[test]
fn routes_joins_and_commands_are_checked_too() {
    let mut builder = graph_with_edges(&["one", "two"], &["> one", "one two", "two ."]);
    route(&mut builder, "one", Some(&["nowhere", "."]));
    route(&mut builder, "zzz", Some(&["one"]));
    builder.join(["one", "qqq"], "two");
    builder.join(["one", "two"], "xxx");
    builder.join(Vec::<&str>::new(), "two");
    builder.join([START, "one".into()], "two");
    builder.node("jump", true, commanding(&["www", "two"]));
    builder.edge("one", "jump");
    builder.edge(NodeId(9), "two");
    builder.edge("two", NodeId(9));
    let expected = [
        "goto `jump` -> `www`: no node `www`",
        "edge into `two` has a source node of another graph",
        "edge from `two` has a target node of another graph",
        "route `one` -> `nowhere`: no node `nowhere`",
        "route `zzz` -> `one`: no node `zzz`",
        "join `qqq` -> `two`: no node `qqq`",
        "join `one, two` -> `xxx`: no node `xxx`",
        "join into `two` has no sources",
        "join into `two` has `START` as a source",
    ];
    assert_eq!(error_messages(&builder), expected);
}

/// R-FWK-9: the start of a graph may have a conditional edge, also one without declared targets; such a graph is
/// accepted.
#[test]
fn a_route_without_declared_targets_may_select_any_node() {
    let mut entered = graph_with_edges(&["a", "b"], &["a .", "b ."]);
    route(&mut entered, ">", None);
    assert_eq!(error_messages(&entered), Vec::<String>::new());
    let mut cycle = graph_with_edges(&["a", "b", "c"], &["> a", "a b", "b a", "c a"]);
    route(&mut cycle, "b", None);
    assert_eq!(error_messages(&cycle), Vec::<String>::new());
    let mut chosen = graph_with_edges(&["a", "b"], &["a .", "b ."]);
    route(&mut chosen, ">", Some(&["a"]));
    assert_eq!(error_messages(&chosen), ["node `b` is unreachable"]);
}

/// R-FWK-9: a node that declares the targets of its commands needs no outgoing edge, and its targets count as
/// reachable.
#[test]
fn declared_commands_count_as_exits() {
    let mut builder = graph(&["b"]);
    builder.node("a", true, commanding(&["b"]));
    builder.edge(START, "a");
    assert_eq!(error_messages(&builder), ["node `b` has no outgoing edge"]);
    builder.edge("b", END);
    assert!(builder.compile().is_ok());
    let mut silent = graph(&[]);
    silent.node("a", true, commanding(&[]));
    silent.edge(START, "a");
    assert!(silent.compile().is_ok());
}

/// R-FWK-9: a cycle ends through an edge, a conditional edge or a command; a command elsewhere in the graph does
/// not end it.
#[test]
fn a_cycle_needs_a_way_to_the_end() {
    let cycle = || graph_with_edges(&["a", "b", "z"], &["> a", "a b", "b a", "> z", "z ."]);
    assert_eq!(error_messages(&cycle()), ["`END` is unreachable from `a`, `b`"]);
    let mut routed = cycle();
    route(&mut routed, "b", Some(&["a", "."]));
    assert!(routed.compile().is_ok());
    let mut commanded = cycle();
    *commanded.options_mut(NodeId(0)).expect("a node") = commanding(&["."]);
    assert!(commanded.compile().is_ok());
    let mut elsewhere = cycle();
    *elsewhere.options_mut(NodeId(2)).expect("a node") = commanding(&["a"]);
    assert_eq!(error_messages(&elsewhere), ["`END` is unreachable from `a`, `b`"]);
}

/// R-FWK-9: a join that waits for a node that only runs after it is rejected; a join whose source can be reached
/// otherwise is not.
#[test]
fn a_join_that_can_never_fire_is_rejected() {
    let mut builder = graph_with_edges(&["a", "b", "c"], &["> a", "c b", "b .", "a ."]);
    builder.join(["a", "b"], "c");
    assert_eq!(error_messages(&builder), ["join into `c` can never fire: `b` runs only after `c`"]);
    builder.edge("a", "c");
    assert_eq!(error_messages(&builder), Vec::<String>::new());
    let mut itself = graph_with_edges(&["a", "c"], &["> a", "c ."]);
    itself.join(["a", "c"], "c");
    assert_eq!(error_messages(&itself), ["join into `c` can never fire: `c` runs only after `c`"]);
    let mut cycle = graph_with_edges(&["a", "b", "c", "d"], &["> a", "a b", "a c", "d a", "d ."]);
    cycle.join(["b", "c"], "d");
    assert_eq!(error_messages(&cycle), Vec::<String>::new());
}

/// R-FWK-9, R-GRA-54: all mistakes are listed at once, each of them once.
#[test]
fn all_problems_are_listed_at_once() {
    let mut builder = graph(&["plan", "act", "act", "lost", "__x", "a|b", "deaf"]);
    builder.node("idle", false, NodeOptions { writes: Some(vec!["nope".into()]), ..NodeOptions::default() });
    builder.input(["a", "question"]);
    builder.output(["bb"]);
    builder.edge(START, "plan");
    builder.edge("plan", "atc");
    builder.edge("ghost", "a|b");
    builder.edge("a|b", END);
    builder.edge("act", "nowhere at all");
    builder.edge(END, "idle");
    builder.edge("idle", START);
    builder.edge("plan", "__x");
    builder.edge("__x", "plan");
    builder.edge("plan", "deaf");
    builder.edge("lost", END);
    builder.breakpoint("plann");
    builder.add_diagnostic("the retry policy of `plan` has no attempts");
    let error = builder.compile().map(drop).expect_err("rejected");
    insta::assert_snapshot!(error, @r#"
    error[SS-001]: graph `g` is invalid
      - the retry policy of `plan` has no attempts
      - duplicate node `act` (rename one of them)
      - node name `__x` is reserved (names must not start with `__`)
      - node name `a|b` contains `|` or `:` (both are separators in paths)
      - node `idle` has no handler (give it a handler, or remove it)
      - the input schema has field `question`, which the state does not have (the fields are `a`, `b`)
      - the output schema has field `bb`, which the state does not have (the fields are `a`, `b`)
      - node `idle` writes unknown field `nope` (the fields are `a`, `b`)
      - edge `plan` -> `atc`: no node `atc` (did you mean `act`?)
      - edge `ghost` -> `a|b`: no node `ghost`
      - edge `act` -> `nowhere at all`: no node `nowhere at all`
      - edge `__end__` -> `idle`: `END` cannot be a source
      - edge `idle` -> `__start__`: `START` cannot be a target
      - breakpoint at unknown node `plann` (did you mean `plan`?)
      - node `lost` is unreachable (add an edge or a conditional edge to it, declare it as a `goto` target, or remove it)
      - node `deaf` has no outgoing edge (add an edge from `deaf` to `END`, or declare its `goto` targets)
    "#);
}

/// R-GRA-54: a field of the input or output that the state lacks is rejected, and so is a private one.
#[test]
fn input_and_output_have_only_fields_of_the_state() {
    let mut builder = TopologyBuilder::new("g", schema(json!({ "count": {}, "hidden": { "private": true } })));
    builder.node("n", true, NodeOptions { reads: Some(vec!["cuont".into()]), ..NodeOptions::default() });
    builder.edge(START, "n");
    builder.edge("n", END);
    builder.input(["count", "coutn"]);
    builder.output(["hidden", "other"]);
    let expected = [
        "the input schema has field `coutn`, which the state does not have",
        "private field `hidden` is in the output schema",
        "the output schema has field `other`, which the state does not have",
        "node `n` reads unknown field `cuont`",
    ];
    assert_eq!(error_messages(&builder), expected);
    builder.input(["count"]);
    builder.output(["count"]);
    builder.options_mut(NodeId(0)).expect("a node").reads = None;
    let topology = builder.compile().expect("compiled");
    assert_eq!((topology.input, topology.output), (vec![FieldId(0)], vec![FieldId(0)]));
}

/// R-GRA-53: without a declaration every field that is not private is in input and output.
#[test]
fn private_fields_are_in_neither_input_nor_output() {
    let mut builder = TopologyBuilder::new("g", schema(json!({ "count": {}, "hidden": { "private": true } })));
    builder.edge(START, END);
    let topology = builder.compile().expect("compiled");
    assert_eq!((topology.input, topology.output), (vec![FieldId(0)], vec![FieldId(0)]));
}

/// A node is found by a former name, which only one node may claim.
#[test]
fn a_former_name_belongs_to_one_node() {
    let renamed = |name: &str| NodeOptions { former_names: vec![name.to_owned()], ..NodeOptions::default() };
    let mut builder = graph_with_edges(&[], &["> a", "a b", "b ."]);
    builder.node("a", true, renamed("old"));
    builder.node("b", true, renamed("older"));
    let topology = builder.compile().expect("compiled");
    assert_eq!((topology.find_node("old"), topology.find_node("older")), (Some(NodeId(0)), Some(NodeId(1))));
    builder.options_mut(NodeId(1)).expect("a node").former_names = vec!["old".to_owned()];
    assert_eq!(error_messages(&builder), ["nodes `a` and `b` both declare the former name `old`"]);
}

/// R-FWK-10: a diagram has every edge with its kind and label, and every node with its kind.
#[test]
fn a_drawing_shows_every_edge() {
    let mut builder = graph_with_edges(&["a", "b", "c"], &["> a", "a b", "c ."]);
    route(&mut builder, "a", Some(&["c", "."]));
    builder.join(["b", "a"], "c");
    let options = NodeOptions { defer: true, ..commanding(&["b", "."]) };
    builder.node("d", true, options);
    builder.edge("a", "d");
    let diagram = builder.compile().expect("compiled").diagram();
    let descriptions: Vec<String> = diagram
        .edges
        .iter()
        .map(|edge| format!("{} -> {} {:?} {}", edge.from, edge.to, edge.kind, edge.label.as_deref().unwrap_or("-")))
        .collect();
    let expected = [
        "__start__ -> a Plain -",
        "a -> b Plain -",
        "a -> d Plain -",
        "a -> c Conditional to c",
        "a -> __end__ Conditional to .",
        "c -> __end__ Plain -",
        "d -> b Goto -",
        "d -> __end__ Goto -",
        "a -> c Join { join: 0 } -",
        "b -> c Join { join: 0 } -",
    ];
    assert_eq!(descriptions, expected);
    let nodes: Vec<(&str, bool)> = diagram.nodes.iter().map(|node| (&*node.id, node.deferred)).collect();
    assert_eq!(
        nodes,
        [("__start__", false), ("a", false), ("b", false), ("c", false), ("d", true), ("__end__", false)]
    );
    assert_eq!(diagram.edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::Join { .. })).count(), 2);
}

/// Compile time is linear in the size of the graph: a chain, and a ladder full of joins in one cycle.
#[test]
fn large_graphs_compile_in_proportion_to_their_size() {
    const LENGTH: u32 = 3_000;
    let mut chain = TopologyBuilder::new("chain", schema(json!({})));
    for index in 0..LENGTH {
        chain.node(&format!("n{index}"), true, NodeOptions { writes: Some(Vec::new()), ..NodeOptions::default() });
        chain.edge(if index == 0 { START } else { Endpoint::from(NodeId(index - 1)) }, NodeId(index));
    }
    chain.edge(NodeId(LENGTH - 1), END);
    let chain = chain.compile().expect("compiled");
    assert_eq!((chain.nodes.len(), chain.exits.iter().map(|exits| exits.edges.len()).sum::<usize>()), (3_000, 2_999));
    let mut ladder = TopologyBuilder::new("ladder", schema(json!({})));
    for index in 0..LENGTH {
        ladder.node(&format!("n{index}"), true, NodeOptions::default());
    }
    ladder.edge(START, NodeId(0));
    for rung in (0..LENGTH - 3).step_by(3) {
        ladder.edge(NodeId(rung), NodeId(rung + 1));
        ladder.edge(NodeId(rung), NodeId(rung + 2));
        ladder.join([NodeId(rung + 1), NodeId(rung + 2)], NodeId(rung + 3));
    }
    let last = LENGTH - 3;
    ladder.edge(NodeId(last), NodeId(last + 1));
    ladder.edge(NodeId(last), NodeId(last + 2));
    ladder.edge(NodeId(last + 1), NodeId(0));
    ladder.edge(NodeId(last + 2), END);
    let ladder = ladder.compile().expect("compiled");
    assert_eq!(ladder.joins.len(), 999);
}
