//! Follows the edges of a graph: what can be reached, what can end, which joins can fill.
//!
//! A route without declared targets may lead anywhere the drawing does not show, and so may an edge to a
//! place that does not exist; such a graph is given the benefit of the doubt. Every node and edge is looked
//! at a fixed number of times, so that large graphs compile as fast as they are built.

use super::dominate::Dominators;
use super::validate::Problems;
use super::{Exits, Target, Topology};
use crate::id::NodeId;

pub(super) fn check(topology: &Topology, problems: &mut Problems) {
    let start = &topology.start;
    let is_loose = problems.loose.contains(&None);
    if start.edges.is_empty() && start.routes.is_empty() && !start.ends && !is_loose {
        problems.add("nothing leads out of the start", Some("add an edge from `START` to the first node".to_owned()));
    } else if !is_loose && !leads_anywhere(start) && !topology.exits.iter().any(leads_anywhere) {
        check_ways_in(topology, problems);
    }
    check_ways_out(topology, problems);
}

fn check_ways_in(topology: &Topology, problems: &mut Problems) {
    let flow = flow(topology, &problems.entered);
    for (_, node) in topology.nodes.iter().enumerate().filter(|(index, _)| !flow.is_reached(*index)) {
        let help = "add an edge or a route to it, declare it as a `goto` target, or remove it";
        problems.add(format!("node `{}` cannot be reached", node.name), Some(help.to_owned()));
    }
    for (number, join) in topology.joins.iter().enumerate() {
        let vertex = topology.nodes.len() + number;
        for source in join.sources.iter().filter(|source| flow.dominates(vertex, source.index())) {
            let (target, source) = (&topology.node(join.target).name, &topology.node(*source).name);
            problems.add(
                format!("join into `{target}` can never fill: `{source}` runs only after `{target}`"),
                Some("use a plain edge, or leave that source out".to_owned()),
            );
        }
    }
}

fn check_ways_out(topology: &Topology, problems: &mut Problems) {
    for (index, node) in topology.nodes.iter().enumerate() {
        let is_loose = problems.loose.contains(&Some(NodeId(index as u32)));
        if node.goto.is_none() && !is_loose && !leads_on(&topology.exits[index]) {
            let help = format!("add `edge(\"{}\", END)`, or declare where its commands lead", node.name);
            problems.add(format!("node `{}` has no way out", node.name), Some(help));
        }
    }
    let ends = can_end(topology, problems);
    let stuck: Vec<String> = (topology.nodes.iter().zip(ends))
        .filter(|(_, ends)| !ends)
        .map(|(node, _)| format!("`{}`", node.name))
        .collect();
    if !stuck.is_empty() {
        let help = "give one of them an edge or a route to `END`";
        problems.add(format!("no way to the end from {}", stuck.join(", ")), Some(help.to_owned()));
    }
}

fn leads_on(exits: &Exits) -> bool {
    !exits.edges.is_empty() || exits.ends || !exits.routes.is_empty() || !exits.joins.is_empty()
}

fn leads_anywhere(exits: &Exits) -> bool {
    exits.routes.iter().any(|route| route.targets.is_none())
}

/// The nodes an edge, route or declared command leads to, without joins.
pub(super) fn direct(topology: &Topology, id: NodeId) -> Vec<NodeId> {
    let mut targets = drawn(&topology.exits[id.index()]);
    targets.extend(topology.node(id).goto.iter().flatten().filter_map(|target| target.node()));
    targets
}

/// The nodes an edge, route, join or declared command leads to.
pub(super) fn successors(topology: &Topology, id: NodeId) -> Vec<NodeId> {
    let mut targets = direct(topology, id);
    targets.extend(topology.exits[id.index()].joins.iter().map(|(join, _)| topology.joins[*join as usize].target));
    targets
}

fn drawn(exits: &Exits) -> Vec<NodeId> {
    let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten());
    exits.edges.iter().copied().chain(routed.filter_map(|(target, _)| target.node())).collect()
}

/// The ways from the start through nodes and, as places of their own after them, joins.
fn flow(topology: &Topology, entered: &[NodeId]) -> Dominators {
    let total = topology.nodes.len();
    let mut next: Vec<Vec<usize>> = Vec::with_capacity(total + topology.joins.len() + 1);
    for index in 0..total {
        let targets = direct(topology, NodeId(index as u32)).into_iter().map(NodeId::index);
        let joins = topology.exits[index].joins.iter().map(|(join, _)| total + *join as usize);
        next.push(targets.chain(joins).collect());
    }
    next.extend(topology.joins.iter().map(|join| vec![join.target.index()]));
    next.push(drawn(&topology.start).into_iter().chain(entered.iter().copied()).map(NodeId::index).collect());
    Dominators::of(&next)
}

/// From which nodes the end can be reached.
fn can_end(topology: &Topology, problems: &Problems) -> Vec<bool> {
    let total = topology.nodes.len();
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); total];
    let mut open = Vec::new();
    for index in 0..total {
        let (id, exits) = (NodeId(index as u32), &topology.exits[index]);
        successors(topology, id).into_iter().for_each(|next| before[next.index()].push(id));
        let routed = exits.routes.iter().flat_map(|route| route.targets.iter().flatten()).map(|(target, _)| target);
        let declared = topology.node(id).goto.iter().flatten();
        let is_drawn = exits.ends || routed.chain(declared).any(|target| *target == Target::End);
        // A node without edges ends its branch when its command leads nowhere; one without any way out was told already.
        if is_drawn || leads_anywhere(exits) || !leads_on(exits) || problems.loose.contains(&Some(id)) {
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
