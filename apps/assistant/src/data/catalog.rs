//! What is known of the tables: names, kinds, what people wrote about them, and values that occur.
//!
//! Reading them has an end. A view may be broken or take for ever, and is no reason not to start: what it does not show in
//! time is as it was declared, and one without columns is left out.

use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Result};
use serde::{Deserialize, Serialize};

use super::{comments, value};

/// The most rows that are looked at for values.
const LOOKED_AT: u64 = 100_000;
/// The most different values of a column that are kept.
const FEW: usize = 500;
/// The longest value that is kept.
const LONG: usize = 80;
/// How many values serve as samples.
const SAMPLES: usize = 5;
/// How many rows of a view are looked at for the kinds of its columns.
const GLANCED_AT: usize = 100;
/// How long all tables may take.
const TIME: Duration = Duration::from_secs(120);
/// How long a view may take, and how long all of them.
const VIEW_TIME: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];
/// After how many steps of SQLite's machine the clock is looked at.
const STEPS: i32 = 1_000;

/// A value as text, and whether it was one.
type Seen = (bool, String);

/// What could not be read: a table, or the list of them.
#[derive(Debug)]
pub(super) struct Unread {
    table: Option<String>,
    cause: rusqlite::Error,
}

impl From<rusqlite::Error> for Unread {
    fn from(cause: rusqlite::Error) -> Self {
        Self { table: None, cause }
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(table) = &self.table {
            write!(f, "table `{table}`: ")?;
        }
        match self.cause.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => write!(f, "to read all tables took longer than {TIME:?}"),
            _ => write!(f, "{}", self.cause),
        }
    }
}

impl std::error::Error for Unread {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// The tables there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// The tables, by name.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What it is called in a query.
    pub name: String,
    /// What somebody wrote about it.
    pub about: String,
    /// How many rows it has; zero for a view, which is not counted.
    pub rows: u64,
    /// It is a view: made of other tables. Who may see which of them is not known here, so nothing that they hold is kept.
    #[serde(default)]
    pub is_view: bool,
    /// The columns, in their order.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What it is called in a query.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// What somebody wrote about it.
    pub about: String,
    /// A few values that occur, as text.
    pub samples: Vec<String>,
    /// All values that occur, ascending, where they are few; empty where they are many.
    pub distinct: Vec<String>,
    /// It belongs to what names a row.
    pub is_key: bool,
    /// The table and the column whose values it holds.
    pub references: Option<(String, String)>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers with a fixed count of decimals, such as money.
    Decimal,
    /// Other numbers.
    Real,
    /// Text.
    Text,
    /// Days, as `2026-10-03`.
    Date,
    /// Points in time, as `2026-10-03T14:05:00Z`.
    Time,
    /// Yes as 1 and no as 0.
    Boolean,
    /// Anything else.
    Other,
}

impl Kind {
    /// Its name: `integer`, `decimal`, `real`, `text`, `date`, `time`, `boolean`, `other`.
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
    /// The table of this name, in any case.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Looks at the tables. What is written above a table is not kept in it, and comes from the text of the schema.
    ///
    /// # Errors
    /// Names the table that cannot be read.
    pub(super) fn of(connection: &mut Connection, schema: &str) -> Result<Self, Unread> {
        let found = listed(connection)?;
        let (views, own): (Vec<_>, Vec<_>) = found.iter().partition(|(.., is_view)| *is_view);
        let mut tables = Vec::new();
        until(connection, Some(Instant::now() + TIME))?;
        for (name, sql, _) in own {
            let table = Table::of(connection, name, sql, schema);
            tables.push(table.map_err(|cause| Unread { table: Some(name.clone()), cause })?);
        }
        let [each, all] = VIEW_TIME;
        let last = Instant::now() + all;
        for (name, sql, _) in views {
            until(connection, Some(last.min(Instant::now() + each)))?;
            match Table::of_view(connection, name, sql, schema) {
                Ok(view) => tables.push(view),
                Err(cause) => tracing::warn!(view = %name, "a view cannot be read, and is left out: {cause}"),
            }
        }
        until(connection, None)?;
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self { tables })
    }
}

/// The tables and views there are: name, how it was made, whether it is a view.
fn listed(connection: &Connection) -> Result<Vec<(String, String, bool)>> {
    let list = "SELECT name, coalesce(sql, ''), type = 'view' FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let mut statement = connection.prepare(list)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

/// Ends what is still read then; nothing does where no time is given.
fn until(connection: &mut Connection, deadline: Option<Instant>) -> Result<()> {
    connection.progress_handler(STEPS, deadline.map(|deadline| move || Instant::now() >= deadline))
}

impl Table {
    /// The column of this name, in any case.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    fn of(connection: &Connection, name: &str, sql: &str, schema: &str) -> Result<Self> {
        let count = format!("SELECT count(*) FROM {}", quoted(name));
        let rows: i64 = connection.query_row(&count, [], |row| row.get(0))?;
        let rows = rows.unsigned_abs();
        let mut columns = columns(connection, name, sql)?;
        for column in &mut columns {
            look(connection, name, rows, column)?;
        }
        Ok(Self { name: name.to_owned(), about: comments::of_table(schema, name), rows, is_view: false, columns })
    }

    /// A view, with nothing of what the tables below it hold: its rows are not counted, and no value is kept.
    fn of_view(connection: &Connection, name: &str, sql: &str, schema: &str) -> Result<Self> {
        let mut columns = columns(connection, name, sql)?;
        match glance(connection, name, columns.len()) {
            Ok(values) => columns.iter_mut().zip(&values).for_each(|(it, values)| it.kind = seen_kind(it, values)),
            Err(cause) => tracing::warn!(view = %name, "the columns of a view are taken as declared: {cause}"),
        }
        Ok(Self { name: name.to_owned(), about: comments::of_table(schema, name), rows: 0, is_view: true, columns })
    }

    /// How many rows it has, where that may be told to everybody who may see it.
    #[must_use]
    pub fn told_rows(&self) -> Option<u64> {
        Some(self.rows).filter(|_| !self.is_view)
    }
}

/// The columns as they were declared, with what is written beside them.
fn columns(connection: &Connection, table: &str, sql: &str) -> Result<Vec<Column>> {
    let mut statement = connection.prepare("SELECT name, type, pk > 0 FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([table], |row| {
        let declared: String = row.get(1)?;
        Ok(Column {
            name: row.get(0)?,
            kind: declared_kind(&declared),
            about: String::new(),
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
    let notes = comments::of_columns(sql, &names);
    columns.iter_mut().zip(notes).for_each(|(column, about)| column.about = about);
    Ok(columns)
}

fn declared_kind(declared: &str) -> Kind {
    const KINDS: [(&str, Kind); 12] = [
        ("BOOL", Kind::Boolean),
        ("INT", Kind::Integer),
        ("DEC", Kind::Decimal),
        ("NUM", Kind::Decimal),
        ("MONEY", Kind::Decimal),
        ("REAL", Kind::Real),
        ("FLOA", Kind::Real),
        ("DOUB", Kind::Real),
        ("TIME", Kind::Time),
        ("DATE", Kind::Date),
        ("CHAR", Kind::Text),
        ("TEXT", Kind::Text),
    ];
    let declared = declared.to_uppercase();
    KINDS.into_iter().find(|(part, _)| declared.contains(part)).map_or(Kind::Other, |(_, kind)| kind)
}

/// Looks at the values of a column, which may say more than its declaration.
fn look(connection: &Connection, table: &str, rows: u64, column: &mut Column) -> Result<()> {
    let (table, name) = (quoted(table), quoted(&column.name));
    let values = format!(
        "SELECT DISTINCT {name} FROM (SELECT {name} FROM {table} LIMIT {LOOKED_AT}) WHERE {name} IS NOT NULL LIMIT {}",
        FEW + 1
    );
    let mut statement = connection.prepare(&values)?;
    let mut found = statement.query([])?;
    let mut values = Vec::new();
    while let Some(row) = found.next()? {
        values.push(row.get_ref(0).map(seen)?);
    }
    column.kind = seen_kind(column, &values);
    let mut texts: Vec<String> = values.into_iter().map(|(_, text)| text).filter(|text| text.len() <= LONG).collect();
    column.samples = texts.iter().take(SAMPLES).cloned().collect();
    if texts.len() <= FEW && rows <= LOOKED_AT {
        texts.sort_unstable();
        column.distinct = texts;
    }
    Ok(())
}

/// Some values of each column of a view, for their kinds.
fn glance(connection: &Connection, view: &str, columns: usize) -> Result<Vec<Vec<Seen>>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {} LIMIT {GLANCED_AT}", quoted(view)))?;
    let mut found = statement.query([])?;
    let mut values = vec![Vec::new(); columns];
    while let Some(row) = found.next()? {
        for (at, values) in values.iter_mut().enumerate() {
            let value = row.get_ref(at)?;
            values.extend((value != ValueRef::Null).then(|| seen(value)));
        }
    }
    Ok(values)
}

fn seen(value: ValueRef<'_>) -> Seen {
    (matches!(value, ValueRef::Text(_)), value::text(value))
}

/// Days and points in time are declared as text where a database has no word for them.
fn seen_kind(column: &Column, values: &[Seen]) -> Kind {
    let all = |holds: fn(&str) -> bool| !values.is_empty() && values.iter().all(|(_, text)| holds(text));
    let is_question = ["is_", "has_", "can_"].iter().any(|start| column.name.to_lowercase().starts_with(start));
    match column.kind {
        Kind::Text | Kind::Other if all(is_date) => Kind::Date,
        Kind::Text | Kind::Other if all(is_time) => Kind::Time,
        Kind::Other if values.iter().any(|(is_text, _)| *is_text) => Kind::Text,
        Kind::Integer if is_question && all(|text| matches!(text, "0" | "1")) => Kind::Boolean,
        kind => kind,
    }
}

fn is_date(text: &str) -> bool {
    let is_digit = |at: usize, letter: char| if matches!(at, 4 | 7) { letter == '-' } else { letter.is_ascii_digit() };
    text.len() == 10 && text.char_indices().all(|(at, letter)| is_digit(at, letter))
}

fn is_time(text: &str) -> bool {
    text.get(..10).is_some_and(is_date)
        && text.as_bytes().get(10).is_some_and(|between| matches!(between, b'T' | b' '))
        && text.get(11..16).is_some_and(|time| time.as_bytes()[2] == b':')
}

/// A name inside of a query.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
