//! A compiled graph as a node of another: shared fields pass through, the rest stays inside.
//!
//! The graph inside runs through the same loop, on the same thread and lease, under a path of its own. What
//! it finished is never run again, also when the process dies before the graph around it hears of it.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Number, Value};
use superstep_core::change::Change;
use superstep_core::checkpoint::Source;
use superstep_core::command::{Output, Outward, Scope};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::field::{AnyState, Field, FieldOps};
use superstep_core::graph::{Compat, NodeOptions};
use superstep_core::id::{CheckpointId, FieldId, TaskId, derive};
use superstep_core::machine::{Config, End, Machine, OnLimit, Outcome, ids_at, read_state};
use superstep_core::planted::{Bug, is_planted};
use superstep_core::port::{At, BoxFuture, HistoryQuery, Loaded};
use superstep_core::state::{Draft, State};
use superstep_core::update::{How, Update, Write};

use crate::compiled::Compiled;
use crate::conclude::{RawOutcome, conclude};
use crate::context::{Ask, Cx, Kind, Place, Shared};
use crate::handler::{Action, IntoNode};
use crate::node::Policies;
use crate::output::{NodeError, Stopped};
use crate::program::{Persistence, Program};
use crate::run::publish;

mod unfinished;

use unfinished::drive_inside;

/// Marks compiled graphs as nodes.
pub struct Inner;

#[diagnostic::do_not_recommend]
impl<S: State, P, C: Send + Sync + 'static> IntoNode<P, C, Inner> for Compiled<S, C> {
    fn into_action(self) -> Arc<dyn Action> {
        Arc::new(InnerGraph(self.program))
    }

    fn into_parts(self) -> (Arc<dyn Action>, Policies) {
        let inner = Some(Box::new(self.drawing()));
        let options = NodeOptions { inner, ..NodeOptions::default() };
        (IntoNode::<P, C, Inner>::into_action(self), Policies { options, ..Policies::default() })
    }
}

struct InnerGraph(Arc<Program>);

impl Action for InnerGraph {
    fn call(&self, cx: &Cx) -> BoxFuture<'static, Result<Output, NodeError>> {
        let (program, caller) = (self.0.clone(), Caller::new(cx));
        Box::pin(async move {
            let input = shared_input(&program, &caller.cx)?;
            let inside = Inside::run(&program, &caller, input, None).await?;
            inside.output(&caller.cx)
        })
    }
}

/// The fields the graph inside shares with the one around it, or the payload of a send.
fn shared_input(program: &Program, cx: &Cx) -> Result<Draft> {
    if let Some(payload) = cx.0.task.payload() {
        let value = payload.to_json().map_err(|fault| Error::new(Code::InputInvalid, fault.message))?;
        return match value {
            Value::Object(map) => Ok(Draft::Json(map)),
            _ => Err(Error::new(Code::InputInvalid, "a graph takes an object of fields as the payload of a `Send`")),
        };
    }
    let (inner, outer) = (&program.topology, &cx.0.shared.program.topology.schema);
    let mut update = Update::new();
    for id in &inner.input {
        let name = &inner.schema.field(*id).name;
        if let Some(theirs) = outer.find(name) {
            let value = outer.field(theirs).ops.part(&**cx.view(), &Change::Set);
            update.push(Write { field: *id, how: How::Overwrite, value });
        }
    }
    Ok(Draft::Typed(update))
}

type Context = Arc<dyn Any + Send + Sync>;

/// The task a graph is called from, and as which of its calls.
pub(crate) struct Caller {
    pub(crate) cx: Cx,
    place: Place,
}

impl Caller {
    /// Numbered when the call is made, not when it is polled: joined calls keep their places after a crash.
    pub(crate) fn new(cx: &Cx) -> Self {
        Self { cx: cx.clone(), place: cx.0.cell.number(Kind::Child) }
    }
}

/// A graph that ran inside a task.
pub(crate) struct Inside {
    shared: Arc<Shared>,
    machine: Machine,
    outcome: Outcome,
    baseline: Option<Arc<AnyState>>,
    /// Shared fields that the graph around adds up, as they were after the input.
    sums: Vec<(FieldId, Value)>,
}

impl Inside {
    /// Runs a graph inside a task, from where it stands or from its input.
    pub(crate) async fn run(
        program: &Arc<Program>,
        caller: &Caller,
        input: Draft,
        context: Option<Context>,
    ) -> Result<Self, NodeError> {
        let cx = &caller.cx;
        let shared = inner_shared(program, caller, context);
        let loaded = load(&shared, cx).await?;
        let task = cx.task_id();
        let is_mine = |loaded: &Loaded| loaded.checkpoint.outer_task == Some(task);
        let resumes = loaded.as_ref().is_some_and(is_mine);
        let mut machine = Machine::new(program.topology.clone(), config(&shared, cx), loaded)?;
        machine.give_answers(cx.answers().cloned());
        warn_of_unused_store(&mut machine, program, cx);
        let mut baseline = None;
        if resumes && !is_planted(Bug::InputTwice) {
            baseline = first_state(&shared).await?;
            machine.go_on()?;
        } else {
            machine.begin_with(input)?;
        }
        let sums = match &baseline {
            Some(state) => sums(program, cx, &**state)?,
            None => sums(program, cx, &*machine.state().state)?,
        };
        let outcome = drive_inside(&mut machine, &shared).await?;
        publish(&mut machine, &shared).await;
        shared.note(&outcome.warnings);
        match outcome.end {
            End::Interrupted(questions) => Ask(cx.clone()).pass_on(questions).await,
            End::Failed(error) => Err(error.into()),
            end => Ok(Self { shared, machine, outcome: Outcome { end, ..outcome }, baseline, sums }),
        }
    }

    /// The result of a graph that a node called by hand.
    pub(crate) fn conclude(self) -> Result<RawOutcome> {
        conclude(&self.shared, self.outcome)
    }

    /// What the run inside means for the task it ran in.
    fn output(self, cx: &Cx) -> Result<Output, NodeError> {
        match &self.outcome.end {
            End::Outward(command) => Ok(self.outward(cx, command)),
            End::Paused(nodes) => Err(NodeError::stopped(Stopped::Paused(nodes.clone()))),
            End::Drained => Err(NodeError::stopped(Stopped::Drained)),
            _ => Ok(Output {
                updates: [Draft::Typed(self.shared_output(cx)?)].into_iter().collect(),
                ..Output::default()
            }),
        }
    }

    fn outward(&self, cx: &Cx, command: &Outward) -> Output {
        let outer = &cx.0.shared.program.topology.name;
        let is_here = match &command.scope {
            Scope::Named(name) => name == outer,
            Scope::Here | Scope::Parent => true,
        };
        if !is_here {
            return Output { outward: Some(Box::new(command.clone())), ..Output::default() };
        }
        let goto = Some(command.goto.clone()).filter(|go| !go.is_empty());
        let updates = command.updates.iter().cloned().map(Draft::Json).collect();
        Output { updates, goto, ..Output::default() }
    }

    /// What the graph inside did to the fields it shares, as an update of the graph around it.
    fn shared_output(&self, cx: &Cx) -> Result<Update> {
        let (inner, outer) = (&self.shared.program.topology, &cx.0.shared.program.topology);
        let mut update = Update::new();
        for id in &inner.output {
            let field = inner.schema.field(*id);
            let Some(theirs) = outer.schema.find(&field.name) else { continue };
            let change = match outer.compat {
                // The reference hands the whole value to the reducer around, changed or not.
                Compat::LangGraph => Change::Set,
                _ => self.change_of(*id)?,
            };
            if change.is_unchanged() {
                continue;
            }
            let is_list = matches!(change, Change::Appended { .. });
            let whole = outer.schema.field(theirs).reducer.is_none();
            let change = if is_list && !whole { change } else { Change::Set };
            let sum = self.sums.iter().find(|(sum, _)| sum == id && !is_list && outer.compat == Compat::Strict);
            if let Some((_, before)) = sum {
                let after = read(&*field.ops, &*self.outcome.state)?;
                update.push(added(outer.schema.field(theirs), theirs, before, after));
                continue;
            }
            update.push(Write {
                field: theirs,
                how: How::Reduce,
                value: field.ops.part(&*self.outcome.state, &change),
            });
        }
        Ok(update)
    }

    fn change_of(&self, id: FieldId) -> Result<Change> {
        if let Some(total) = self.machine.since_input() {
            return Ok(total.get(&id).cloned().unwrap_or(Change::Unchanged));
        }
        // It began in an earlier process: what changed is read off the values.
        let Some(before) = &self.baseline else { return Ok(Change::Set) };
        let ops = &*self.shared.program.topology.schema.field(id).ops;
        Ok(match (read(ops, &**before)?, read(ops, &*self.outcome.state)?) {
            (old, new) if old == new => Change::Unchanged,
            (Value::Array(old), Value::Array(new)) if new.starts_with(&old) => Change::Appended { from: old.len() },
            _ => Change::Set,
        })
    }
}

fn read(ops: &dyn FieldOps, state: &AnyState) -> Result<Value> {
    ops.to_json(state).map_err(|fault| Error::internal(fault.to_string()))
}

/// The shared fields that the graph around adds up: handed back whole, they would be added to themselves.
fn sums(program: &Program, cx: &Cx, state: &AnyState) -> Result<Vec<(FieldId, Value)>> {
    let (inner, outer) = (&program.topology, &cx.0.shared.program.topology.schema);
    let is_sum = |id: &&FieldId| {
        let theirs = outer.find(&inner.schema.field(**id).name);
        theirs.is_some_and(|theirs| outer.field(theirs).reducer.as_deref() == Some("add"))
    };
    let value = |id: &FieldId| read(&*inner.schema.field(*id).ops, state).map(|value| (*id, value));
    inner.output.iter().filter(is_sum).map(value).collect()
}

/// A sum that grew inside as what it grew by; one that was set inside as what it was set to.
fn added(field: &Field, id: FieldId, before: &Value, after: Value) -> Write {
    let is_unsigned = field.json_schema.get("minimum").and_then(Value::as_f64) == Some(0.0);
    let growth = match (before, &after) {
        (Value::Null, after) => Some(after.clone()),
        (Value::Number(old), Value::Number(new)) => match (old.as_i128(), new.as_i128()) {
            (Some(old), Some(new)) if new < old && is_unsigned => None,
            (Some(old), Some(new)) => Number::from_i128(new - old).map(Value::Number),
            _ => old.as_f64().zip(new.as_f64()).map(|(old, new)| Value::from(new - old)),
        },
        (Value::String(old), Value::String(new)) => new.strip_prefix(old.as_str()).map(Value::from),
        _ => None,
    };
    match growth {
        Some(growth) => Write { field: id, how: How::Reduce, value: Datum::json(growth) },
        None => Write { field: id, how: How::Overwrite, value: Datum::json(after) },
    }
}

/// The store around is the one that is used: where there is none, one of the graph's own would be forgotten silently.
fn warn_of_unused_store(machine: &mut Machine, program: &Program, cx: &Cx) {
    let settings = &program.settings;
    if settings.checkpointer.is_none() || cx.0.shared.saver.is_some() || settings.persistence == Persistence::Stateless
    {
        return;
    }
    let (inner, outer) = (&program.topology.name, &cx.0.shared.program.topology.name);
    machine.warn(format!("nothing is saved: the store of `{inner}` is not used inside `{outer}`, which has none"));
}

fn inner_shared(program: &Arc<Program>, caller: &Caller, context: Option<Context>) -> Arc<Shared> {
    let Caller { cx, place } = caller;
    let outer = &cx.0.shared;
    let saves = program.settings.persistence != Persistence::Stateless;
    let segment = match program.settings.persistence {
        // Tasks of one fan-out run side by side: each place has a state of its own, or they would undo each other.
        Persistence::PerThread => match cx.0.task.key.fan_out() {
            0 => cx.node().to_owned(),
            place => format!("{}:send{place}", cx.node()),
        },
        _ => format!("{}:{}", cx.node(), cx.task_id()),
    };
    let segment = match (&*place.step, place.number) {
        ("", 0) => segment,
        ("", number) => format!("{segment}:{number}"),
        (step, number) => format!("{segment}:{:x}:{number}", derive(&[step.as_bytes()])),
    };
    Arc::new(Shared {
        program: program.clone(),
        context: context.unwrap_or_else(|| outer.context.clone()),
        saver: outer.saver.clone().filter(|_| saves),
        lease: outer.lease.clone().filter(|_| saves),
        backlog: outer.backlog.clone(),
        stage: outer.stage.clone().filter(|_| saves),
        records: outer.records.as_ref().filter(|_| saves).map(|_| Default::default()),
        store: outer.store.clone().or_else(|| program.settings.store.clone()),
        clock: outer.clock.clone(),
        world: outer.world.clone(),
        control: outer.control.clone(),
        sink: outer.sink.clone(),
        thread: outer.thread.clone(),
        run: outer.run,
        namespace: outer.namespace.child(&segment),
        tags: outer.tags.clone(),
        metadata: outer.metadata.clone(),
        configurable: outer.configurable.clone(),
        limits: outer.limits.clone(),
        spent: outer.spent.clone(),
        saving: outer.saving.clone(),
        notes: outer.notes.clone(),
        outer: Some(cx.clone()),
    })
}

fn config(shared: &Shared, cx: &Cx) -> Config {
    let settings = &shared.program.settings;
    Config {
        run: shared.run,
        thread: shared.thread.clone(),
        namespace: shared.namespace.clone(),
        lease: shared.lease.clone(),
        limit: shared.limits.supersteps,
        on_limit: OnLimit::Fail,
        before: settings.before.clone(),
        after: settings.after.clone(),
        failures: settings.failures,
        strict_set_once: settings.strict_set_once,
        at_exit: shared.records.is_some(),
        observe: shared.sink.is_some(),
        metadata: shared.saved_metadata(),
        outer_task: Some(cx.task_id()),
        world: shared.world.clone(),
    }
}

async fn load(shared: &Shared, cx: &Cx) -> Result<Option<Loaded>> {
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(None) };
    let newest = saver.load(thread, &shared.namespace, At::Latest).await?;
    match newest {
        Some(newest) if shared.program.settings.persistence == Persistence::PerThread => {
            on_this_line(shared, cx, newest).await
        }
        newest => Ok(newest),
    }
}

/// The newest state of a graph that grows with its thread, as of the line of history the node around it is on.
async fn on_this_line(shared: &Shared, cx: &Cx, newest: Loaded) -> Result<Option<Loaded>> {
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(Some(newest)) };
    let (mut next, mut oldest, mut made_by) = (cx.checkpoint(), None, Source::Loop);
    let mut line = vec![cx.task_id()];
    // The checkpoint before which supersteps may have run that were not saved one by one.
    let (mut after, mut seen) = (None, 0);
    if let (Some(draft), Some(id)) = (&cx.0.task.draft, next) {
        line.extend(unsaved_tasks(cx, id, draft.step..cx.step()));
        (next, made_by) = (draft.parent, draft.source);
    }
    loop {
        let outer = match next {
            Some(id) => saver.load(thread, cx.namespace(), At::Id(id)).await?,
            None => None,
        };
        let step = outer.as_ref().map_or(FIRST_STEP, |outer| outer.checkpoint.step);
        line.extend(after.into_iter().flat_map(|(id, end)| unsaved_tasks(cx, id, step..end)));
        if let Some(outer) = &outer {
            // What ran at a checkpoint that was forked or changed belongs to the line it was left on.
            let is_left = matches!(made_by, Source::Fork | Source::Update);
            line.extend(ids_at(cx.namespace(), cx.node(), &outer.checkpoint).filter(|_| !is_left));
        }
        // As a rule the last visit is a few supersteps back: then nothing more has to be read.
        if newest.checkpoint.outer_task.is_some_and(|task| line[seen..].contains(&task)) {
            return Ok(Some(newest));
        }
        seen = line.len();
        let Some(outer) = outer.map(|outer| outer.checkpoint) else { break };
        after = Some((outer.id, outer.step));
        (next, oldest, made_by) = (outer.parent, Some(outer.id), outer.source);
    }
    let states = saver.history(thread, &shared.namespace, &HistoryQuery::default()).await?;
    let mut visits =
        line.iter().filter_map(|task| states.iter().find(|state| state.checkpoint.outer_task == Some(*task)));
    // Where older checkpoints were pruned, what was saved before them counts as seen from here.
    let before = |state: &&Loaded| next.is_some() && oldest.is_none_or(|oldest| state.checkpoint.id < oldest);
    Ok(visits.next().or_else(|| states.iter().find(before)).cloned())
}

/// No thread has an earlier step.
const FIRST_STEP: i64 = -2;

/// The tasks of this node that ran under a checkpoint before it was saved, newest first.
fn unsaved_tasks(cx: &Cx, checkpoint: CheckpointId, steps: std::ops::Range<i64>) -> impl Iterator<Item = TaskId> {
    steps.rev().map(move |step| cx.0.task.key.at(checkpoint, step).id(cx.namespace(), cx.node()))
}

/// The state after the input of the call that is being resumed.
async fn first_state(shared: &Shared) -> Result<Option<Arc<AnyState>>> {
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(None) };
    let query = HistoryQuery { source: Some(Source::Input), limit: Some(1), ..HistoryQuery::default() };
    let inputs = saver.history(thread, &shared.namespace, &query).await?;
    let schema = &shared.program.topology.schema;
    inputs.first().map(|loaded| read_state(schema, loaded).map(|(state, _)| state)).transpose()
}
