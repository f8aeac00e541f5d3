//! The end of a task: validates its output against schema and topology and evaluates its conditional edges.
//!
//! A superstep of one task applies its update at once, so that its conditional edges see the new state. In a
//! superstep of several tasks, a conditional edge sees the update of its own node and not those of the siblings.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ephemeral::ClearedFields;
use super::routing::RouteOrigin;
use super::{Machine, MachineEvent, ResolvedOutput, TaskEnd, TaskStatus, protocol_error};
use crate::apply::{FieldSet, TaskUpdate, apply};
use crate::checkpoint::{Interrupt, TaskEntry, TriggerKind};
use crate::command::{CommandScope, Goto, TaskOutput};
use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::field::AnyState;
use crate::graph::{BranchPolicy, Compat, Topology};
use crate::id::NodeId;
use crate::schedule::Routing;
use crate::state::UncheckedUpdate;
use crate::update::Update;

impl Machine {
    /// Reports that a task has ended.
    ///
    /// # Errors
    /// Returns an error if the task was not running, which is a bug in the engine.
    pub fn task_ended(&mut self, index: usize, end: TaskEnd) -> Result<()> {
        if !self.slots.get(index).is_some_and(|slot| matches!(slot.status, TaskStatus::Running)) {
            // A cancelled task may still report; its result no longer counts.
            let is_cancelled = matches!(end, TaskEnd::Cancelled)
                || self.slots.get(index).is_some_and(|slot| matches!(slot.status, TaskStatus::Skipped { .. }));
            return if is_cancelled { Ok(()) } else { Err(protocol_error("end of a task")) };
        }
        let status = match end {
            TaskEnd::Finished(output) => self.done(index, output, false),
            TaskEnd::Cached(output) => self.done(index, output, true),
            TaskEnd::Interrupted(interrupts) => TaskStatus::Interrupted(interrupts),
            TaskEnd::Paused(nodes) => TaskStatus::Paused(nodes),
            TaskEnd::Failed(error) => self.failed(index, error),
            TaskEnd::Cancelled => TaskStatus::Cancelled,
        };
        self.slots[index].status = status;
        self.apply_branch_policy(index);
        self.save_finished_task(index);
        Ok(())
    }

    fn done(&mut self, index: usize, output: TaskOutput, cached: bool) -> TaskStatus {
        match self.resolve(index, output, cached) {
            Ok(resolved) => {
                if self.config.emits_events {
                    let (task, node) = self.names(index);
                    let (step, update) = (self.position.step + 1, resolved.update.clone());
                    self.emit_after_commit(MachineEvent::TaskFinished { task, node, step, update, cached });
                }
                TaskStatus::Done { resolved, persisted: false }
            }
            Err(error) => self.failed(index, error),
        }
    }

    fn failed(&mut self, index: usize, error: Error) -> TaskStatus {
        let node = self.graph.node(self.slots[index].task.node).name.clone();
        let error = error.with_node(&*node).with_step(self.position.step + 1);
        if self.config.emits_events {
            let (task, node) = self.names(index);
            self.emit_after_commit(MachineEvent::TaskFailed {
                task,
                node,
                step: self.position.step + 1,
                error: error.clone(),
            });
        }
        TaskStatus::Failed(error)
    }

    pub(super) fn names(&self, index: usize) -> (crate::id::TaskId, Arc<str>) {
        let task = &self.slots[index].task;
        (self.task_id(task), self.graph.node(task.node).name.clone())
    }

    fn resolve(&mut self, index: usize, output: TaskOutput, cached: bool) -> Result<ResolvedOutput> {
        let node = self.slots[index].task.node;
        let mut resolved = ResolvedOutput { cached, ..ResolvedOutput::default() };
        for unchecked in output.updates {
            let mut warnings = Vec::new();
            let update = validate_update(&self.graph, unchecked, &mut warnings);
            warnings.into_iter().for_each(|warning| self.warn(warning));
            let update = update.map_err(|diagnostics| {
                let is_unknown = diagnostics.iter().any(|diagnostic| diagnostic.message.starts_with("no field"));
                let code = if is_unknown { ErrorCode::UnknownField } else { ErrorCode::TypeMismatch };
                let error =
                    Error::with_diagnostics(code, "the update of the node does not match the state", diagnostics);
                if is_unknown {
                    error
                } else {
                    error.with_help("return values of the declared types, or change the types")
                }
            })?;
            match resolved.update.is_empty() {
                true => resolved.update = update,
                false => resolved.update.extend(update),
            }
        }
        self.check_private_writes(node, &resolved.update)?;
        self.assign_ids(&mut resolved.update);
        if let Some(parent_command) = output.parent_command {
            if self.config.namespace.is_root() {
                let (from, text) = (&self.graph.name, "it is the root graph");
                return Err(Error::new(ErrorCode::InvalidRoute, format!("parent command in `{from}`: {text}"))
                    .with_help("use a parent command only in a graph that runs as a subgraph"));
            }
            debug_assert!(
                parent_command.scope != CommandScope::Current,
                "a parent command is addressed to another graph"
            );
            resolved.parent_command = Some(parent_command);
            return Ok(resolved);
        }
        let replaces_edges = output.skip_edges || output.goto.is_some() && self.graph.compat == Compat::Strict;
        resolved.routing.follow_edges = !replaces_edges;
        let goto_origin = RouteOrigin {
            node: Some(node),
            name: &self.graph.node(node).name,
            trigger: TriggerKind::Goto,
            allowed: None,
        };
        if let Some(goto) = output.goto {
            self.add_targets(&goto_origin, goto, &mut resolved.routing)?;
        }
        if !output.sends.is_empty() {
            self.add_targets(&goto_origin, Goto::sends(output.sends), &mut resolved.routing)?;
        }
        let routes = !replaces_edges && !self.graph.exits[node.index()].routes.is_empty();
        if self.slots.len() == 1 && self.quorum(node).is_none_or(|needed| needed <= 1) {
            self.apply_single_task(node, &mut resolved, routes)?;
        } else if routes {
            self.route_on_copy(node, &mut resolved)?;
        }
        Ok(resolved)
    }

    /// Applies a superstep of one task at once, routes on the result, and undoes the update if a conditional edge
    /// fails.
    fn apply_single_task(&mut self, node: NodeId, resolved: &mut ResolvedOutput, routes: bool) -> Result<()> {
        let mut result = None;
        if !resolved.update.is_empty() {
            let options = self.node_apply_options(routes);
            let emits_events = self.config.emits_events;
            let update = if emits_events { resolved.update.clone() } else { std::mem::take(&mut resolved.update) };
            result = Some(self.apply([TaskUpdate { node: self.graph.node(node).name.clone(), update }], options)?);
        }
        let (applied, undo_data) = result.unzip();
        if routes {
            let state = self.state.clone();
            let routed = self.route(node, &*state, &mut resolved.routing);
            drop(state);
            if let Err(error) = routed {
                undo_data.into_iter().for_each(|undo_data| self.undo(undo_data));
                return Err(error);
            }
        }
        self.early_applied = Some(applied.unwrap_or_default());
        Ok(())
    }

    /// Routes a superstep of several tasks on a private copy of the state that has only this task's update.
    fn route_on_copy(&mut self, node: NodeId, resolved: &mut ResolvedOutput) -> Result<()> {
        let mut copy = self.state.clone();
        let mut written: FieldSet = self.written.clone();
        let updates = [TaskUpdate { node: self.graph.node(node).name.clone(), update: resolved.update.clone() }];
        let options = self.node_apply_options(false);
        ClearedFields::clear_before_write(&self.graph.schema, &mut copy, &written, &updates);
        apply(&self.graph.schema, &mut copy, &mut written, updates, options)?;
        self.route(node, &*copy, &mut resolved.routing)
    }

    fn route(&self, node: NodeId, state: &AnyState, routing: &mut Routing) -> Result<()> {
        let mut routes = self.graph.exits[node.index()].routes.iter();
        routes.try_for_each(|route| self.evaluate_route(Some(node), route, state, routing))
    }

    pub(super) fn resolve_command(&mut self, output: TaskOutput) -> Result<(Update, Routing)> {
        let mut update = Update::new();
        for unchecked in output.updates {
            let validated = validate_update(&self.graph, unchecked, &mut self.warnings);
            update.extend(validated.map_err(|diagnostics| {
                Error::with_diagnostics(ErrorCode::InputInvalid, "the update does not match the state", diagnostics)
            })?);
        }
        let mut routing = Routing::default();
        let (goto, sends) = (output.goto.unwrap_or_default(), Goto::sends(output.sends));
        let command_origin = RouteOrigin { node: None, name: "command", trigger: TriggerKind::Update, allowed: None };
        self.add_targets(&command_origin, goto, &mut routing)?;
        self.add_targets(&command_origin, sends, &mut routing)?;
        Ok((update, routing))
    }

    /// Assigns ids where an update needs them, once, before anything is stored.
    pub(super) fn assign_ids(&self, update: &mut Update) {
        let environment = &self.config.environment;
        for write in update.writes_mut() {
            let ops = &self.graph.schema.field(write.field).ops;
            ops.assign_ids(&mut write.value, &mut || {
                crate::id::CheckpointId::from_bits(environment.new_id()).to_string()
            });
        }
    }

    fn check_private_writes(&self, node: NodeId, update: &Update) -> Result<()> {
        let schema = &self.graph.schema;
        if schema.private.is_empty() {
            return Ok(());
        }
        let declared = self.graph.node(node).writes.as_deref().unwrap_or_default();
        let undeclared = update
            .writes()
            .iter()
            .find(|write| schema.private.contains(&write.field) && !declared.contains(&write.field));
        match undeclared {
            None => Ok(()),
            Some(write) => {
                let name = &schema.field(write.field).name;
                Err(Error::new(ErrorCode::UnknownField, format!("write to undeclared private field `{name}`"))
                    .with_help(format!("declare it: `.writes([\"{name}\"])`")))
            }
        }
    }

    /// Cancels siblings that a failure or enough successes make unnecessary.
    fn apply_branch_policy(&mut self, index: usize) {
        let node = self.slots[index].task.node;
        if self.branch_policy(node) == BranchPolicy::FailFast
            && matches!(self.slots[index].status, TaskStatus::Failed(_))
        {
            return self.cancel_siblings(|_| true, false);
        }
        if self.quorum(node).is_some_and(|needed| self.succeeded(node) >= needed) {
            self.cancel_siblings(|slot| slot.task.node == node, true);
        }
    }

    fn branch_policy(&self, node: NodeId) -> BranchPolicy {
        match self.graph.node(node).branch {
            BranchPolicy::Inherit => self.config.branch_policy,
            policy => policy,
        }
    }

    /// Returns the number of tasks of a node that must succeed, or `None` if all must.
    pub(super) fn quorum(&self, node: NodeId) -> Option<usize> {
        // A quorum set for the whole graph applies to fan-outs only.
        let is_alone = || self.slots.iter().filter(|slot| slot.task.node == node).nth(1).is_none();
        match self.branch_policy(node) {
            BranchPolicy::Quorum(_) if self.graph.node(node).branch == BranchPolicy::Inherit && is_alone() => None,
            BranchPolicy::Quorum(needed) => Some(needed),
            BranchPolicy::Race => Some(1),
            _ => None,
        }
    }

    pub(super) fn succeeded(&self, node: NodeId) -> usize {
        let slots = self.slots.iter().filter(|slot| slot.task.node == node);
        slots.filter(|slot| matches!(slot.status, TaskStatus::Done { .. })).count()
    }

    fn cancel_siblings(&mut self, selects: impl Fn(&super::TaskSlot) -> bool, for_good: bool) {
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| selects(slot)) {
            let is_running = matches!(slot.status, TaskStatus::Running);
            let waits = matches!(slot.status, TaskStatus::Interrupted(_) | TaskStatus::Paused(_));
            let is_open = is_running || waits || matches!(slot.status, TaskStatus::Ready | TaskStatus::Failed(_));
            match for_good {
                true if is_running => self.cancel.push(index),
                // The task may have finished already: then its result is kept.
                false if is_running => self.abort.push(index),
                _ => {}
            }
            if for_good && is_open {
                slot.status = TaskStatus::Skipped { persisted: false };
            } else if matches!(slot.status, TaskStatus::Ready) {
                slot.status = TaskStatus::Cancelled;
            }
        }
    }

    /// Saves a finished task while others still run, so that it does not run again after a crash.
    fn save_finished_task(&mut self, index: usize) {
        if self.config.lease.is_none() || self.config.saves_at_exit || !self.has_unfinished_tasks() {
            return;
        }
        // Siblings that were cancelled with it are saved with it: they must not run after a crash either.
        let is_cancelled = |slot: &super::TaskSlot| matches!(slot.status, TaskStatus::Skipped { persisted: false });
        let skipped = (0..self.slots.len()).filter(|other| *other != index && is_cancelled(&self.slots[*other]));
        let indices: Vec<usize> = skipped.chain([index]).collect();
        let entries = self.unsaved_entries(&indices);
        if !entries.is_empty() {
            self.save_pending(entries, None);
        }
    }

    /// Returns entries for tasks that have ended and are not saved yet.
    pub(super) fn unsaved_entries(&mut self, indices: &[usize]) -> Vec<crate::checkpoint::PendingEntry> {
        let mut entries = Vec::new();
        for index in indices {
            let entry = match &self.slots[*index].status {
                TaskStatus::Done { resolved, persisted: false } => TaskEntry::Done(self.to_stored_output(resolved)),
                TaskStatus::Skipped { persisted: false } => TaskEntry::Skipped,
                TaskStatus::Failed(error) => TaskEntry::Failed(error.into()),
                _ => continue,
            };
            entries.extend(self.entry(*index, entry));
            if let TaskStatus::Done { persisted, .. } | TaskStatus::Skipped { persisted } =
                &mut self.slots[*index].status
            {
                *persisted = true;
            }
        }
        entries
    }

    /// Returns the interrupts of a task as entries.
    pub(super) fn interrupt_entries(
        &self,
        index: usize,
        interrupts: &[Interrupt],
    ) -> Vec<crate::checkpoint::PendingEntry> {
        interrupts.iter().filter_map(|interrupt| self.entry(index, TaskEntry::Interrupt(interrupt.clone()))).collect()
    }
}

/// Returns the nodes of the tasks that succeeded.
pub(super) fn finished_nodes(slots: &[super::TaskSlot]) -> SmallVec<[NodeId; 4]> {
    slots.iter().filter(|slot| matches!(slot.status, TaskStatus::Done { .. })).map(|slot| slot.task.node).collect()
}

/// Validates an update against the schema. Compatibility mode drops unknown field names.
pub(super) fn validate_update(
    graph: &Topology,
    update: UncheckedUpdate,
    warnings: &mut Vec<String>,
) -> Result<Update, Vec<Diagnostic>> {
    let update = match update {
        UncheckedUpdate::Json(mut map) if graph.compat == Compat::LangGraph => {
            // `__root__` stays, so that a result that is not a map is rejected, as in LangGraph.
            map.retain(|name, _| name == "__root__" || graph.schema.find(name).is_some());
            UncheckedUpdate::Json(map)
        }
        update => update,
    };
    update.validate(&graph.schema, warnings)
}
