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
            format!("`{path}` is locked by another process"),
            "nothing was saved; try again, or raise `busy_timeout`",
        ),
        Some(SqliteErrorCode::DiskFull) => outage(
            format!("the disk of `{path}` is full"),
            "this commit was not saved; all earlier acknowledged commits are saved; free some space, then continue the \
             thread",
        ),
        Some(SqliteErrorCode::SystemIoFailure) => outage(
            format!("reading or writing `{path}` failed"),
            "this commit may be lost; all earlier acknowledged commits are saved; check the disk, then continue the \
             thread",
        ),
        Some(SqliteErrorCode::ReadOnly | SqliteErrorCode::PermissionDenied) => outage(
            format!("`{path}` cannot be written"),
            "nothing was saved; grant the process write permission for the file and its folder",
        )
        .with_retryable(false),
        Some(SqliteErrorCode::CannotOpen) => {
            outage(format!("`{path}` cannot be opened"), "check that the folder exists and is writable")
                .with_retryable(false)
        }
        Some(SqliteErrorCode::NotADatabase) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("`{path}` is not an SQLite file"))
                .with_help("use another file, or move this one away")
        }
        Some(SqliteErrorCode::DatabaseCorrupt) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("`{path}` is corrupt"))
                .with_help("threads in intact parts of the file are still readable; restore the file from a backup")
        }
        Some(SqliteErrorCode::TooBig) => Error::new(ErrorCode::TooLarge, format!("a value is too large for `{path}`"))
            .with_help("SQLite stores values of up to 1,000,000,000 bytes"),
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
                format!("`{path}` is corrupt: a row or a table has an unexpected form"),
            )
            .with_help("threads in intact parts of the file are still readable; restore the file from a backup")
        }
        _ => Error::internal(format!("a statement on `{path}` failed")),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.with_source(std::sync::Arc::from(cause))
}
