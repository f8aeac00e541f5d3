//! Migrations: the declared changes of a state schema, for threads of older versions.
//!
//! A migration is applied whenever a checkpoint is read, and never writes by itself. The declarations are checked in
//! `registry` and applied to a checkpoint in `apply`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::validation_error::ValidationError;

mod apply;
mod registry;

pub(crate) use apply::check_version;
pub use apply::{MigratedCheckpoint, migrate};
pub use registry::Migrations;

/// The changes between two versions of a state schema, in the order in which they are applied.
///
/// ```
/// use serde_json::{Value, json};
/// use superstep_core::error::Result;
/// use superstep_core::migration::Migration;
///
/// let migration = Migration::to_version(2)
///     .add("language", "en")
///     .rename("msgs", "messages")
///     .map("score", |percent: u8| f64::from(percent) / 100.0)
///     .convert("tags", |old: Value| -> Result<Value> { Ok(json!([old])) })
///     .remove("draft")
///     .rename_node("writer", "author");
/// assert_eq!(migration.version(), 2);
/// ```
#[derive(Debug, Clone)]
#[must_use = "add it to the graph with `graph.add_migration(1, migration)`"]
pub struct Migration {
    to_version: u32,
    steps: Vec<MigrationStep>,
}

/// One step of a migration.
#[derive(Clone)]
enum MigrationStep {
    /// Adds a field that threads did not have.
    Add { field: Arc<str>, value: Value },
    /// Renames a field.
    Rename { from: Arc<str>, to: Arc<str> },
    /// Converts the value of a field.
    Convert { field: Arc<str>, with: ConvertFn },
    /// Converts writes of finished tasks to a field whose superstep has not been applied yet.
    ConvertWrites { field: Arc<str>, with: ConvertFn },
    /// Removes a field.
    Remove { field: Arc<str> },
    /// Renames a node.
    RenameNode { from: Arc<str>, to: Arc<str> },
}

type ConvertFn = Arc<dyn Fn(Value) -> Result<Value, ValidationError> + Send + Sync>;

impl Migration {
    /// Creates a migration to this version.
    pub fn to_version(version: u32) -> Self {
        Self { to_version: version, steps: Vec::new() }
    }

    /// Adds a field with this value for threads that do not have it.
    pub fn add(self, field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.then(MigrationStep::Add { field: field.into(), value: value.into() })
    }

    /// Renames a field; its value stays.
    pub fn rename(self, from: impl Into<Arc<str>>, to: impl Into<Arc<str>>) -> Self {
        self.then(MigrationStep::Rename { from: from.into(), to: to.into() })
    }

    /// Converts the value of a field. `with` receives the stored value, which may be null.
    ///
    /// An overwrite, and a write to a field without a reducer, is a full value and is converted in the same way;
    /// see [`Migration::convert_pending_writes`] for other writes.
    pub fn convert<E: fmt::Display>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Value) -> Result<Value, E> + Send + Sync + 'static,
    ) -> Self {
        let with: ConvertFn = Arc::new(move |old| with(old).map_err(|error| ValidationError::new(error.to_string())));
        self.then(MigrationStep::Convert { field: field.into(), with })
    }

    /// Converts a field like [`Migration::convert`], from one Rust type to another; null stays null.
    pub fn map<Old: DeserializeOwned, New: Serialize>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        self.convert(field, move |old: Value| -> Result<Value, ValidationError> {
            if old.is_null() {
                return Ok(Value::Null);
            }
            Ok(serde_json::to_value(with(serde_json::from_value(old)?))?)
        })
    }

    /// Converts the writes of finished tasks to a field with a reducer.
    ///
    /// Needed only for threads that stopped inside a superstep: some tasks had finished, and others had failed or
    /// wait for a resume value. Without this step such a thread is rejected if the field is converted.
    pub fn convert_pending_writes<E: fmt::Display>(
        self,
        field: impl Into<Arc<str>>,
        with: impl Fn(Value) -> Result<Value, E> + Send + Sync + 'static,
    ) -> Self {
        let with: ConvertFn = Arc::new(move |old| with(old).map_err(|error| ValidationError::new(error.to_string())));
        self.then(MigrationStep::ConvertWrites { field: field.into(), with })
    }

    /// Removes a field with its value.
    pub fn remove(self, field: impl Into<Arc<str>>) -> Self {
        self.then(MigrationStep::Remove { field: field.into() })
    }

    /// Renames a node: its scheduled, finished and interrupted tasks continue under the new name and keep their
    /// ids.
    pub fn rename_node(self, from: impl Into<Arc<str>>, to: impl Into<Arc<str>>) -> Self {
        self.then(MigrationStep::RenameNode { from: from.into(), to: to.into() })
    }

    /// Returns the target version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.to_version
    }

    fn then(mut self, step: MigrationStep) -> Self {
        self.steps.push(step);
        self
    }
}

impl MigrationStep {
    /// Returns the name of a field after this step; `None` if the step removes the field.
    fn follow<'a>(&'a self, field: &'a str) -> Option<&'a str> {
        match self {
            Self::Rename { from, to } if **from == *field => Some(to),
            Self::Remove { field: removed } if **removed == *field => None,
            _ => Some(field),
        }
    }

    /// Returns the field that this step creates or changes.
    fn created_field(&self) -> Option<&Arc<str>> {
        match self {
            Self::Add { field, .. } | Self::Convert { field, .. } | Self::ConvertWrites { field, .. } => Some(field),
            Self::Rename { to, .. } => Some(to),
            Self::Remove { .. } | Self::RenameNode { .. } => None,
        }
    }
}

impl fmt::Display for MigrationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { field, .. } => write!(f, "add `{field}`"),
            Self::Rename { from, to } => write!(f, "rename `{from}` to `{to}`"),
            Self::Convert { field, .. } => write!(f, "convert `{field}`"),
            Self::ConvertWrites { field, .. } => write!(f, "convert pending writes of `{field}`"),
            Self::Remove { field } => write!(f, "remove `{field}`"),
            Self::RenameNode { from, to } => write!(f, "rename node `{from}` to `{to}`"),
        }
    }
}

impl fmt::Debug for MigrationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
