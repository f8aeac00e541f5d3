//! Who runs next: finished tasks and the drawing give the tasks of the next superstep.
//!
//! Pure and independent of the order in which tasks finished: everything is put into the fixed order of
//! nodes and sends. Costs what has finished and what is due, never the size of the graph.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::checkpoint::WhyKind;
use crate::datum::Datum;
use crate::graph::{Compat, Exits, Topology};
use crate::id::{CheckpointId, NodeId};

/// Where a thread stands between two supersteps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Position {
    pub(crate) step: i64,
    pub(crate) due: SmallVec<[Due; 1]>,
    pub(crate) joins: Vec<JoinProgress>,
    pub(crate) deferred: Vec<NodeId>,
}

/// A task that is due.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Due {
    pub(crate) node: NodeId,
    pub(crate) why: WhyKind,
    pub(crate) from: Option<NodeId>,
    pub(crate) send: Option<Arc<SendInput>>,
    /// Where it became due, when that is not the newest checkpoint: what is known of it stays true.
    pub(crate) since: Option<Box<Since>>,
}

/// The place a task became due at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) checkpoint: CheckpointId,
    pub(crate) step: i64,
    /// The name its node had then, when that is not the one it has now: the id of the task is made of it.
    pub(crate) named: Option<Arc<str>>,
}

impl Due {
    pub(crate) fn new(node: NodeId, why: WhyKind, from: Option<NodeId>) -> Self {
        Self { node, why, from, send: None, since: None }
    }

    /// The name its id is made of, when that is not the one its node has now.
    pub(crate) fn named(&self) -> Option<&Arc<str>> {
        self.since.as_ref().and_then(|since| since.named.as_ref())
    }

    /// Its place among the sends of its superstep; edges come before them.
    pub(crate) fn fan_out(&self) -> u32 {
        self.send.as_ref().map_or(0, |send| send.index + 1)
    }
}

/// The input of a task of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SendInput {
    pub(crate) index: u32,
    pub(crate) payload: Datum,
    pub(crate) timeout: Option<Duration>,
}

/// A join that some but not all sources have reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JoinProgress {
    pub(crate) join: u32,
    pub(crate) arrived: SmallVec<[u32; 4]>,
}

/// What a finished task leads to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Leads {
    pub(crate) follow_edges: bool,
    pub(crate) ways: SmallVec<[Due; 1]>,
}

/// Puts what finished tasks lead to into `position`, as the due tasks of the next superstep.
pub(crate) fn advance(
    topology: &Topology,
    position: &mut Position,
    finished: impl Iterator<Item = (Option<NodeId>, Leads)>,
) {
    position.due.clear();
    let mut due: SmallVec<[Due; 1]> = SmallVec::new();
    let mut sends = 0;
    for (node, leads) in finished {
        if leads.follow_edges {
            let exits = node.map_or(&topology.start, |node| &topology.exits[node.index()]);
            follow(topology, position, node, exits, &mut due);
        }
        for mut way in leads.ways {
            if let Some(send) = &mut way.send {
                Arc::make_mut(send).index = sends;
                sends += 1;
            }
            due.push(way);
        }
    }
    order(topology, &mut due);
    if !due.is_empty() {
        hold_back(topology, position, &mut due);
    }
    if due.is_empty() && !position.deferred.is_empty() {
        due = position.deferred.drain(..).map(|node| Due::new(node, WhyKind::Deferred, None)).collect();
        order(topology, &mut due);
    }
    position.due = due;
}

fn follow(
    topology: &Topology,
    position: &mut Position,
    node: Option<NodeId>,
    exits: &Exits,
    due: &mut SmallVec<[Due; 1]>,
) {
    due.extend(exits.edges.iter().map(|target| Due::new(*target, WhyKind::Edge, node)));
    for (join, place) in &exits.joins {
        if position.arrive(topology, *join, *place) {
            due.push(Due::new(topology.joins[*join as usize].target, WhyKind::Join, node));
        }
    }
}

/// Sorts into the fixed order and leaves one task for each node that is due by edges.
pub(crate) fn order(topology: &Topology, due: &mut SmallVec<[Due; 1]>) {
    if due.len() < 2 {
        return;
    }
    match topology.compat {
        Compat::Strict => due.sort_by_key(|task| (topology.rank(task.node), task.fan_out())),
        // The reference runs named nodes by name first, then sends by index.
        Compat::LangGraph => due.sort_by_key(|task| match &task.send {
            None => (0, topology.rank(task.node)),
            Some(send) => (1, send.index),
        }),
    }
    due.dedup_by(|later, earlier| later.node == earlier.node && later.send.is_none() && earlier.send.is_none());
}

/// Moves deferred nodes aside until nothing else is due.
fn hold_back(topology: &Topology, position: &mut Position, due: &mut SmallVec<[Due; 1]>) {
    due.retain(|task| {
        let waits = task.send.is_none() && topology.node(task.node).defer;
        if waits && !position.deferred.contains(&task.node) {
            position.deferred.push(task.node);
        }
        !waits
    });
}

impl Position {
    /// Notes that a source of a join has finished; true when that was the last one missing.
    fn arrive(&mut self, topology: &Topology, join: u32, place: u32) -> bool {
        let needed = topology.joins[join as usize].sources.len();
        let index = self.joins.iter().position(|progress| progress.join == join).unwrap_or_else(|| {
            self.joins.push(JoinProgress { join, arrived: SmallVec::new() });
            self.joins.len() - 1
        });
        let progress = &mut self.joins[index];
        if !progress.arrived.contains(&place) {
            progress.arrived.push(place);
            progress.arrived.sort_unstable();
        }
        let is_full = progress.arrived.len() == needed;
        if is_full {
            // The join re-arms only here, so a cycle that returns to its sources fills it again.
            self.joins.remove(index);
        }
        is_full
    }
}

#[cfg(test)]
mod tests;
