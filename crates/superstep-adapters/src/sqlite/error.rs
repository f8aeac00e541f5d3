//! Errors of SQLite: their classification, their text and their help.
//!
//! Three kinds are distinguished: the operation is rejected (a fact about the thread), the database fails (a fact
//! about the disk), and a transaction is outdated (not reported, because it is built again).

use rusqlite::ErrorCode as SqliteErrorCode;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::id::CheckpointId;

use crate::change_log::WriteRejection;

/// Reason why an operation failed.
#[derive(Debug)]
pub(super) enum SqliteError {
    /// Nothing was written, for this reason.
    Rejected(Error),
    /// The thread was pruned or written since the transaction was built.
    Stale,
    /// This checkpoint is stored already.
    AlreadySaved(CheckpointId),
    /// The database failed. The transaction has to be rolled back.
    Database(rusqlite::Error),
}

/// Result of a database operation.
pub(super) type SqliteResult<T> = Result<T, SqliteError>;

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for SqliteError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl SqliteError {
    /// Converts to the error that the caller of the port sees.
    pub(super) fn into_error(self, path: &str) -> Error {
        self.into_rejection(path).into()
    }

    /// Converts to the rejection that the change log handles.
    pub(super) fn into_rejection(self, path: &str) -> WriteRejection {
        match self {
            Self::Rejected(error) => WriteRejection::Error(error),
            Self::Stale => WriteRejection::Stale,
            Self::AlreadySaved(id) => WriteRejection::AlreadySaved(id),
            Self::Database(error) => WriteRejection::Error(to_error(&error, path)),
        }
    }
}

/// Returns true if the connection must not be used again: after a failed write or sync the state on disk is unknown,
/// and a retry on the same connection could report a false success.
pub(super) fn invalidates_connection(error: &rusqlite::Error) -> bool {
    use SqliteErrorCode::{
        CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, ReadOnly, SystemIoFailure,
    };
    matches!(
        error.sqlite_error_code(),
        Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly | FileLockingProtocolFailed)
    )
}

/// Converts an error of SQLite.
pub(super) fn to_error(error: &rusqlite::Error, path: &str) -> Error {
    use rusqlite::Error as Sql;
    let outage = |message: String, help: &str| Error::new(ErrorCode::StoreUnavailable, message).with_help(help);
    let described = match error.sqlite_error_code() {
        Some(SqliteErrorCode::DatabaseBusy | SqliteErrorCode::DatabaseLocked) => outage(
            format!("another process has been writing to `{path}` for too long"),
            "nothing of this was saved; try again, or give writers more time with `busy_timeout`",
        ),
        Some(SqliteErrorCode::DiskFull) => outage(
            format!("the disk with `{path}` is full"),
            "this was not saved, everything before it is; free some space and go on with the thread",
        ),
        Some(SqliteErrorCode::SystemIoFailure) => outage(
            format!("reading or writing `{path}` failed"),
            "this may not be saved, everything told before it is; look at the disk, then go on with the thread",
        ),
        Some(SqliteErrorCode::ReadOnly | SqliteErrorCode::PermissionDenied) => outage(
            format!("`{path}` cannot be written"),
            "nothing of this was saved; give the program the right to write the file and its folder",
        )
        .with_retryable(false),
        Some(SqliteErrorCode::CannotOpen) => {
            outage(format!("`{path}` cannot be opened"), "see that the folder exists and the program may write in it")
                .with_retryable(false)
        }
        Some(SqliteErrorCode::NotADatabase) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("`{path}` is not an SQLite file"))
                .with_help("name another file, or move this one away")
        }
        Some(SqliteErrorCode::DatabaseCorrupt) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("`{path}` is damaged"))
                .with_help("threads whose part of the file is whole can still be read; restore the file from a copy")
        }
        Some(SqliteErrorCode::TooBig) => Error::new(ErrorCode::TooLarge, format!("a value is too long for `{path}`"))
            .with_help("SQLite takes values of up to a thousand million bytes"),
        // Written rows can always be read, and the tables were checked when the file was opened.
        _ if matches!(
            error,
            Sql::FromSqlConversionFailure(..)
                | Sql::IntegralValueOutOfRange(..)
                | Sql::InvalidColumnType(..)
                | Sql::Utf8Error(..)
                | Sql::SqlInputError { .. }
        ) =>
        {
            Error::new(
                ErrorCode::CheckpointCorrupt,
                format!("`{path}` is damaged: a row or a table is not as it was made"),
            )
            .with_help("threads whose part of the file is whole can still be read; restore the file from a copy")
        }
        _ => Error::internal(format!("a statement on `{path}` failed")),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.with_source(std::sync::Arc::from(cause))
}
