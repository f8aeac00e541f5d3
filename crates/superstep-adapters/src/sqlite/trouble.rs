//! What can go wrong with the file, in words a person can act on.
//!
//! Three things stay apart: the store refuses (a fact about the thread), the database fails (a fact about the disk), and
//! what was put together no longer fits (nothing anybody needs to know: it is put together anew).

use rusqlite::ErrorCode;
use superstep_core::error::{Code, Error};
use superstep_core::id::CheckpointId;

use crate::log::Refusal;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nothing was written, and this is why.
    Refused(Error),
    /// Somebody pruned or wrote the thread since this was put together.
    Stale,
    /// This checkpoint is there already.
    Known(CheckpointId),
    /// The database failed. What was written is to be taken back.
    Database(rusqlite::Error),
}

/// What the database is asked for.
pub(super) type Answer<T> = Result<T, Trouble>;

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Trouble {
    /// The error a caller gets.
    pub(super) fn into_error(self, path: &str) -> Error {
        self.into_refusal(path).into()
    }

    /// What the log of changes makes of it.
    pub(super) fn into_refusal(self, path: &str) -> Refusal {
        match self {
            Self::Refused(error) => Refusal::Because(error),
            Self::Stale => Refusal::Stale,
            Self::Known(id) => Refusal::Known(id),
            Self::Database(error) => Refusal::Because(describe(&error, path)),
        }
    }
}

/// Whether the connection can no longer be trusted: after a failed write or sync nobody knows what the system kept of
/// it, so that trying again on the same connection could succeed falsely.
pub(super) fn spoils_connection(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, ReadOnly, SystemIoFailure};
    matches!(
        error.sqlite_error_code(),
        Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly | FileLockingProtocolFailed)
    )
}

/// A failure of the database as an error of ours.
pub(super) fn describe(error: &rusqlite::Error, path: &str) -> Error {
    use ErrorCode as Kind;
    use rusqlite::Error as Sql;
    let outage = |message: String, help: &str| Error::new(Code::StoreUnavailable, message).help(help);
    let described = match error.sqlite_error_code() {
        Some(Kind::DatabaseBusy | Kind::DatabaseLocked) => outage(
            format!("another process has been writing to `{path}` for too long"),
            "nothing of this was saved; try again, or give writers more time with `busy_timeout`",
        ),
        Some(Kind::DiskFull) => outage(
            format!("the disk with `{path}` is full"),
            "this was not saved, everything before it is; free some space and go on with the thread",
        ),
        Some(Kind::SystemIoFailure) => outage(
            format!("reading or writing `{path}` failed"),
            "this may not be saved, everything told before it is; look at the disk, then go on with the thread",
        ),
        Some(Kind::ReadOnly | Kind::PermissionDenied) => outage(
            format!("`{path}` cannot be written"),
            "nothing of this was saved; give the program the right to write the file and its folder",
        )
        .retryable(false),
        Some(Kind::CannotOpen) => {
            outage(format!("`{path}` cannot be opened"), "see that the folder exists and the program may write in it")
                .retryable(false)
        }
        Some(Kind::NotADatabase) => Error::new(Code::CheckpointCorrupt, format!("`{path}` is not an SQLite file"))
            .help("name another file, or move this one away"),
        Some(Kind::DatabaseCorrupt) => Error::new(Code::CheckpointCorrupt, format!("`{path}` is damaged"))
            .help("threads whose part of the file is whole can still be read; restore the file from a copy"),
        Some(Kind::TooBig) => Error::new(Code::TooLarge, format!("a value is too long for `{path}`"))
            .help("SQLite takes values of up to a thousand million bytes"),
        // What was written cannot fail to be read, and the tables were looked at when the file was opened.
        _ if matches!(
            error,
            Sql::FromSqlConversionFailure(..)
                | Sql::IntegralValueOutOfRange(..)
                | Sql::InvalidColumnType(..)
                | Sql::Utf8Error(..)
                | Sql::SqlInputError { .. }
        ) =>
        {
            Error::new(Code::CheckpointCorrupt, format!("`{path}` is damaged: a row or a table is not as it was made"))
                .help("threads whose part of the file is whole can still be read; restore the file from a copy")
        }
        _ => Error::internal(format!("a statement on `{path}` failed")),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.caused_by(std::sync::Arc::from(cause))
}
