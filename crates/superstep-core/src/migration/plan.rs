//! The migrations of a graph: which version leads where, and everything that can be seen to be wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Migration, Step};
use crate::error::Problem;
use crate::schema::Schema;
use crate::suggest::did_you_mean;

/// The migrations of a graph, by the version each begins at.
#[derive(Debug, Clone, Default)]
pub struct Migrations {
    pub(super) by_version: BTreeMap<u32, Migration>,
    /// Versions that were given more than one migration.
    twice: BTreeSet<u32>,
}

impl Migrations {
    /// Adds one that begins at this version.
    pub fn add(&mut self, from: u32, migration: Migration) {
        if self.by_version.insert(from, migration).is_some() {
            self.twice.insert(from);
        }
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_version.is_empty()
    }

    /// The migrations from a version to the newest, each with the version it begins at; `None` where nothing leads on.
    pub(super) fn chain(&self, from: u32, newest: u32) -> Option<Vec<(u32, &Migration)>> {
        let (mut at, mut chain) = (from, Vec::new());
        while at < newest {
            let migration = self.by_version.get(&at).filter(|migration| migration.to > at)?;
            chain.push((at, migration));
            at = migration.to;
        }
        Some(chain)
    }

    /// The names of fields that no thread of this version has, though its store may still give them back.
    pub(super) fn retired(&self, version: u32) -> BTreeSet<&str> {
        let mut retired = BTreeSet::new();
        for step in self.steps().filter(|(to, _)| *to <= version).map(|(_, step)| step) {
            if let Step::Rename { from: gone, .. } | Step::Remove { field: gone } = step {
                retired.insert(&**gone);
            }
            if let Step::Rename { to: made, .. } | Step::Add { field: made, .. } = step {
                retired.remove(&**made);
            }
        }
        retired
    }

    /// Every step in order, with the version it leads to.
    fn steps(&self) -> impl Iterator<Item = (u32, &Step)> + Clone {
        self.by_version.values().flat_map(|migration| migration.steps.iter().map(|step| (migration.to, step)))
    }

    /// Names that nodes once had, each with the one it has now.
    pub(crate) fn former_nodes(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let renamed = self.steps().enumerate().filter_map(|(place, (_, step))| match step {
            Step::RenameNode { from, to } => Some((place, from, to)),
            _ => None,
        });
        let newest = |place: usize, name: &Arc<str>| {
            self.steps().skip(place + 1).fold(name.clone(), |name, (_, step)| match step {
                Step::RenameNode { from, to } if *from == name => to.clone(),
                _ => name,
            })
        };
        renamed.map(|(place, from, to)| (from.clone(), newest(place, to))).collect()
    }

    /// Everything that is wrong with them.
    pub(crate) fn problems(&self, schema: &Schema, nodes: &[&str]) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_versions(schema.version(), &mut problems);
        self.check_fields(schema, &mut problems);
        self.check_nodes(nodes, &mut problems);
        problems
    }

    fn check_versions(&self, newest: u32, problems: &mut Vec<Problem>) {
        for from in &self.twice {
            problems.push(problem(format!("version {from} has two migrations"), "put both into one"));
        }
        for (from, migration) in &self.by_version {
            let to = migration.to;
            if to <= *from {
                problems.push(problem(format!("migration {from} → {to} does not lead on"), "versions count up"));
            } else if to > newest {
                let help = "raise the version of the state, such as `#[state(version = 2)]`";
                problems
                    .push(problem(format!("migration {from} → {to} leads past the state's version {newest}"), help));
            } else if to < newest && !self.by_version.contains_key(&to) {
                let message = format!("no migration leads on from version {to}; the state's version is {newest}");
                problems.push(problem(message, &format!("add one: `graph.migrate({to}, Migration::to(..))`")));
            }
        }
    }

    fn check_fields(&self, schema: &Schema, problems: &mut Vec<Problem>) {
        for (place, (to, step)) in self.steps().enumerate() {
            let Some(made) = step.made() else { continue };
            let (mut last, mut is_converted) = (Some(&**made), false);
            for (_, later) in self.steps().skip(place + 1) {
                is_converted |= matches!(later, Step::Convert { field, .. } if last == Some(&**field));
                last = last.and_then(|name| later.follow(name));
            }
            let Some(last) = last else { continue };
            let Some(id) = schema.find(last) else {
                let message = format!("a migration to {to} says {step}, and the state has no field `{last}`");
                problems.push(Problem { help: schema.unknown_field(last).help, ..problem(message, "") });
                continue;
            };
            if let Step::Add { value, .. } = step
                && !is_converted
                && let Err(faults) = schema.field(id).ops.read_value(value.clone())
            {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let message = format!("a migration to {to} says {step}, and its value does not fit");
                problems.push(problem(format!("{message}: {}", faults.join("; ")), "give a value of the field's type"));
            }
        }
        for name in self.retired(schema.version()).into_iter().filter(|name| schema.find(name).is_some()) {
            let message = format!("field `{name}` of the state is one that a migration has renamed or removed");
            let help = format!("name it otherwise, or let a later migration bring it back: `.add(\"{name}\", ..)`");
            problems.push(problem(message, &help));
        }
    }

    fn check_nodes(&self, nodes: &[&str], problems: &mut Vec<Problem>) {
        for (former, name) in self.former_nodes() {
            if !nodes.contains(&&*name) {
                let help = did_you_mean(&name, nodes.iter().copied());
                let message = format!("a migration renames node `{former}` to `{name}`, which is no node");
                problems.push(Problem { help, ..problem(message, "") });
            }
            if nodes.contains(&&*former) {
                let message = format!("node `{former}` has a name that a migration took from `{name}`");
                problems.push(problem(message, "name it otherwise: threads that are due there would be lost"));
            }
        }
    }
}

fn problem(message: String, help: &str) -> Problem {
    Problem { pointer: String::new(), message, help: Some(help.to_owned()).filter(|help| !help.is_empty()) }
}
