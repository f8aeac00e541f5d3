//! Subgraphs: a compiled graph as a node of another. Shared fields are passed through, all other fields stay in the
//! subgraph.
//!
//! A subgraph runs in the same run loop, on the same thread and lease, in its own namespace. Its finished tasks never
//! run again, also if the process dies before the parent graph has received the result.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Number, Value};
use superstep_core::change::Change;
use superstep_core::command::{CommandScope, ParentCommand, TaskOutput};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::field::{AnyState, Field, FieldOps};
use superstep_core::graph::{Compat, NodeOptions};
use superstep_core::id::FieldId;
use superstep_core::machine::{Machine, MachineConfig, MachineEnd, MachineOutcome, OnLimit};
use superstep_core::port::{BoxFuture, CheckpointTuple};
use superstep_core::redaction::RedactionCounts;
use superstep_core::seeded_bugs::{SeededBug, is_enabled};
use superstep_core::state::{GraphState, UncheckedUpdate};
use superstep_core::update::{Update, Write, WriteMode};
use superstep_core::value::AnyValue;

use crate::engine::context::{Interrupts, Ordinal, OrdinalKind, RunShared, TaskContext};
use crate::engine::driver::publish;
use crate::engine::outcome::{ErasedOutcome, LazyOutputJson, into_outcome};
use crate::engine::redaction::redact_update;
use crate::events::event::{EventPublisher, GraphEnd, GraphRun};
use crate::events::json;
use crate::graph::compiled::CompiledGraph;
use crate::graph::handler::{DynNode, IntoNode};
use crate::graph::node::NodePolicies;
use crate::graph::output::{NodeError, SubgraphStop};
use crate::graph::program::{Program, SubgraphPersistence};
use crate::telemetry::traced_subgraph;

mod flush_on_drop;

use flush_on_drop::drive_subgraph;

mod restore;

use restore::{SubgraphStart, load, namespace_segment, state_after_input};

/// Marker of compiled graphs as nodes.
pub struct SubgraphMarker;

#[diagnostic::do_not_recommend]
impl<S: GraphState, P, C: Send + Sync + 'static> IntoNode<P, C, SubgraphMarker> for CompiledGraph<S, C> {
    fn into_dyn_node(self) -> Arc<dyn DynNode> {
        Arc::new(SubgraphNode(self.program))
    }

    fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies) {
        let subgraph_diagram = Some(Box::new(self.diagram()));
        let options = NodeOptions { subgraph_diagram, ..NodeOptions::default() };
        let subgraph = Some(self.program.clone());
        (
            IntoNode::<P, C, SubgraphMarker>::into_dyn_node(self),
            NodePolicies { options, subgraph, ..NodePolicies::default() },
        )
    }
}

struct SubgraphNode(Arc<Program>);

impl DynNode for SubgraphNode {
    fn call(&self, cx: &TaskContext) -> BoxFuture<'static, Result<TaskOutput, NodeError>> {
        let (program, caller) = (self.0.clone(), CallingTask::new(cx));
        Box::pin(async move {
            let input = shared_input(&program, &caller.cx)?;
            let subgraph_run = SubgraphRun::run(&program, &caller, input, None).await?;
            subgraph_run.output(&caller.cx)
        })
    }
}

/// Returns the fields that the subgraph shares with its parent, or the payload of a send.
fn shared_input(program: &Program, cx: &TaskContext) -> Result<UncheckedUpdate> {
    if let Some(payload) = cx.0.task.payload() {
        let value = payload.to_json().map_err(|error| Error::new(ErrorCode::InputInvalid, error.message))?;
        return match value {
            Value::Object(map) => Ok(UncheckedUpdate::Json(map)),
            _ => Err(Error::new(
                ErrorCode::InputInvalid,
                "the payload of a `SendTo` to a subgraph must be an object of fields",
            )),
        };
    }
    let (inner, outer) = (&program.topology, &cx.0.shared.program.topology.schema);
    let mut update = Update::new();
    for id in &inner.input {
        let name = &inner.schema.field(*id).name;
        if let Some(theirs) = outer.find(name) {
            let value = outer.field(theirs).ops.delta(&**cx.view(), &Change::Set);
            update.push(Write { field: *id, mode: WriteMode::Overwrite, value });
        }
    }
    Ok(UncheckedUpdate::Typed(update))
}

type ErasedContext = Arc<dyn Any + Send + Sync>;

/// The task that calls a subgraph, with the ordinal of the call.
pub(crate) struct CallingTask {
    pub(crate) cx: TaskContext,
    ordinal: Ordinal,
}

impl CallingTask {
    /// Numbered when the call is created, not when it is polled, so that joined calls keep their ordinals after a
    /// crash.
    pub(crate) fn new(cx: &TaskContext) -> Self {
        Self { cx: cx.clone(), ordinal: cx.0.cell.next_ordinal(OrdinalKind::Child) }
    }
}

/// A subgraph that ran in a task.
pub(crate) struct SubgraphRun {
    shared: Arc<RunShared>,
    machine: Machine,
    outcome: MachineOutcome,
    baseline: Option<Arc<AnyState>>,
    /// Shared fields that the parent sums, with their values after the input.
    summed_fields: Vec<(FieldId, Value)>,
}

impl SubgraphRun {
    /// Runs a subgraph in a task, from its last checkpoint or from its input.
    pub(crate) async fn run(
        program: &Arc<Program>,
        caller: &CallingTask,
        input: UncheckedUpdate,
        context: Option<ErasedContext>,
    ) -> Result<Self, NodeError> {
        let cx = &caller.cx;
        let shared = subgraph_shared(program, caller, context);
        let (loaded, is_moved) = match load(&shared, caller).await? {
            SubgraphStart::New => (None, false),
            SubgraphStart::FromCheckpoint(loaded) => (Some(loaded), false),
            SubgraphStart::FromFormerName(loaded) => (Some(loaded), true),
        };
        let task = cx.task_id();
        let is_mine = |loaded: &CheckpointTuple| loaded.checkpoint.parent_task == Some(task);
        let resumes = loaded.as_ref().is_some_and(is_mine);
        let mut machine = Machine::new(program.topology.clone(), config(&shared, cx), loaded)?;
        if is_moved {
            machine.start_history();
        }
        machine.set_resume_values(cx.resume_values().cloned());
        warn_unused_checkpointer(&mut machine, program, cx);
        let mut input = input;
        if let Some(redaction) = shared.redaction() {
            let mut counts = RedactionCounts::default();
            redact_update(redaction, &program.topology.schema, &mut input, &mut counts);
            shared.count_redacted(&counts);
        }
        let start_input = input_json(&shared, &input, resumes);
        let mut baseline = None;
        if resumes && !is_enabled(SeededBug::InputTwice) {
            baseline = state_after_input(&shared).await?;
            machine.continue_from_checkpoint()?;
        } else {
            machine.start_with_input(input)?;
        }
        let sums = match &baseline {
            Some(state) => summed_fields(program, cx, &**state)?,
            None => summed_fields(program, cx, &*machine.state().state)?,
        };
        if let (Some(publisher), Some(input)) = (&shared.publisher, start_input) {
            Box::pin(publisher.started(&shared, input)).await;
        }
        let driven = drive_subgraph(&mut machine, &shared);
        let ended = match &shared.observer {
            None => driven.await,
            Some(observer) => Box::pin(traced_subgraph(observer, driven)).await,
        };
        publish(&mut machine, &shared).await;
        if let Some(publisher) = &shared.publisher {
            let (end, output) = end_json(&shared, &ended);
            Box::pin(publisher.ended(&shared, end, output)).await;
        }
        let outcome = ended?;
        shared.add_warnings(&outcome.warnings);
        match outcome.end {
            MachineEnd::Interrupted(interrupts) => Interrupts(cx.clone()).forward(interrupts).await,
            MachineEnd::Failed(error) => Err(error.into()),
            end => {
                Ok(Self { shared, machine, outcome: MachineOutcome { end, ..outcome }, baseline, summed_fields: sums })
            }
        }
    }

    /// Returns the outcome of a subgraph that a node called explicitly.
    pub(crate) fn into_outcome(self) -> Result<ErasedOutcome> {
        into_outcome(&self.shared, self.outcome)
    }

    /// Returns the output of the task in which the subgraph ran.
    fn output(self, cx: &TaskContext) -> Result<TaskOutput, NodeError> {
        match &self.outcome.end {
            MachineEnd::ParentCommand(command) => Ok(self.parent_command_output(cx, command)),
            MachineEnd::Paused(nodes) => Err(NodeError::stopped(SubgraphStop::Paused(nodes.clone()))),
            MachineEnd::Drained => Err(NodeError::stopped(SubgraphStop::Drained)),
            _ => Ok(TaskOutput {
                updates: [UncheckedUpdate::Typed(self.shared_output(cx)?)].into_iter().collect(),
                ..TaskOutput::default()
            }),
        }
    }

    fn parent_command_output(&self, cx: &TaskContext, command: &ParentCommand) -> TaskOutput {
        let outer = &cx.0.shared.program.topology.name;
        let is_here = match &command.scope {
            CommandScope::Named(name) => name == outer,
            CommandScope::Current | CommandScope::Parent => true,
        };
        if !is_here {
            return TaskOutput { parent_command: Some(Box::new(command.clone())), ..TaskOutput::default() };
        }
        let goto = Some(command.goto.clone()).filter(|go| !go.is_empty());
        let updates = command.updates.iter().cloned().map(UncheckedUpdate::Json).collect();
        TaskOutput { updates, goto, ..TaskOutput::default() }
    }

    /// Returns the changes of shared fields as an update of the parent graph.
    fn shared_output(&self, cx: &TaskContext) -> Result<Update> {
        let (inner, outer) = (&self.shared.program.topology, &cx.0.shared.program.topology);
        let mut update = Update::new();
        for id in &inner.output {
            let field = inner.schema.field(*id);
            let Some(theirs) = outer.schema.find(&field.name) else { continue };
            let change = match outer.compat {
                // LangGraph passes the whole value to the parent's reducer, changed or not.
                Compat::LangGraph => Change::Set,
                _ => self.change_of(*id)?,
            };
            if change.is_unchanged() {
                continue;
            }
            let is_list = matches!(change, Change::Appended { .. });
            let replaces_value = outer.schema.field(theirs).reducer.is_none();
            let change = if is_list && !replaces_value { change } else { Change::Set };
            let sum =
                self.summed_fields.iter().find(|(sum, _)| sum == id && !is_list && outer.compat == Compat::Strict);
            if let Some((_, before)) = sum {
                let after = read(&*field.ops, &*self.outcome.state)?;
                update.push(delta_write(outer.schema.field(theirs), theirs, before, after));
                continue;
            }
            update.push(Write {
                field: theirs,
                mode: WriteMode::Reduce,
                value: field.ops.delta(&*self.outcome.state, &change),
            });
        }
        Ok(update)
    }

    fn change_of(&self, id: FieldId) -> Result<Change> {
        if let Some(total) = self.machine.changes_since_input() {
            return Ok(total.get(&id).cloned().unwrap_or(Change::Unchanged));
        }
        // The subgraph started in an earlier process: the change is derived from the values.
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
    ops.to_json(state).map_err(|error| Error::internal(error.to_string()))
}

/// Returns the shared fields that the parent sums: returning them as a whole would add them to themselves.
fn summed_fields(program: &Program, cx: &TaskContext, state: &AnyState) -> Result<Vec<(FieldId, Value)>> {
    let (inner, outer) = (&program.topology, &cx.0.shared.program.topology.schema);
    let is_sum = |id: &&FieldId| {
        let theirs = outer.find(&inner.schema.field(**id).name);
        theirs.is_some_and(|theirs| outer.field(theirs).reducer.as_deref() == Some("add"))
    };
    let value = |id: &FieldId| read(&*inner.schema.field(*id).ops, state).map(|value| (*id, value));
    inner.output.iter().filter(is_sum).map(value).collect()
}

/// Returns the increase of a summed field; the value itself if it was overwritten.
fn delta_write(field: &Field, id: FieldId, before: &Value, after: Value) -> Write {
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
        Some(growth) => Write { field: id, mode: WriteMode::Reduce, value: AnyValue::json(growth) },
        None => Write { field: id, mode: WriteMode::Overwrite, value: AnyValue::json(after) },
    }
}

/// Returns the input of a graph for its start event; null if the graph continues.
pub(crate) fn input_json(shared: &RunShared, input: &UncheckedUpdate, continues: bool) -> Option<Value> {
    let is_needed = shared.publisher.as_ref().is_some_and(|publisher| publisher.is_wanted(|filter| filter.graphs));
    is_needed.then(|| match input {
        _ if continues => Value::Null,
        UncheckedUpdate::Json(map) => Value::Object(map.clone()),
        UncheckedUpdate::Typed(update) => json::update(&shared.program.topology, update),
    })
}

/// Returns the end and the output of a graph for its end event.
pub(crate) fn end_json(shared: &RunShared, ended: &Result<MachineOutcome>) -> (GraphEnd, Value) {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => return (GraphEnd::Failed(error.clone()), Value::Null),
    };
    let end = match &outcome.end {
        MachineEnd::Interrupted(interrupts) => GraphEnd::Interrupted(interrupts.clone()),
        MachineEnd::Paused(_) => GraphEnd::Paused,
        MachineEnd::Drained => GraphEnd::Drained,
        MachineEnd::Failed(error) => return (GraphEnd::Failed(error.clone()), Value::Null),
        _ => GraphEnd::Finished,
    };
    let is_needed = shared.publisher.as_ref().is_some_and(|publisher| publisher.is_wanted(|filter| filter.graphs));
    let state = || LazyOutputJson::new(&shared.program.topology, &outcome.state).to_json();
    (end, if is_needed { json::to_json_or_error(state()) } else { Value::Null })
}

/// Warns if the subgraph has a checkpointer that is not used, because the parent's checkpointer is used and the
/// parent has none.
fn warn_unused_checkpointer(machine: &mut Machine, program: &Program, cx: &TaskContext) {
    let settings = &program.settings;
    if settings.checkpointer.is_none()
        || cx.0.shared.checkpointer.is_some()
        || settings.persistence == SubgraphPersistence::Stateless
    {
        return;
    }
    let (inner, outer) = (&program.topology.name, &cx.0.shared.program.topology.name);
    machine.warn(format!(
        "nothing is saved: the checkpointer of `{inner}` is not used inside `{outer}`, which \
         has none"
    ));
}

fn subgraph_shared(program: &Arc<Program>, caller: &CallingTask, context: Option<ErasedContext>) -> Arc<RunShared> {
    let cx = &caller.cx;
    let outer = &cx.0.shared;
    let saves = program.settings.persistence != SubgraphPersistence::Stateless;
    let namespace = outer.namespace.child(&namespace_segment(program, caller, cx.task_name()));
    let is_shown = outer.graph.as_ref().is_some_and(|graph| !graph.is_hidden(cx.node()));
    let publisher = outer.publisher.as_ref().filter(|_| is_shown).and_then(EventPublisher::for_subgraph);
    Arc::new(RunShared {
        program: program.clone(),
        context: context.unwrap_or_else(|| outer.context.clone()),
        checkpointer: outer.checkpointer.clone().filter(|_| saves),
        lease: outer.lease.clone().filter(|_| saves),
        write_behind: outer.write_behind.clone(),
        subgraph_buffer: outer.subgraph_buffer.clone().filter(|_| saves),
        recorded_results: outer.recorded_results.as_ref().filter(|_| saves).map(|_| Default::default()),
        store: outer.store.clone().or_else(|| program.settings.store.clone()),
        clock: outer.clock.clone(),
        environment: outer.environment.clone(),
        control: outer.control.clone(),
        graph: publisher.as_ref().and(outer.graph.as_ref()).map(|graph| {
            let (tags_and_metadata, parent) =
                ((outer.tags.clone(), graph.metadata.clone()), Some((cx.task_id(), graph.clone())));
            let namespace_and_thread = (namespace.clone(), outer.thread.clone());
            Arc::new(
                GraphRun::new(outer.run, &program.topology, namespace_and_thread, tags_and_metadata, parent)
                    .inherit_streaming(graph, cx.node()),
            )
        }),
        publisher,
        thread: outer.thread.clone(),
        run: outer.run,
        namespace,
        tags: outer.tags.clone(),
        metadata: outer.metadata.clone(),
        configurable: outer.configurable.clone(),
        limits: outer.limits.clone(),
        usage: outer.usage.clone(),
        commits_in_flight: outer.commits_in_flight.clone(),
        warnings: outer.warnings.clone(),
        parent_task: Some(cx.clone()),
        observer: outer.observer.as_ref().map(|observer| observer.for_subgraph(cx, &program.topology.name)),
    })
}

fn config(shared: &RunShared, cx: &TaskContext) -> MachineConfig {
    let settings = &shared.program.settings;
    MachineConfig {
        run: shared.run,
        thread: shared.thread.clone(),
        namespace: shared.namespace.clone(),
        lease: shared.lease.clone(),
        recursion_limit: shared.limits.supersteps,
        on_limit: OnLimit::Fail,
        interrupt_before: settings.interrupt_before.clone(),
        interrupt_after: settings.interrupt_after.clone(),
        branch_policy: settings.branch_policy,
        strict_set_once: settings.strict_set_once,
        saves_at_exit: shared.recorded_results.is_some(),
        emits_events: shared.publisher.is_some(),
        metadata: shared.saved_metadata(),
        parent_task: Some(cx.task_id()),
        environment: shared.environment.clone(),
    }
}
