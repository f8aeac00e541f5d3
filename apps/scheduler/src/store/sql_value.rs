//! SQL values and their conversions, the same for every database.

use std::borrow::Cow;

use jiff::civil::DateTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

/// A value in a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SqlValue {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(bool),
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<&Option<String>> for SqlValue {
    fn from(text: &Option<String>) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Time> for SqlValue {
    fn from(time: Time) -> Self {
        Self::Text(Some(time.to_string()))
    }
}

impl From<u64> for SqlValue {
    fn from(number: u64) -> Self {
        Self::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<u32> for SqlValue {
    fn from(number: u32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<bool> for SqlValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl SqlValue {
    /// Encodes a list or a map as JSON text.
    pub(super) fn json(value: &impl Serialize) -> Result<Self> {
        serde_json::to_string(value).map(|text| Self::Text(Some(text))).map_err(|error| unwritable(&error))
    }

    /// Encodes an enum variant as its name.
    pub(super) fn enum_name(value: &impl Serialize) -> Result<Self> {
        match serde_json::to_value(value).map_err(|error| unwritable(&error))? {
            Value::String(word) => Ok(Self::Text(Some(word))),
            other => Err(Error::internal(format!("`{other}` is not a string"))),
        }
    }
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(ErrorCode::TypeMismatch, format!("the value cannot be serialized: {error}"))
}

/// A statement with its values. Parameters are `$1`, `$2` and so on, in order of first use, because PostgreSQL
/// binds them by number and SQLite by order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SqlStatement {
    pub(super) sql: Cow<'static, str>,
    pub(super) cells: Vec<SqlValue>,
}

impl SqlStatement {
    pub(super) fn new(sql: impl Into<Cow<'static, str>>, cells: impl Into<Vec<SqlValue>>) -> Self {
        Self { sql: sql.into(), cells: cells.into() }
    }
}

/// A row that is decoded one value after the other.
pub(super) struct RowReader(std::vec::IntoIter<SqlValue>);

impl RowReader {
    pub(super) fn new(cells: Vec<SqlValue>) -> Self {
        Self(cells.into_iter())
    }

    pub(super) fn maybe_text(&mut self) -> Result<Option<String>> {
        match self.0.next() {
            Some(SqlValue::Text(text)) => Ok(text),
            other => Err(corrupt_row(format!("{other:?} is not text"))),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        self.maybe_text()?.ok_or_else(|| corrupt_row("a text is missing"))
    }

    pub(super) fn maybe_number<N: TryFrom<i64>>(&mut self) -> Result<Option<N>> {
        let number = match self.0.next() {
            // SQLite returns NULL without a type, which is read as text.
            Some(SqlValue::Text(None)) => None,
            Some(SqlValue::Number(number)) => number,
            other => return Err(corrupt_row(format!("{other:?} is not a number"))),
        };
        number.map(|number| N::try_from(number).map_err(|_| corrupt_row(format!("{number} is too large")))).transpose()
    }

    pub(super) fn number<N: TryFrom<i64>>(&mut self) -> Result<N> {
        self.maybe_number()?.ok_or_else(|| corrupt_row("a number is missing"))
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        match self.0.next() {
            Some(SqlValue::Flag(flag)) => Ok(flag),
            Some(SqlValue::Number(Some(number @ 0..=1))) => Ok(number == 1),
            other => Err(corrupt_row(format!("{other:?} is not a boolean"))),
        }
    }

    pub(super) fn time(&mut self) -> Result<Time> {
        Time::parse(&self.text()?).map_err(|error| corrupt_row(error.to_string()))
    }

    pub(super) fn micros(&mut self) -> Result<Time> {
        Time::from_unix_micros(self.number()?).map_err(|error| corrupt_row(error.to_string()))
    }

    pub(super) fn maybe_local_datetime(&mut self) -> Result<Option<DateTime>> {
        let text = self.maybe_text()?;
        text.map(|text| text.parse().map_err(|error: jiff::Error| corrupt_row(error.to_string()))).transpose()
    }

    pub(super) fn maybe_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let text = self.maybe_text()?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| corrupt_row(error.to_string()))).transpose()
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.maybe_json()?.ok_or_else(|| corrupt_row("a list is missing"))
    }

    pub(super) fn word<T: DeserializeOwned>(&mut self) -> Result<T> {
        serde_json::from_value(Value::String(self.text()?)).map_err(|error| corrupt_row(error.to_string()))
    }
}

pub(super) fn corrupt_row(detail: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("a calendar row is corrupt: {detail}"))
        .with_help("restore the database from a backup")
}
