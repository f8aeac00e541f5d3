//! Between dense numbers and stored names: positions, outputs and states as they are written down.

use std::sync::Arc;

use serde_json::Value;

use super::{Machine, Resolved};
use crate::advance::{Due, JoinProgress, Leads, Position, SendInput, Since};
use crate::apply::FieldSet;
use crate::checkpoint::{
    Checkpoint, Entry, StoredDue, StoredJoin, StoredOutput, StoredOutward, StoredSend, StoredWhy, StoredWrite,
};
use crate::datum::Datum;
use crate::error::{Code, Error, Result};
use crate::fault::Fault;
use crate::field::AnyState;
use crate::graph::Topology;
use crate::id::NodeId;
use crate::migration::{Migrated, check_version, migrate};
use crate::port::Loaded;
use crate::schema::{Schema, TypeChecks};
use crate::suggest::did_you_mean;
use crate::update::{How, Update, Write};

pub(super) fn store_due(graph: &Topology, due: &Due) -> StoredDue {
    let name = |id: NodeId| graph.node(id).name.clone();
    StoredDue {
        node: due.named().cloned().unwrap_or_else(|| name(due.node)),
        why: StoredWhy { kind: due.why, from: due.from.map(name) },
        send: due.send.as_ref().map(|send| StoredSend {
            index: send.index,
            payload: stored_payload(graph, &send.payload),
            timeout: send.timeout,
        }),
        since: due.since.as_ref().map(|since| (since.checkpoint, since.step)),
    }
}

/// The payload of a send as it is stored: an object that was made of the state goes without what is never saved.
fn stored_payload(graph: &Topology, payload: &Datum) -> Datum {
    let schema = &graph.schema;
    let is_untracked = |name: &str| schema.find(name).is_some_and(|id| schema.field(id).flags.untracked);
    match payload.get::<Value>() {
        Some(Value::Object(map)) if map.keys().any(|name| is_untracked(name)) => {
            let kept = map.iter().filter(|(name, _)| !is_untracked(name));
            Datum::json(Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        _ => payload.clone(),
    }
}

pub(super) fn read_due(graph: &Topology, stored: &StoredDue) -> Result<Due> {
    Ok(Due {
        node: find(graph, &stored.node)?,
        why: stored.why.kind,
        from: stored.why.from.as_ref().and_then(|name| graph.find(name)),
        send: stored.send.as_ref().map(|send| {
            Arc::new(SendInput { index: send.index, payload: send.payload.clone(), timeout: send.timeout })
        }),
        since: stored.since.map(|(checkpoint, step)| Box::new(Since { checkpoint, step, named: None })),
    })
}

/// A due task of a checkpoint. One whose node was renamed since keeps the id it has under the old name.
fn read_due_at(graph: &Topology, checkpoint: &Checkpoint, stored: &StoredDue) -> Result<Due> {
    let mut due = read_due(graph, stored)?;
    if graph.node(due.node).name != stored.node {
        let (checkpoint, step) = stored.since.unwrap_or((checkpoint.id, checkpoint.step));
        due.since = Some(Box::new(Since { checkpoint, step, named: Some(stored.node.clone()) }));
    }
    Ok(due)
}

const RENAMED: &str = "declare its old name with `was`, or in a migration with `rename_node`";

fn find(graph: &Topology, name: &str) -> Result<NodeId> {
    graph.find(name).ok_or_else(|| {
        let error = Error::new(
            Code::InvalidGraph,
            format!("the thread is due at node `{name}`, which this graph does not have"),
        );
        match did_you_mean(name, graph.names()) {
            Some(help) => error.help(format!("{help} If the node was renamed, {RENAMED}")),
            None => error.help(format!("if the node was renamed, {RENAMED}")),
        }
    })
}

pub(super) fn store_joins(graph: &Topology, position: &Position) -> Vec<StoredJoin> {
    let name = |id: &NodeId| graph.node(*id).name.clone();
    let stored = position.joins.iter().map(|progress| {
        let join = &graph.joins[progress.join as usize];
        StoredJoin {
            target: name(&join.target),
            sources: join.sources.iter().map(name).collect(),
            arrived: progress.arrived.iter().map(|place| name(&join.sources[*place as usize])).collect(),
        }
    });
    stored.collect()
}

fn read_join(graph: &Topology, stored: &StoredJoin) -> Option<JoinProgress> {
    let target = graph.find(&stored.target)?;
    let mut sources: Vec<NodeId> = stored.sources.iter().filter_map(|name| graph.find(name)).collect();
    // Nodes may have been added in another order since.
    sources.sort_unstable();
    // A join that was redrawn starts anew: what arrived at another one says nothing.
    let join = graph.joins.iter().position(|join| join.target == target && join.sources == sources)?;
    let place = |name: &Arc<str>| {
        let id = graph.find(name)?;
        graph.joins[join].sources.iter().position(|source| *source == id).map(|place| place as u32)
    };
    Some(JoinProgress { join: join as u32, arrived: stored.arrived.iter().filter_map(place).collect() })
}

pub(super) fn read_position(graph: &Topology, checkpoint: &Checkpoint) -> Result<Position> {
    Ok(Position {
        step: checkpoint.step,
        due: checkpoint.due.iter().map(|due| read_due_at(graph, checkpoint, due)).collect::<Result<_>>()?,
        joins: checkpoint.joins.iter().filter_map(|join| read_join(graph, join)).collect(),
        deferred: checkpoint.deferred.iter().map(|name| find(graph, name)).collect::<Result<_>>()?,
    })
}

/// A stored checkpoint as a graph of today sees it.
pub struct Read {
    /// The state.
    pub state: Arc<AnyState>,
    /// The checkpoint and what is known of its tasks, in the shape of today's state.
    pub loaded: Loaded,
    /// The version it was stored with, when migrations were applied.
    pub from: Option<u32>,
    pub(super) written: FieldSet,
    pub(super) migrated: FieldSet,
}

/// Reads a checkpoint, through the migrations of the graph where it is of an older version.
///
/// # Errors
/// When it is of a newer version, does not fit the schema or cannot be read; names checkpoint and field.
pub fn read_thread(graph: &Topology, loaded: Loaded) -> Result<Read> {
    let schema = &graph.schema;
    let Migrated { loaded, from, changed } = migrate(&graph.migrations, schema, loaded)?;
    let (state, written) = read_state(schema, &loaded)?;
    let migrated: FieldSet = changed.iter().filter_map(|name| schema.find(name)).collect();
    for id in migrated.iter() {
        let field = schema.field(id);
        let faults = if schema.types == TypeChecks::Enforce { field.ops.check_type(&*state) } else { Vec::new() };
        if let Some(fault) = faults.into_iter().next().or_else(|| field.check(&*state).err()) {
            return Err(misfit(schema, &loaded.checkpoint, &field.name, &fault));
        }
    }
    Ok(Read { state, loaded, from, written, migrated })
}

/// The state a checkpoint holds, and the fields ever written on its thread.
///
/// # Errors
/// When it is of a newer version, does not fit the schema or cannot be read; names checkpoint and field.
pub fn read_state(schema: &Schema, loaded: &Loaded) -> Result<(Arc<AnyState>, FieldSet)> {
    let checkpoint = &loaded.checkpoint;
    check_version(schema, checkpoint)?;
    let mut state = schema.initial_state();
    let target = Arc::get_mut(&mut state).expect("a new state has one owner");
    for (name, log) in &loaded.fields {
        let Some(id) = schema.find(name) else { return Err(unknown_field(schema, checkpoint, name)) };
        for (change, part) in log {
            schema
                .field(id)
                .ops
                .restore(target, change, part.clone())
                .map_err(|fault| misfit(schema, checkpoint, name, &fault))?;
        }
    }
    Ok((state, read_written(schema, checkpoint)))
}

/// The error that a value does not fit its field: by damage, or because the state has another shape by now.
fn misfit(schema: &Schema, checkpoint: &Checkpoint, name: &str, fault: &Fault) -> Error {
    let Checkpoint { id, thread, schema_version: old, .. } = checkpoint;
    let new = schema.version();
    let error = if *old < new {
        let message = format!("thread `{thread}`, checkpoint {id}: field `{name}` of state version {old} does not fit");
        let help = format!("nothing was changed; say what became of it in a migration from {old}");
        Error::new(Code::InvalidGraph, format!("{message} version {new}: {fault}")).help(help)
    } else {
        let message = format!("checkpoint {id}: field `{name}` cannot be read: {fault}");
        Error::new(Code::CheckpointCorrupt, message).help("open an earlier checkpoint of the thread")
    };
    error.on_thread(Some(thread))
}

fn unknown_field(schema: &Schema, checkpoint: &Checkpoint, name: &str) -> Error {
    let Checkpoint { id, thread, .. } = checkpoint;
    let message = format!("checkpoint {id} has field `{name}`, which the state lacks");
    let help = schema.unknown_field(name).help.into_iter();
    let help = help.chain(["if it was renamed or removed, say so in a migration".to_owned()]);
    let help = help.collect::<Vec<_>>().join("; ");
    Error::new(Code::InvalidGraph, message).help(help).on_thread(Some(thread))
}

pub(super) fn read_written(schema: &Schema, checkpoint: &Checkpoint) -> FieldSet {
    checkpoint.written.iter().filter_map(|name| schema.find(name)).collect()
}

/// The fields of a schema that a checkpoint was made without: nothing can be said of them but their whole value.
pub(super) fn unknown_fields(schema: &Schema, loaded: &Loaded) -> FieldSet {
    let kept = || schema.iter().filter(|(_, field)| !field.flags.untracked);
    if loaded.fields.len() == kept().count() {
        return FieldSet::default();
    }
    let is_known = |name: &str| loaded.fields.iter().any(|(known, _)| schema.find(known) == schema.find(name));
    kept().filter(|(_, field)| !is_known(&field.name)).map(|(id, _)| id).collect()
}

impl Machine {
    pub(super) fn store_output(&self, resolved: &Resolved) -> StoredOutput {
        let schema = &self.graph.schema;
        let write = |write: &Write| StoredWrite {
            field: schema.field(write.field).name.clone(),
            overwrite: write.how == How::Overwrite,
            value: write.value.clone(),
        };
        // A value that never leaves the process cannot be kept for a later one.
        let kept = resolved.update.writes().iter().filter(|write| !schema.field(write.field).flags.untracked);
        StoredOutput {
            writes: kept.map(write).collect(),
            follow_edges: resolved.leads.follow_edges,
            ways: resolved.leads.ways.iter().map(|way| store_due(&self.graph, way)).collect(),
            outward: resolved.outward.as_deref().map(StoredOutward::from),
            cached: resolved.cached,
        }
    }
}

/// What a task gave, by numbers again.
pub(super) fn read_output(graph: &Topology, stored: &StoredOutput) -> Result<Resolved> {
    let schema = &graph.schema;
    let mut update = Update::new();
    for write in &stored.writes {
        let Some(field) = schema.find(&write.field) else {
            let problem = schema.unknown_field(&write.field);
            return Err(Error::new(Code::InvalidGraph, format!("a stored result: {}", problem.message)));
        };
        let how = if write.overwrite { How::Overwrite } else { How::Reduce };
        update.push(Write { field, how, value: write.value.clone() });
    }
    let ways = stored.ways.iter().map(|way| read_due(graph, way)).collect::<Result<_>>()?;
    let leads = Leads { follow_edges: stored.follow_edges, ways };
    let outward = stored.outward.clone().map(|outward| Box::new(outward.into()));
    Ok(Resolved { update, leads, outward, cached: stored.cached })
}

/// Tries whether a graph can go on from a checkpoint; the version it is of, when it is read through migrations.
///
/// # Errors
/// Why not.
pub fn check_thread(graph: &Topology, loaded: Loaded) -> Result<Option<u32>> {
    let Read { loaded, from, .. } = read_thread(graph, loaded)?;
    let thread = &loaded.checkpoint.thread;
    read_position(graph, &loaded.checkpoint).map_err(|error| error.on_thread(Some(thread)))?;
    for known in &loaded.pending {
        if let Entry::Done(output) = &known.entry {
            read_output(graph, output).map_err(|error| error.at_node(&*known.node).on_thread(Some(thread)))?;
        }
    }
    Ok(from)
}
