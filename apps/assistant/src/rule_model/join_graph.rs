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
            let of = |column: &crate::data::Column| {
                let to = column.references.clone().or_else(|| named(catalog, table, &column.name))?;
                let from = ColumnRef { table: table.name.clone(), column: column.name.clone() };
                Some(ForeignKey { from, to: ColumnRef { table: to.0, column: to.1 } })
            };
            (table.name.clone(), table.columns.iter().filter_map(of).collect())
        };
        Self(catalog.tables.iter().map(links).collect())
    }

    /// Returns the shortest path from a row to the one row of another table.
    fn path_to_parent(&self, from: &str, to: &str) -> Option<Vec<ForeignKey>> {
        let mut queue = VecDeque::from([(from.to_owned(), Vec::new())]);
        let mut seen = BTreeSet::from([from.to_owned()]);
        while let Some((table, way)) = queue.pop_front() {
            if table == to {
                return Some(way);
            }
            for link in self.0.get(&table).into_iter().flatten() {
                if seen.insert(link.to.table.clone()) {
                    let way = way.iter().cloned().chain([link.clone()]).collect();
                    queue.push_back((link.to.table.clone(), way));
                }
            }
        }
        None
    }

    /// Returns the only table whose rows reference `from` and lead to `to`.
    fn path_through_child(&self, from: &str, to: &str) -> Option<(ForeignKey, Vec<ForeignKey>)> {
        let children = self.0.values().flatten().filter(|link| link.to.table == from);
        let mut ways: Vec<(ForeignKey, Vec<ForeignKey>)> =
            children.filter_map(|link| Some((link.clone(), self.path_to_parent(&link.from.table, to)?))).collect();
        let direct = ways.iter().position(|(_, way)| way.is_empty());
        match (direct, ways.len()) {
            (Some(place), _) => Some(ways.swap_remove(place)),
            (None, 1) => ways.pop(),
            _ => None,
        }
    }

    /// Returns the distance of a table; a step against a foreign key counts more than any path of foreign keys.
    pub(super) fn distance(&self, from: &str, to: &str, may_multiply: bool) -> Option<usize> {
        match self.path_to_parent(from, to) {
            Some(way) => Some(way.len()),
            None if may_multiply => self.path_through_child(from, to).map(|(_, way)| 100 + way.len()),
            None => None,
        }
    }

    /// Joins all needed tables; `None` if one of them cannot be reached.
    pub(super) fn join(&self, first: &str, needed: &BTreeSet<String>, may_multiply: bool) -> Option<JoinPath> {
        let mut joined = JoinPath::default();
        let mut known = BTreeSet::from([first.to_owned()]);
        for table in needed {
            let (back, way) = match self.path_to_parent(first, table) {
                Some(way) => (None, way),
                None if may_multiply => self.path_through_child(first, table).map(|(back, way)| (Some(back), way))?,
                None => return None,
            };
            if let Some(link) = back {
                joined.multiplies = true;
                if known.insert(link.from.table.clone()) {
                    joined.steps.push((link.from.table.clone(), link));
                }
            }
            for link in way {
                if known.insert(link.to.table.clone()) {
                    joined.steps.push((link.to.table.clone(), link));
                }
            }
        }
        Some(joined)
    }
}

/// Infers the table that a column such as `customer_id` references without a declared foreign key.
fn named(catalog: &Catalog, table: &Table, column: &str) -> Option<(String, String)> {
    let name = column.strip_suffix("_id")?;
    let fits = |other: &&Table| {
        let singular = super::tokens::lemma(&other.name.to_lowercase());
        other.name != table.name && singular == name.to_lowercase()
    };
    let other = catalog.tables.iter().find(fits)?;
    let key = other.columns.iter().find(|column| column.is_key).or_else(|| other.column("id"))?;
    Some((other.name.clone(), key.name.clone()))
}
