//! What migrations do to a checkpoint that was read: names, values, and what is known of its tasks.
//!
//! Values are touched only where a step says so: a renamed field keeps the changes it is made of. Names of nodes stay
//! as they are stored, because the ids of tasks are made of them; the drawing knows the names nodes once had.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::{Conversion, Migration, Migrations, Step};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, Entry, FORMAT_VERSION, StoredWrite};
use crate::datum::Datum;
use crate::error::{Code, Error, Result, panic_text};
use crate::fault::Fault;
use crate::json_reducer;
use crate::port::{FieldLog, Loaded};
use crate::schema::Schema;

/// A checkpoint in the shape of today's state.
pub struct Migrated {
    /// The checkpoint, its values and what is known of its tasks. Its own version is the stored one.
    pub loaded: Loaded,
    /// The version it was stored with, when migrations were applied.
    pub from: Option<u32>,
    /// Fields that the store does not have as they are here.
    pub changed: BTreeSet<Arc<str>>,
}

/// Brings a checkpoint into the shape of today's state.
///
/// # Errors
/// When it is of a newer version, nothing leads on from its version, or a step fails; names thread, checkpoint, field
/// and step.
pub fn migrate(migrations: &Migrations, schema: &Schema, loaded: Loaded) -> Result<Migrated> {
    check_version(schema, &loaded.checkpoint)?;
    let version = loaded.checkpoint.schema_version;
    if migrations.is_empty() {
        return Ok(Migrated { loaded, from: None, changed: BTreeSet::new() });
    }
    let Some(chain) = migrations.chain(version, schema.version()) else {
        return Err(nothing_leads_on(&loaded.checkpoint, schema));
    };
    let mut work = Work { loaded, schema, changed: BTreeSet::new() };
    let retired = migrations.retired(version);
    work.loaded.fields.retain(|(name, _)| !retired.contains(&**name));
    for (index, (from, migration)) in chain.iter().enumerate() {
        for (place, step) in migration.steps.iter().enumerate() {
            let later = migration.steps[place + 1..].iter();
            let later = later.chain(chain[index + 1..].iter().flat_map(|(_, migration)| &migration.steps));
            let said = work.apply(step, migration, later);
            said.map_err(|problem| failed(&work.loaded.checkpoint, (*from, migration.to), step, &problem))?;
        }
    }
    let from = Some(version).filter(|_| !chain.is_empty());
    Ok(Migrated { loaded: work.loaded, from, changed: work.changed })
}

/// Refuses what a newer program has written.
pub(crate) fn check_version(schema: &Schema, checkpoint: &Checkpoint) -> Result<()> {
    if checkpoint.format <= FORMAT_VERSION && checkpoint.schema_version <= schema.version() {
        return Ok(());
    }
    let message = format!(
        "checkpoint {} has format {} and state version {}; this program knows {FORMAT_VERSION} and {}",
        checkpoint.id,
        checkpoint.format,
        checkpoint.schema_version,
        schema.version()
    );
    Err(Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one"))
}

fn nothing_leads_on(checkpoint: &Checkpoint, schema: &Schema) -> Error {
    let Checkpoint { id, schema_version, thread, .. } = checkpoint;
    let message = format!(
        "thread `{thread}`, checkpoint {id}: no migration leads from state version {schema_version} to {}",
        schema.version()
    );
    Error::new(Code::InvalidGraph, message)
        .help(format!("nothing was changed; add one: `graph.migrate({schema_version}, Migration::to(..))`"))
        .on_thread(Some(thread))
}

fn failed(checkpoint: &Checkpoint, (from, to): (u32, u32), step: &Step, problem: &Fault) -> Error {
    let Checkpoint { id, thread, .. } = checkpoint;
    let message = format!("thread `{thread}`, checkpoint {id}: migration {from} → {to} cannot {step}: {problem}");
    let help = "nothing was changed; correct the migration, or open the thread with the program that wrote it";
    let help = problem.help.as_ref().map_or_else(|| help.to_owned(), |more| format!("{more}; {help}"));
    Error::new(Code::InvalidGraph, message).help(help).on_thread(Some(thread))
}

struct Work<'a> {
    loaded: Loaded,
    schema: &'a Schema,
    changed: BTreeSet<Arc<str>>,
}

impl Work<'_> {
    fn apply<'s>(
        &mut self,
        step: &Step,
        migration: &Migration,
        later: impl Iterator<Item = &'s Step> + Clone,
    ) -> Result<(), Fault> {
        match step {
            Step::Add { field, value } if self.place(field).is_none() => {
                self.loaded.fields.push((field.clone(), set(value.clone())));
                self.changed.insert(field.clone());
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Convert { field, with } => {
                self.convert(field, with)?;
                let is_said = |step: &Step| matches!(step, Step::ConvertWrites { field: other, .. } if other == field);
                if !migration.steps.iter().any(is_said) {
                    let last = later.clone().try_fold(&**field, |name, step| step.follow(name));
                    let is_folded = last.and_then(|last| self.schema.find(last));
                    let is_folded = is_folded.is_some_and(|id| self.schema.field(id).reducer.is_some());
                    self.each_write(field, |write| convert_whole(write, is_folded, with))?;
                }
            }
            Step::ConvertWrites { field, with } => self.each_write(field, |write| convert(&mut write.value, with))?,
            Step::Remove { field } => self.remove(field),
            Step::Add { .. } | Step::RenameNode { .. } => {}
        }
        Ok(())
    }

    fn place(&self, field: &str) -> Option<usize> {
        self.loaded.fields.iter().position(|(name, _)| **name == *field)
    }

    fn rename(&mut self, from: &Arc<str>, to: &Arc<str>) {
        self.changed.remove(from);
        if let Some(place) = self.place(from) {
            // What stands under the new name was there before anybody gave it this meaning.
            self.loaded.fields[place].0 = to.clone();
            let renamed = self.loaded.fields.swap_remove(place);
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
        checkpoint.written.iter_mut().for_each(&mut rename);
        checkpoint.since_input.iter_mut().flatten().for_each(|(name, _)| rename(name));
        writes(&mut self.loaded).for_each(|list| list.iter_mut().for_each(|write| rename(&mut write.field)));
    }

    fn remove(&mut self, field: &Arc<str>) {
        self.loaded.fields.retain(|(name, _)| name != field);
        self.changed.remove(field);
        let checkpoint = Arc::make_mut(&mut self.loaded.checkpoint);
        checkpoint.written.retain(|name| name != field);
        checkpoint.since_input.iter_mut().for_each(|known| known.retain(|(name, _)| name != field));
        writes(&mut self.loaded).for_each(|list| list.retain(|write| write.field != *field));
    }

    fn convert(&mut self, field: &Arc<str>, with: &Conversion) -> Result<(), Fault> {
        let Some(place) = self.place(field) else { return Ok(()) };
        let log = &mut self.loaded.fields[place].1;
        let mut value = Datum::json(whole(log)?);
        convert(&mut value, with)?;
        *log = vec![(Change::Set, value)];
        self.changed.insert(field.clone());
        // What was said of the old form says nothing of the new one.
        let known = &mut Arc::make_mut(&mut self.loaded.checkpoint).since_input;
        known.iter_mut().flatten().filter(|(name, _)| name == field).for_each(|(_, change)| *change = Change::Set);
        Ok(())
    }

    fn each_write(
        &mut self,
        field: &Arc<str>,
        mut change: impl FnMut(&mut StoredWrite) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut mine = writes(&mut self.loaded).flatten().filter(|write| write.field == *field);
        mine.try_for_each(&mut change)
    }
}

/// What tasks have written that is not folded yet.
fn writes(loaded: &mut Loaded) -> impl Iterator<Item = &mut Vec<StoredWrite>> {
    loaded.pending.iter_mut().filter_map(|known| match &mut known.entry {
        Entry::Done(output) => Some(&mut output.writes),
        _ => None,
    })
}

fn set(value: Value) -> FieldLog {
    vec![(Change::Set, Datum::json(value))]
}

/// The value that changes make, as JSON.
fn whole(log: &FieldLog) -> Result<Value, Fault> {
    let mut value = Value::Null;
    for (change, part) in log {
        json_reducer::restore(&mut value, change, &part.to_json()?)?;
    }
    Ok(value)
}

fn convert(value: &mut Datum, with: &Conversion) -> Result<(), Fault> {
    let old = value.to_json()?;
    let converted = catch_unwind(AssertUnwindSafe(|| with(old)));
    let converted = converted.unwrap_or_else(|panic| Err(Fault::new(format!("it panicked: {}", panic_text(&*panic)))));
    *value = Datum::json(converted?);
    Ok(())
}

/// Converts a write that is a whole value; one that a reducer would fold is a part, whose form nobody has said.
fn convert_whole(write: &mut StoredWrite, is_folded: bool, with: &Conversion) -> Result<(), Fault> {
    if is_folded && !write.overwrite {
        let fault = Fault::new("a task has finished and its write is not folded yet");
        return Err(fault.help("say how such a write is converted with `convert_writes`"));
    }
    convert(&mut write.value, with)
}
