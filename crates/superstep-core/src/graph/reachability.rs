//! Reachability checks: unreachable nodes, nodes that cannot reach the end, joins that cannot fire.
//!
//! A conditional edge without declared targets may go to any node, and so may an edge to a node that does not
//! exist; such a graph is accepted. Every node and edge is visited a fixed number of times, so compile time is
//! linear in the size of the graph.

use super::dominators::Dominators;
use super::validate::GraphDiagnostics;
use super::{OutgoingEdges, ResolvedTarget, Topology};
use crate::id::NodeId;

pub(super) fn check(topology: &Topology, diagnostics: &mut GraphDiagnostics) {
    let start = &topology.start;
    let has_dangling_edge = diagnostics.dangling_sources.contains(&None);
    if start.edges.is_empty() && start.routes.is_empty() && !start.reaches_end && !has_dangling_edge {
        diagnostics.add("`START` has no outgoing edge", Some("add an edge from `START` to the first node".to_owned()));
    } else if !has_dangling_edge && !has_dynamic_target(start) && !topology.exits.iter().any(has_dynamic_target) {
        check_reachable(topology, diagnostics);
    }
    check_terminating(topology, diagnostics);
}

fn check_reachable(topology: &Topology, diagnostics: &mut GraphDiagnostics) {
    let flow = flow_dominators(topology, &diagnostics.dangling_targets);
    for (_, node) in topology.nodes.iter().enumerate().filter(|(index, _)| !flow.is_reachable(*index)) {
        let help = "add an edge or a conditional edge to it, declare it as a `goto` target, or remove it";
        diagnostics.add(format!("node `{}` is unreachable", node.name), Some(help.to_owned()));
    }
    for (number, join) in topology.joins.iter().enumerate() {
        let vertex = topology.nodes.len() + number;
        for source in join.sources.iter().filter(|source| flow.dominates(vertex, source.index())) {
            let (target, source) = (&topology.node(join.target).name, &topology.node(*source).name);
            diagnostics.add(
                format!("join into `{target}` can never fire: `{source}` runs only after `{target}`"),
                Some("use a plain edge, or remove that source".to_owned()),
            );
        }
    }
}

fn check_terminating(topology: &Topology, diagnostics: &mut GraphDiagnostics) {
    for (index, node) in topology.nodes.iter().enumerate() {
        let has_dangling_edge = diagnostics.dangling_sources.contains(&Some(NodeId(index as u32)));
        if node.goto_targets.is_none() && !has_dangling_edge && !has_successor(&topology.exits[index]) {
            let help = format!("add an edge from `{}` to `END`, or declare its `goto` targets", node.name);
            diagnostics.add(format!("node `{}` has no outgoing edge", node.name), Some(help));
        }
    }
    let ends = can_reach_end(topology, diagnostics);
    let stuck: Vec<String> = (topology.nodes.iter().zip(ends))
        .filter(|(_, ends)| !ends)
        .map(|(node, _)| format!("`{}`", node.name))
        .collect();
    if !stuck.is_empty() {
        let help = "give one of them an edge or a conditional edge to `END`";
        diagnostics.add(format!("`END` is unreachable from {}", stuck.join(", ")), Some(help.to_owned()));
    }
}

fn has_successor(exits: &OutgoingEdges) -> bool {
    !exits.edges.is_empty() || exits.reaches_end || !exits.routes.is_empty() || !exits.joins.is_empty()
}

fn has_dynamic_target(exits: &OutgoingEdges) -> bool {
    exits.routes.iter().any(|route| route.targets.is_none())
}

/// Returns the nodes that an edge, conditional edge or declared command leads to, without joins.
pub(super) fn direct_successors(topology: &Topology, id: NodeId) -> Vec<NodeId> {
    let mut targets = declared_targets(&topology.exits[id.index()]);
    targets.extend(topology.node(id).goto_targets.iter().flatten().filter_map(|target| target.node()));
    targets
}

/// Returns the nodes that an edge, conditional edge, join or declared command leads to.
pub(super) fn successors(topology: &Topology, id: NodeId) -> Vec<NodeId> {
    let mut targets = direct_successors(topology, id);
    targets.extend(topology.exits[id.index()].joins.iter().map(|(join, _)| topology.joins[*join as usize].target));
    targets
}

fn declared_targets(exits: &OutgoingEdges) -> Vec<NodeId> {
    let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten());
    exits.edges.iter().copied().chain(routed.filter_map(|(target, _)| target.node())).collect()
}

/// Computes the dominators of the flow from the start through nodes and joins; joins are separate vertices after
/// the nodes.
fn flow_dominators(topology: &Topology, entered: &[NodeId]) -> Dominators {
    let total = topology.nodes.len();
    let mut next: Vec<Vec<usize>> = Vec::with_capacity(total + topology.joins.len() + 1);
    for index in 0..total {
        let targets = direct_successors(topology, NodeId(index as u32)).into_iter().map(NodeId::index);
        let joins = topology.exits[index].joins.iter().map(|(join, _)| total + *join as usize);
        next.push(targets.chain(joins).collect());
    }
    next.extend(topology.joins.iter().map(|join| vec![join.target.index()]));
    next.push(
        declared_targets(&topology.start).into_iter().chain(entered.iter().copied()).map(NodeId::index).collect(),
    );
    Dominators::new(&next)
}

/// Marks the nodes from which the end can be reached.
fn can_reach_end(topology: &Topology, diagnostics: &GraphDiagnostics) -> Vec<bool> {
    let total = topology.nodes.len();
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); total];
    let mut open = Vec::new();
    for index in 0..total {
        let (id, exits) = (NodeId(index as u32), &topology.exits[index]);
        successors(topology, id).into_iter().for_each(|next| before[next.index()].push(id));
        let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten()).map(|(target, _)| target);
        let declared = topology.node(id).goto_targets.iter().flatten();
        let is_drawn = exits.reaches_end || routed.chain(declared).any(|target| *target == ResolvedTarget::End);
        // A node without edges ends its branch if its command names no target; a node with no outgoing edge at all
        // was already reported.
        if is_drawn
            || has_dynamic_target(exits)
            || !has_successor(exits)
            || diagnostics.dangling_sources.contains(&Some(id))
        {
            open.push(id);
        }
    }
    let mut ends = vec![false; total];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut ends[id.index()], true) {
            open.extend(&before[id.index()]);
        }
    }
    ends
}
