//! The migrations of a graph: their chain of versions, and the validation of their declarations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Migration, MigrationStep};
use crate::error::Diagnostic;
use crate::schema::Schema;
use crate::suggest::did_you_mean;

/// The migrations of a graph, by start version.
#[derive(Debug, Clone, Default)]
pub struct Migrations {
    pub(super) by_version: BTreeMap<u32, Migration>,
    /// Versions with more than one migration.
    duplicate_versions: BTreeSet<u32>,
}

impl Migrations {
    /// Adds a migration that starts at this version.
    pub fn add(&mut self, from: u32, migration: Migration) {
        if self.by_version.insert(from, migration).is_some() {
            self.duplicate_versions.insert(from);
        }
    }

    /// Returns true if there is no migration.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_version.is_empty()
    }

    /// Returns the migrations from a version to the newest, each with its start version; `None` if the chain has a
    /// gap.
    pub(super) fn chain(&self, from: u32, newest: u32) -> Option<Vec<(u32, &Migration)>> {
        let (mut version, mut chain) = (from, Vec::new());
        while version < newest {
            let migration = self.by_version.get(&version).filter(|migration| migration.to_version > version)?;
            chain.push((version, migration));
            version = migration.to_version;
        }
        Some(chain)
    }

    /// Returns the names of fields that threads of this version no longer have, though a checkpointer may still
    /// return them.
    pub(super) fn removed_fields(&self, version: u32) -> BTreeSet<&str> {
        let mut retired = BTreeSet::new();
        for step in self.steps().filter(|(to, _)| *to <= version).map(|(_, step)| step) {
            if let MigrationStep::Rename { from: removed, .. } | MigrationStep::Remove { field: removed } = step {
                retired.insert(&**removed);
            }
            if let MigrationStep::Rename { to: created, .. } | MigrationStep::Add { field: created, .. } = step {
                retired.remove(&**created);
            }
        }
        retired
    }

    /// Iterates over all steps in order, with the target version of their migration.
    fn steps(&self) -> impl Iterator<Item = (u32, &MigrationStep)> + Clone {
        self.by_version.values().flat_map(|migration| migration.steps.iter().map(|step| (migration.to_version, step)))
    }

    /// Returns the former names of nodes, each with the current one.
    pub(crate) fn former_node_names(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let renamed = self.steps().enumerate().filter_map(|(position, (_, step))| match step {
            MigrationStep::RenameNode { from, to } => Some((position, from, to)),
            _ => None,
        });
        let newest = |position: usize, name: &Arc<str>| {
            self.steps().skip(position + 1).fold(name.clone(), |name, (_, step)| match step {
                MigrationStep::RenameNode { from, to } if *from == name => to.clone(),
                _ => name,
            })
        };
        renamed.map(|(position, from, to)| (from.clone(), newest(position, to))).collect()
    }

    /// Returns all mistakes in the declarations.
    pub(crate) fn diagnostics(&self, schema: &Schema, nodes: &[&str]) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        self.check_versions(schema.version(), &mut diagnostics);
        self.check_fields(schema, &mut diagnostics);
        self.check_nodes(nodes, &mut diagnostics);
        diagnostics
    }

    fn check_versions(&self, newest: u32, diagnostics: &mut Vec<Diagnostic>) {
        for from in &self.duplicate_versions {
            diagnostics.push(diagnostic(format!("two migrations start at version {from}"), "merge them into one"));
        }
        for (from, migration) in &self.by_version {
            let to = migration.to_version;
            if to <= *from {
                diagnostics.push(diagnostic(
                    format!("migration {from} → {to} does not increase the version"),
                    "the target version \
                     must be greater",
                ));
            } else if to > newest {
                let help = "raise the version of the state, for example `#[state(version = 2)]`";
                diagnostics
                    .push(diagnostic(format!("migration {from} → {to} exceeds the state version {newest}"), help));
            } else if to < newest && !self.by_version.contains_key(&to) {
                let message = format!("no migration from version {to} to the state version {newest}");
                diagnostics.push(diagnostic(
                    message,
                    &format!("add one: `graph.add_migration({to}, Migration::to_version(..))`"),
                ));
            }
        }
    }

    fn check_fields(&self, schema: &Schema, diagnostics: &mut Vec<Diagnostic>) {
        for (position, (to, step)) in self.steps().enumerate() {
            let Some(created) = step.created_field() else { continue };
            let (mut last, mut is_converted) = (Some(&**created), false);
            for (_, later) in self.steps().skip(position + 1) {
                is_converted |= matches!(later, MigrationStep::Convert { field, .. } if last == Some(&**field));
                last = last.and_then(|name| later.follow(name));
            }
            let Some(last) = last else { continue };
            let Some(id) = schema.find(last) else {
                let message = format!("migration to {to} ({step}): the state has no field `{last}`");
                diagnostics.push(Diagnostic { help: schema.unknown_field(last).help, ..diagnostic(message, "") });
                continue;
            };
            if let MigrationStep::Add { value, .. } = step
                && !is_converted
                && let Err(errors) = schema.field(id).ops.parse_value(value.clone())
            {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                let message = format!("migration to {to} ({step}): the value does not match");
                diagnostics.push(diagnostic(
                    format!("{message}: {}", errors.join("; ")),
                    "use a value of the type of \
                     the field",
                ));
            }
        }
        for name in self.removed_fields(schema.version()).into_iter().filter(|name| schema.find(name).is_some()) {
            let message = format!("field `{name}` of the state was renamed or removed by a migration");
            let help = format!("rename the field, or add it again in a later migration: `.add(\"{name}\", ..)`");
            diagnostics.push(diagnostic(message, &help));
        }
    }

    fn check_nodes(&self, nodes: &[&str], diagnostics: &mut Vec<Diagnostic>) {
        for (former, name) in self.former_node_names() {
            if !nodes.contains(&&*name) {
                let help = did_you_mean(&name, nodes.iter().copied());
                let message = format!("a migration renames node `{former}` to `{name}`, which is not a node");
                diagnostics.push(Diagnostic { help, ..diagnostic(message, "") });
            }
            if nodes.contains(&&*former) {
                let message = format!("node `{former}` has a name that a migration renames to `{name}`");
                diagnostics.push(diagnostic(
                    message,
                    "rename the node; otherwise scheduled tasks of existing threads \
                     would run the wrong node",
                ));
            }
        }
    }
}

fn diagnostic(message: String, help: &str) -> Diagnostic {
    Diagnostic { pointer: String::new(), message, help: Some(help.to_owned()).filter(|help| !help.is_empty()) }
}
