//! The checkpointer of a child process, as on its command line: `sqlite PATH`, `postgres URL`, `files FOLDER`.
//!
//! Another checkpointer needs one more variant here; all other modules only use the port.

use std::path::{Path, PathBuf};
use std::time::Duration;

use superstep::Result;
use superstep::core::port::SharedCheckpointer;
use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_adapters::sqlite::{SqliteCheckpointer, Synchronous};

/// Location of a checkpointer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CheckpointerLocation {
    /// SQLite file.
    Sqlite(PathBuf),
    /// SQLite file without a sync per commit, with which power loss must lose data.
    SqliteNormal(PathBuf),
    /// SQLite file with a short lease timeout, which takes over threads of suspended processes.
    SqliteShortLease(PathBuf),
    /// PostgreSQL URL, with a short lease timeout.
    Postgres(String),
    /// Folder of files, with a short lease timeout.
    Files(PathBuf),
}

/// Base of the short lease timeouts.
const SHORT_LEASE_TIMEOUT: Duration = Duration::from_millis(200);
/// Lease timeout with PostgreSQL.
const POSTGRES_LEASE_TIMEOUT: Duration = Duration::from_secs(1);

impl CheckpointerLocation {
    /// Name of the SQLite file.
    pub(crate) const FILE: &str = "torture.db";

    /// Returns the SQLite file in a folder.
    pub(crate) fn sqlite_in(folder: &Path) -> Self {
        Self::Sqlite(folder.join(Self::FILE))
    }

    /// Parses the two arguments.
    ///
    /// # Errors
    /// Returns an error if the kind is unknown.
    pub(crate) fn parse(kind: &str, location: &str) -> Result<Self, String> {
        match kind {
            "sqlite" => Ok(Self::Sqlite(location.into())),
            "sqlite-normal" => Ok(Self::SqliteNormal(location.into())),
            "sqlite-short-lease" => Ok(Self::SqliteShortLease(location.into())),
            "postgres" => Ok(Self::Postgres(location.to_owned())),
            "files" => Ok(Self::Files(location.into())),
            _ => Err(format!(
                "unknown checkpointer `{kind}`; known: sqlite, sqlite-normal, sqlite-short-lease, postgres, files"
            )),
        }
    }

    /// Returns the two arguments.
    pub(crate) fn args(&self) -> [String; 2] {
        let kind = match self {
            Self::Sqlite(_) => "sqlite",
            Self::SqliteNormal(_) => "sqlite-normal",
            Self::SqliteShortLease(_) => "sqlite-short-lease",
            Self::Postgres(_) => "postgres",
            Self::Files(_) => "files",
        };
        [kind.to_owned(), self.file().display().to_string()]
    }

    /// Returns the path of the database, or its URL if it is a PostgreSQL server.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Sqlite(path) | Self::SqliteNormal(path) | Self::SqliteShortLease(path) | Self::Files(path) => path,
            Self::Postgres(url) => Path::new(url),
        }
    }

    /// Returns true if the database is one file, which can be checked directly and is not leased after its process
    /// has died.
    pub(crate) fn is_file(&self) -> bool {
        !matches!(self, Self::Postgres(_) | Self::Files(_))
    }

    /// Opens the checkpointer.
    ///
    /// # Errors
    /// Returns the error of the checkpointer.
    pub(crate) async fn open(&self) -> Result<SharedCheckpointer> {
        let options = match self {
            // Without compression, so that a small disk becomes full.
            Self::Sqlite(_) => SqliteCheckpointer::options().compression(false),
            Self::SqliteNormal(_) => SqliteCheckpointer::options().synchronous(Synchronous::Normal),
            Self::SqliteShortLease(_) => {
                SqliteCheckpointer::options().lease_timeout(SHORT_LEASE_TIMEOUT).busy_timeout(SHORT_LEASE_TIMEOUT * 5)
            }
            Self::Postgres(url) => {
                return Ok(PostgresCheckpointer::options()
                    .lease_timeout(POSTGRES_LEASE_TIMEOUT)
                    .connect(url)
                    .await?
                    .into());
            }
            Self::Files(folder) => {
                let options = KeyValueCheckpointer::options().lease_timeout(SHORT_LEASE_TIMEOUT * 2);
                return Ok(options.open(FileKeyValue::open(folder)?)?.into());
            }
        };
        Ok(options.open(self.file())?.into())
    }

    /// Runs SQLite's integrity check directly; returns `ok` or the error.
    pub(crate) fn integrity(&self) -> String {
        let result = rusqlite::Connection::open(self.file()).and_then(|connection| {
            connection.pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0))
        });
        result.unwrap_or_else(|error| error.to_string())
    }
}
