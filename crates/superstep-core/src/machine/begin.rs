//! How a run begins: on a new thread or a saved one, with an input or with nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::store::{read_output, read_position, read_thread, read_written, unknown_fields};
use super::{Config, Machine, Phase, Slot, Status};
use crate::advance::{Leads, Position, advance};
use crate::apply::{FieldSet, TaskUpdate};
use crate::checkpoint::{Entry, Pending, Question, Source};
use crate::datum::Datum;
use crate::error::{Code, Error, Problem, Result};
use crate::field::AnyState;
use crate::graph::{Compat, Topology};
use crate::id::{CheckpointId, FieldId, InterruptId};
use crate::port::{Loaded, ThreadStatus};
use crate::state::Draft;
use crate::update::Update;

/// What an input is refused with, and what to do then.
const INVALID: &str = "the input is not valid";
const CORRECT: &str = "nothing ran: correct the input and run again";

/// The state of a checkpoint as a run of the same graph left it, so that the next need not read it again.
pub struct Warm {
    checkpoint: CheckpointId,
    state: Arc<AnyState>,
    unknown: FieldSet,
}

impl Warm {
    /// The checkpoint whose state it is.
    #[must_use]
    pub fn checkpoint(&self) -> CheckpointId {
        self.checkpoint
    }
}

impl Machine {
    /// What a later run on the thread can start from; `None` when there is more in it than what is saved.
    #[must_use]
    pub fn warm(&self) -> Option<Warm> {
        let is_saved =
            self.durable == self.head && self.unsaved.is_none() && self.saving.is_none() && !self.is_migrated;
        let is_whole = !self.graph.schema.fields().iter().any(|field| field.flags.untracked);
        let checkpoint = self.head.filter(|_| is_saved && is_whole)?;
        Some(Warm { checkpoint, state: self.state.clone(), unknown: self.unknown.clone() })
    }

    /// A run on the thread that was loaded, or on a new one.
    ///
    /// # Errors
    /// When what was loaded does not fit the graph.
    pub fn new(graph: Arc<Topology>, config: Config, loaded: Option<Loaded>) -> Result<Self> {
        Self::with(graph, config, loaded, None)
    }

    /// As [`Machine::new`], with the state of the loaded checkpoint where an earlier run left it.
    ///
    /// # Errors
    /// When what was loaded does not fit the graph.
    pub fn with(graph: Arc<Topology>, config: Config, loaded: Option<Loaded>, warm: Option<Warm>) -> Result<Self> {
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
            first_open: 0,
            folded: None,
            phase: Phase::Over,
            head: None,
            durable: None,
            saving: None,
            unsaved: None,
            unknown: FieldSet::default(),
            migrated: FieldSet::default(),
            is_migrated: false,
            begins_line: false,
            outbox: VecDeque::new(),
            events: Vec::new(),
            unsaved_events: Vec::new(),
            saving_events: Vec::new(),
            answers: None,
            supersteps: 0,
            recent: Vec::new(),
            warnings: Vec::new(),
            skip_breakpoint: false,
            branches: false,
            drain: false,
            cancel: SmallVec::new(),
            abort: SmallVec::new(),
            pending: Vec::new(),
            since_input: None,
            came_in: first_step,
        };
        if let Some(loaded) = loaded {
            machine.take_up(loaded, warm)?;
        }
        Ok(machine)
    }

    /// Stands where a checkpoint stands.
    fn take_up(&mut self, mut loaded: Loaded, warm: Option<Warm>) -> Result<()> {
        let schema = self.graph.schema.clone();
        match warm.filter(|warm| warm.checkpoint == loaded.checkpoint.id) {
            Some(warm) => {
                (self.state, self.unknown) = (warm.state, warm.unknown);
                self.written = read_written(&schema, &loaded.checkpoint);
            }
            None => {
                let read = read_thread(&self.graph, loaded)?;
                (self.state, self.written, loaded) = (read.state, read.written, read.loaded);
                self.unknown = unknown_fields(&schema, &loaded);
                (self.migrated, self.is_migrated) = (read.migrated, read.from.is_some());
            }
        }
        let checkpoint = &loaded.checkpoint;
        self.position = read_position(&self.graph, checkpoint)?;
        self.came_in = self.position.step;
        (self.head, self.durable) = (Some(checkpoint.id), Some(checkpoint.id));
        // What an earlier process did in the same call of this graph counts as much as what this one does.
        let same_call = self.config.outer_task.is_some() && checkpoint.outer_task == self.config.outer_task;
        let known = checkpoint.since_input.as_ref().filter(|_| same_call);
        self.since_input = known.map(|known| {
            known.iter().filter_map(|(name, change)| Some((schema.find(name)?, change.clone()))).collect()
        });
        self.pending = loaded.pending;
        Ok(())
    }

    /// True when nothing has ever been saved on the thread.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.head.is_none()
    }

    /// True when nothing is due.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.position.due.is_empty()
    }

    /// Begins with an input: it goes through the reducers, and what was due before is dropped.
    ///
    /// # Errors
    /// Lists everything that is wrong with the input; nothing is changed then.
    pub fn begin_with(&mut self, input: Draft) -> Result<()> {
        let update = self.read_input(input)?;
        // A graph inside another may share nothing with it: it then starts from its defaults.
        if update.is_empty() && !self.graph.input.is_empty() && self.config.outer_task.is_none() {
            return Err(Error::new(Code::InputInvalid, "the input is empty")
                .help("give a value for at least one field, or continue the thread without an input"));
        }
        let mut changes = self.fold_input(update)?;
        self.clear_ephemeral(&mut changes);
        self.since_input = self.config.outer_task.is_some().then(BTreeMap::new);
        self.pending.clear();
        self.position.deferred.clear();
        self.position.step += 1;
        let start = self.start_leads()?;
        advance(&self.graph, &mut self.position, [(None, start)].into_iter());
        self.save_checkpoint(Source::Input, changes);
        if self.graph.compat == Compat::LangGraph {
            // The reference runs its start as a superstep of its own, with a checkpoint.
            self.position.step += 1;
            self.save_checkpoint(Source::Loop, crate::apply::Applied::default());
        }
        self.phase = Phase::Plan;
        Ok(())
    }

    /// Goes on where the thread stands.
    ///
    /// # Errors
    /// On a new thread there is nothing to go on with.
    pub fn go_on(&mut self) -> Result<()> {
        if self.is_new() {
            return Err(
                Error::new(Code::InputInvalid, "there is nothing to continue: the thread is new").help("give an input")
            );
        }
        self.save_migrated();
        if self.is_finished() && self.config.namespace.is_root() {
            self.save_pending(Vec::new(), Some(ThreadStatus::Idle));
        }
        self.skip_breakpoint = true;
        self.collect_answers();
        self.phase = Phase::Plan;
        Ok(())
    }

    fn read_input(&mut self, input: Draft) -> Result<Update> {
        let mut problems = Vec::new();
        if let Draft::Json(map) = &input {
            let is_closed = |id: &FieldId| !self.graph.input.contains(id);
            let schema = &self.graph.schema;
            let refused = map.keys().filter(|name| schema.find(name).as_ref().is_some_and(is_closed));
            problems.extend(refused.map(|name| Problem {
                pointer: format!("/{name}"),
                message: format!("field `{name}` is not part of the input"),
                help: None,
            }));
        }
        let missing = self.missing_required(&input);
        let mut notes = Vec::new();
        let resolved = super::finish::hold(&self.graph, input, &mut notes);
        notes.into_iter().for_each(|note| self.warn(note));
        let update = match resolved {
            Ok(update) => update,
            Err(more) => {
                problems.extend(more);
                Update::new()
            }
        };
        for write in update.writes().iter().filter(|write| !self.graph.input.contains(&write.field)) {
            let name = &self.graph.schema.field(write.field).name;
            if !problems.iter().any(|problem| problem.pointer == format!("/{name}")) {
                let message = format!("field `{name}` is not part of the input");
                problems.push(Problem { pointer: format!("/{name}"), message, help: None });
            }
        }
        problems.extend(missing);
        if problems.is_empty() {
            return Ok(update);
        }
        let is_type = |problem: &Problem| {
            ["expected", "invalid type", "invalid value"].iter().any(|start| problem.message.starts_with(start))
        };
        let code = if problems.iter().all(is_type) { Code::TypeMismatch } else { Code::InputInvalid };
        Err(Error::listing(code, INVALID, problems).help(CORRECT))
    }

    /// The required fields that the first input of a thread lacks.
    fn missing_required(&self, input: &Draft) -> Vec<Problem> {
        if !self.is_new() {
            return Vec::new();
        }
        let schema = &self.graph.schema;
        let given = |id: FieldId| match input {
            Draft::Json(map) => map.contains_key(&*schema.field(id).name),
            Draft::Typed(update) => update.writes().iter().any(|write| write.field == id),
        };
        let missing =
            schema.iter().filter(|(id, field)| field.flags.required && self.graph.input.contains(id) && !given(*id));
        missing
            .map(|(_, field)| Problem {
                pointer: format!("/{}", field.name),
                message: format!("required field `{}` is missing", field.name),
                help: None,
            })
            .collect()
    }

    pub(super) fn fold_input(&mut self, mut update: Update) -> Result<crate::apply::Applied> {
        self.stamp(&mut update);
        let rules = self.outside_rules(false, INVALID);
        let (applied, _) = self.fold(vec![TaskUpdate { node: "input".into(), update }], rules).map_err(|error| {
            let is_listed = !error.problems().is_empty();
            if is_listed { error.help(CORRECT) } else { error }
        })?;
        self.warn_of(&applied);
        Ok(applied)
    }

    pub(super) fn start_leads(&self) -> Result<Leads> {
        let mut leads = Leads { follow_edges: true, ways: SmallVec::new() };
        for route in &self.graph.start.routes {
            self.decide(None, route, &*self.state, &mut leads)?;
        }
        Ok(leads)
    }

    /// Fills the table of this superstep, with what is known of its tasks already.
    ///
    /// # Errors
    /// When a stored result does not fit the graph: running the task again would repeat what it did.
    pub(super) fn fill_slots(&mut self) -> Result<()> {
        self.slots.clear();
        (self.has_ready, self.first_open) = (true, 0);
        self.folded = None;
        for index in 0..self.position.due.len() {
            let due = self.position.due[index].clone();
            let slot = Slot { due, status: Status::Ready, records: None };
            self.slots.push(slot);
        }
        if self.pending.is_empty() { Ok(()) } else { self.restore_slots() }
    }

    fn restore_slots(&mut self) -> Result<()> {
        let pending = self.pending.clone();
        for index in 0..self.slots.len() {
            let id = self.task_id(&self.slots[index].due);
            let mine: Vec<&Pending> = pending.iter().filter(|entry| entry.task == id).collect();
            if mine.is_empty() {
                continue;
            }
            let (mut records, mut open): (BTreeMap<String, Datum>, Vec<Question>) = Default::default();
            let mut status = Status::Ready;
            for entry in mine {
                match &entry.entry {
                    Entry::Done(output) => {
                        status = Status::Done { resolved: read_output(&self.graph, output)?, kept: true };
                    }
                    Entry::Skipped => status = Status::Skipped { kept: true },
                    Entry::Failed(_) | Entry::Refused(_) => {}
                    Entry::Question(question) if !self.is_answered(question.id) => open.push(question.clone()),
                    Entry::Question(_) | Entry::Answer(_) => {}
                    Entry::Once { key, value } => drop(records.insert(key.clone(), value.clone())),
                }
            }
            if matches!(status, Status::Ready) && !open.is_empty() {
                status = Status::Asked(open);
            }
            let records = (!records.is_empty()).then(|| Arc::new(records));
            (self.slots[index].status, self.slots[index].records) = (status, records);
        }
        Ok(())
    }

    fn is_answered(&self, id: InterruptId) -> bool {
        self.answers.as_ref().is_some_and(|answers| answers.contains_key(&id))
    }
}
