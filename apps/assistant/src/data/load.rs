//! Loads files into tables: first the schema, then one file per table.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::limits::Limit;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use superstep::{Error, ErrorCode, Result};

use super::catalog::quoted;
use super::{infer_types, parquet};

/// File that declares the tables.
const SCHEMA: &str = "schema.sql";
/// Maximum size in bytes of a file that is loaded into memory.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Content of a file: bytes in memory, or a path on disk.
pub(crate) enum FileContent {
    Bytes(Cow<'static, [u8]>),
    Path(PathBuf),
}

/// Rows of a file.
pub(super) struct TableData {
    pub(super) columns: Vec<String>,
    /// Types of the columns, for a table that the schema does not declare.
    pub(super) declarations: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Value>>,
}

/// Lists the files of a folder by name; subfolders are not read.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(String, FileContent)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if fs::metadata(&path)?.is_file() && !name.starts_with('.') {
            files.push((name, FileContent::Path(path)));
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

/// Creates and fills the tables and returns the text of the schema.
pub(super) fn fill(connection: &mut Connection, files: Vec<(String, FileContent)>) -> Result<String> {
    prepare(connection).map_err(|cause| load_error(SCHEMA, &cause.to_string()))?;
    let mut schema = String::new();
    if let Some((_, content)) = files.iter().find(|(name, _)| name == SCHEMA) {
        schema = content.text().map_err(|reason| load_error(SCHEMA, &reason))?;
        connection.execute_batch(&schema).map_err(|cause| load_error(SCHEMA, &cause.to_string()))?;
    }
    let mut count = 0;
    for (name, content) in &files {
        let Some((table, extension)) = name.rsplit_once('.') else { continue };
        let table_data = match extension.to_lowercase().as_str() {
            "csv" => content.text().and_then(|text| parse_csv(&text)),
            "parquet" => parquet::read_table(content),
            _ => continue,
        };
        let table_data = table_data.map_err(|reason| load_error(name, &reason))?;
        insert(connection, table, &table_data).map_err(|reason| load_error(name, &reason))?;
        count += 1;
    }
    if count == 0 {
        return Err(load_error("*.csv, *.parquet", "file not found").with_help("add one file per table"));
    }
    Ok(schema)
}

/// Prepares the connection: a schema cannot attach other files, and foreign keys are off because rows arrive in
/// file order and not in reference order.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.pragma_update(None, "foreign_keys", false)
}

impl FileContent {
    fn text(&self) -> Result<String, String> {
        let bytes = match self {
            Self::Bytes(bytes) => Cow::Borrowed(bytes.as_ref()),
            Self::Path(path) => {
                let size = fs::metadata(path).map_err(|cause| cause.to_string())?.len();
                if size > MAX_FILE_BYTES {
                    return Err(format!("the file has {size} bytes; the maximum is {MAX_FILE_BYTES}"));
                }
                Cow::Owned(fs::read(path).map_err(|cause| cause.to_string())?)
            }
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| "the file is not valid UTF-8".to_owned())?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
    }
}

fn parse_csv(text: &str) -> Result<TableData, String> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let columns: Vec<String> =
        reader.headers().map_err(|cause| cause.to_string())?.iter().map(|name| name.trim().to_owned()).collect();
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<Result<_, _>>().map_err(|cause: csv::Error| cause.to_string())?;
    let column = |index: usize| records.iter().map(move |record| record.get(index).unwrap_or_default());
    let declarations = (0..columns.len()).map(|index| infer_types::declaration(column(index))).collect();
    let value = |text: &str| if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) };
    let rows = records.iter().map(|record| record.iter().map(value).collect()).collect();
    Ok(TableData { columns, declarations, rows })
}

/// Inserts the rows into their table and creates the table if the schema does not declare it.
fn insert(connection: &mut Connection, table: &str, table_data: &TableData) -> Result<(), String> {
    let transaction = connection.transaction().map_err(|cause| cause.to_string())?;
    if !transaction.table_exists(None, table).map_err(|cause| cause.to_string())? {
        let columns = table_data.columns.iter().zip(&table_data.declarations);
        let columns: Vec<String> = columns.map(|(name, kind)| format!("{} {kind}", quoted(name))).collect();
        let create = format!("CREATE TABLE {} ({})", quoted(table), columns.join(", "));
        transaction.execute_batch(&create).map_err(|cause| cause.to_string())?;
    }
    let names: Vec<String> = table_data.columns.iter().map(|name| quoted(name)).collect();
    let placeholders = vec!["?"; names.len()].join(", ");
    let insert = format!("INSERT INTO {} ({}) VALUES ({placeholders})", quoted(table), names.join(", "));
    {
        let mut statement = transaction.prepare(&insert).map_err(|cause| cause.to_string())?;
        for (index, row) in table_data.rows.iter().enumerate() {
            statement.execute(params_from_iter(row)).map_err(|cause| format!("row {}: {cause}", index + 1))?;
        }
    }
    transaction.commit().map_err(|cause| cause.to_string())
}

fn load_error(file: &str, reason: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("cannot load `{file}`: {reason}"))
}
