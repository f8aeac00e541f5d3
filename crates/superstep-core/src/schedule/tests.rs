//! Tests of scheduling: edges, joins, sends, deferred nodes and the fixed order of tasks.

use serde_json::json;

use super::*;
use crate::graph::{END, Endpoint, NodeOptions, START, TopologyBuilder};
use crate::schema::Schema;

/// Builds a graph of these nodes (`~` marks a deferred node) with plain edges such as `"a b"`; `>` is the start.
fn graph(nodes: &[&str], edges: &[&str], joins: &[(&[&str], &str)]) -> TopologyBuilder {
    let mut builder = TopologyBuilder::new("g", Schema::from_json("state", &json!({})).unwrap());
    for name in nodes {
        // Every node may go to any node by a command, so that a test declares only the edges it examines.
        let options =
            NodeOptions { defer: name.starts_with('~'), goto_targets: Some(Vec::new()), ..NodeOptions::default() };
        let id = builder.node(name.trim_start_matches('~'), true, options);
        builder.route(id, std::sync::Arc::new(|_: &crate::field::AnyState| Ok(crate::command::Goto::none())), None);
    }
    for edge in edges {
        let (from, to) = edge.split_once(' ').unwrap();
        let end = |name: &str| match name {
            ">" => START,
            "." => END,
            name => Endpoint::from(name),
        };
        builder.edge(end(from), end(to));
    }
    for (sources, target) in joins {
        builder.join(sources.iter().copied(), *target);
    }
    builder
}

fn compiled(nodes: &[&str], edges: &[&str], joins: &[(&[&str], &str)]) -> Topology {
    graph(nodes, edges, joins).compile().unwrap()
}

fn follow_edges() -> Routing {
    Routing { follow_edges: true, targets: SmallVec::new() }
}

fn goto(topology: &Topology, names: &[&str]) -> Routing {
    let target = |name: &&str| NextTask::new(topology.find_node(name).unwrap(), TriggerKind::Goto, None);
    Routing { follow_edges: false, targets: names.iter().map(target).collect() }
}

fn send(topology: &Topology, name: &str, payload: usize) -> NextTask {
    let input = SendInput { index: 0, payload: json!(payload).into(), timeout: None };
    NextTask {
        send: Some(Arc::new(input)),
        ..NextTask::new(topology.find_node(name).unwrap(), TriggerKind::Send, None)
    }
}

/// Formats the next tasks as node names; a send includes its payload.
fn next_tasks(topology: &Topology, position: &Position) -> String {
    let format_task = |task: &NextTask| match &task.send {
        Some(send) => format!("{}({:?})", topology.node(task.node).name, send.payload),
        None => topology.node(task.node).name.to_string(),
    };
    position.next_tasks.iter().map(format_task).collect::<Vec<_>>().join(" ")
}

fn start(topology: &Topology) -> Position {
    let mut position = Position::default();
    schedule_next(topology, &mut position, [(None, follow_edges())].into_iter());
    position
}

/// Finishes these tasks and returns the next tasks.
fn finish(topology: &Topology, position: &mut Position, tasks: &[(&str, Routing)]) -> String {
    let finished = tasks.iter().map(|(name, routing)| (topology.find_node(name), routing.clone()));
    schedule_next(topology, position, finished);
    next_tasks(topology, position)
}

/// Runs at most `max` supersteps in which every task follows its edges, and returns the tasks of each.
fn walk(topology: &Topology, max: usize) -> Vec<String> {
    let mut position = start(topology);
    let mut steps = Vec::new();
    while !position.next_tasks.is_empty() && steps.len() < max {
        steps.push(next_tasks(topology, &position));
        let ran: Vec<Option<NodeId>> = position.next_tasks.iter().map(|task| Some(task.node)).collect();
        schedule_next(topology, &mut position, ran.into_iter().map(|node| (node, follow_edges())));
    }
    steps
}

/// R-FWK-3: a join fires when all its sources have finished, in the same superstep or in different ones.
#[test]
fn a_join_waits_for_all_its_sources() {
    let same = compiled(&["a", "b", "c"], &["> a", "> b"], &[(&["a", "b"], "c")]);
    assert_eq!(walk(&same, 9), ["a b", "c"]);
    let different = compiled(&["a", "b", "b2", "b3", "c"], &["> a", "> b", "b b2", "b2 b3"], &[(&["a", "b3"], "c")]);
    assert_eq!(walk(&different, 9), ["a b", "b2", "b3", "c"]);
    let first = compiled(&["a", "a2", "b", "c"], &["> a", "> b", "a a2"], &[(&["a2", "b"], "c")]);
    assert_eq!(walk(&first, 9), ["a b", "a2", "c"]);
}

/// R-FWK-3: a join fires again only after all its sources have finished again.
#[test]
fn a_join_re_arms_when_it_has_fired() {
    let topology = compiled(&["a", "b", "c"], &["> a", "> b", "c a", "c b"], &[(&["a", "b"], "c")]);
    assert_eq!(walk(&topology, 6), ["a b", "c", "a b", "c", "a b", "c"]);
    let half = compiled(&["a", "b", "c"], &["> a", "> b", "c a"], &[(&["a", "b"], "c")]);
    assert_eq!(walk(&half, 6), ["a b", "c", "a"]);
}

/// R-FWK-3: a source that finishes twice counts as one source.
#[test]
fn a_source_that_arrives_twice_counts_once() {
    let topology = compiled(&["a", "b", "c"], &["> a", "a a"], &[(&["a", "b"], "c")]);
    let mut position = start(&topology);
    for _ in 0..3 {
        assert_eq!(finish(&topology, &mut position, &[("a", follow_edges())]), "a");
    }
    assert_eq!(position.joins, [JoinProgress { join: 0, arrived: SmallVec::from_slice(&[0]) }]);
    assert_eq!(finish(&topology, &mut position, &[("a", goto(&topology, &["b"]))]), "b");
    assert_eq!(finish(&topology, &mut position, &[("b", follow_edges())]), "c");
    assert_eq!(position.joins, []);
}

/// R-FWK-3: a plain edge to the target of a join is followed at once and does not fill the join. If the edge and
/// the join fire in one superstep, the target runs once.
#[test]
fn a_plain_edge_does_not_fill_a_join() {
    let later = compiled(&["a", "b", "b2", "c"], &["> a", "> b", "a c", "b b2"], &[(&["a", "b2"], "c")]);
    assert_eq!(walk(&later, 9), ["a b", "b2 c", "c"]);
    let same = compiled(&["a", "b", "c"], &["> a", "> b", "a c"], &[(&["a", "b"], "c")]);
    assert_eq!(walk(&same, 9), ["a b", "c"]);
}

/// R-FWK-3: two joins on shared sources are independent, and a join of one source is an edge.
#[test]
fn joins_do_not_share_arrivals() {
    let joins: &[(&[&str], &str)] = &[(&["a", "b"], "d"), (&["a", "c"], "e"), (&["a"], "f")];
    let topology = compiled(&["a", "b", "b2", "c", "d", "e", "f"], &["> a", "> c", "a b"], joins);
    assert_eq!(walk(&topology, 9), ["a c", "b e f", "d"]);
}

/// R-FWK-3: a command that replaces the edges of a task does not count as an arrival at a join.
#[test]
fn a_command_in_place_of_edges_fills_no_join() {
    let topology = compiled(&["a", "b", "c", "d"], &["> a", "> b"], &[(&["a", "b"], "c")]);
    let mut position = start(&topology);
    let tasks = [("a", goto(&topology, &["d", "d"])), ("b", follow_edges())];
    assert_eq!(finish(&topology, &mut position, &tasks), "d");
    assert_eq!(position.joins, [JoinProgress { join: 0, arrived: SmallVec::from_slice(&[1]) }]);
}

/// R-FWK-2, R-REF-24: a deferred node runs once, after all other nodes, for branches of any length.
#[test]
fn a_deferred_node_runs_last_and_once() {
    let names: Vec<String> = (0..6).flat_map(|step| [format!("l{step}"), format!("r{step}")]).collect();
    let mut nodes: Vec<&str> = vec!["~end"];
    nodes.extend(names.iter().map(String::as_str));
    for (left, right) in (1..=6_usize).flat_map(|left| (1..=6_usize).map(move |right| (left, right))) {
        let branch = |side: &str, length: usize| {
            let mut edges = vec![format!("> {side}0")];
            edges.extend((1..length).map(|step| format!("{side}{} {side}{step}", step - 1)));
            edges.push(format!("{side}{} end", length - 1));
            edges
        };
        let edges: Vec<String> = branch("l", left).into_iter().chain(branch("r", right)).collect();
        let topology = compiled(&nodes, &edges.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        let steps = walk(&topology, 20);
        assert_eq!(steps.len(), left.max(right) + 1, "{steps:?}");
        assert_eq!(steps.iter().filter(|step| step.contains("end")).collect::<Vec<_>>(), ["end"], "{steps:?}");
    }
}

/// R-FWK-2: several deferred nodes are released together and their successors run; a deferred node that is
/// scheduled again is deferred again.
#[test]
fn deferred_nodes_are_released_together() {
    let topology = compiled(&["~y", "~x", "a", "b"], &["> x", "> a", "a y", "x b", "b y"], &[]);
    assert_eq!(walk(&topology, 9), ["a", "y x", "b", "y"]);
    let only = compiled(&["~x"], &["> x", "x ."], &[]);
    assert_eq!(walk(&only, 9), ["x"]);
    let position = start(&topology);
    assert_eq!(position.deferred, [topology.find_node("x").unwrap()]);
}

/// R-GRA-44, R-REF-33: next tasks are sorted by registration, then by send index; in compatibility mode by name, then
/// sends by index.
#[test]
fn due_tasks_have_a_fixed_order() {
    for (compat, expected) in
        [(Compat::Strict, "s b b(1) b(3) a a(0) a(2)"), (Compat::LangGraph, "a b s a(0) b(1) a(2) b(3)")]
    {
        let mut builder = graph(&["s", "b", "a"], &["> s", "s s", "s b"], &[]);
        builder.compat(compat);
        let topology = builder.compile().unwrap();
        let mut routing = goto(&topology, &["a", "b"]);
        routing.follow_edges = true;
        routing
            .targets
            .extend([("a", 0), ("b", 1), ("a", 2), ("b", 3)].map(|(name, payload)| send(&topology, name, payload)));
        let mut position = start(&topology);
        assert_eq!(finish(&topology, &mut position, &[("s", routing)]), expected, "{compat:?}");
    }
}

/// R-FWK-6, R-GRA-44: sends keep their order, also for more than ten sends and for sends of several tasks.
#[test]
fn sends_keep_their_order() {
    let topology = compiled(&["s", "t", "w"], &["> s", "> t"], &[]);
    let sends = |from: usize, to: usize| Routing {
        follow_edges: true,
        targets: (from..to).map(|payload| send(&topology, "w", payload)).collect(),
    };
    let mut position = start(&topology);
    let actual = finish(&topology, &mut position, &[("s", sends(0, 13)), ("t", sends(13, 25))]);
    let expected: Vec<String> = (0..25).map(|payload| format!("w({payload})")).collect();
    assert_eq!(actual, expected.join(" "));
    let indexes: Vec<u32> = position.next_tasks.iter().map(NextTask::send_index).collect();
    assert_eq!(indexes, (1..=25).collect::<Vec<u32>>());
}

/// R-GRA-44: the order in which tasks finish does not change the next tasks.
#[test]
fn next_tasks_do_not_depend_on_completion_order() {
    let joins: &[(&[&str], &str)] = &[(&["a", "b"], "d"), (&["b", "c"], "e")];
    let topology = compiled(&["a", "b", "c", "d", "e", "f", "~g"], &["> a", "> b", "> c", "a f", "c f", "b g"], joins);
    for order in [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["b", "c", "a"], ["c", "a", "b"], ["c", "b", "a"]]
    {
        let mut position = start(&topology);
        let actual = finish(&topology, &mut position, &order.map(|name| (name, follow_edges())));
        assert_eq!((&*actual, position.deferred.len()), ("d e f", 1), "{order:?}");
    }
}
