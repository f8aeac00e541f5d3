//! Join graph of the tables: from a row to the one row that it references, and a single step in the opposite
//! direction.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::lexicon::ColumnRef;
use crate::data::{Catalog, Table};

/// A foreign key column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ForeignKey {
    pub(super) from: ColumnRef,
    pub(super) to: ColumnRef,
}

/// All foreign keys, by the table that contains them.
pub(super) struct JoinGraph(BTreeMap<String, Vec<ForeignKey>>);

/// The tables that are joined to the first table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JoinPath {
    /// Joined tables, each with its foreign key.
    pub(super) steps: Vec<(String, ForeignKey)>,
    /// True if the join may repeat a row of the first table.
    pub(super) multiplies: bool,
}

impl JoinGraph {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let links = |table: &Table| {
            let foreign_key = |column: &crate::data::Column| {
                let to = column.references.clone().or_else(|| inferred_reference(catalog, table, &column.name))?;
                let from = ColumnRef { table: table.name.clone(), column: column.name.clone() };
                Some(ForeignKey { from, to: ColumnRef { table: to.0, column: to.1 } })
            };
            (table.name.clone(), table.columns.iter().filter_map(foreign_key).collect())
        };
        Self(catalog.tables.iter().map(links).collect())
    }

    /// Returns the shortest path from a row to the one row of another table.
    fn path_to_parent(&self, from: &str, to: &str) -> Option<Vec<ForeignKey>> {
        let mut queue = VecDeque::from([(from.to_owned(), Vec::new())]);
        let mut seen = BTreeSet::from([from.to_owned()]);
        while let Some((table, path)) = queue.pop_front() {
            if table == to {
                return Some(path);
            }
            for link in self.0.get(&table).into_iter().flatten() {
                if seen.insert(link.to.table.clone()) {
                    let extended = path.iter().cloned().chain([link.clone()]).collect();
                    queue.push_back((link.to.table.clone(), extended));
                }
            }
        }
        None
    }

    /// Returns the only table whose rows reference `from` and lead to `to`.
    fn path_through_child(&self, from: &str, to: &str) -> Option<(ForeignKey, Vec<ForeignKey>)> {
        let children = self.0.values().flatten().filter(|link| link.to.table == from);
        let mut paths: Vec<(ForeignKey, Vec<ForeignKey>)> =
            children.filter_map(|link| Some((link.clone(), self.path_to_parent(&link.from.table, to)?))).collect();
        let direct = paths.iter().position(|(_, path)| path.is_empty());
        match (direct, paths.len()) {
            (Some(index), _) => Some(paths.swap_remove(index)),
            (None, 1) => paths.pop(),
            _ => None,
        }
    }

    /// Returns the distance of a table; a step against a foreign key counts more than any path of foreign keys.
    pub(super) fn distance(&self, from: &str, to: &str, may_multiply: bool) -> Option<usize> {
        match self.path_to_parent(from, to) {
            Some(path) => Some(path.len()),
            None if may_multiply => self.path_through_child(from, to).map(|(_, path)| 100 + path.len()),
            None => None,
        }
    }

    /// Joins all needed tables; `None` if one of them cannot be reached.
    pub(super) fn join(&self, first: &str, needed: &BTreeSet<String>, may_multiply: bool) -> Option<JoinPath> {
        let mut joined = JoinPath::default();
        let mut joined_tables = BTreeSet::from([first.to_owned()]);
        for table in needed {
            let (back, path) = match self.path_to_parent(first, table) {
                Some(path) => (None, path),
                None if may_multiply => self.path_through_child(first, table).map(|(back, path)| (Some(back), path))?,
                None => return None,
            };
            if let Some(link) = back {
                joined.multiplies = true;
                if joined_tables.insert(link.from.table.clone()) {
                    joined.steps.push((link.from.table.clone(), link));
                }
            }
            for link in path {
                if joined_tables.insert(link.to.table.clone()) {
                    joined.steps.push((link.to.table.clone(), link));
                }
            }
        }
        Some(joined)
    }
}

/// Infers the table that a column such as `customer_id` references without a declared foreign key.
fn inferred_reference(catalog: &Catalog, table: &Table, column: &str) -> Option<(String, String)> {
    let name = column.strip_suffix("_id")?;
    let fits = |other: &&Table| {
        let singular = super::tokens::lemma(&other.name.to_lowercase());
        other.name != table.name && singular == name.to_lowercase()
    };
    let other = catalog.tables.iter().find(fits)?;
    let key = other.columns.iter().find(|column| column.is_key).or_else(|| other.column("id"))?;
    Some((other.name.clone(), key.name.clone()))
}
