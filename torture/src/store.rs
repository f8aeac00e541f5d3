//! Which store a child works on, as it stands on its command line: `sqlite PATH`, `postgres URL`, `files FOLDER`.
//!
//! One more store is one more arm here; everything else asks for checkpoints only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use superstep::Result;
use superstep::core::port::SharedCheckpointer;
use superstep_adapters::key_value::{Files, KeyValueStore};
use superstep_adapters::postgres::Postgres;
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
    /// PostgreSQL at this address; threads of one that died are free soon.
    Postgres(String),
    /// A folder of files; threads of one that died are free soon.
    Files(PathBuf),
}

/// How long another may stand still for the hasty one.
const MOMENT: Duration = Duration::from_millis(200);
/// How long a process on PostgreSQL may be silent before others take its threads.
const LAPSE: Duration = Duration::from_secs(1);

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
            "postgres" => Ok(Self::Postgres(place.to_owned())),
            "files" => Ok(Self::Files(place.into())),
            _ => Err(format!(
                "no store of the kind `{kind}`; there are `sqlite`, `sqlite-normal`, `sqlite-hasty`, `postgres`, `files`"
            )),
        }
    }

    /// The words it stands for.
    pub(crate) fn words(&self) -> [String; 2] {
        let kind = match self {
            Self::Sqlite(_) => "sqlite",
            Self::SqliteNormal(_) => "sqlite-normal",
            Self::SqliteHasty(_) => "sqlite-hasty",
            Self::Postgres(_) => "postgres",
            Self::Files(_) => "files",
        };
        [kind.to_owned(), self.file().display().to_string()]
    }

    /// The file of the database, or what stands in its place on a command line.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Sqlite(path) | Self::SqliteNormal(path) | Self::SqliteHasty(path) | Self::Files(path) => path,
            Self::Postgres(url) => Path::new(url),
        }
    }

    /// Whether the database is one file, which can be looked at past the store, and is free when a process has died.
    pub(crate) fn is_file(&self) -> bool {
        !matches!(self, Self::Postgres(_) | Self::Files(_))
    }

    /// Opens the store.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn open(&self) -> Result<SharedCheckpointer> {
        let options = match self {
            // As long as it looks: a small disk has to become full.
            Self::Sqlite(_) => Sqlite::options().compression(false),
            Self::SqliteNormal(_) => Sqlite::options().synchronous(Synchronous::Normal),
            Self::SqliteHasty(_) => Sqlite::options().lapse_after(MOMENT).busy_timeout(MOMENT * 5),
            Self::Postgres(url) => return Ok(Postgres::options().lapse_after(LAPSE).connect(url).await?.into()),
            Self::Files(folder) => {
                let options = KeyValueStore::options().lapse_after(MOMENT * 2);
                return Ok(options.open(Files::open(folder)?)?.into());
            }
        };
        Ok(options.open(self.file())?.into())
    }

    /// What the file of a database says of itself, past the store: `ok`, or what is wrong.
    pub(crate) fn integrity(&self) -> String {
        let asked = rusqlite::Connection::open(self.file()).and_then(|connection| {
            connection.pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0))
        });
        asked.unwrap_or_else(|error| error.to_string())
    }
}
