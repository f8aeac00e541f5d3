//! Conversion between dense ids and stored names: positions, outputs and states in their persisted form.

use std::sync::Arc;

use serde_json::Value;

use super::{Machine, ResolvedOutput};
use crate::apply::FieldSet;
use crate::checkpoint::{
    Checkpoint, StoredJoin, StoredOutput, StoredParentCommand, StoredSend, StoredTask, StoredTrigger, StoredWrite,
    TaskEntry,
};
use crate::error::{Error, ErrorCode, Result};
use crate::field::AnyState;
use crate::graph::Topology;
use crate::id::NodeId;
use crate::migration::{MigratedCheckpoint, check_version, migrate};
use crate::port::CheckpointTuple;
use crate::schedule::{JoinProgress, NextTask, Position, Routing, ScheduledAt, SendInput};
use crate::schema::{Schema, TypeChecks};
use crate::suggest::did_you_mean;
use crate::update::{Update, Write, WriteMode};
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

pub(super) fn to_stored_task(graph: &Topology, task: &NextTask) -> StoredTask {
    let name = |id: NodeId| graph.node(id).name.clone();
    StoredTask {
        node: task.id_node_name().cloned().unwrap_or_else(|| name(task.node)),
        trigger: StoredTrigger { kind: task.trigger, from: task.from.map(name) },
        send: task.send.as_ref().map(|send| StoredSend {
            index: send.index,
            payload: stored_payload(graph, &send.payload),
            timeout: send.timeout,
        }),
        scheduled_at: task.scheduled_at.as_ref().map(|since| (since.checkpoint, since.step)),
    }
}

/// Returns the payload of a send in its stored form: without the untracked fields of an object that was made from
/// the state.
fn stored_payload(graph: &Topology, payload: &AnyValue) -> AnyValue {
    let schema = &graph.schema;
    let is_untracked = |name: &str| schema.find(name).is_some_and(|id| schema.field(id).flags.untracked);
    match payload.get::<Value>() {
        Some(Value::Object(map)) if map.keys().any(|name| is_untracked(name)) => {
            let entries = map.iter().filter(|(name, _)| !is_untracked(name));
            AnyValue::json(Value::Object(entries.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        _ => payload.clone(),
    }
}

pub(super) fn from_stored_task(graph: &Topology, stored: &StoredTask) -> Result<NextTask> {
    Ok(NextTask {
        node: find(graph, &stored.node)?,
        trigger: stored.trigger.kind,
        from: stored.trigger.from.as_ref().and_then(|name| graph.find_node(name)),
        send: stored.send.as_ref().map(|send| {
            Arc::new(SendInput { index: send.index, payload: send.payload.clone(), timeout: send.timeout })
        }),
        scheduled_at: stored
            .scheduled_at
            .map(|(checkpoint, step)| Box::new(ScheduledAt { checkpoint, step, node_name_then: None })),
    })
}

/// Restores a scheduled task of a checkpoint. A task whose node was renamed keeps the id derived from the old name.
fn from_stored_task_at(graph: &Topology, checkpoint: &Checkpoint, stored: &StoredTask) -> Result<NextTask> {
    let mut task = from_stored_task(graph, stored)?;
    if graph.node(task.node).name != stored.node {
        let (checkpoint, step) = stored.scheduled_at.unwrap_or((checkpoint.id, checkpoint.step));
        task.scheduled_at = Some(Box::new(ScheduledAt { checkpoint, step, node_name_then: Some(stored.node.clone()) }));
    }
    Ok(task)
}

const RENAME_HELP: &str = "declare its former name with `renamed_from`, or with `rename_node` in a migration";

fn find(graph: &Topology, name: &str) -> Result<NodeId> {
    graph.find_node(name).ok_or_else(|| {
        let error = Error::new(
            ErrorCode::InvalidGraph,
            format!("the thread has a scheduled task for node `{name}`, which this graph does not have"),
        );
        match did_you_mean(name, graph.names()) {
            Some(help) => error.with_help(format!("{help} If the node was renamed, {RENAME_HELP}")),
            None => error.with_help(format!("if the node was renamed, {RENAME_HELP}")),
        }
    })
}

pub(super) fn to_stored_joins(graph: &Topology, position: &Position) -> Vec<StoredJoin> {
    let name = |id: &NodeId| graph.node(*id).name.clone();
    let stored = position.joins.iter().map(|progress| {
        let join = &graph.joins[progress.join as usize];
        StoredJoin {
            target: name(&join.target),
            sources: join.sources.iter().map(name).collect(),
            arrived: progress.arrived.iter().map(|index| name(&join.sources[*index as usize])).collect(),
        }
    });
    stored.collect()
}

fn from_stored_join(graph: &Topology, stored: &StoredJoin) -> Option<JoinProgress> {
    let target = graph.find_node(&stored.target)?;
    let mut sources: Vec<NodeId> = stored.sources.iter().filter_map(|name| graph.find_node(name)).collect();
    // The nodes may be in another order in the current graph.
    sources.sort_unstable();
    // A join with other sources starts again: arrivals at the old join do not count.
    let join = graph.joins.iter().position(|join| join.target == target && join.sources == sources)?;
    let source_position = |name: &Arc<str>| {
        let id = graph.find_node(name)?;
        graph.joins[join].sources.iter().position(|source| *source == id).map(|position| position as u32)
    };
    Some(JoinProgress { join: join as u32, arrived: stored.arrived.iter().filter_map(source_position).collect() })
}

pub(super) fn restore_position(graph: &Topology, checkpoint: &Checkpoint) -> Result<Position> {
    Ok(Position {
        step: checkpoint.step,
        next_tasks: checkpoint
            .next_tasks
            .iter()
            .map(|task| from_stored_task_at(graph, checkpoint, task))
            .collect::<Result<_>>()?,
        joins: checkpoint.joins.iter().filter_map(|join| from_stored_join(graph, join)).collect(),
        deferred: checkpoint.deferred.iter().map(|name| find(graph, name)).collect::<Result<_>>()?,
    })
}

/// A stored checkpoint, adapted to the current graph.
pub struct RestoredCheckpoint {
    /// State at the checkpoint.
    pub state: Arc<AnyState>,
    /// The checkpoint and its pending entries, migrated to the current schema.
    pub loaded: CheckpointTuple,
    /// The stored schema version, if migrations were applied.
    pub migrated_from: Option<u32>,
    pub(super) written: FieldSet,
    pub(super) migrated: FieldSet,
}

/// Restores a checkpoint, with the migrations of the graph if it has an older schema version.
///
/// # Errors
/// Returns an error if the checkpoint is of a newer version, does not fit the schema or cannot be parsed; the error
/// names checkpoint and field.
pub fn restore_checkpoint(graph: &Topology, loaded: CheckpointTuple) -> Result<RestoredCheckpoint> {
    let schema = &graph.schema;
    let MigratedCheckpoint { loaded, from, changed } = migrate(&graph.migrations, schema, loaded)?;
    let (state, written) = restore_state(schema, &loaded)?;
    let migrated: FieldSet = changed.iter().filter_map(|name| schema.find(name)).collect();
    for id in migrated.iter() {
        let field = schema.field(id);
        let errors = if schema.types == TypeChecks::Enforce { field.ops.check_type(&*state) } else { Vec::new() };
        if let Some(error) = errors.into_iter().next().or_else(|| field.check(&*state).err()) {
            return Err(value_mismatch(schema, &loaded.checkpoint, &field.name, &error));
        }
    }
    Ok(RestoredCheckpoint { state, loaded, migrated_from: from, written, migrated })
}

/// Returns the state of a checkpoint, and the fields ever written on its thread.
///
/// # Errors
/// Returns an error if the checkpoint is of a newer version, does not fit the schema or cannot be parsed; the error
/// names checkpoint and field.
pub fn restore_state(schema: &Schema, loaded: &CheckpointTuple) -> Result<(Arc<AnyState>, FieldSet)> {
    let checkpoint = &loaded.checkpoint;
    check_version(schema, checkpoint)?;
    let mut state = schema.initial_state();
    let target = Arc::get_mut(&mut state).expect("a new state has a single owner");
    for (name, log) in &loaded.fields {
        let Some(id) = schema.find(name) else { return Err(unknown_field(schema, checkpoint, name)) };
        for (change, delta) in log {
            schema
                .field(id)
                .ops
                .apply_delta(target, change, delta.clone())
                .map_err(|error| value_mismatch(schema, checkpoint, name, &error))?;
        }
    }
    Ok((state, restore_written_fields(schema, checkpoint)))
}

/// Returns the error for a value that does not fit its field: because of corruption, or because the schema changed.
fn value_mismatch(schema: &Schema, checkpoint: &Checkpoint, name: &str, mismatch: &ValidationError) -> Error {
    let Checkpoint { id, thread, schema_version: old, .. } = checkpoint;
    let new = schema.version();
    let error = if *old < new {
        let message = format!(
            "thread `{thread}`, checkpoint {id}: field `{name}` of state version {old} does \
             not match"
        );
        let help = format!("nothing was changed; declare the change of the field in a migration from {old}");
        Error::new(ErrorCode::InvalidGraph, format!("{message} version {new}: {mismatch}")).with_help(help)
    } else {
        let message = format!("checkpoint {id}: field `{name}` is unreadable: {mismatch}");
        Error::new(ErrorCode::CheckpointCorrupt, message).with_help("open an earlier checkpoint of the thread")
    };
    error.with_thread(Some(thread))
}

fn unknown_field(schema: &Schema, checkpoint: &Checkpoint, name: &str) -> Error {
    let Checkpoint { id, thread, .. } = checkpoint;
    let message = format!("checkpoint {id} has field `{name}`, which the state does not have");
    let help = schema.unknown_field(name).help.into_iter();
    let help = help.chain(["if the field was renamed or removed, declare it in a migration".to_owned()]);
    let help = help.collect::<Vec<_>>().join("; ");
    Error::new(ErrorCode::InvalidGraph, message).with_help(help).with_thread(Some(thread))
}

pub(super) fn restore_written_fields(schema: &Schema, checkpoint: &Checkpoint) -> FieldSet {
    checkpoint.written_fields.iter().filter_map(|name| schema.find(name)).collect()
}

/// Returns the fields of a schema that a checkpoint does not contain; their next stored change must be the full
/// value.
pub(super) fn unknown_fields(schema: &Schema, loaded: &CheckpointTuple) -> FieldSet {
    let tracked = || schema.iter().filter(|(_, field)| !field.flags.untracked);
    if loaded.fields.len() == tracked().count() {
        return FieldSet::default();
    }
    let is_stored = |name: &str| loaded.fields.iter().any(|(stored, _)| schema.find(stored) == schema.find(name));
    tracked().filter(|(_, field)| !is_stored(&field.name)).map(|(id, _)| id).collect()
}

impl Machine {
    pub(super) fn to_stored_output(&self, resolved: &ResolvedOutput) -> StoredOutput {
        let schema = &self.graph.schema;
        let write = |write: &Write| StoredWrite {
            field: schema.field(write.field).name.clone(),
            overwrite: write.mode == WriteMode::Overwrite,
            value: write.value.clone(),
        };
        // A value of an untracked field is not stored.
        let tracked = resolved.update.writes().iter().filter(|write| !schema.field(write.field).flags.untracked);
        StoredOutput {
            writes: tracked.map(write).collect(),
            follow_edges: resolved.routing.follow_edges,
            targets: resolved.routing.targets.iter().map(|target| to_stored_task(&self.graph, target)).collect(),
            parent_command: resolved.parent_command.as_deref().map(StoredParentCommand::from),
            cached: resolved.cached,
        }
    }
}

/// Converts a stored output back to ids.
pub(super) fn from_stored_output(graph: &Topology, stored: &StoredOutput) -> Result<ResolvedOutput> {
    let schema = &graph.schema;
    let mut update = Update::new();
    for write in &stored.writes {
        let Some(field) = schema.find(&write.field) else {
            let diagnostic = schema.unknown_field(&write.field);
            return Err(Error::new(ErrorCode::InvalidGraph, format!("stored task result: {}", diagnostic.message)));
        };
        let mode = if write.overwrite { WriteMode::Overwrite } else { WriteMode::Reduce };
        update.push(Write { field, mode, value: write.value.clone() });
    }
    let targets = stored.targets.iter().map(|target| from_stored_task(graph, target)).collect::<Result<_>>()?;
    let routing = Routing { follow_edges: stored.follow_edges, targets };
    let parent_command = stored.parent_command.clone().map(|parent_command| Box::new(parent_command.into()));
    Ok(ResolvedOutput { update, routing, parent_command, cached: stored.cached })
}

/// Checks that a graph can continue from a checkpoint; returns the stored schema version if migrations are applied.
///
/// # Errors
/// Returns an error that states why the graph cannot continue.
pub fn check_compatibility(graph: &Topology, loaded: CheckpointTuple) -> Result<Option<u32>> {
    let RestoredCheckpoint { loaded, migrated_from: from, .. } = restore_checkpoint(graph, loaded)?;
    let thread = &loaded.checkpoint.thread;
    restore_position(graph, &loaded.checkpoint).map_err(|error| error.with_thread(Some(thread)))?;
    for pending in &loaded.pending {
        if let TaskEntry::Done(output) = &pending.entry {
            from_stored_output(graph, output)
                .map_err(|error| error.with_node(&*pending.node).with_thread(Some(thread)))?;
        }
    }
    Ok(from)
}
