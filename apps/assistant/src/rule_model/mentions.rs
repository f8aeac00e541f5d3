//! Mentions in a question about data: the named tables, columns, values and conditions, with their positions.

use super::RuleModel;
use super::lexicon::{ColumnRef, LexiconMatch, Meaning};
use super::parsed_question::ParsedQuestion;
use crate::data::{Column, ColumnType, Table};

/// An element of the data that words of a question name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention<T> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) target: T,
}

/// A mentioned stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredValue {
    pub(super) column_ref: ColumnRef,
    pub(super) values: Vec<String>,
    pub(super) is_synonym: bool,
}

/// A mentioned condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) table: String,
    pub(super) sql: String,
    pub(super) name: String,
}

/// All mentions in a question. Inner lists hold alternative meanings of the same words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    pub(super) tables: Vec<Mention<String>>,
    pub(super) numbers: Vec<Mention<Vec<ColumnRef>>>,
    pub(super) texts: Vec<Mention<Vec<ColumnRef>>>,
    pub(super) dates: Vec<Mention<Vec<ColumnRef>>>,
    pub(super) values: Vec<Mention<Vec<StoredValue>>>,
    pub(super) conditions: Vec<Mention<Condition>>,
}

impl Mentions {
    pub(super) fn find_mentions(model: &RuleModel, question: &ParsedQuestion) -> Self {
        let mut mentions = Self::default();
        for item in &question.items {
            mentions.add(model, item, question);
        }
        mentions
    }

    fn add(&mut self, model: &RuleModel, item: &LexiconMatch, question: &ParsedQuestion) {
        let LexiconMatch { start, end, .. } = *item;
        if let Some(Meaning::Table(table)) = item.meanings.iter().find(|meaning| matches!(meaning, Meaning::Table(_))) {
            self.tables.push(Mention { start, end, target: table.clone() });
            return;
        }
        let columns = |holds: fn(&Column) -> bool| -> Vec<ColumnRef> {
            let referenced_column = |meaning: &Meaning| match meaning {
                Meaning::Column(column_ref) if model.column(column_ref).is_some_and(holds) => Some(column_ref.clone()),
                _ => None,
            };
            item.meanings.iter().filter_map(referenced_column).collect()
        };
        let (numbers, mut dates, texts) = (columns(is_number), columns(is_date), columns(is_text));
        let referenced_dates = item.dates.iter().filter(|column_ref| model.column(column_ref).is_some_and(is_date));
        for column_ref in referenced_dates {
            if !dates.contains(column_ref) {
                dates.push(column_ref.clone());
            }
        }
        let values = stored_values(item);
        let names_column = |stored: &StoredValue| is_column_named(question, &stored.column_ref);
        if let Some(target) = condition(item) {
            self.conditions.push(Mention { start, end, target });
        } else if !numbers.is_empty() {
            self.numbers.push(Mention { start, end, target: numbers });
            // The word may denote a date as well as an amount, such as the date of a refund.
            if !dates.is_empty() {
                self.dates.push(Mention { start, end, target: dates });
            }
        } else if !dates.is_empty() && !values.iter().any(names_column) {
            self.dates.push(Mention { start, end, target: dates });
        } else if !values.is_empty() {
            self.values.push(Mention { start, end, target: values });
        } else if !texts.is_empty() {
            self.texts.push(Mention { start, end, target: texts });
        }
    }

    /// Returns the word ranges of all mentions: start and end.
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

fn stored_values(item: &LexiconMatch) -> Vec<StoredValue> {
    let stored_value = |meaning: &Meaning| match meaning {
        Meaning::Value { column_ref, values, is_synonym } => {
            Some(StoredValue { column_ref: column_ref.clone(), values: values.clone(), is_synonym: *is_synonym })
        }
        _ => None,
    };
    item.meanings.iter().filter_map(stored_value).collect()
}

fn condition(item: &LexiconMatch) -> Option<Condition> {
    match item.meanings.first() {
        Some(Meaning::Condition { table, sql, name }) => {
            Some(Condition { table: table.clone(), sql: sql.clone(), name: name.clone() })
        }
        _ => None,
    }
}

/// Returns true if the question names the column itself, as in `status shipped`.
fn is_column_named(question: &ParsedQuestion, column_ref: &ColumnRef) -> bool {
    let names_column = |meaning: &Meaning| matches!(meaning, Meaning::Column(named) if named == column_ref);
    question.items.iter().any(|item| item.meanings.iter().any(names_column))
}

fn is_number(column: &Column) -> bool {
    matches!(column.kind, ColumnType::Integer | ColumnType::Decimal | ColumnType::Real)
        && !column.is_key
        && column.references.is_none()
}

pub(super) fn is_date(column: &Column) -> bool {
    matches!(column.kind, ColumnType::Date | ColumnType::Time)
}

fn is_text(column: &Column) -> bool {
    column.kind == ColumnType::Text
}

impl Table {
    /// Returns the primary key, if it is a single column.
    pub(super) fn key(&self) -> Option<&Column> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        keys.next().filter(|_| keys.next().is_none())
    }

    /// Returns the first column with a point in time; rows of such a table are events.
    pub(super) fn event(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.kind == ColumnType::Time)
    }

    /// Returns the columns with the first and last names of a person.
    pub(super) fn person(&self) -> Option<[&Column; 2]> {
        Some([self.column("first_name")?, self.column("last_name")?])
    }
}
