//! How threads of an older state's shape are read: what a graph says of each change of it.
//!
//! A migration is applied to what a store gives back, whenever it is read, and never writes by itself. What a graph
//! declares is checked in `plan`, what it does to a checkpoint is in `apply`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::Fault;

mod apply;
mod plan;

pub(crate) use apply::check_version;
pub use apply::{Migrated, migrate};
pub use plan::Migrations;

/// What changed between two versions of a state's shape, in the order it is to be done.
///
/// ```
/// use serde_json::{Value, json};
/// use superstep_core::error::Result;
/// use superstep_core::migration::Migration;
///
/// let migration = Migration::to(2)
///     .add("language", "en")
///     .rename("msgs", "messages")
///     .map("score", |percent: u8| f64::from(percent) / 100.0)
///     .convert("tags", |old: Value| -> Result<Value> { Ok(json!([old])) })
///     .remove("draft")
///     .rename_node("writer", "author");
/// assert_eq!(migration.version(), 2);
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to the graph: `graph.migrate(1, migration)`"]
pub struct Migration {
    to: u32,
    steps: Vec<Step>,
}

/// One thing a migration does.
#[derive(Clone)]
enum Step {
    /// A field that threads did not have.
    Add { field: Arc<str>, value: Value },
    /// A field under another name.
    Rename { from: Arc<str>, to: Arc<str> },
    /// The value of a field in another form.
    Convert { field: Arc<str>, with: Conversion },
    /// What a finished task has written to a field and its superstep has not folded yet.
    ConvertWrites { field: Arc<str>, with: Conversion },
    /// A field that is gone.
    Remove { field: Arc<str> },
    /// A node under another name.
    RenameNode { from: Arc<str>, to: Arc<str> },
}

type Conversion = Arc<dyn Fn(Value) -> Result<Value, Fault> + Send + Sync>;

impl Migration {
    /// Leads to this version.
    pub fn to(version: u32) -> Self {
        Self { to: version, steps: Vec::new() }
    }

    /// Gives a field that threads do not have yet this value.
    pub fn add(self, field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.then(Step::Add { field: field.into(), value: value.into() })
    }

    /// Gives a field another name; its value stays.
    pub fn rename(self, from: impl Into<Arc<str>>, to: impl Into<Arc<str>>) -> Self {
        self.then(Step::Rename { from: from.into(), to: to.into() })
    }

    /// Gives the value of a field another form. `with` gets what is stored, also where that is null.
    ///
    /// What a task has written past a reducer, or to a field without one, is a whole value and is converted like it;
    /// see [`Migration::convert_writes`] for the rest.
    pub fn convert<E: fmt::Display>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Value) -> Result<Value, E> + Send + Sync + 'static,
    ) -> Self {
        let with: Conversion = Arc::new(move |old| with(old).map_err(|error| Fault::new(error.to_string())));
        self.then(Step::Convert { field: field.into(), with })
    }

    /// As [`Migration::convert`], from one Rust type to another; null stays null.
    pub fn map<Old: DeserializeOwned, New: Serialize>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        self.convert(field, move |old: Value| -> Result<Value, Fault> {
            if old.is_null() {
                return Ok(Value::Null);
            }
            Ok(serde_json::to_value(with(serde_json::from_value(old)?))?)
        })
    }

    /// Gives what finished tasks have written to a field with a reducer another form.
    ///
    /// Needed only for threads that stopped inside a superstep: some of its tasks had finished, and others had failed
    /// or wait for a person. Without it such a thread is refused, where the field is converted.
    pub fn convert_writes<E: fmt::Display>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Value) -> Result<Value, E> + Send + Sync + 'static,
    ) -> Self {
        let with: Conversion = Arc::new(move |old| with(old).map_err(|error| Fault::new(error.to_string())));
        self.then(Step::ConvertWrites { field: field.into(), with })
    }

    /// Lets a field go, with its value.
    pub fn remove(self, field: impl Into<Arc<str>>) -> Self {
        self.then(Step::Remove { field: field.into() })
    }

    /// Gives a node another name: what is due, finished or asked there goes on under it, with the ids it has.
    pub fn rename_node(self, from: impl Into<Arc<str>>, to: impl Into<Arc<str>>) -> Self {
        self.then(Step::RenameNode { from: from.into(), to: to.into() })
    }

    /// The version it leads to.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.to
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl Step {
    /// The name a field has after this step; `None` when it is gone.
    fn follow<'a>(&'a self, field: &'a str) -> Option<&'a str> {
        match self {
            Self::Rename { from, to } if **from == *field => Some(to),
            Self::Remove { field: gone } if **gone == *field => None,
            _ => Some(field),
        }
    }

    /// The field it leaves behind, where it makes or changes one.
    fn made(&self) -> Option<&Arc<str>> {
        match self {
            Self::Add { field, .. } | Self::Convert { field, .. } | Self::ConvertWrites { field, .. } => Some(field),
            Self::Rename { to, .. } => Some(to),
            Self::Remove { .. } | Self::RenameNode { .. } => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { field, .. } => write!(f, "add `{field}`"),
            Self::Rename { from, to } => write!(f, "rename `{from}` to `{to}`"),
            Self::Convert { field, .. } => write!(f, "convert `{field}`"),
            Self::ConvertWrites { field, .. } => write!(f, "convert what was written to `{field}`"),
            Self::Remove { field } => write!(f, "remove `{field}`"),
            Self::RenameNode { from, to } => write!(f, "rename node `{from}` to `{to}`"),
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
