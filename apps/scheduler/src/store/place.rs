//! Where calendars are: in memory, in a file, on a server.

use std::path::PathBuf;

use superstep::Result;
use superstep::settings::Secret;

use super::cell::Statement;
use super::flow::Work;
use super::postgres::Postgres;
use super::read::Answers;
use super::sqlite::Sqlite;
use super::{Changed, Options};

/// Where calendars are kept.
#[derive(Debug, Clone)]
pub enum Place {
    /// In this process, as long as it lives.
    Memory,
    /// In a file.
    Sqlite(PathBuf),
    /// On a PostgreSQL server, with an address as checkpoints have it.
    Postgres(Secret),
}

/// An open database.
pub(super) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Database {
    pub(super) async fn open(place: &Place, options: &Options) -> Result<Self> {
        let patience = options.patience;
        Ok(match place {
            Place::Memory => Self::Sqlite(Sqlite::open(None, patience).await?),
            Place::Sqlite(path) => Self::Sqlite(Sqlite::open(Some(path.as_path()), patience).await?),
            Place::Postgres(url) => {
                Self::Postgres(Box::pin(Postgres::open(url.expose(), &options.schema, patience)).await?)
            }
        })
    }

    pub(super) async fn change(&self, work: Work) -> Result<Changed> {
        match self {
            Self::Sqlite(sqlite) => sqlite.change(work).await,
            Self::Postgres(postgres) => Box::pin(postgres.change(work)).await,
        }
    }

    pub(super) async fn look(&self, statements: Vec<Statement>) -> Result<Answers> {
        match self {
            Self::Sqlite(sqlite) => sqlite.look(statements).await,
            Self::Postgres(postgres) => Box::pin(postgres.look(statements)).await,
        }
    }
}
