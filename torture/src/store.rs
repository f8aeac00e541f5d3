//! Which store a child works on, as it stands on its command line: `sqlite PATH`.
//!
//! One more store is one more arm here; everything else asks for checkpoints only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use superstep::Result;
use superstep::core::port::SharedCheckpointer;
use superstep_adapters::sqlite::{Sqlite, Synchronous};

/// A store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// SQLite in this file.
    Sqlite(PathBuf),
    /// SQLite in this file, told not to wait for the disk: what a power cut must be seen to take.
    SqliteNormal(PathBuf),
    /// SQLite in this file, opened by one who takes threads of others that stand still for a moment.
    SqliteHasty(PathBuf),
}

/// How long another may stand still for the hasty one.
const MOMENT: Duration = Duration::from_millis(200);

impl Place {
    /// The name of the file, where we choose it.
    pub(crate) const FILE: &str = "torture.db";

    /// SQLite in a folder.
    pub(crate) fn sqlite_in(folder: &Path) -> Self {
        Self::Sqlite(folder.join(Self::FILE))
    }

    /// Reads it from the two words it stands for.
    ///
    /// # Errors
    /// When there is no such kind of store.
    pub(crate) fn read(kind: &str, place: &str) -> Result<Self, String> {
        match kind {
            "sqlite" => Ok(Self::Sqlite(place.into())),
            "sqlite-normal" => Ok(Self::SqliteNormal(place.into())),
            "sqlite-hasty" => Ok(Self::SqliteHasty(place.into())),
            _ => Err(format!("no store of the kind `{kind}`; there are `sqlite`, `sqlite-normal`, `sqlite-hasty`")),
        }
    }

    /// The words it stands for.
    pub(crate) fn words(&self) -> [String; 2] {
        let kind = match self {
            Self::Sqlite(_) => "sqlite",
            Self::SqliteNormal(_) => "sqlite-normal",
            Self::SqliteHasty(_) => "sqlite-hasty",
        };
        [kind.to_owned(), self.file().display().to_string()]
    }

    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Sqlite(path) | Self::SqliteNormal(path) | Self::SqliteHasty(path) => path,
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn open(&self) -> Result<SharedCheckpointer> {
        let options = match self {
            Self::Sqlite(_) => Sqlite::options(),
            Self::SqliteNormal(_) => Sqlite::options().synchronous(Synchronous::Normal),
            Self::SqliteHasty(_) => Sqlite::options().lapse_after(MOMENT).busy_timeout(MOMENT * 5),
        };
        Ok(options.open(self.file())?.into())
    }

    /// What the database says of itself, past the store: `ok`, or what is wrong.
    pub(crate) fn integrity(&self) -> String {
        let asked = rusqlite::Connection::open(self.file()).and_then(|connection| {
            connection.pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0))
        });
        asked.unwrap_or_else(|error| error.to_string())
    }
}
