//! Between dense numbers and stored names: positions, outputs and states as they are written down.

use std::sync::Arc;

use serde_json::Value;

use super::{Machine, Resolved};
use crate::advance::{Due, JoinProgress, Leads, Position, SendInput, Since};
use crate::apply::FieldSet;
use crate::checkpoint::{
    Checkpoint, FORMAT_VERSION, StoredDue, StoredJoin, StoredOutput, StoredOutward, StoredSend, StoredWhy, StoredWrite,
};
use crate::datum::Datum;
use crate::error::{Code, Error, Result};
use crate::field::AnyState;
use crate::graph::Topology;
use crate::id::NodeId;
use crate::port::Loaded;
use crate::schema::Schema;
use crate::suggest::did_you_mean;
use crate::update::{How, Update, Write};

pub(super) fn store_due(graph: &Topology, due: &Due) -> StoredDue {
    let name = |id: NodeId| graph.node(id).name.clone();
    StoredDue {
        node: name(due.node),
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
        since: stored.since.map(|(checkpoint, step)| Box::new(Since { checkpoint, step })),
    })
}

fn find(graph: &Topology, name: &str) -> Result<NodeId> {
    graph.find(name).ok_or_else(|| {
        let error = Error::new(
            Code::InvalidGraph,
            format!("the thread is due at node `{name}`, which this graph does not have"),
        );
        match did_you_mean(name, graph.names()) {
            Some(help) => error.help(format!("{help} If the node was renamed, declare its old name with `was`")),
            None => error.help("if the node was renamed, declare its old name with `was`"),
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
    let sources: Vec<NodeId> = stored.sources.iter().filter_map(|name| graph.find(name)).collect();
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
        due: checkpoint.due.iter().map(|due| read_due(graph, due)).collect::<Result<_>>()?,
        joins: checkpoint.joins.iter().filter_map(|join| read_join(graph, join)).collect(),
        deferred: checkpoint.deferred.iter().map(|name| find(graph, name)).collect::<Result<_>>()?,
    })
}

/// The state a checkpoint holds, and the fields ever written on its thread.
///
/// # Errors
/// When it is of a newer version, does not fit the schema or cannot be read; names checkpoint and field.
pub fn read_state(schema: &Schema, loaded: &Loaded) -> Result<(Arc<AnyState>, FieldSet)> {
    let checkpoint = &loaded.checkpoint;
    if checkpoint.format > FORMAT_VERSION || checkpoint.schema_version > schema.version() {
        let message = format!(
            "checkpoint {} has format {} and state version {}; this program knows {FORMAT_VERSION} and {}",
            checkpoint.id,
            checkpoint.format,
            checkpoint.schema_version,
            schema.version()
        );
        return Err(
            Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
        );
    }
    let mut state = schema.initial_state();
    let target = Arc::get_mut(&mut state).expect("a new state has one owner");
    for (name, log) in &loaded.fields {
        let Some(id) = schema.find(name) else {
            let problem = schema.unknown_field(name);
            let error = Error::new(
                Code::InvalidGraph,
                format!("checkpoint {} has field `{name}`, which the state lacks", checkpoint.id),
            );
            return Err(problem.help.into_iter().fold(error, Error::help));
        };
        for (change, part) in log {
            schema.field(id).ops.restore(target, change, part.clone()).map_err(|fault| {
                let message = format!("checkpoint {}: field `{name}` cannot be read: {fault}", checkpoint.id);
                Error::new(Code::CheckpointCorrupt, message).help("open an earlier checkpoint of the thread")
            })?;
        }
    }
    Ok((state, read_written(schema, checkpoint)))
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

    pub(super) fn read_output(&self, stored: &StoredOutput) -> Result<Resolved> {
        let schema = &self.graph.schema;
        let mut update = Update::new();
        for write in &stored.writes {
            let Some(field) = schema.find(&write.field) else {
                let problem = schema.unknown_field(&write.field);
                return Err(Error::new(Code::InvalidGraph, format!("a stored result: {}", problem.message)));
            };
            let how = if write.overwrite { How::Overwrite } else { How::Reduce };
            update.push(Write { field, how, value: write.value.clone() });
        }
        let ways = stored.ways.iter().map(|way| read_due(&self.graph, way)).collect::<Result<_>>()?;
        let leads = Leads { follow_edges: stored.follow_edges, ways };
        let outward = stored.outward.clone().map(|outward| Box::new(outward.into()));
        Ok(Resolved { update, leads, outward, cached: stored.cached })
    }
}
