//! Looks for nodes that can be due together and declare to write one field that keeps one value.

use std::collections::BTreeSet;

use super::Topology;
use super::reach::successors;
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

/// Pairs of nodes that can be due in one superstep: two plain edges of one node, and what follows from such a pair.
fn together(topology: &Topology) -> BTreeSet<(NodeId, NodeId)> {
    let mut open = Vec::new();
    for exits in topology.exits.iter().chain([&topology.start]) {
        let routed = exits.routes.iter().map(|route| {
            let targets = route.targets.iter().flatten();
            targets
                .filter_map(|(target, _)| if let super::Target::Node(id) = target { Some(*id) } else { None })
                .collect()
        });
        // Targets of one route exclude each other; those of different exits do not.
        let groups: Vec<Vec<NodeId>> = exits.edges.iter().map(|id| vec![*id]).chain(routed).collect();
        for (index, group) in groups.iter().enumerate() {
            for other in &groups[index + 1..] {
                open.extend(group.iter().flat_map(|left| other.iter().map(move |right| (*left, *right))));
            }
        }
    }
    let mut pairs = BTreeSet::new();
    while let Some((left, right)) = open.pop() {
        let pair = (left.min(right), left.max(right));
        if left == right || !pairs.insert(pair) {
            continue;
        }
        let next = successors(topology, right);
        open.extend(
            successors(topology, left).into_iter().flat_map(|left| next.iter().map(move |right| (left, *right))),
        );
    }
    pairs
}
