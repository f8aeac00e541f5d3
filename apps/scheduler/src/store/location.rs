//! Location of a calendar store: memory, a file, or a database server.

use std::path::PathBuf;

use superstep::Result;
use superstep::settings::Secret;

use super::postgres::PostgresDatabase;
use super::queries::ResultSets;
use super::sql_value::SqlStatement;
use super::sqlite::SqliteDatabase;
use super::transaction::ChangeJob;
use super::{ChangeResult, StoreOptions};

/// Location of a calendar store.
#[derive(Debug, Clone)]
pub enum StoreLocation {
    /// In memory of this process.
    Memory,
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL server, with a URL as for the checkpointer.
    Postgres(Secret),
}

/// An open database.
pub(super) enum Database {
    Sqlite(SqliteDatabase),
    Postgres(PostgresDatabase),
}

impl Database {
    pub(super) async fn open(location: &StoreLocation, options: &StoreOptions) -> Result<Self> {
        let timeout = options.timeout;
        Ok(match location {
            StoreLocation::Memory => Self::Sqlite(SqliteDatabase::open(None, timeout).await?),
            StoreLocation::Sqlite(path) => Self::Sqlite(SqliteDatabase::open(Some(path.as_path()), timeout).await?),
            StoreLocation::Postgres(url) => {
                Self::Postgres(Box::pin(PostgresDatabase::open(url.expose(), &options.schema, timeout)).await?)
            }
        })
    }

    pub(super) async fn change(&self, job: ChangeJob) -> Result<ChangeResult> {
        match self {
            Self::Sqlite(sqlite) => sqlite.change(job).await,
            Self::Postgres(postgres) => Box::pin(postgres.change(job)).await,
        }
    }

    pub(super) async fn query(&self, statements: Vec<SqlStatement>) -> Result<ResultSets> {
        match self {
            Self::Sqlite(sqlite) => sqlite.query(statements).await,
            Self::Postgres(postgres) => Box::pin(postgres.query(statements)).await,
        }
    }
}
