//! What happens when a task ends: its output is held against schema and drawing, its routes decide.
//!
//! A superstep of one task folds its update at once, so that its routes see it. In a superstep of several,
//! a route sees its own node's update and not those of its siblings.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ephemeral::Stale;
use super::ways::Leading;
use super::{Event, Machine, Resolved, Status, TaskEnd, out_of_turn};
use crate::advance::Leads;
use crate::apply::{FieldSet, TaskUpdate, apply};
use crate::checkpoint::{Entry, Question, WhyKind};
use crate::command::{Go, Output, Scope};
use crate::error::{Code, Error, Problem, Result};
use crate::field::AnyState;
use crate::graph::{BranchPolicy, Compat, Topology};
use crate::id::NodeId;
use crate::state::Draft;
use crate::update::Update;

impl Machine {
    /// A task has ended.
    ///
    /// # Errors
    /// When the task was not running: the rim is at fault.
    pub fn finished(&mut self, index: usize, end: TaskEnd) -> Result<()> {
        if !self.slots.get(index).is_some_and(|slot| matches!(slot.status, Status::Running)) {
            // A task that was called off may still report; its word no longer counts.
            let called_off = matches!(end, TaskEnd::Cancelled)
                || self.slots.get(index).is_some_and(|slot| matches!(slot.status, Status::Skipped { .. }));
            return if called_off { Ok(()) } else { Err(out_of_turn("that a task ended")) };
        }
        let status = match end {
            TaskEnd::Done(output) => self.done(index, output, false),
            TaskEnd::Cached(output) => self.done(index, output, true),
            TaskEnd::Asked(questions) => Status::Asked(questions),
            TaskEnd::Paused(nodes) => Status::Paused(nodes),
            TaskEnd::Failed(error) => self.failed(index, error),
            TaskEnd::Cancelled => Status::Cancelled,
        };
        self.slots[index].status = status;
        self.apply_branch_policy(index);
        self.keep_early(index);
        Ok(())
    }

    fn done(&mut self, index: usize, output: Output, cached: bool) -> Status {
        match self.resolve(index, output, cached) {
            Ok(resolved) => {
                if self.config.observe {
                    let (task, node) = self.names(index);
                    let (step, update) = (self.position.step + 1, resolved.update.clone());
                    self.tell(Event::TaskDone { task, node, step, update, cached });
                }
                Status::Done { resolved, kept: false }
            }
            Err(error) => self.failed(index, error),
        }
    }

    fn failed(&mut self, index: usize, error: Error) -> Status {
        let node = self.graph.node(self.slots[index].due.node).name.clone();
        let error = error.at_node(&*node).at_step(self.position.step + 1);
        if self.config.observe {
            let (task, node) = self.names(index);
            self.tell(Event::TaskFailed { task, node, step: self.position.step + 1, error: error.clone() });
        }
        Status::Failed(error)
    }

    pub(super) fn names(&self, index: usize) -> (crate::id::TaskId, Arc<str>) {
        let due = &self.slots[index].due;
        (self.task_id(due), self.graph.node(due.node).name.clone())
    }

    fn resolve(&mut self, index: usize, output: Output, cached: bool) -> Result<Resolved> {
        let node = self.slots[index].due.node;
        let mut resolved = Resolved { cached, ..Resolved::default() };
        for draft in output.updates {
            let mut notes = Vec::new();
            let update = hold(&self.graph, draft, &mut notes);
            notes.into_iter().for_each(|note| self.warn(note));
            let update = update.map_err(|problems| {
                let is_unknown = problems.iter().any(|problem| problem.message.starts_with("no field"));
                let code = if is_unknown { Code::UnknownField } else { Code::TypeMismatch };
                let error = Error::listing(code, "its update does not fit the state", problems);
                if is_unknown { error } else { error.help("return values of the fields' types, or change the types") }
            })?;
            match resolved.update.is_empty() {
                true => resolved.update = update,
                false => resolved.update.extend(update),
            }
        }
        self.check_private(node, &resolved.update)?;
        self.stamp(&mut resolved.update);
        if let Some(outward) = output.outward {
            if self.config.namespace.is_root() {
                let (from, text) = (&self.graph.name, "there is no graph around it");
                return Err(Error::new(Code::InvalidRoute, format!("a command for a graph around `{from}`: {text}"))
                    .help("use the command only in a graph that runs inside another"));
            }
            debug_assert!(outward.scope != Scope::Here, "an outward command speaks to another graph");
            resolved.outward = Some(outward);
            return Ok(resolved);
        }
        let replaces_edges = output.skip_edges || output.goto.is_some() && self.graph.compat == Compat::Strict;
        resolved.leads.follow_edges = !replaces_edges;
        let by_goto =
            Leading { node: Some(node), name: &self.graph.node(node).name, why: WhyKind::Goto, allowed: None };
        if let Some(goto) = output.goto {
            self.add_ways(&by_goto, goto, &mut resolved.leads)?;
        }
        if !output.sends.is_empty() {
            self.add_ways(&by_goto, Go::sends(output.sends), &mut resolved.leads)?;
        }
        let routes = !replaces_edges && !self.graph.exits[node.index()].routes.is_empty();
        if self.slots.len() == 1 && self.needed(node).is_none_or(|needed| needed <= 1) {
            self.fold_alone(node, &mut resolved, routes)?;
        } else if routes {
            self.route_apart(node, &mut resolved)?;
        }
        Ok(resolved)
    }

    /// A superstep of one task: fold now, route on the result, take it back if a route fails.
    fn fold_alone(&mut self, node: NodeId, resolved: &mut Resolved, routes: bool) -> Result<()> {
        let mut folded = None;
        if !resolved.update.is_empty() {
            let rules = self.node_rules(routes);
            let keep = self.config.observe;
            let update = if keep { resolved.update.clone() } else { std::mem::take(&mut resolved.update) };
            folded = Some(self.fold([TaskUpdate { node: self.graph.node(node).name.clone(), update }], rules)?);
        }
        let (applied, folded) = folded.unzip();
        if routes {
            let state = self.state.clone();
            let decided = self.route(node, &*state, &mut resolved.leads);
            drop(state);
            if let Err(error) = decided {
                folded.into_iter().for_each(|folded| self.unfold(folded));
                return Err(error);
            }
        }
        self.folded = Some(applied.unwrap_or_default());
        Ok(())
    }

    /// A superstep of several tasks: route on a private copy that has this task's update only.
    fn route_apart(&mut self, node: NodeId, resolved: &mut Resolved) -> Result<()> {
        let mut private = self.state.clone();
        let mut written: FieldSet = self.written.clone();
        let updates = [TaskUpdate { node: self.graph.node(node).name.clone(), update: resolved.update.clone() }];
        let rules = self.node_rules(false);
        Stale::empty(&self.graph.schema, &mut private, &written, &updates);
        apply(&self.graph.schema, &mut private, &mut written, updates, rules)?;
        self.route(node, &*private, &mut resolved.leads)
    }

    fn route(&self, node: NodeId, state: &AnyState, leads: &mut Leads) -> Result<()> {
        let mut routes = self.graph.exits[node.index()].routes.iter();
        routes.try_for_each(|route| self.decide(Some(node), route, state, leads))
    }

    pub(super) fn resolve_command(&mut self, output: Output) -> Result<(Update, Leads)> {
        let mut update = Update::new();
        for draft in output.updates {
            let more = hold(&self.graph, draft, &mut self.warnings);
            update.extend(more.map_err(|problems| {
                Error::listing(Code::InputInvalid, "the update does not fit the state", problems)
            })?);
        }
        let mut leads = Leads::default();
        let (goto, sends) = (output.goto.unwrap_or_default(), Go::sends(output.sends));
        let by_command = Leading { node: None, name: "command", why: WhyKind::Update, allowed: None };
        self.add_ways(&by_command, goto, &mut leads)?;
        self.add_ways(&by_command, sends, &mut leads)?;
        Ok((update, leads))
    }

    /// Gives ids to what needs one, once, before anything is stored.
    pub(super) fn stamp(&self, update: &mut Update) {
        let world = &self.config.world;
        for write in update.writes_mut() {
            let ops = &self.graph.schema.field(write.field).ops;
            ops.stamp(&mut write.value, &mut || crate::id::CheckpointId::from_bits(world.fresh()).to_string());
        }
    }

    fn check_private(&self, node: NodeId, update: &Update) -> Result<()> {
        let schema = &self.graph.schema;
        if schema.private.is_empty() {
            return Ok(());
        }
        let declared = self.graph.node(node).writes.as_deref().unwrap_or_default();
        let wrote = update
            .writes()
            .iter()
            .find(|write| schema.private.contains(&write.field) && !declared.contains(&write.field));
        match wrote {
            None => Ok(()),
            Some(write) => {
                let name = &schema.field(write.field).name;
                Err(Error::new(Code::UnknownField, format!("it wrote private field `{name}` without declaring it"))
                    .help(format!("declare it: `.writes([\"{name}\"])`")))
            }
        }
    }

    /// Calls off siblings when a failure or enough successes make them pointless.
    fn apply_branch_policy(&mut self, index: usize) {
        let node = self.slots[index].due.node;
        if self.branch_policy(node) == BranchPolicy::FailFast && matches!(self.slots[index].status, Status::Failed(_)) {
            return self.call_off(|_| true, false);
        }
        if self.needed(node).is_some_and(|needed| self.succeeded(node) >= needed) {
            self.call_off(|slot| slot.due.node == node, true);
        }
    }

    fn branch_policy(&self, node: NodeId) -> BranchPolicy {
        match self.graph.node(node).branch {
            BranchPolicy::Inherit => self.config.failures,
            own => own,
        }
    }

    /// How many tasks of a node must succeed, where not all must.
    pub(super) fn needed(&self, node: NodeId) -> Option<usize> {
        // A quorum for the whole graph speaks of fan-outs only.
        let is_alone = || self.slots.iter().filter(|slot| slot.due.node == node).nth(1).is_none();
        match self.branch_policy(node) {
            BranchPolicy::Quorum(_) if self.graph.node(node).branch == BranchPolicy::Inherit && is_alone() => None,
            BranchPolicy::Quorum(needed) => Some(needed),
            BranchPolicy::Race => Some(1),
            _ => None,
        }
    }

    pub(super) fn succeeded(&self, node: NodeId) -> usize {
        let mine = self.slots.iter().filter(|slot| slot.due.node == node);
        mine.filter(|slot| matches!(slot.status, Status::Done { .. })).count()
    }

    fn call_off(&mut self, which: impl Fn(&super::Slot) -> bool, for_good: bool) {
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| which(slot)) {
            let is_running = matches!(slot.status, Status::Running);
            let waits = matches!(slot.status, Status::Asked(_) | Status::Paused(_));
            let is_open = is_running || waits || matches!(slot.status, Status::Ready | Status::Failed(_));
            match for_good {
                true if is_running => self.cancel.push(index),
                // It may have finished already: then its result is kept.
                false if is_running => self.abort.push(index),
                _ => {}
            }
            if for_good && is_open {
                slot.status = Status::Skipped { kept: false };
            } else if matches!(slot.status, Status::Ready) {
                slot.status = Status::Cancelled;
            }
        }
    }

    /// Keeps a finished task while others still run, so that it never runs again.
    fn keep_early(&mut self, index: usize) {
        if self.config.lease.is_none() || self.config.at_exit || !self.has_open() {
            return;
        }
        // Those that were called off with it are kept with it: they must not run after a crash either.
        let called_off = |slot: &super::Slot| matches!(slot.status, Status::Skipped { kept: false });
        let skipped = (0..self.slots.len()).filter(|other| *other != index && called_off(&self.slots[*other]));
        let indices: Vec<usize> = skipped.chain([index]).collect();
        let entries = self.unkept(&indices);
        if !entries.is_empty() {
            self.save_pending(entries, None);
        }
    }

    /// Entries for tasks that have ended and are not kept yet.
    pub(super) fn unkept(&mut self, indices: &[usize]) -> Vec<crate::checkpoint::Pending> {
        let mut entries = Vec::new();
        for index in indices {
            let entry = match &self.slots[*index].status {
                Status::Done { resolved, kept: false } => Entry::Done(self.store_output(resolved)),
                Status::Skipped { kept: false } => Entry::Skipped,
                Status::Failed(error) => Entry::Failed(error.into()),
                _ => continue,
            };
            entries.extend(self.entry(*index, entry));
            if let Status::Done { kept, .. } | Status::Skipped { kept } = &mut self.slots[*index].status {
                *kept = true;
            }
        }
        entries
    }

    /// Questions of a task as entries.
    pub(super) fn questions(&self, index: usize, questions: &[Question]) -> Vec<crate::checkpoint::Pending> {
        questions.iter().filter_map(|question| self.entry(index, Entry::Question(question.clone()))).collect()
    }
}

/// The ways a set of tasks leads, for callers that need them together.
pub(super) fn finished_nodes(slots: &[super::Slot]) -> SmallVec<[NodeId; 4]> {
    slots.iter().filter(|slot| matches!(slot.status, Status::Done { .. })).map(|slot| slot.due.node).collect()
}

/// An update held against the schema. The reference leaves out names it does not know.
pub(super) fn hold(graph: &Topology, draft: Draft, notes: &mut Vec<String>) -> Result<Update, Vec<Problem>> {
    let draft = match draft {
        Draft::Json(mut map) if graph.compat == Compat::LangGraph => {
            // A result that is no map is refused there too.
            map.retain(|name, _| name == "__root__" || graph.schema.find(name).is_some());
            Draft::Json(map)
        }
        draft => draft,
    };
    draft.resolve(&graph.schema, notes)
}
