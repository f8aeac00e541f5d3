//! The end of a superstep: all tasks have ended, and the run continues, interrupts, returns a parent command or
//! fails.

use std::sync::Arc;

use super::task_finished::finished_nodes;
use super::{Machine, MachineEnd, MachineEvent, Phase, TaskStatus};
use crate::apply::{Applied, TaskUpdate};
use crate::change::Change;
use crate::checkpoint::{CheckpointSource, Interrupt, PendingEntry, TaskEntry};
use crate::error::{Error, ErrorCode, Result};
use crate::id::NodeId;
use crate::port::ThreadStatus;
use crate::schedule::schedule_next;
use crate::seeded_bugs::{SeededBug, is_enabled};

impl Machine {
    pub(super) fn complete_superstep(&mut self) {
        if let Some(error) = self.first_failure() {
            self.end_inside_superstep(MachineEnd::Failed(error), ThreadStatus::Error);
            return;
        }
        if self.slots.iter().any(|slot| matches!(slot.status, TaskStatus::Cancelled)) {
            let end = if self.drain {
                MachineEnd::Drained
            } else {
                MachineEnd::Failed(Error::new(ErrorCode::Cancelled, "the run was cancelled"))
            };
            self.end_inside_superstep(end, ThreadStatus::Idle);
            return;
        }
        if let Some(nodes) = self
            .slots
            .iter()
            .find_map(|slot| if let TaskStatus::Paused(nodes) = &slot.status { Some(nodes.clone()) } else { None })
        {
            self.end_inside_superstep(MachineEnd::Paused(nodes), ThreadStatus::Interrupted);
            return;
        }
        if self.slots.iter().any(|slot| matches!(slot.status, TaskStatus::Interrupted(_))) {
            self.end_interrupted();
            return;
        }
        let parent_command = self.slots.iter_mut().find_map(|slot| match &mut slot.status {
            TaskStatus::Done { resolved, .. } => resolved.parent_command.clone(),
            _ => None,
        });
        if let Some(parent_command) = parent_command {
            self.end_inside_superstep(MachineEnd::ParentCommand(parent_command), ThreadStatus::Busy);
            return;
        }
        if let Err(error) = self.check_quorums().and_then(|()| self.apply_and_schedule()) {
            self.reject_updates(error);
        }
    }

    /// Returns an error if a quorum was not reached; a quorum larger than the number of tasks fails even if all
    /// succeed.
    fn check_quorums(&self) -> Result<()> {
        for slot in &self.slots {
            let node = slot.task.node;
            let Some(needed) = self.quorum(node) else { continue };
            let succeeded = self.succeeded(node);
            if succeeded < needed {
                let message = format!("the quorum is {needed} tasks, but only {succeeded} succeeded");
                let help = "send more tasks, or lower the quorum";
                return Err(Error::new(ErrorCode::NodeFailed, message)
                    .with_help(help)
                    .with_node(&*self.graph.node(node).name));
            }
        }
        Ok(())
    }

    /// Ends a run whose updates cannot be applied together: the tasks stay finished, and the error is stored on the
    /// thread.
    fn reject_updates(&mut self, error: Error) {
        let node = error.location().node.as_deref();
        let index =
            self.slots.iter().position(|slot| Some(&*self.graph.node(slot.task.node).name) == node).unwrap_or(0);
        let mut entries = self.unsaved_task_entries();
        entries.extend(self.entry(index, TaskEntry::Rejected((&error).into())));
        self.save_pending(entries, Some(ThreadStatus::Error));
        self.phase = Phase::Ended(Box::new(MachineEnd::Failed(error)));
    }

    /// Ends a run inside a superstep: nothing of it is applied, all finished results are saved.
    fn end_inside_superstep(&mut self, end: MachineEnd, status: ThreadStatus) {
        let entries = self.unsaved_task_entries();
        self.save_pending(entries, Some(status));
        self.phase = Phase::Ended(Box::new(end));
    }

    /// Returns entries for everything about the tasks of this superstep that is not saved yet.
    pub(super) fn unsaved_task_entries(&mut self) -> Vec<PendingEntry> {
        let mut entries = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            if let TaskStatus::Interrupted(interrupts) = &slot.status {
                entries.extend(self.interrupt_entries(index, interrupts));
            }
        }
        let all: Vec<usize> = (0..self.slots.len()).collect();
        entries.extend(self.unsaved_entries(&all));
        entries
    }

    /// Ends a run between supersteps and saves the status of the thread.
    pub(super) fn end_between_supersteps(&mut self, end: MachineEnd, status: ThreadStatus) {
        if self.config.namespace.is_root() {
            self.save_pending(Vec::new(), Some(status));
        }
        self.phase = Phase::Ended(Box::new(end));
    }

    fn end_interrupted(&mut self) {
        let per_task = self.slots.iter().filter_map(|slot| match &slot.status {
            TaskStatus::Interrupted(interrupts) => Some(interrupts.iter().cloned()),
            _ => None,
        });
        let open: Vec<Interrupt> = per_task.flatten().collect();
        if self.config.emits_events {
            // Interrupts are published after they are saved, in every durability mode.
            for index in 0..self.slots.len() {
                let TaskStatus::Interrupted(interrupts) = &self.slots[index].status else { continue };
                let (interrupts, step, (task, node)) = (interrupts.clone(), self.position.step + 1, self.names(index));
                self.unsaved_events.push(MachineEvent::TaskInterrupted { task, node, step, interrupts });
            }
            self.unsaved_events.push(MachineEvent::Interrupted { interrupts: open.clone() });
        }
        self.end_inside_superstep(MachineEnd::Interrupted(open), ThreadStatus::Interrupted);
    }

    fn first_failure(&self) -> Option<Error> {
        let mut failures = self.slots.iter().filter_map(|slot| match &slot.status {
            TaskStatus::Failed(error) => Some(error),
            _ => None,
        });
        let first = failures.next()?.clone();
        let others: Vec<String> =
            failures.filter_map(|error| error.location().node.as_ref().map(|node| format!("`{node}`"))).collect();
        if others.is_empty() {
            return Some(first);
        }
        let help = match first.help() {
            Some(advice) => format!("{advice}; other failed nodes of this superstep: {}", others.join(", ")),
            None => format!("other failed nodes of this superstep: {}", others.join(", ")),
        };
        Some(first.with_help(help))
    }

    /// Applies the updates, schedules the next tasks, and queues the one commit of this superstep.
    fn apply_and_schedule(&mut self) -> Result<()> {
        let mut applied = match self.early_applied.take() {
            Some(applied) => applied,
            None => self.apply_all_updates()?,
        };
        self.clear_ephemeral(&mut applied);
        self.track_changes_since_input(&applied);
        if !applied.warnings.is_empty() {
            self.warn_applied(&applied);
        }
        let finished = finished_nodes(&self.slots);
        self.record_recent_nodes(&finished);
        let routing = self.slots.iter_mut().filter_map(|slot| match &mut slot.status {
            TaskStatus::Done { resolved, .. } => Some((Some(slot.task.node), std::mem::take(&mut resolved.routing))),
            _ => None,
        });
        schedule_next(&self.graph, &mut self.position, routing);
        self.slots.clear();
        self.position.step += 1;
        self.supersteps += 1;
        self.pending.clear();
        self.report_unfilled_joins();
        let paused = self.breakpoint_after(&finished);
        self.save_checkpoint(CheckpointSource::Loop, applied);
        self.phase = Phase::Plan;
        if !paused.is_empty() {
            self.end_between_supersteps(MachineEnd::Paused(paused), ThreadStatus::Interrupted);
        }
        Ok(())
    }

    /// Adds the changes to those that the parent graph receives at the end.
    pub(super) fn track_changes_since_input(&mut self, applied: &Applied) {
        let Some(total) = &mut self.since_input else { return };
        for (field, change) in &applied.changes {
            let earlier = total.remove(field).unwrap_or(Change::Unchanged);
            total.insert(*field, earlier.then(change.clone()));
        }
    }

    fn apply_all_updates(&mut self) -> Result<Applied> {
        let options = self.node_apply_options(false);
        let (graph, is_saved) = (&self.graph, self.config.lease.is_some());
        let updates = self.slots.iter_mut().filter_map(|slot| match &mut slot.status {
            TaskStatus::Done { resolved, persisted } => {
                let node = graph.node(slot.task.node).name.clone();
                // If the updates are rejected, unsaved results must still be saved.
                let is_needed = is_saved && !*persisted;
                let update = if is_needed { resolved.update.clone() } else { std::mem::take(&mut resolved.update) };
                Some(TaskUpdate { node, update })
            }
            _ => None,
        });
        let mut updates: Vec<TaskUpdate> = updates.collect();
        if is_enabled(SeededBug::ArrivalOrderFold) {
            let is_unsaved = |slot: &super::TaskSlot| matches!(slot.status, TaskStatus::Done { persisted: false, .. });
            self.slots.iter().position(is_unsaved).into_iter().for_each(|index| updates[index..].rotate_left(1));
        }
        self.apply(updates, options).map(|(applied, _)| applied)
    }

    fn record_recent_nodes(&mut self, finished: &[NodeId]) {
        for node in finished {
            if self.recent.len() == 10 {
                self.recent.remove(0);
            }
            self.recent.push(*node);
        }
    }

    fn report_unfilled_joins(&mut self) {
        if !self.position.next_tasks.is_empty() || self.position.joins.is_empty() {
            return;
        }
        let graph = self.graph.clone();
        for progress in self.position.joins.clone() {
            let join = &graph.joins[progress.join as usize];
            let missing =
                join.sources.iter().enumerate().filter(|(position, _)| !progress.arrived.contains(&(*position as u32)));
            let missing: Vec<String> = missing.map(|(_, id)| format!("`{}`", graph.node(*id).name)).collect();
            let target = &graph.node(join.target).name;
            self.warn(format!("join into `{target}` did not fire: waiting for {}", missing.join(", ")));
        }
    }

    /// Records a warning for the result and for subscribers.
    pub fn warn(&mut self, message: String) {
        self.emit_warning("warning", None, message);
    }

    /// Records the warnings of applied updates.
    pub(super) fn warn_applied(&mut self, applied: &Applied) {
        for (field, message) in &applied.warnings {
            let name = field.map(|field| self.graph.schema.field(field).name.clone());
            let code = if name.is_some() { "set_once_ignored" } else { "warning" };
            self.emit_warning(code, name, message.clone());
        }
    }

    fn emit_warning(&mut self, code: &'static str, field: Option<Arc<str>>, message: String) {
        if self.config.emits_events {
            self.emit_after_commit(MachineEvent::Warning { code, field, message: message.clone() });
        }
        self.warnings.push(message);
    }

    /// Publishes after the next commit, so that only durable facts are published; at once with exit durability.
    pub(super) fn emit_after_commit(&mut self, event: MachineEvent) {
        let waits_for_commit = self.config.lease.is_some() && !self.config.saves_at_exit;
        if waits_for_commit && !is_enabled(SeededBug::EventBeforeCommit) {
            self.unsaved_events.push(event);
        } else {
            self.events.push(event);
        }
    }
}
