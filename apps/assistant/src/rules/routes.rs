//! How tables hang together: from a row to the one row of another table that it names, and a single step back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::lexicon::Place;
use crate::data::{Catalog, Table};

/// A column that names a row of another table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: Place,
    pub(super) to: Place,
}

/// All links, by the table they start from.
pub(super) struct Routes(BTreeMap<String, Vec<Link>>);

/// The tables that are joined to a first one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    /// Each table with the link that it is joined by.
    pub(super) steps: Vec<(String, Link)>,
    /// Whether a row of the first table may come several times.
    pub(super) multiplies: bool,
}

impl Routes {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let links = |table: &Table| {
            let of = |column: &crate::data::Column| {
                let to = column.references.clone().or_else(|| named(catalog, table, &column.name))?;
                let from = Place { table: table.name.clone(), column: column.name.clone() };
                Some(Link { from, to: Place { table: to.0, column: to.1 } })
            };
            (table.name.clone(), table.columns.iter().filter_map(of).collect())
        };
        Self(catalog.tables.iter().map(links).collect())
    }

    /// The shortest way from a row to the one row of another table.
    fn up(&self, from: &str, to: &str) -> Option<Vec<Link>> {
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

    /// The one table whose rows name rows of `from` and lead to `to`.
    fn down(&self, from: &str, to: &str) -> Option<(Link, Vec<Link>)> {
        let children = self.0.values().flatten().filter(|link| link.to.table == from);
        let mut ways: Vec<(Link, Vec<Link>)> =
            children.filter_map(|link| Some((link.clone(), self.up(&link.from.table, to)?))).collect();
        let direct = ways.iter().position(|(_, way)| way.is_empty());
        match (direct, ways.len()) {
            (Some(place), _) => Some(ways.swap_remove(place)),
            (None, 1) => ways.pop(),
            _ => None,
        }
    }

    /// How far a table is; a step back counts more than any way up.
    pub(super) fn distance(&self, from: &str, to: &str, may_multiply: bool) -> Option<usize> {
        match self.up(from, to) {
            Some(way) => Some(way.len()),
            None if may_multiply => self.down(from, to).map(|(_, way)| 100 + way.len()),
            None => None,
        }
    }

    /// Joins all tables that are needed; nothing where one cannot be reached.
    pub(super) fn join(&self, first: &str, needed: &BTreeSet<String>, may_multiply: bool) -> Option<Joined> {
        let mut joined = Joined::default();
        let mut known = BTreeSet::from([first.to_owned()]);
        for table in needed {
            let (back, way) = match self.up(first, table) {
                Some(way) => (None, way),
                None if may_multiply => self.down(first, table).map(|(back, way)| (Some(back), way))?,
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

/// The table that a column such as `customer_id` names, where nobody declared it.
fn named(catalog: &Catalog, table: &Table, column: &str) -> Option<(String, String)> {
    let name = column.strip_suffix("_id")?;
    let fits = |other: &&Table| {
        let singular = super::words::lemma(&other.name.to_lowercase());
        other.name != table.name && singular == name.to_lowercase()
    };
    let other = catalog.tables.iter().find(fits)?;
    let key = other.columns.iter().find(|column| column.is_key).or_else(|| other.column("id"))?;
    Some((other.name.clone(), key.name.clone()))
}
