//! Scheduling: computes the tasks of the next superstep from the finished tasks and the topology.
//!
//! Pure, and independent of the order in which tasks finish: all tasks are sorted into the fixed order of nodes and
//! sends. The cost depends on the number of finished and scheduled tasks, not on the size of the graph.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::checkpoint::TriggerKind;
use crate::graph::{Compat, OutgoingEdges, Topology};
use crate::id::{CheckpointId, NodeId};
use crate::value::AnyValue;

/// Scheduling state of a thread between two supersteps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Position {
    pub(crate) step: i64,
    pub(crate) next_tasks: SmallVec<[NextTask; 1]>,
    pub(crate) joins: Vec<JoinProgress>,
    pub(crate) deferred: Vec<NodeId>,
}

/// A task scheduled for the next superstep.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NextTask {
    pub(crate) node: NodeId,
    pub(crate) trigger: TriggerKind,
    pub(crate) from: Option<NodeId>,
    pub(crate) send: Option<Arc<SendInput>>,
    /// Checkpoint at which the task was scheduled, if that is not the newest one; the entries stored for the task
    /// stay valid.
    pub(crate) scheduled_at: Option<Box<ScheduledAt>>,
}

/// The checkpoint and the step at which a task was scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScheduledAt {
    pub(crate) checkpoint: CheckpointId,
    pub(crate) step: i64,
    /// Name of the node at that time, if the node has been renamed since; the task id is derived from this name.
    pub(crate) node_name_then: Option<Arc<str>>,
}

impl NextTask {
    pub(crate) fn new(node: NodeId, trigger: TriggerKind, from: Option<NodeId>) -> Self {
        Self { node, trigger, from, send: None, scheduled_at: None }
    }

    /// Returns the node name from which the task id is derived, if it differs from the current name of the node.
    pub(crate) fn id_node_name(&self) -> Option<&Arc<str>> {
        self.scheduled_at.as_ref().and_then(|since| since.node_name_then.as_ref())
    }

    /// Returns the position of the task among the sends of its superstep, starting at 1; a task scheduled by edges
    /// has 0.
    pub(crate) fn send_index(&self) -> u32 {
        self.send.as_ref().map_or(0, |send| send.index + 1)
    }
}

/// The input of a task that was created by a send.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SendInput {
    pub(crate) index: u32,
    pub(crate) payload: AnyValue,
    pub(crate) timeout: Option<Duration>,
}

/// A join that some but not all of its sources have reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JoinProgress {
    pub(crate) join: u32,
    pub(crate) arrived: SmallVec<[u32; 4]>,
}

/// Targets that a finished task routes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Routing {
    pub(crate) follow_edges: bool,
    pub(crate) targets: SmallVec<[NextTask; 1]>,
}

/// Sets the next tasks in `position` to the tasks that the finished tasks route to.
pub(crate) fn schedule_next(
    topology: &Topology,
    position: &mut Position,
    finished: impl Iterator<Item = (Option<NodeId>, Routing)>,
) {
    position.next_tasks.clear();
    let mut next_tasks: SmallVec<[NextTask; 1]> = SmallVec::new();
    let mut sends = 0;
    for (node, routing) in finished {
        if routing.follow_edges {
            let exits = node.map_or(&topology.start, |node| &topology.exits[node.index()]);
            follow_edges(topology, position, node, exits, &mut next_tasks);
        }
        for mut target in routing.targets {
            if let Some(send) = &mut target.send {
                Arc::make_mut(send).index = sends;
                sends += 1;
            }
            next_tasks.push(target);
        }
    }
    sort_and_deduplicate(topology, &mut next_tasks);
    if !next_tasks.is_empty() {
        move_deferred_aside(topology, position, &mut next_tasks);
    }
    if next_tasks.is_empty() && !position.deferred.is_empty() {
        next_tasks = position.deferred.drain(..).map(|node| NextTask::new(node, TriggerKind::Deferred, None)).collect();
        sort_and_deduplicate(topology, &mut next_tasks);
    }
    position.next_tasks = next_tasks;
}

fn follow_edges(
    topology: &Topology,
    position: &mut Position,
    node: Option<NodeId>,
    exits: &OutgoingEdges,
    next_tasks: &mut SmallVec<[NextTask; 1]>,
) {
    next_tasks.extend(exits.edges.iter().map(|target| NextTask::new(*target, TriggerKind::Edge, node)));
    for (join, source_index) in &exits.joins {
        if position.mark_source_finished(topology, *join, *source_index) {
            next_tasks.push(NextTask::new(topology.joins[*join as usize].target, TriggerKind::Join, node));
        }
    }
}

/// Sorts the tasks into the fixed order and leaves one task for each node that is scheduled by edges.
pub(crate) fn sort_and_deduplicate(topology: &Topology, next_tasks: &mut SmallVec<[NextTask; 1]>) {
    if next_tasks.len() < 2 {
        return;
    }
    match topology.compat {
        Compat::Strict => next_tasks.sort_by_key(|task| (topology.node_order(task.node), task.send_index())),
        // LangGraph runs nodes scheduled by edges first, sorted by name, then sends by index.
        Compat::LangGraph => next_tasks.sort_by_key(|task| match &task.send {
            None => (0, topology.node_order(task.node)),
            Some(send) => (1, send.index),
        }),
    }
    next_tasks.dedup_by(|later, earlier| later.node == earlier.node && later.send.is_none() && earlier.send.is_none());
}

/// Moves deferred nodes aside until no other task is scheduled.
fn move_deferred_aside(topology: &Topology, position: &mut Position, next_tasks: &mut SmallVec<[NextTask; 1]>) {
    next_tasks.retain(|task| {
        let waits = task.send.is_none() && topology.node(task.node).defer;
        if waits && !position.deferred.contains(&task.node) {
            position.deferred.push(task.node);
        }
        !waits
    });
}

impl Position {
    /// Marks a source of a join as finished; returns true if no other source of the join is missing.
    fn mark_source_finished(&mut self, topology: &Topology, join: u32, source_index: u32) -> bool {
        let needed = topology.joins[join as usize].sources.len();
        let index = self.joins.iter().position(|progress| progress.join == join).unwrap_or_else(|| {
            self.joins.push(JoinProgress { join, arrived: SmallVec::new() });
            self.joins.len() - 1
        });
        let progress = &mut self.joins[index];
        if !progress.arrived.contains(&source_index) {
            progress.arrived.push(source_index);
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
