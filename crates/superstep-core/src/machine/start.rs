//! The start of a run: on a new or a saved thread, with or without an input.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::stored_form::{
    from_stored_output, restore_checkpoint, restore_position, restore_written_fields, unknown_fields,
};
use super::{Machine, MachineConfig, Phase, TaskSlot, TaskStatus};
use crate::apply::{FieldSet, TaskUpdate};
use crate::checkpoint::{CheckpointSource, Interrupt, PendingEntry, TaskEntry};
use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::field::AnyState;
use crate::graph::{Compat, Topology};
use crate::id::{CheckpointId, FieldId, InterruptId};
use crate::port::{CheckpointTuple, ThreadStatus};
use crate::schedule::{Position, Routing, schedule_next};
use crate::state::UncheckedUpdate;
use crate::update::Update;
use crate::value::AnyValue;

/// Message and help text for a rejected input.
const INVALID_INPUT: &str = "the input is invalid";
const INVALID_INPUT_HELP: &str = "nothing was run; correct the input and run again";

/// The state of a checkpoint as a run of the same graph left it, so that the next run need not read it again.
pub struct CachedState {
    checkpoint: CheckpointId,
    state: Arc<AnyState>,
    fields_not_in_checkpoint: FieldSet,
}

impl CachedState {
    /// Returns the checkpoint of the state.
    #[must_use]
    pub fn checkpoint(&self) -> CheckpointId {
        self.checkpoint
    }
}

impl Machine {
    /// Returns the state for the next run on the thread; `None` if the state contains more than what is saved.
    #[must_use]
    pub fn cached_state(&self) -> Option<CachedState> {
        let is_saved = self.latest_durable == self.latest_checkpoint
            && self.unsaved_work.is_none()
            && self.checkpoint_in_flight.is_none()
            && !self.is_migrated;
        let is_complete = !self.graph.schema.fields().iter().any(|field| field.flags.untracked);
        let checkpoint = self.latest_checkpoint.filter(|_| is_saved && is_complete)?;
        Some(CachedState {
            checkpoint,
            state: self.state.clone(),
            fields_not_in_checkpoint: self.fields_not_in_checkpoint.clone(),
        })
    }

    /// Creates a run on the loaded thread, or on a new one.
    ///
    /// # Errors
    /// Returns an error if the loaded checkpoint does not fit the graph.
    pub fn new(graph: Arc<Topology>, config: MachineConfig, loaded: Option<CheckpointTuple>) -> Result<Self> {
        Self::with_cached_state(graph, config, loaded, None)
    }

    /// Same as [`Machine::new`], with a cached state of the loaded checkpoint.
    ///
    /// # Errors
    /// Returns an error if the loaded checkpoint does not fit the graph.
    pub fn with_cached_state(
        graph: Arc<Topology>,
        config: MachineConfig,
        loaded: Option<CheckpointTuple>,
        cached_state: Option<CachedState>,
    ) -> Result<Self> {
        let schema = graph.schema.clone();
        let first_step = if graph.compat == Compat::LangGraph { -2 } else { -1 };
        let mut machine = Self {
            state: schema.initial_state(),
            written: FieldSet::default(),
            position: Position { step: first_step, ..Position::default() },
            graph,
            config,
            slots: SmallVec::new(),
            has_ready: false,
            first_active_slot: 0,
            early_applied: None,
            phase: Phase::Over,
            latest_checkpoint: None,
            latest_durable: None,
            checkpoint_in_flight: None,
            unsaved_work: None,
            fields_not_in_checkpoint: FieldSet::default(),
            migrated: FieldSet::default(),
            is_migrated: false,
            starts_history: false,
            pending_commits: VecDeque::new(),
            events: Vec::new(),
            unsaved_events: Vec::new(),
            saving_events: Vec::new(),
            resume_values: None,
            supersteps: 0,
            recent: Vec::new(),
            warnings: Vec::new(),
            skip_breakpoint: false,
            forks_history: false,
            drain: false,
            cancel: SmallVec::new(),
            abort: SmallVec::new(),
            pending: Vec::new(),
            since_input: None,
            start_step: first_step,
        };
        if let Some(loaded) = loaded {
            machine.restore(loaded, cached_state)?;
        }
        Ok(machine)
    }

    /// Restores the position and the state of a checkpoint.
    fn restore(&mut self, mut loaded: CheckpointTuple, cached_state: Option<CachedState>) -> Result<()> {
        let schema = self.graph.schema.clone();
        match cached_state.filter(|cached_state| cached_state.checkpoint == loaded.checkpoint.id) {
            Some(cached_state) => {
                (self.state, self.fields_not_in_checkpoint) =
                    (cached_state.state, cached_state.fields_not_in_checkpoint);
                self.written = restore_written_fields(&schema, &loaded.checkpoint);
            }
            None => {
                let restored = restore_checkpoint(&self.graph, loaded)?;
                (self.state, self.written, loaded) = (restored.state, restored.written, restored.loaded);
                self.fields_not_in_checkpoint = unknown_fields(&schema, &loaded);
                (self.migrated, self.is_migrated) = (restored.migrated, restored.migrated_from.is_some());
            }
        }
        let checkpoint = &loaded.checkpoint;
        self.position = restore_position(&self.graph, checkpoint)?;
        self.start_step = self.position.step;
        (self.latest_checkpoint, self.latest_durable) = (Some(checkpoint.id), Some(checkpoint.id));
        // Changes from an earlier process in the same call of this subgraph count too.
        let same_call = self.config.parent_task.is_some() && checkpoint.parent_task == self.config.parent_task;
        let changes = checkpoint.changes_since_input.as_ref().filter(|_| same_call);
        self.since_input = changes.map(|changes| {
            changes.iter().filter_map(|(name, change)| Some((schema.find(name)?, change.clone()))).collect()
        });
        self.pending = loaded.pending;
        Ok(())
    }

    /// Returns true if nothing has ever been saved on the thread.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.latest_checkpoint.is_none()
    }

    /// Returns true if no task is scheduled.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.position.next_tasks.is_empty()
    }

    /// Starts with an input: the reducers apply it, and tasks scheduled before are dropped.
    ///
    /// # Errors
    /// Returns an error that lists everything wrong with the input; nothing is changed then.
    pub fn start_with_input(&mut self, input: UncheckedUpdate) -> Result<()> {
        let update = self.validate_input(input)?;
        // A subgraph may share no field with its parent graph: the subgraph then starts from its defaults.
        if update.is_empty() && !self.graph.input.is_empty() && self.config.parent_task.is_none() {
            return Err(Error::new(ErrorCode::InputInvalid, "the input is empty")
                .with_help("set at least one field, or continue the thread without an input"));
        }
        let mut changes = self.apply_input(update)?;
        self.clear_ephemeral(&mut changes);
        self.since_input = self.config.parent_task.is_some().then(BTreeMap::new);
        self.pending.clear();
        self.position.deferred.clear();
        self.position.step += 1;
        let start = self.entry_routing()?;
        schedule_next(&self.graph, &mut self.position, [(None, start)].into_iter());
        self.save_checkpoint(CheckpointSource::Input, changes);
        if self.graph.compat == Compat::LangGraph {
            // LangGraph runs the start as a separate superstep with its own checkpoint.
            self.position.step += 1;
            self.save_checkpoint(CheckpointSource::Loop, crate::apply::Applied::default());
        }
        self.phase = Phase::Plan;
        Ok(())
    }

    /// Continues from the last checkpoint.
    ///
    /// # Errors
    /// Returns an error on a new thread, which has no checkpoint.
    pub fn continue_from_checkpoint(&mut self) -> Result<()> {
        if self.is_new() {
            return Err(Error::new(ErrorCode::InputInvalid, "the thread is new and cannot be continued")
                .with_help("start it with an input"));
        }
        self.save_migrated();
        if self.is_finished() && self.config.namespace.is_root() {
            self.save_pending(Vec::new(), Some(ThreadStatus::Idle));
        }
        self.skip_breakpoint = true;
        self.collect_resume_values();
        self.phase = Phase::Plan;
        Ok(())
    }

    fn validate_input(&mut self, input: UncheckedUpdate) -> Result<Update> {
        let mut diagnostics = Vec::new();
        if let UncheckedUpdate::Json(map) = &input {
            let is_not_input = |id: &FieldId| !self.graph.input.contains(id);
            let schema = &self.graph.schema;
            let rejected_fields = map.keys().filter(|name| schema.find(name).as_ref().is_some_and(is_not_input));
            diagnostics.extend(rejected_fields.map(|name| Diagnostic {
                pointer: format!("/{name}"),
                message: format!("field `{name}` is not part of the input"),
                help: None,
            }));
        }
        let missing = self.missing_required(&input);
        let mut warnings = Vec::new();
        let resolved = super::task_finished::validate_update(&self.graph, input, &mut warnings);
        warnings.into_iter().for_each(|warning| self.warn(warning));
        let update = match resolved {
            Ok(update) => update,
            Err(errors) => {
                diagnostics.extend(errors);
                Update::new()
            }
        };
        for write in update.writes().iter().filter(|write| !self.graph.input.contains(&write.field)) {
            let name = &self.graph.schema.field(write.field).name;
            if !diagnostics.iter().any(|diagnostic| diagnostic.pointer == format!("/{name}")) {
                let message = format!("field `{name}` is not part of the input");
                diagnostics.push(Diagnostic { pointer: format!("/{name}"), message, help: None });
            }
        }
        diagnostics.extend(missing);
        if diagnostics.is_empty() {
            return Ok(update);
        }
        let is_type_error = |diagnostic: &Diagnostic| {
            ["expected", "invalid type", "invalid value"].iter().any(|start| diagnostic.message.starts_with(start))
        };
        let code =
            if diagnostics.iter().all(is_type_error) { ErrorCode::TypeMismatch } else { ErrorCode::InputInvalid };
        Err(Error::with_diagnostics(code, INVALID_INPUT, diagnostics).with_help(INVALID_INPUT_HELP))
    }

    /// Returns the required fields that are missing in the first input of a thread.
    fn missing_required(&self, input: &UncheckedUpdate) -> Vec<Diagnostic> {
        if !self.is_new() {
            return Vec::new();
        }
        let schema = &self.graph.schema;
        let is_set = |id: FieldId| match input {
            UncheckedUpdate::Json(map) => map.contains_key(&*schema.field(id).name),
            UncheckedUpdate::Typed(update) => update.writes().iter().any(|write| write.field == id),
        };
        let missing =
            schema.iter().filter(|(id, field)| field.flags.required && self.graph.input.contains(id) && !is_set(*id));
        missing
            .map(|(_, field)| Diagnostic {
                pointer: format!("/{}", field.name),
                message: format!("required field `{}` is missing", field.name),
                help: None,
            })
            .collect()
    }

    pub(super) fn apply_input(&mut self, mut update: Update) -> Result<crate::apply::Applied> {
        self.assign_ids(&mut update);
        let options = self.external_apply_options(false, INVALID_INPUT);
        let (applied, _) = self.apply(vec![TaskUpdate { node: "input".into(), update }], options).map_err(|error| {
            let is_listed = !error.diagnostics().is_empty();
            if is_listed { error.with_help(INVALID_INPUT_HELP) } else { error }
        })?;
        self.warn_applied(&applied);
        Ok(applied)
    }

    pub(super) fn entry_routing(&self) -> Result<Routing> {
        let mut routing = Routing { follow_edges: true, targets: SmallVec::new() };
        for route in &self.graph.start.routes {
            self.evaluate_route(None, route, &*self.state, &mut routing)?;
        }
        Ok(routing)
    }

    /// Creates the task slots of this superstep and restores the pending entries of its tasks.
    ///
    /// # Errors
    /// Returns an error if a stored result does not fit the graph: running the task again would repeat its side
    /// effects.
    pub(super) fn prepare_tasks(&mut self) -> Result<()> {
        self.slots.clear();
        (self.has_ready, self.first_active_slot) = (true, 0);
        self.early_applied = None;
        for index in 0..self.position.next_tasks.len() {
            let task = self.position.next_tasks[index].clone();
            let slot = TaskSlot { task, status: TaskStatus::Ready, recorded_results: None };
            self.slots.push(slot);
        }
        if self.pending.is_empty() { Ok(()) } else { self.restore_pending_entries() }
    }

    fn restore_pending_entries(&mut self) -> Result<()> {
        let pending = self.pending.clone();
        for index in 0..self.slots.len() {
            let id = self.task_id(&self.slots[index].task);
            let entries: Vec<&PendingEntry> = pending.iter().filter(|entry| entry.task == id).collect();
            if entries.is_empty() {
                continue;
            }
            let (mut recorded_results, mut open): (BTreeMap<String, AnyValue>, Vec<Interrupt>) = Default::default();
            let mut status = TaskStatus::Ready;
            for entry in entries {
                match &entry.entry {
                    TaskEntry::Done(output) => {
                        status =
                            TaskStatus::Done { resolved: from_stored_output(&self.graph, output)?, persisted: true };
                    }
                    TaskEntry::Skipped => status = TaskStatus::Skipped { persisted: true },
                    TaskEntry::Failed(_) | TaskEntry::Rejected(_) => {}
                    TaskEntry::Interrupt(interrupt) if !self.is_resumed(interrupt.id) => open.push(interrupt.clone()),
                    TaskEntry::Interrupt(_) | TaskEntry::Resume(_) => {}
                    TaskEntry::Recorded { key, value } => drop(recorded_results.insert(key.clone(), value.clone())),
                }
            }
            if matches!(status, TaskStatus::Ready) && !open.is_empty() {
                status = TaskStatus::Interrupted(open);
            }
            let recorded_results = (!recorded_results.is_empty()).then(|| Arc::new(recorded_results));
            (self.slots[index].status, self.slots[index].recorded_results) = (status, recorded_results);
        }
        Ok(())
    }

    fn is_resumed(&self, id: InterruptId) -> bool {
        self.resume_values.as_ref().is_some_and(|resume_values| resume_values.contains_key(&id))
    }
}
