//! Applies migrations to a checkpoint that was read: names, values, and pending entries.
//!
//! Values are changed only where a step requires it: a renamed field keeps its stored changes. Names of nodes stay
//! as stored, because task ids are derived from them; the topology knows the former names of nodes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::{ConvertFn, Migration, MigrationStep, Migrations};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, FORMAT_VERSION, StoredWrite, TaskEntry};
use crate::error::{Error, ErrorCode, Result, panic_message};
use crate::json_reducer;
use crate::port::{CheckpointTuple, FieldLog};
use crate::schema::Schema;
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// A checkpoint migrated to the current schema.
pub struct MigratedCheckpoint {
    /// The checkpoint, its values and pending entries. Its `schema_version` is still the stored one.
    pub loaded: CheckpointTuple,
    /// The stored schema version, if migrations were applied.
    pub from: Option<u32>,
    /// Fields that differ from their stored form.
    pub changed: BTreeSet<Arc<str>>,
}

/// Migrates a checkpoint to the current schema.
///
/// # Errors
/// Returns an error if the checkpoint is of a newer version, no migration starts at its version, or a step fails;
/// the error names thread, checkpoint, field and step.
pub fn migrate(migrations: &Migrations, schema: &Schema, loaded: CheckpointTuple) -> Result<MigratedCheckpoint> {
    check_version(schema, &loaded.checkpoint)?;
    let version = loaded.checkpoint.schema_version;
    if migrations.is_empty() {
        return Ok(MigratedCheckpoint { loaded, from: None, changed: BTreeSet::new() });
    }
    let Some(chain) = migrations.chain(version, schema.version()) else {
        return Err(missing_migration(&loaded.checkpoint, schema));
    };
    let mut run = MigrationRun { loaded, schema, changed: BTreeSet::new() };
    let removed_fields = migrations.removed_fields(version);
    run.loaded.fields.retain(|(name, _)| !removed_fields.contains(&**name));
    for (index, (from, migration)) in chain.iter().enumerate() {
        for (position, step) in migration.steps.iter().enumerate() {
            let later = migration.steps[position + 1..].iter();
            let later = later.chain(chain[index + 1..].iter().flat_map(|(_, migration)| &migration.steps));
            let result = run.apply(step, migration, later);
            result.map_err(|cause| step_error(&run.loaded.checkpoint, (*from, migration.to_version), step, &cause))?;
        }
    }
    let from = Some(version).filter(|_| !chain.is_empty());
    Ok(MigratedCheckpoint { loaded: run.loaded, from, changed: run.changed })
}

/// Rejects checkpoints of a newer program.
pub(crate) fn check_version(schema: &Schema, checkpoint: &Checkpoint) -> Result<()> {
    if checkpoint.format <= FORMAT_VERSION && checkpoint.schema_version <= schema.version() {
        return Ok(());
    }
    let message = format!(
        "checkpoint {} has format {} and state version {}; this program supports format {FORMAT_VERSION} and \
             state version {}",
        checkpoint.id,
        checkpoint.format,
        checkpoint.schema_version,
        schema.version()
    );
    Err(Error::new(ErrorCode::CheckpointTooNew, message)
        .with_help("open it with the version that wrote it, or a newer one"))
}

fn missing_migration(checkpoint: &Checkpoint, schema: &Schema) -> Error {
    let Checkpoint { id, schema_version, thread, .. } = checkpoint;
    let message = format!(
        "thread `{thread}`, checkpoint {id}: no migration from state version {schema_version} to {}",
        schema.version()
    );
    Error::new(ErrorCode::InvalidGraph, message)
        .with_help(format!(
            "nothing was changed; add one: `graph.add_migration({schema_version}, Migration::to_version(..))`"
        ))
        .with_thread(Some(thread))
}

fn step_error(checkpoint: &Checkpoint, (from, to): (u32, u32), step: &MigrationStep, cause: &ValidationError) -> Error {
    let Checkpoint { id, thread, .. } = checkpoint;
    let message = format!("thread `{thread}`, checkpoint {id}: migration {from} → {to} failed to {step}: {cause}");
    let help = "nothing was changed; correct the migration, or open the thread with the version that wrote it";
    let help = cause.help.as_ref().map_or_else(|| help.to_owned(), |more| format!("{more}; {help}"));
    Error::new(ErrorCode::InvalidGraph, message).with_help(help).with_thread(Some(thread))
}

struct MigrationRun<'a> {
    loaded: CheckpointTuple,
    schema: &'a Schema,
    changed: BTreeSet<Arc<str>>,
}

impl MigrationRun<'_> {
    fn apply<'s>(
        &mut self,
        step: &MigrationStep,
        migration: &Migration,
        later: impl Iterator<Item = &'s MigrationStep> + Clone,
    ) -> Result<(), ValidationError> {
        match step {
            MigrationStep::Add { field, value } if self.field_index(field).is_none() => {
                self.loaded.fields.push((field.clone(), set(value.clone())));
                self.changed.insert(field.clone());
            }
            MigrationStep::Rename { from, to } => self.rename(from, to),
            MigrationStep::Convert { field, with } => {
                self.convert(field, with)?;
                let converts_writes = |step: &MigrationStep| matches!(step, MigrationStep::ConvertWrites { field: other, .. } if other == field);
                if !migration.steps.iter().any(converts_writes) {
                    let last = later.clone().try_fold(&**field, |name, step| step.follow(name));
                    let has_reducer = last.and_then(|last| self.schema.find(last));
                    let has_reducer = has_reducer.is_some_and(|id| self.schema.field(id).reducer.is_some());
                    self.try_for_each_write(field, |write| convert_full_value(write, has_reducer, with))?;
                }
            }
            MigrationStep::ConvertWrites { field, with } => {
                self.try_for_each_write(field, |write| convert(&mut write.value, with))?
            }
            MigrationStep::Remove { field } => self.remove(field),
            MigrationStep::Add { .. } | MigrationStep::RenameNode { .. } => {}
        }
        Ok(())
    }

    fn field_index(&self, field: &str) -> Option<usize> {
        self.loaded.fields.iter().position(|(name, _)| **name == *field)
    }

    fn rename(&mut self, from: &Arc<str>, to: &Arc<str>) {
        self.changed.remove(from);
        if let Some(index) = self.field_index(from) {
            // A value that is stored under the new name predates this meaning of the name and is dropped.
            self.loaded.fields[index].0 = to.clone();
            let renamed = self.loaded.fields.swap_remove(index);
            self.loaded.fields.retain(|(name, _)| name != to);
            self.loaded.fields.push(renamed);
            self.changed.insert(to.clone());
        }
        let mut rename = |name: &mut Arc<str>| {
            if name == from {
                *name = to.clone();
            }
        };
        let checkpoint = Arc::make_mut(&mut self.loaded.checkpoint);
        checkpoint.written_fields.iter_mut().for_each(&mut rename);
        checkpoint.changes_since_input.iter_mut().flatten().for_each(|(name, _)| rename(name));
        writes(&mut self.loaded).for_each(|list| list.iter_mut().for_each(|write| rename(&mut write.field)));
    }

    fn remove(&mut self, field: &Arc<str>) {
        self.loaded.fields.retain(|(name, _)| name != field);
        self.changed.remove(field);
        let checkpoint = Arc::make_mut(&mut self.loaded.checkpoint);
        checkpoint.written_fields.retain(|name| name != field);
        checkpoint.changes_since_input.iter_mut().for_each(|changes| changes.retain(|(name, _)| name != field));
        writes(&mut self.loaded).for_each(|list| list.retain(|write| write.field != *field));
    }

    fn convert(&mut self, field: &Arc<str>, with: &ConvertFn) -> Result<(), ValidationError> {
        let Some(index) = self.field_index(field) else { return Ok(()) };
        let log = &mut self.loaded.fields[index].1;
        let mut value = AnyValue::json(full_value(log)?);
        convert(&mut value, with)?;
        *log = vec![(Change::Set, value)];
        self.changed.insert(field.clone());
        // A change of the old value does not describe the converted one.
        let changes = &mut Arc::make_mut(&mut self.loaded.checkpoint).changes_since_input;
        changes.iter_mut().flatten().filter(|(name, _)| name == field).for_each(|(_, change)| *change = Change::Set);
        Ok(())
    }

    fn try_for_each_write(
        &mut self,
        field: &Arc<str>,
        mut change: impl FnMut(&mut StoredWrite) -> Result<(), ValidationError>,
    ) -> Result<(), ValidationError> {
        let mut field_writes = writes(&mut self.loaded).flatten().filter(|write| write.field == *field);
        field_writes.try_for_each(&mut change)
    }
}

/// Iterates over the writes of finished tasks that are not applied yet.
fn writes(loaded: &mut CheckpointTuple) -> impl Iterator<Item = &mut Vec<StoredWrite>> {
    loaded.pending.iter_mut().filter_map(|pending| match &mut pending.entry {
        TaskEntry::Done(output) => Some(&mut output.writes),
        _ => None,
    })
}

fn set(value: Value) -> FieldLog {
    vec![(Change::Set, AnyValue::json(value))]
}

/// Returns the value that results from the changes, as JSON.
fn full_value(log: &FieldLog) -> Result<Value, ValidationError> {
    let mut value = Value::Null;
    for (change, delta) in log {
        json_reducer::apply_delta(&mut value, change, &delta.to_json()?)?;
    }
    Ok(value)
}

fn convert(value: &mut AnyValue, with: &ConvertFn) -> Result<(), ValidationError> {
    let old = value.to_json()?;
    let converted = catch_unwind(AssertUnwindSafe(|| with(old)));
    let converted =
        converted.unwrap_or_else(|panic| Err(ValidationError::new(format!("it panicked: {}", panic_message(&*panic)))));
    *value = AnyValue::json(converted?);
    Ok(())
}

/// Converts a write that is a full value; a write for a reducer is only a part of the value and needs its own
/// conversion.
fn convert_full_value(write: &mut StoredWrite, has_reducer: bool, with: &ConvertFn) -> Result<(), ValidationError> {
    if has_reducer && !write.overwrite {
        let error = ValidationError::new("the write of a finished task is not reduced yet");
        return Err(error.with_help("convert pending writes with `convert_pending_writes`"));
    }
    convert(&mut write.value, with)
}
