//! The parts of a question about data: which tables, columns, values and conditions it names, and where.

use super::Book;
use super::lexicon::{Item, Meaning, Place};
use super::reading::Reading;
use crate::data::{Column, Kind, Table};

/// Something that words of a question name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention<T> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: T,
}

/// A stored value that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) place: Place,
    pub(super) values: Vec<String>,
    pub(super) is_synonym: bool,
}

/// A condition that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) table: String,
    pub(super) sql: String,
    pub(super) name: String,
}

/// What a question names. Lists inside are what the same words may mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) tables: Vec<Mention<String>>,
    pub(super) numbers: Vec<Mention<Vec<Place>>>,
    pub(super) texts: Vec<Mention<Vec<Place>>>,
    pub(super) dates: Vec<Mention<Vec<Place>>>,
    pub(super) values: Vec<Mention<Vec<Stored>>>,
    pub(super) conditions: Vec<Mention<Condition>>,
}

impl Parts {
    pub(super) fn of(book: &Book, reading: &Reading) -> Self {
        let mut parts = Self::default();
        for item in &reading.items {
            parts.take(book, item, reading);
        }
        parts
    }

    fn take(&mut self, book: &Book, item: &Item, reading: &Reading) {
        let Item { start, end, .. } = *item;
        if let Some(Meaning::Table(table)) = item.meanings.iter().find(|meaning| matches!(meaning, Meaning::Table(_))) {
            self.tables.push(Mention { start, end, what: table.clone() });
            return;
        }
        let columns = |holds: fn(&Column) -> bool| -> Vec<Place> {
            let place = |meaning: &Meaning| match meaning {
                Meaning::Column(place) if book.column(place).is_some_and(holds) => Some(place.clone()),
                _ => None,
            };
            item.meanings.iter().filter_map(place).collect()
        };
        let (numbers, mut dates, texts) = (columns(is_number), columns(is_date), columns(is_text));
        let inside = item.dates.iter().filter(|place| book.column(place).is_some_and(is_date));
        for place in inside {
            if !dates.contains(place) {
                dates.push(place.clone());
            }
        }
        let values = stored(item);
        let names_column = |stored: &Stored| names(reading, &stored.place);
        if let Some(what) = condition(item) {
            self.conditions.push(Mention { start, end, what });
        } else if !numbers.is_empty() {
            self.numbers.push(Mention { start, end, what: numbers });
            // The day on which money was paid back, beside how much.
            if !dates.is_empty() {
                self.dates.push(Mention { start, end, what: dates });
            }
        } else if !dates.is_empty() && !values.iter().any(names_column) {
            self.dates.push(Mention { start, end, what: dates });
        } else if !values.is_empty() {
            self.values.push(Mention { start, end, what: values });
        } else if !texts.is_empty() {
            self.texts.push(Mention { start, end, what: texts });
        }
    }

    /// Everything that is named, by where: start and end.
    pub(super) fn spans(&self) -> Vec<(usize, usize)> {
        let tables = self.tables.iter().map(|mention| (mention.start, mention.end));
        let columns =
            self.numbers.iter().chain(&self.texts).chain(&self.dates).map(|mention| (mention.start, mention.end));
        let values = self.values.iter().map(|mention| (mention.start, mention.end));
        let conditions = self.conditions.iter().map(|mention| (mention.start, mention.end));
        let mut all: Vec<(usize, usize)> = tables.chain(columns).chain(values).chain(conditions).collect();
        all.sort_unstable();
        all
    }
}

fn stored(item: &Item) -> Vec<Stored> {
    let of = |meaning: &Meaning| match meaning {
        Meaning::Value { place, values, is_synonym } => {
            Some(Stored { place: place.clone(), values: values.clone(), is_synonym: *is_synonym })
        }
        _ => None,
    };
    item.meanings.iter().filter_map(of).collect()
}

fn condition(item: &Item) -> Option<Condition> {
    match item.meanings.first() {
        Some(Meaning::Condition { table, sql, name }) => {
            Some(Condition { table: table.clone(), sql: sql.clone(), name: name.clone() })
        }
        _ => None,
    }
}

/// Whether the question names a column itself, as in `status shipped`.
fn names(reading: &Reading, place: &Place) -> bool {
    let names = |meaning: &Meaning| matches!(meaning, Meaning::Column(named) if named == place);
    reading.items.iter().any(|item| item.meanings.iter().any(names))
}

fn is_number(column: &Column) -> bool {
    matches!(column.kind, Kind::Integer | Kind::Decimal | Kind::Real) && !column.is_key && column.references.is_none()
}

pub(super) fn is_date(column: &Column) -> bool {
    matches!(column.kind, Kind::Date | Kind::Time)
}

fn is_text(column: &Column) -> bool {
    column.kind == Kind::Text
}

impl Table {
    /// The column that names a row.
    pub(super) fn key(&self) -> Option<&Column> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        keys.next().filter(|_| keys.next().is_none())
    }

    /// Whether its rows are things that happen: they have a point in time.
    pub(super) fn event(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.kind == Kind::Time)
    }

    /// The columns with the names of a person.
    pub(super) fn person(&self) -> Option<[&Column; 2]> {
        Some([self.column("first_name")?, self.column("last_name")?])
    }
}
