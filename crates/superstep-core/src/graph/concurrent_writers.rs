//! Finds nodes that can run in the same superstep and declare to write the same field without a reducer.

use std::collections::BTreeSet;

use super::reachability::{direct_successors, successors};
use super::{Join, Topology};
use crate::id::NodeId;

/// Returns a warning for each pair of declared writers that may run in one superstep.
pub(super) fn warnings(topology: &Topology) -> Vec<String> {
    if topology.nodes.iter().filter(|node| node.writes.is_some()).count() < 2 {
        return Vec::new();
    }
    let mut messages = Vec::new();
    for (left, right) in concurrent_pairs(topology) {
        let (left, right) = (topology.node(left), topology.node(right));
        let (Some(mine), Some(theirs)) = (&left.writes, &right.writes) else { continue };
        for field in
            mine.iter().filter(|field| theirs.contains(field) && topology.schema.rejects_second_writer(**field))
        {
            let field = &topology.schema.field(*field).name;
            messages.push(format!(
                "nodes `{}` and `{}` can run in the same superstep and both write `{field}`, which has no \
                     reducer; give it a reducer, mark it `last_wins`, or run them one after another",
                left.name, right.name
            ));
        }
    }
    messages
}

/// Returns the pairs of nodes that can run in one superstep: two targets of one node, and the successors of such a
/// pair.
fn concurrent_pairs(topology: &Topology) -> BTreeSet<(NodeId, NodeId)> {
    let mut open = Vec::new();
    for exits in topology.exits.iter().chain([&topology.start]) {
        let routed = exits.routes.iter().map(|route| {
            let targets = route.targets.iter().flatten();
            targets.filter_map(|(target, _)| target.node()).collect()
        });
        // Targets of one conditional edge exclude each other; those of different edges do not.
        let groups: Vec<Vec<NodeId>> = exits.edges.iter().map(|id| vec![*id]).chain(routed).collect();
        for (index, group) in groups.iter().enumerate() {
            for other in &groups[index + 1..] {
                open.extend(group.iter().flat_map(|left| other.iter().map(move |right| (*left, *right))));
            }
        }
    }
    let before = predecessors(topology);
    let awaited: Vec<Vec<bool>> = topology.joins.iter().map(|join| nodes_awaited_by_join(&before, join)).collect();
    let mut pairs = BTreeSet::new();
    while let Some((left, right)) = open.pop() {
        let pair = (left.min(right), left.max(right));
        if left == right || !pairs.insert(pair) {
            continue;
        }
        let next = successors_with_join(topology, right);
        for (left, left_join) in successors_with_join(topology, left) {
            let waits =
                |join: &Option<u32>, other: &NodeId| join.is_some_and(|join| awaited[join as usize][other.index()]);
            let meets =
                next.iter().filter(|(right, right_join)| !waits(&left_join, right) && !waits(right_join, &left));
            open.extend(meets.map(|(right, _)| (left, *right)));
        }
    }
    pairs
}

/// Returns the successors of a node, with the join that leads there.
fn successors_with_join(topology: &Topology, id: NodeId) -> Vec<(NodeId, Option<u32>)> {
    let joins = topology.exits[id.index()].joins.iter();
    let joined = joins.map(|(join, _)| (topology.joins[*join as usize].target, Some(*join)));
    direct_successors(topology, id).into_iter().map(|id| (id, None)).chain(joined).collect()
}

fn predecessors(topology: &Topology) -> Vec<Vec<NodeId>> {
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); topology.nodes.len()];
    for index in 0..topology.nodes.len() {
        let id = NodeId(index as u32);
        successors(topology, id).into_iter().for_each(|next| before[next.index()].push(id));
    }
    before
}

/// Marks the nodes that a join still waits for while they run: its sources and their predecessors, up to its
/// target.
fn nodes_awaited_by_join(before: &[Vec<NodeId>], join: &Join) -> Vec<bool> {
    let mut awaited = vec![false; before.len()];
    let mut open = join.sources.clone();
    while let Some(id) = open.pop() {
        if id != join.target && !std::mem::replace(&mut awaited[id.index()], true) {
            open.extend(&before[id.index()]);
        }
    }
    awaited
}
