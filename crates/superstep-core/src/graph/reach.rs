//! Follows the edges of a graph: what can be reached, what can end, which joins can fill.
//!
//! A route without declared targets, and a node that says nothing of its commands beyond edges, may lead
//! anywhere the drawing does not show; such a graph is given the benefit of the doubt.

use super::validate::Problems;
use super::{Exits, Target, Topology};
use crate::id::NodeId;

pub(super) fn check(topology: &Topology, problems: &mut Problems) {
    let start = &topology.start;
    if start.edges.is_empty() && start.routes.is_empty() && !start.ends {
        problems.add("nothing leads out of the start", Some("add an edge from `START` to the first node".to_owned()));
        return;
    }
    if leads_anywhere(start) || topology.exits.iter().any(leads_anywhere) {
        check_exits(topology, problems);
        return;
    }
    let reached = reachable(topology, None);
    for (index, node) in topology.nodes.iter().enumerate().filter(|(index, _)| !reached[*index]) {
        let _ = index;
        let help = "add an edge or a route to it, declare it as a `goto` target, or remove it";
        problems.add(format!("node `{}` cannot be reached", node.name), Some(help.to_owned()));
    }
    for join in &topology.joins {
        let without_target = reachable(topology, Some(join.target));
        for source in join.sources.iter().filter(|source| reached[source.index()] && !without_target[source.index()]) {
            let (target, source) = (&topology.node(join.target).name, &topology.node(*source).name);
            problems.add(
                format!("join into `{target}` can never fill: `{source}` runs only after `{target}`"),
                Some("use a plain edge, or leave that source out".to_owned()),
            );
        }
    }
    check_exits(topology, problems);
}

fn check_exits(topology: &Topology, problems: &mut Problems) {
    for (node, exits) in topology.nodes.iter().zip(&topology.exits) {
        let leads_on = !exits.edges.is_empty() || exits.ends || !exits.routes.is_empty() || !exits.joins.is_empty();
        if !leads_on && node.goto.is_none() {
            let help = format!("add `edge(\"{}\", END)`, or declare where its commands lead", node.name);
            problems.add(format!("node `{}` has no way out", node.name), Some(help));
        }
    }
    if problems_free_cycles(topology) {
        return;
    }
    let ends = can_end(topology);
    let stuck: Vec<String> = (topology.nodes.iter().zip(ends))
        .filter(|(_, ends)| !ends)
        .map(|(node, _)| format!("`{}`", node.name))
        .collect();
    if !stuck.is_empty() {
        let help = "give one of them an edge or a route to `END`";
        problems.add(format!("no way to the end from {}", stuck.join(", ")), Some(help.to_owned()));
    }
}

/// Whether some node's exits are not fully drawn, so that a missing end proves nothing.
fn problems_free_cycles(topology: &Topology) -> bool {
    topology.exits.iter().any(leads_anywhere) || topology.nodes.iter().any(|node| node.goto.is_some())
}

fn leads_anywhere(exits: &Exits) -> bool {
    exits.routes.iter().any(|route| route.targets.is_none())
}

/// The nodes an edge, route, join or declared command leads to.
pub(super) fn successors(topology: &Topology, id: NodeId) -> Vec<NodeId> {
    let mut targets = drawn(&topology.exits[id.index()]);
    targets.extend(topology.exits[id.index()].joins.iter().map(|(join, _)| topology.joins[*join as usize].target));
    let goto = topology.node(id).goto.iter().flatten();
    targets.extend(goto.filter_map(|target| match target {
        Target::Node(id) => Some(*id),
        Target::End => None,
    }));
    targets
}

fn drawn(exits: &Exits) -> Vec<NodeId> {
    let mut targets = exits.edges.clone();
    let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten());
    targets.extend(routed.filter_map(|(target, _)| match target {
        Target::Node(id) => Some(*id),
        Target::End => None,
    }));
    targets
}

/// Which nodes can be reached from the start without entering `without`.
fn reachable(topology: &Topology, without: Option<NodeId>) -> Vec<bool> {
    let mut reached = vec![false; topology.nodes.len()];
    let mut open = drawn(&topology.start);
    while let Some(id) = open.pop() {
        if Some(id) == without || std::mem::replace(&mut reached[id.index()], true) {
            continue;
        }
        open.extend(successors(topology, id));
    }
    reached
}

/// From which nodes the end can be reached.
fn can_end(topology: &Topology) -> Vec<bool> {
    let total = topology.nodes.len();
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); total];
    let mut open = Vec::new();
    let mut ends = vec![false; total];
    for index in 0..total {
        let id = NodeId(index as u32);
        successors(topology, id).into_iter().for_each(|next| before[next.index()].push(id));
        let exits = &topology.exits[index];
        let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten());
        let declared = topology.node(id).goto.iter().flatten();
        if exits.ends || routed.map(|(target, _)| target).chain(declared).any(|target| *target == Target::End) {
            open.push(id);
        }
        // A node whose commands lead elsewhere only has no way out of its own; that was said already.
        if successors(topology, id).is_empty() && topology.node(id).goto.is_some() {
            open.push(id);
        }
    }
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut ends[id.index()], true) {
            open.extend(&before[id.index()]);
        }
    }
    ends
}
