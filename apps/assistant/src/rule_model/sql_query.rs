//! A query of the data, as SQL and in words.

use super::join_graph::ForeignKey;
use super::lexicon::ColumnRef;
use super::periods::Period;

/// A query of the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SqlQuery {
    pub(super) shape: ResultShape,
    pub(super) columns: Vec<SelectColumn>,
    pub(super) table: String,
    pub(super) joins: Vec<(String, ForeignKey)>,
    pub(super) filters: Vec<String>,
    pub(super) group: Vec<String>,
    pub(super) order: Vec<String>,
    /// Number of requested rows. The SQL limit is one higher, to detect a tie with the last row.
    pub(super) limit: Option<usize>,
    /// Index of the column that rows are ranked by.
    pub(super) ranked: Option<usize>,
    pub(super) is_distinct: bool,
    /// Filters in words.
    pub(super) about: Vec<String>,
    /// Period of the query and its date column.
    pub(super) period: Option<(Period, ColumnRef)>,
}

/// Form of the result in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultShape {
    /// One number.
    Number,
    /// Rows with one number each, largest first, for a comparison.
    Comparison,
    /// One number per month.
    Trend,
    /// Ordered rows.
    Ranking,
    /// Rows without a meaningful order.
    List,
    /// First and last date of the data.
    Range,
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SelectColumn {
    pub(super) sql: String,
    pub(super) name: String,
    pub(super) form: ValueFormat,
}

/// Format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueFormat {
    /// Unchanged: texts, and numbers that identify something.
    Plain,
    Integer,
    /// Two decimals.
    Decimal,
    /// Grams, converted to other units where useful.
    Grams,
    /// Date part of a point in time.
    Day,
    Month,
}

impl SqlQuery {
    pub(super) fn sql(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} AS {}", column.sql, quoted(&column.name))).collect();
        let distinct = if self.is_distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {}", columns.join(", "), name(&self.table));
        for (table, link) in &self.joins {
            sql += &format!(" JOIN {} ON {} = {}", name(table), link.to.sql(), link.from.sql());
        }
        let mut push_clause = |word: &str, parts: &[String], between: &str| {
            if !parts.is_empty() {
                sql += &format!(" {word} {}", parts.join(between));
            }
        };
        push_clause("WHERE", &self.filters, " AND ");
        push_clause("GROUP BY", &self.group, ", ");
        push_clause("ORDER BY", &self.order, ", ");
        if let Some(limit) = self.limit {
            sql += &format!(" LIMIT {}", limit + 1);
        }
        sql
    }

    /// Returns the filters in brackets.
    pub(super) fn describe_filters(&self) -> String {
        if self.about.is_empty() { String::new() } else { format!(" ({})", self.about.join("; ")) }
    }
}

impl ColumnRef {
    /// Returns the qualified name for SQL.
    pub(super) fn sql(&self) -> String {
        format!("{}.{}", name(&self.table), name(&self.column))
    }

    /// Returns the label of the values: `category` for `categories.name`.
    pub(super) fn label(&self) -> String {
        match self.column.as_str() {
            "name" => super::tokens::lemma(&self.table.replace('_', " ")),
            column => column.strip_prefix("is_").unwrap_or(column).replace('_', " "),
        }
    }

    /// Returns the name for sentences: `ordered` for `ordered_at`.
    pub(super) fn display_name(&self) -> String {
        self.column.strip_suffix("_at").unwrap_or(&self.column).replace('_', " ")
    }
}

/// Returns a name for SQL, quoted if necessary.
pub(super) fn name(text: &str) -> String {
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !text.starts_with(|letter: char| letter.is_ascii_digit());
    if is_plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Returns a string literal for SQL.
pub(super) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
