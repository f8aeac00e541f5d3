//! Looks for nodes that can be due together and declare to write one field that keeps one value.

use std::collections::BTreeSet;

use super::reach::{direct, successors};
use super::{Join, Topology};
use crate::id::NodeId;

/// A warning for each pair of declared writers that may meet in one superstep.
pub(super) fn warnings(topology: &Topology) -> Vec<String> {
    if topology.nodes.iter().filter(|node| node.writes.is_some()).count() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (left, right) in together(topology) {
        let (left, right) = (topology.node(left), topology.node(right));
        let (Some(mine), Some(theirs)) = (&left.writes, &right.writes) else { continue };
        for field in mine.iter().filter(|field| theirs.contains(field) && topology.schema.is_exclusive(**field)) {
            let field = &topology.schema.field(*field).name;
            found.push(format!(
                "nodes `{}` and `{}` can be due together and both write `{field}`, which keeps one value; \
                 give it a reducer, mark it `last_wins`, or run them one after the other",
                left.name, right.name
            ));
        }
    }
    found
}

/// Pairs of nodes that can be due in one superstep: two exits of one node, and what follows from such a pair.
fn together(topology: &Topology) -> BTreeSet<(NodeId, NodeId)> {
    let mut open = Vec::new();
    for exits in topology.exits.iter().chain([&topology.start]) {
        let routed = exits.routes.iter().map(|route| {
            let targets = route.targets.iter().flatten();
            targets.filter_map(|(target, _)| target.node()).collect()
        });
        // Targets of one route exclude each other; those of different exits do not.
        let groups: Vec<Vec<NodeId>> = exits.edges.iter().map(|id| vec![*id]).chain(routed).collect();
        for (index, group) in groups.iter().enumerate() {
            for other in &groups[index + 1..] {
                open.extend(group.iter().flat_map(|left| other.iter().map(move |right| (*left, *right))));
            }
        }
    }
    let before = predecessors(topology);
    let awaited: Vec<Vec<bool>> = topology.joins.iter().map(|join| awaited(&before, join)).collect();
    let mut pairs = BTreeSet::new();
    while let Some((left, right)) = open.pop() {
        let pair = (left.min(right), left.max(right));
        if left == right || !pairs.insert(pair) {
            continue;
        }
        let next = ways(topology, right);
        for (left, left_join) in ways(topology, left) {
            let waits =
                |join: &Option<u32>, other: &NodeId| join.is_some_and(|join| awaited[join as usize][other.index()]);
            let meets =
                next.iter().filter(|(right, right_join)| !waits(&left_join, right) && !waits(right_join, &left));
            open.extend(meets.map(|(right, _)| (left, *right)));
        }
    }
    pairs
}

/// Where a node leads, with the join that leads there.
fn ways(topology: &Topology, id: NodeId) -> Vec<(NodeId, Option<u32>)> {
    let joins = topology.exits[id.index()].joins.iter();
    let joined = joins.map(|(join, _)| (topology.joins[*join as usize].target, Some(*join)));
    direct(topology, id).into_iter().map(|id| (id, None)).chain(joined).collect()
}

fn predecessors(topology: &Topology) -> Vec<Vec<NodeId>> {
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); topology.nodes.len()];
    for index in 0..topology.nodes.len() {
        let id = NodeId(index as u32);
        successors(topology, id).into_iter().for_each(|next| before[next.index()].push(id));
    }
    before
}

/// The nodes a join still waits for while they run: its sources and what leads to them before its target.
fn awaited(before: &[Vec<NodeId>], join: &Join) -> Vec<bool> {
    let mut awaited = vec![false; before.len()];
    let mut open = join.sources.clone();
    while let Some(id) = open.pop() {
        if id != join.target && !std::mem::replace(&mut awaited[id.index()], true) {
            open.extend(&before[id.index()]);
        }
    }
    awaited
}
