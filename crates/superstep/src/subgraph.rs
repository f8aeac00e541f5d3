//! A compiled graph as a node of another: shared fields pass through, the rest stays inside.
//!
//! The graph inside runs through the same loop, on the same thread and lease, under a path of its own. What
//! it finished is never run again, also when the process dies before the graph around it hears of it.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Number, Value};
use superstep_core::change::Change;
use superstep_core::command::{Output, Outward, Scope};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::field::{AnyState, Field, FieldOps};
use superstep_core::graph::{Compat, NodeOptions};
use superstep_core::id::FieldId;
use superstep_core::machine::{Config, End, Machine, OnLimit, Outcome};
use superstep_core::planted::{Bug, is_planted};
use superstep_core::port::{BoxFuture, Loaded};
use superstep_core::redact::Counts;
use superstep_core::state::{Draft, State};
use superstep_core::update::{How, Update, Write};

use crate::compiled::Compiled;
use crate::conclude::{OutputJson, RawOutcome, conclude};
use crate::context::{Ask, Cx, Kind, Place, Shared};
use crate::handler::{Action, IntoNode};
use crate::node::Policies;
use crate::output::{NodeError, Stopped};
use crate::program::{Persistence, Program};
use crate::redacting::redact_draft;
use crate::run::publish;
use crate::stream::{GraphEnd, GraphRun, Sink, form};
use crate::telemetry::watched_inside;

mod unfinished;

use unfinished::drive_inside;

mod stand;

use stand::{Stand, first_state, load, segment};

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
        let inner = Some(self.program.clone());
        (IntoNode::<P, C, Inner>::into_action(self), Policies { options, inner, ..Policies::default() })
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
        let (loaded, is_moved) = match load(&shared, caller).await? {
            Stand::New => (None, false),
            Stand::Here(loaded) => (Some(loaded), false),
            Stand::Elsewhere(loaded) => (Some(loaded), true),
        };
        let task = cx.task_id();
        let is_mine = |loaded: &Loaded| loaded.checkpoint.outer_task == Some(task);
        let resumes = loaded.as_ref().is_some_and(is_mine);
        let mut machine = Machine::new(program.topology.clone(), config(&shared, cx), loaded)?;
        if is_moved {
            machine.begin_line();
        }
        machine.give_answers(cx.answers().cloned());
        warn_of_unused_store(&mut machine, program, cx);
        let mut input = input;
        if let Some(redaction) = shared.redaction() {
            let mut counts = Counts::default();
            redact_draft(redaction, &program.topology.schema, &mut input, &mut counts);
            shared.count_redacted(&counts);
        }
        let told = told_input(&shared, &input, resumes);
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
        if let (Some(sink), Some(input)) = (&shared.sink, told) {
            Box::pin(sink.started(&shared, input)).await;
        }
        let driven = drive_inside(&mut machine, &shared);
        let ended = match &shared.watch {
            None => driven.await,
            Some(watch) => Box::pin(watched_inside(watch, driven)).await,
        };
        publish(&mut machine, &shared).await;
        if let Some(sink) = &shared.sink {
            let (end, output) = told_end(&shared, &ended);
            Box::pin(sink.ended(&shared, end, output)).await;
        }
        let outcome = ended?;
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

/// What a graph begins with, for whoever watches; null when it goes on.
pub(crate) fn told_input(shared: &Shared, input: &Draft, goes_on: bool) -> Option<Value> {
    let wants = shared.sink.as_ref().is_some_and(|sink| sink.wants(|interest| interest.graphs));
    wants.then(|| match input {
        _ if goes_on => Value::Null,
        Draft::Json(map) => Value::Object(map.clone()),
        Draft::Typed(update) => form::update(&shared.program.topology, update),
    })
}

/// How a graph ended and what it gives, for whoever watches.
pub(crate) fn told_end(shared: &Shared, ended: &Result<Outcome>) -> (GraphEnd, Value) {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => return (GraphEnd::Failed(error.clone()), Value::Null),
    };
    let end = match &outcome.end {
        End::Interrupted(questions) => GraphEnd::Interrupted(questions.clone()),
        End::Paused(_) => GraphEnd::Paused,
        End::Drained => GraphEnd::Drained,
        End::Failed(error) => return (GraphEnd::Failed(error.clone()), Value::Null),
        _ => GraphEnd::Finished,
    };
    let wants = shared.sink.as_ref().is_some_and(|sink| sink.wants(|interest| interest.graphs));
    let state = || OutputJson::new(&shared.program.topology, &outcome.state).to_json();
    (end, if wants { form::told(state()) } else { Value::Null })
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
    let cx = &caller.cx;
    let outer = &cx.0.shared;
    let saves = program.settings.persistence != Persistence::Stateless;
    let namespace = outer.namespace.child(&segment(program, caller, cx.task_name()));
    let is_shown = outer.graph.as_ref().is_some_and(|graph| !graph.hides(cx.node()));
    let sink = outer.sink.as_ref().filter(|_| is_shown).and_then(Sink::inside);
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
        graph: sink.as_ref().and(outer.graph.as_ref()).map(|graph| {
            let (said, around) = ((outer.tags.clone(), graph.metadata.clone()), Some((cx.task_id(), graph.clone())));
            let place = (namespace.clone(), outer.thread.clone());
            Arc::new(GraphRun::new(outer.run, &program.topology, place, said, around).within(graph, cx.node()))
        }),
        sink,
        thread: outer.thread.clone(),
        run: outer.run,
        namespace,
        tags: outer.tags.clone(),
        metadata: outer.metadata.clone(),
        configurable: outer.configurable.clone(),
        limits: outer.limits.clone(),
        spent: outer.spent.clone(),
        saving: outer.saving.clone(),
        notes: outer.notes.clone(),
        outer: Some(cx.clone()),
        watch: outer.watch.as_ref().map(|watch| watch.inside(cx, &program.topology.name)),
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
