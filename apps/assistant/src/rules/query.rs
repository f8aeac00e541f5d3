//! A question to the data: what is selected from where, as SQL and in words.

use super::days::Period;
use super::lexicon::Place;
use super::routes::Link;

/// A question to the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    pub(super) shape: Shape,
    pub(super) columns: Vec<Shown>,
    pub(super) table: String,
    pub(super) joins: Vec<(String, Link)>,
    pub(super) filters: Vec<String>,
    pub(super) group: Vec<String>,
    pub(super) order: Vec<String>,
    /// How many rows are wanted. One more is asked for: it may be as good as the last.
    pub(super) limit: Option<usize>,
    /// The column that rows are ranked by.
    pub(super) ranked: Option<usize>,
    pub(super) is_distinct: bool,
    /// What limits it, in words.
    pub(super) about: Vec<String>,
    /// The days it is about, and the column that has them.
    pub(super) period: Option<(Period, Place)>,
}

/// How the rows are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One number.
    Number,
    /// Rows with a number each, the largest first: held against each other.
    Comparison,
    /// A number for each month.
    Trend,
    /// Rows in an order that matters.
    Ranking,
    /// Rows.
    List,
    /// The first and the last day that the data has.
    Range,
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) sql: String,
    pub(super) name: String,
    pub(super) form: Form,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is: texts, and numbers that name something.
    Plain,
    Whole,
    /// With two decimals.
    Decimal,
    /// Grams, which other units can be made of.
    Grams,
    /// A day out of a point in time.
    Day,
    Month,
}

impl Query {
    pub(super) fn sql(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|shown| format!("{} AS {}", shown.sql, quoted(&shown.name))).collect();
        let distinct = if self.is_distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {}", columns.join(", "), name(&self.table));
        for (table, link) in &self.joins {
            sql += &format!(" JOIN {} ON {} = {}", name(table), link.to.sql(), link.from.sql());
        }
        let mut part = |word: &str, parts: &[String], between: &str| {
            if !parts.is_empty() {
                sql += &format!(" {word} {}", parts.join(between));
            }
        };
        part("WHERE", &self.filters, " AND ");
        part("GROUP BY", &self.group, ", ");
        part("ORDER BY", &self.order, ", ");
        if let Some(limit) = self.limit {
            sql += &format!(" LIMIT {}", limit + 1);
        }
        sql
    }

    /// What limits it, in brackets.
    pub(super) fn limits_in_words(&self) -> String {
        if self.about.is_empty() { String::new() } else { format!(" ({})", self.about.join("; ")) }
    }
}

impl Place {
    /// As it stands in a query.
    pub(super) fn sql(&self) -> String {
        format!("{}.{}", name(&self.table), name(&self.column))
    }

    /// What its values are called: `category` for `categories.name`.
    pub(super) fn label(&self) -> String {
        match self.column.as_str() {
            "name" => super::words::lemma(&self.table.replace('_', " ")),
            column => column.strip_prefix("is_").unwrap_or(column).replace('_', " "),
        }
    }

    /// As it is told: `ordered` for `ordered_at`.
    pub(super) fn spoken(&self) -> String {
        self.column.strip_suffix("_at").unwrap_or(&self.column).replace('_', " ")
    }
}

/// A name inside of a query.
pub(super) fn name(text: &str) -> String {
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !text.starts_with(|letter: char| letter.is_ascii_digit());
    if is_plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text inside of a query.
pub(super) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
