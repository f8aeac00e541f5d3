//! External updates of a thread: state updates, with or without a node, and commands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Machine, Phase};
use crate::apply::TaskUpdate;
use crate::checkpoint::{CheckpointSource, PendingEntry};
use crate::command::TaskOutput;
use crate::error::{Error, ErrorCode, Result};
use crate::graph::{END_NAME, START_NAME};
use crate::id::{NodeId, TaskId};
use crate::port::ThreadStatus;
use crate::schedule::{NextTask, Routing, ScheduledAt, schedule_next, sort_and_deduplicate};
use crate::state::UncheckedUpdate;
use crate::suggest::did_you_mean;

/// Message for a rejected external update.
const INVALID_UPDATE: &str = "the update does not match the state";

/// The node on whose behalf a state is updated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AsNode {
    /// No node: the scheduled tasks stay.
    #[default]
    None,
    /// The update counts as returned by this node: its edges are followed.
    Node(String),
    /// The update counts as an input: the run starts again.
    Start,
    /// The update ends the run: no task stays scheduled.
    End,
}

impl From<&str> for AsNode {
    fn from(name: &str) -> Self {
        match name {
            START_NAME | "__input__" => Self::Start,
            END_NAME => Self::End,
            name => Self::Node(name.to_owned()),
        }
    }
}

/// One external update of a state.
#[derive(Debug, Clone)]
pub struct StateUpdate {
    /// Writes of the update.
    pub update: UncheckedUpdate,
    /// Node on whose behalf the state is updated.
    pub as_node: AsNode,
}

impl Machine {
    /// Updates the state from outside, several updates as one superstep, and creates a checkpoint.
    ///
    /// # Errors
    /// Returns an error if an update or a node is rejected; nothing is changed then.
    pub fn update(&mut self, updates: Vec<StateUpdate>) -> Result<()> {
        let mut task_updates: Vec<TaskUpdate> = Vec::new();
        let mut nodes = Vec::new();
        for StateUpdate { update, as_node } in updates {
            let node = self.resolve_as_node(&as_node)?;
            let mut resolved = super::task_finished::validate_update(&self.graph, update, &mut self.warnings)
                .map_err(|diagnostics| Error::with_diagnostics(ErrorCode::InputInvalid, INVALID_UPDATE, diagnostics))?;
            self.assign_ids(&mut resolved);
            task_updates.push(TaskUpdate {
                node: node.map_or_else(|| "update".into(), |id| self.graph.node(id).name.clone()),
                update: resolved,
            });
            nodes.push((as_node, node));
        }
        let (applied, applied_updates) = self.apply(task_updates, self.external_apply_options(true, INVALID_UPDATE))?;
        if let Err(error) = self.schedule_after_update(&nodes) {
            self.undo(applied_updates);
            return Err(error);
        }
        self.track_changes_since_input(&applied);
        self.position.step += 1;
        self.commit_update(applied);
        if !self.is_finished() {
            self.save_pending(Vec::new(), Some(ThreadStatus::Interrupted));
        }
        Ok(())
    }

    fn resolve_as_node(&self, as_node: &AsNode) -> Result<Option<NodeId>> {
        let AsNode::Node(name) = as_node else { return Ok(None) };
        self.graph.find_node(name).map(Some).ok_or_else(|| {
            let error = Error::new(ErrorCode::InputInvalid, format!("no node `{name}` to update as"));
            let names = || self.graph.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            error.with_help(
                did_you_mean(name, self.graph.names()).unwrap_or_else(|| format!("the nodes are {}", names())),
            )
        })
    }

    /// Schedules the tasks after updates: the tasks scheduled before, without those of the named nodes, plus the
    /// successors of those nodes.
    fn schedule_after_update(&mut self, nodes: &[(AsNode, Option<NodeId>)]) -> Result<()> {
        let mut tasks = self.take_next_tasks();
        let mut finished: Vec<(Option<NodeId>, Routing)> = Vec::new();
        for (as_node, id) in nodes {
            match (as_node, id) {
                (AsNode::End, _) => {
                    tasks.clear();
                    self.position.deferred.clear();
                }
                (AsNode::Start, _) => {
                    tasks.clear();
                    finished.push((None, self.entry_routing()?));
                }
                (AsNode::Node(_), Some(id)) => {
                    tasks.retain(|task| task.node != *id || task.send.is_some());
                    let mut routing = Routing { follow_edges: true, targets: SmallVec::new() };
                    for route in &self.graph.exits[id.index()].routes {
                        self.evaluate_route(Some(*id), route, &*self.state, &mut routing)?;
                    }
                    finished.push((Some(*id), routing));
                }
                _ => {}
            }
        }
        if finished.is_empty() {
            self.position.next_tasks = tasks;
            return Ok(());
        }
        self.add_next_tasks(tasks, finished);
        Ok(())
    }

    /// Schedules the successors of finished tasks in addition to the tasks already scheduled.
    fn add_next_tasks(&mut self, mut tasks: SmallVec<[NextTask; 1]>, finished: Vec<(Option<NodeId>, Routing)>) {
        let graph = self.graph.clone();
        // Deferred nodes wait for the remaining tasks too, which `schedule_next` does not see.
        let deferred = if tasks.is_empty() { Vec::new() } else { std::mem::take(&mut self.position.deferred) };
        schedule_next(&graph, &mut self.position, finished.into_iter());
        self.position.deferred.extend(deferred);
        let mut next = tasks.iter().filter_map(|task| task.send.as_ref()).map(|send| send.index + 1).max().unwrap_or(0);
        for mut task in std::mem::take(&mut self.position.next_tasks) {
            match &mut task.send {
                Some(send) => {
                    Arc::make_mut(send).index = next;
                    next += 1;
                }
                None if tasks.iter().any(|old| old.send.is_none() && old.node == task.node) => continue,
                None => {}
            }
            tasks.push(task);
        }
        sort_and_deduplicate(&graph, &mut tasks);
        self.position.next_tasks = tasks;
    }

    /// Saves a checkpoint and carries over the pending entries of the tasks that are still scheduled: finished
    /// tasks do not run again, and open interrupts keep their ids.
    fn commit_update(&mut self, applied: crate::apply::Applied) {
        let pending = std::mem::take(&mut self.pending);
        self.save_checkpoint(CheckpointSource::Update, applied);
        let Some(checkpoint) = self.latest_checkpoint else { return };
        let scheduled: Vec<TaskId> = self.position.next_tasks.iter().map(|scheduled| self.task_id(scheduled)).collect();
        let retained = pending.into_iter().filter(|entry| scheduled.contains(&entry.task));
        let carried: Vec<PendingEntry> = retained.map(|entry| PendingEntry { checkpoint, ..entry }).collect();
        if !carried.is_empty() {
            self.pending.clone_from(&carried);
            self.save_pending(carried, None);
        }
    }

    /// Saves a migrated thread with the current schema before new pending entries are added, because entries have
    /// the schema version of their checkpoint.
    pub(super) fn save_migrated(&mut self) {
        if !self.is_migrated || self.config.lease.is_none() {
            return;
        }
        self.position.next_tasks = self.take_next_tasks();
        self.commit_update(crate::apply::Applied::default());
    }

    /// Takes the scheduled tasks, marked with the checkpoint at which they were scheduled so that their ids stay
    /// the same.
    fn take_next_tasks(&mut self) -> SmallVec<[NextTask; 1]> {
        let (latest, step) = (self.latest_checkpoint, self.position.step);
        let mut tasks = std::mem::take(&mut self.position.next_tasks);
        if std::mem::take(&mut self.forks_history) {
            return tasks;
        }
        for task in &mut tasks {
            let scheduled_here =
                || latest.map(|checkpoint| Box::new(ScheduledAt { checkpoint, step, node_name_then: None }));
            task.scheduled_at = task.scheduled_at.take().or_else(scheduled_here);
        }
        tasks
    }

    /// Applies an external command to the thread in its current state, and continues.
    ///
    /// # Errors
    /// Returns an error if the update or the targets are rejected; nothing is changed then.
    pub fn command(&mut self, output: TaskOutput) -> Result<()> {
        if self.is_new() {
            return Err(Error::new(ErrorCode::InputInvalid, "a command requires a started thread")
                .with_help("start the thread with an input"));
        }
        let (update, routing) = self.resolve_command(output)?;
        let applied = self.apply_input(update)?;
        let tasks = self.take_next_tasks();
        self.add_next_tasks(tasks, vec![(None, routing)]);
        self.position.step += 1;
        self.commit_update(applied);
        self.skip_breakpoint = true;
        self.phase = Phase::Plan;
        Ok(())
    }
}
