//! The dataset that answers questions: a SQLite file, or a folder of tables as CSV and Parquet files.
//!
//! Every reader has its own read-only connection. A folder is loaded once, into memory; later changes take effect
//! at the next start. This module does not decide which tables a caller may see; `tools::query` does.

mod catalog;
mod comments;
mod infer_types;
mod load;
mod parquet;
mod value;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OpenFlags};
use superstep::{Error, ErrorCode, Result};

pub use catalog::{Catalog, Column, ColumnType, Table};
pub(crate) use load::FileContent;
pub(crate) use value::json;

/// A read-only set of tables.
pub struct Dataset {
    name: String,
    location: DataLocation,
    catalog: Catalog,
}

/// Location of the tables.
enum DataLocation {
    File(PathBuf),
    /// In-memory database, which exists while its first connection is open.
    Memory {
        uri: String,
        _first: Mutex<Connection>,
    },
}

impl Dataset {
    /// Opens a SQLite file, or loads the tables of a folder: an optional `schema.sql`, and one `.csv` or `.parquet`
    /// file per table.
    ///
    /// # Errors
    /// Returns an error if the path cannot be read, or if a file does not fit its table.
    pub fn open(path: &Path) -> Result<Self> {
        let full_path = path.canonicalize().map_err(|cause| unreadable(path, cause))?;
        let name = full_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if full_path.is_dir() {
            let files = load::list(&full_path).map_err(|cause| unreadable(path, cause))?;
            return Self::load(name, files);
        }
        let mut connection = connect_to(&full_path).map_err(|cause| unreadable(path, cause))?;
        let catalog = Catalog::from_connection(&mut connection, "").map_err(|cause| unreadable(path, cause))?;
        Ok(Self { name, location: DataLocation::File(full_path), catalog })
    }

    /// Loads files, given by name, into an in-memory database.
    pub(crate) fn load(name: String, files: Vec<(String, FileContent)>) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let uri = format!("file:/superstep-data-{}?vfs=memdb", COUNT.fetch_add(1, Ordering::Relaxed));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI;
        let path = Path::new(&name);
        let mut first = Connection::open_with_flags(&uri, flags).map_err(|cause| unreadable(path, cause))?;
        let schema = load::fill(&mut first, files)?;
        let catalog = Catalog::from_connection(&mut first, &schema).map_err(|cause| unreadable(path, cause))?;
        Ok(Self { name, location: DataLocation::Memory { uri, _first: Mutex::new(first) }, catalog })
    }

    /// Returns the name: the stem of the file or folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tables with their metadata.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Opens a read-only connection.
    pub(crate) fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = match &self.location {
            DataLocation::File(path) => connect_to(path)?,
            DataLocation::Memory { uri, .. } => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(uri, flags)?
            }
        };
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dataset({}, {} tables)", self.name, self.catalog.tables.len())
    }
}

fn connect_to(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn unreadable(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = format!("cannot read data from `{}`: {cause}", path.display());
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    let help = "set an SQLite file, or a folder with `.csv` or `.parquet` files";
    Error::new(ErrorCode::ConfigInvalid, message).with_source(cause).with_help(help)
}
