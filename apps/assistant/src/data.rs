//! The data that questions are answered from: a SQLite file, or a folder of tables as CSV and Parquet files.
//!
//! Everybody reads through a connection of their own that cannot write. A folder is loaded once, into memory: what changes
//! in it later is seen at the next start. Never decides what a caller may see; that is for `tools::query`.

mod catalog;
mod comments;
mod guess;
mod load;
mod parquet;
mod value;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OpenFlags};
use superstep::{Code, Error, Result};

pub use catalog::{Catalog, Column, Kind, Table};
pub(crate) use load::Content;
pub(crate) use value::json;

/// A set of tables that can be asked and not changed.
pub struct Data {
    name: String,
    place: Place,
    catalog: Catalog,
}

/// Where the tables are.
enum Place {
    File(PathBuf),
    /// In memory, for as long as the first connection to it is open.
    Memory {
        uri: String,
        _first: Mutex<Connection>,
    },
}

impl Data {
    /// Opens a SQLite file, or loads the tables of a folder: `schema.sql` where there is one, and one `.csv` or `.parquet`
    /// file for each table.
    ///
    /// # Errors
    /// When there is nothing to read, or a file does not fit its table.
    pub fn open(path: &Path) -> Result<Self> {
        let whole = path.canonicalize().map_err(|cause| unreadable(path, cause))?;
        let name = whole.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if whole.is_dir() {
            let files = load::list(&whole).map_err(|cause| unreadable(path, cause))?;
            return Self::load(name, files);
        }
        let mut connection = connect_to(&whole).map_err(|cause| unreadable(path, cause))?;
        let catalog = Catalog::of(&mut connection, "").map_err(|cause| unreadable(path, cause))?;
        Ok(Self { name, place: Place::File(whole), catalog })
    }

    /// Loads files, by their names.
    pub(crate) fn load(name: String, files: Vec<(String, Content)>) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let uri = format!("file:/superstep-data-{}?vfs=memdb", COUNT.fetch_add(1, Ordering::Relaxed));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI;
        let place = Path::new(&name);
        let mut first = Connection::open_with_flags(&uri, flags).map_err(|cause| unreadable(place, cause))?;
        let schema = load::fill(&mut first, files)?;
        let catalog = Catalog::of(&mut first, &schema).map_err(|cause| unreadable(place, cause))?;
        Ok(Self { name, place: Place::Memory { uri, _first: Mutex::new(first) }, catalog })
    }

    /// What it is called: the name of its file or folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which tables there are, and what is known of them.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A connection that reads and cannot write.
    pub(crate) fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = match &self.place {
            Place::File(path) => connect_to(path)?,
            Place::Memory { uri, .. } => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(uri, flags)?
            }
        };
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Data({}, {} tables)", self.name, self.catalog.tables.len())
    }
}

fn connect_to(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn unreadable(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let fact = format!("cannot read data from `{}`: {cause}", path.display());
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    let help = "name a SQLite file, or a folder with `.csv` or `.parquet` files";
    Error::new(Code::ConfigInvalid, fact).caused_by(cause).help(help)
}
