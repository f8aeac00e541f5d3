//! Metadata of the tables: names, column types, comments of the schema, and values that occur.
//!
//! Reading has a deadline. A broken or slow view must not prevent the start: if sampling it takes too long, its
//! columns keep their declared types; a view without columns is left out.

use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Result};
use serde::{Deserialize, Serialize};

use super::{comments, value};

/// Maximum number of rows that are read per column to collect values.
const MAX_SCANNED_ROWS: u64 = 100_000;
/// Maximum number of distinct values that are stored per column.
const MAX_DISTINCT: usize = 500;
/// Maximum length of a stored value in bytes.
const MAX_VALUE_BYTES: usize = 80;
/// Number of sample values per column.
const SAMPLES: usize = 5;
/// Maximum number of rows of a view that are read to infer the types of its columns.
const MAX_VIEW_ROWS: usize = 100;
/// Time limit for reading all tables.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limits for sampling one view and all views.
const VIEW_TIMEOUTS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];
/// Number of steps of SQLite's virtual machine between two checks of the deadline.
const STEPS_PER_CHECK: i32 = 1_000;

/// A value as text, and true if its SQL type was text.
type SampledValue = (bool, String);

/// A table, or the list of tables, that could not be read.
#[derive(Debug)]
pub(super) struct CatalogError {
    table: Option<String>,
    cause: rusqlite::Error,
}

impl From<rusqlite::Error> for CatalogError {
    fn from(cause: rusqlite::Error) -> Self {
        Self { table: None, cause }
    }
}

impl std::fmt::Display for CatalogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(table) = &self.table {
            write!(f, "table `{table}`: ")?;
        }
        match self.cause.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                write!(f, "reading all tables took longer than {CATALOG_TIMEOUT:?}")
            }
            _ => write!(f, "{}", self.cause),
        }
    }
}

impl std::error::Error for CatalogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// All tables of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// Tables, sorted by name.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name in a query.
    pub name: String,
    /// Comment of the schema.
    #[serde(rename = "about")]
    pub comment: String,
    /// Number of rows; 0 for a view, whose rows are not counted.
    pub rows: u64,
    /// True for a view. The permissions for the tables behind a view are not known here, so none of their values
    /// are stored.
    #[serde(default)]
    pub is_view: bool,
    /// Columns in declaration order.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name in a query.
    pub name: String,
    /// Type of the values.
    pub kind: ColumnType,
    /// Comment of the schema.
    #[serde(rename = "about")]
    pub comment: String,
    /// Sample values, as text.
    pub samples: Vec<String>,
    /// All distinct values in ascending order; empty if there are too many.
    pub distinct: Vec<String>,
    /// True if the column is part of the primary key.
    pub is_key: bool,
    /// Referenced table and column of a foreign key.
    pub references: Option<(String, String)>,
}

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers with a fixed number of decimals, such as money.
    Decimal,
    /// Floating-point numbers.
    Real,
    /// Text.
    Text,
    /// Dates, as `2026-10-03`.
    Date,
    /// Points in time, as `2026-10-03T14:05:00Z`.
    Time,
    /// Booleans, stored as 1 and 0.
    Boolean,
    /// All other types.
    Other,
}

impl ColumnType {
    /// Returns the name: `integer`, `decimal`, `real`, `text`, `date`, `time`, `boolean` or `other`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Real => "real",
            Self::Text => "text",
            Self::Date => "date",
            Self::Time => "time",
            Self::Boolean => "boolean",
            Self::Other => "other",
        }
    }
}

impl Catalog {
    /// Finds a table by name, ignoring case.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Reads the metadata of all tables. SQLite does not store comments above a table, so they come from the text
    /// of the schema.
    ///
    /// # Errors
    /// Returns an error that names the table that cannot be read.
    pub(super) fn from_connection(connection: &mut Connection, schema: &str) -> Result<Self, CatalogError> {
        let listing = list_tables(connection)?;
        let (views, base_tables): (Vec<_>, Vec<_>) = listing.iter().partition(|(.., is_view)| *is_view);
        let mut tables = Vec::new();
        set_deadline(connection, Some(Instant::now() + CATALOG_TIMEOUT))?;
        for (name, sql, _) in base_tables {
            let table = Table::read(connection, name, sql, schema);
            tables.push(table.map_err(|cause| CatalogError { table: Some(name.clone()), cause })?);
        }
        let [per_view, all_views] = VIEW_TIMEOUTS;
        let last_deadline = Instant::now() + all_views;
        for (name, sql, _) in views {
            set_deadline(connection, Some(last_deadline.min(Instant::now() + per_view)))?;
            match Table::read_view(connection, name, sql, schema) {
                Ok(view) => tables.push(view),
                Err(cause) => tracing::warn!(view = %name, "a view cannot be read and is skipped: {cause}"),
            }
        }
        set_deadline(connection, None)?;
        tables.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Self { tables })
    }
}

/// Lists tables and views: name, SQL of the declaration, true for a view.
fn list_tables(connection: &Connection) -> Result<Vec<(String, String, bool)>> {
    let sql = "SELECT name, coalesce(sql, ''), type = 'view' FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

/// Aborts queries on the connection at the deadline; without a deadline they are not limited.
fn set_deadline(connection: &mut Connection, deadline: Option<Instant>) -> Result<()> {
    connection.progress_handler(STEPS_PER_CHECK, deadline.map(|deadline| move || Instant::now() >= deadline))
}

impl Table {
    /// Finds a column by name, ignoring case.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    fn read(connection: &Connection, name: &str, sql: &str, schema: &str) -> Result<Self> {
        let count = format!("SELECT count(*) FROM {}", quoted(name));
        let rows: i64 = connection.query_row(&count, [], |row| row.get(0))?;
        let rows = rows.unsigned_abs();
        let mut columns = columns(connection, name, sql)?;
        for column in &mut columns {
            sample_column(connection, name, rows, column)?;
        }
        Ok(Self {
            name: name.to_owned(),
            comment: comments::table_comment(schema, name),
            rows,
            is_view: false,
            columns,
        })
    }

    /// Reads a view without data of its base tables: rows are not counted, and no value is stored.
    fn read_view(connection: &Connection, name: &str, sql: &str, schema: &str) -> Result<Self> {
        let mut columns = columns(connection, name, sql)?;
        match sample_view(connection, name, columns.len()) {
            Ok(values) => {
                columns.iter_mut().zip(&values).for_each(|(column, values)| column.kind = infer_type(column, values))
            }
            Err(cause) => tracing::warn!(view = %name, "using the declared columns of a view: {cause}"),
        }
        Ok(Self {
            name: name.to_owned(),
            comment: comments::table_comment(schema, name),
            rows: 0,
            is_view: true,
            columns,
        })
    }

    /// Returns the number of rows; `None` for a view, whose rows may come from tables that the user must not see.
    #[must_use]
    pub fn visible_row_count(&self) -> Option<u64> {
        Some(self.rows).filter(|_| !self.is_view)
    }
}

/// Reads the declared columns with their comments.
fn columns(connection: &Connection, table: &str, sql: &str) -> Result<Vec<Column>> {
    let mut statement = connection.prepare("SELECT name, type, pk > 0 FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([table], |row| {
        let declared: String = row.get(1)?;
        Ok(Column {
            name: row.get(0)?,
            kind: declared_type(&declared),
            comment: String::new(),
            samples: Vec::new(),
            distinct: Vec::new(),
            is_key: row.get(2)?,
            references: None,
        })
    })?;
    let mut columns: Vec<Column> = columns.collect::<Result<_>>()?;
    let keys = "SELECT \"from\", \"table\", coalesce(\"to\", 'id') FROM pragma_foreign_key_list(?1)";
    let mut statement = connection.prepare(keys)?;
    let mut rows = statement.query([table])?;
    while let Some(row) = rows.next()? {
        let from: String = row.get(0)?;
        if let Some(column) = columns.iter_mut().find(|column| column.name == from) {
            column.references = Some((row.get(1)?, row.get(2)?));
        }
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let column_comments = comments::column_comments(sql, &names);
    columns.iter_mut().zip(column_comments).for_each(|(column, comment)| column.comment = comment);
    Ok(columns)
}

fn declared_type(declared: &str) -> ColumnType {
    const KINDS: [(&str, ColumnType); 12] = [
        ("BOOL", ColumnType::Boolean),
        ("INT", ColumnType::Integer),
        ("DEC", ColumnType::Decimal),
        ("NUM", ColumnType::Decimal),
        ("MONEY", ColumnType::Decimal),
        ("REAL", ColumnType::Real),
        ("FLOA", ColumnType::Real),
        ("DOUB", ColumnType::Real),
        ("TIME", ColumnType::Time),
        ("DATE", ColumnType::Date),
        ("CHAR", ColumnType::Text),
        ("TEXT", ColumnType::Text),
    ];
    let declared = declared.to_uppercase();
    KINDS.into_iter().find(|(part, _)| declared.contains(part)).map_or(ColumnType::Other, |(_, kind)| kind)
}

/// Reads the values of a column, which may give a more specific type than the declaration.
fn sample_column(connection: &Connection, table: &str, rows: u64, column: &mut Column) -> Result<()> {
    let (table, name) = (quoted(table), quoted(&column.name));
    let values = format!(
        "SELECT DISTINCT {name} FROM (SELECT {name} FROM {table} LIMIT {MAX_SCANNED_ROWS}) WHERE {name} IS NOT NULL LIMIT {}",
        MAX_DISTINCT + 1
    );
    let mut statement = connection.prepare(&values)?;
    let mut result_rows = statement.query([])?;
    let mut values = Vec::new();
    while let Some(row) = result_rows.next()? {
        values.push(row.get_ref(0).map(sample_value)?);
    }
    column.kind = infer_type(column, &values);
    let mut texts: Vec<String> =
        values.into_iter().map(|(_, text)| text).filter(|text| text.len() <= MAX_VALUE_BYTES).collect();
    column.samples = texts.iter().take(SAMPLES).cloned().collect();
    if texts.len() <= MAX_DISTINCT && rows <= MAX_SCANNED_ROWS {
        texts.sort_unstable();
        column.distinct = texts;
    }
    Ok(())
}

/// Samples values of each column of a view to infer their types.
fn sample_view(connection: &Connection, view: &str, columns: usize) -> Result<Vec<Vec<SampledValue>>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {} LIMIT {MAX_VIEW_ROWS}", quoted(view)))?;
    let mut rows = statement.query([])?;
    let mut values = vec![Vec::new(); columns];
    while let Some(row) = rows.next()? {
        for (index, values) in values.iter_mut().enumerate() {
            let value = row.get_ref(index)?;
            values.extend((value != ValueRef::Null).then(|| sample_value(value)));
        }
    }
    Ok(values)
}

fn sample_value(value: ValueRef<'_>) -> SampledValue {
    (matches!(value, ValueRef::Text(_)), value::text(value))
}

/// Infers the type from values: SQLite has no types for dates and points in time, so they are declared as text.
fn infer_type(column: &Column, values: &[SampledValue]) -> ColumnType {
    let all = |holds: fn(&str) -> bool| !values.is_empty() && values.iter().all(|(_, text)| holds(text));
    let has_flag_name = ["is_", "has_", "can_"].iter().any(|start| column.name.to_lowercase().starts_with(start));
    match column.kind {
        ColumnType::Text | ColumnType::Other if all(is_date) => ColumnType::Date,
        ColumnType::Text | ColumnType::Other if all(is_time) => ColumnType::Time,
        ColumnType::Other if values.iter().any(|(is_text, _)| *is_text) => ColumnType::Text,
        ColumnType::Integer if has_flag_name && all(|text| matches!(text, "0" | "1")) => ColumnType::Boolean,
        kind => kind,
    }
}

fn is_date(text: &str) -> bool {
    let is_valid =
        |index: usize, letter: char| if matches!(index, 4 | 7) { letter == '-' } else { letter.is_ascii_digit() };
    text.len() == 10 && text.char_indices().all(|(index, letter)| is_valid(index, letter))
}

fn is_time(text: &str) -> bool {
    text.get(..10).is_some_and(is_date)
        && text.as_bytes().get(10).is_some_and(|separator| matches!(separator, b'T' | b' '))
        && text.get(11..16).is_some_and(|time| time.as_bytes()[2] == b':')
}

/// Quotes a name for a query.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
