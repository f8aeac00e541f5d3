//! Errors of PostgreSQL: their classification, their text and their help.
//!
//! Each error is classified here and nowhere else: the connection is lost and another one may work, the server rolled
//! back a transaction that should be repeated, the server is read-only at the moment, or a retry does not help.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode};
use tokio_postgres::error::SqlState;

use super::config::PgConfig;
use super::tls::certificate_error;

/// Reason why a request failed.
#[derive(Debug)]
pub(super) enum PgError {
    /// Nothing was written, for this reason.
    Rejected(Error),
    /// The server or the connection failed.
    Database(tokio_postgres::Error),
    /// The server did not respond in time. It may still execute the request.
    Timeout(Error),
    /// A single statement was not sufficient, and several statements need a transaction.
    InconsistentRead,
}

/// Result of a request.
pub(super) type PgResult<T> = Result<T, PgError>;

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for PgError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl PgError {
    /// Returns true if the server may have executed the request.
    pub(super) fn is_outcome_unknown(&self) -> bool {
        !matches!(self, Self::Rejected(_))
    }

    /// Converts to the error that the caller of the port sees.
    pub(super) fn into_error(self, address: &PgConfig) -> Error {
        match self {
            Self::Rejected(error) | Self::Timeout(error) => error,
            Self::Database(error) => to_error(&error, address),
            Self::InconsistentRead => Error::internal("a read was inconsistent inside one transaction"),
        }
    }
}

/// Reaction to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PgRetryAction {
    /// Use another connection after a delay.
    Reconnect,
    /// Drop all connections and connect to a writable server after a delay.
    ReconnectToPrimary,
    /// Repeat the whole transaction.
    RetryTransaction,
    /// Return the error to the caller.
    None,
}

/// Classifies an error.
pub(super) fn retry_action(error: &tokio_postgres::Error) -> PgRetryAction {
    let Some(code) = error.code() else {
        return if is_lost(error) { PgRetryAction::Reconnect } else { PgRetryAction::None };
    };
    match *code {
        SqlState::READ_ONLY_SQL_TRANSACTION => PgRetryAction::ReconnectToPrimary,
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => PgRetryAction::RetryTransaction,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::TOO_MANY_CONNECTIONS => PgRetryAction::Reconnect,
        // SQLSTATE of idle connections that the server closed.
        _ if code.code() == "57P05" || code.code().starts_with("08") => PgRetryAction::Reconnect,
        _ => PgRetryAction::None,
    }
}

/// Returns true if the connection was lost or could not be established.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    error.is_closed() || cause.is_some_and(|cause| cause.is::<std::io::Error>())
}

/// Converts a database error.
pub(super) fn to_error(error: &tokio_postgres::Error, address: &PgConfig) -> Error {
    let described = match retry_action(error) {
        PgRetryAction::Reconnect => outage(
            format!("PostgreSQL at {address} could not be reached for {:?}", address.retry_timeout),
            "this commit may or may not be saved; all earlier acknowledged commits are saved; check that the server is \
             running and accepts connections, then continue the thread",
        ),
        PgRetryAction::ReconnectToPrimary => outage(
            format!("PostgreSQL at {address} was read-only for {:?}", address.retry_timeout),
            "nothing was saved; connect to the primary server, or wait until the server accepts writes",
        ),
        PgRetryAction::RetryTransaction => outage(
            format!("PostgreSQL at {address} repeatedly rolled back a transaction"),
            "nothing was saved; try again",
        ),
        PgRetryAction::None => {
            describe_tls_error(error, address).unwrap_or_else(|| describe_code(error.code(), address))
        }
    };
    let cause = match error.as_db_error() {
        Some(error) => format!("{}: {} ({})", error.severity(), error.message(), error.code().code()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = cause.into();
    described.with_source(Arc::from(cause))
}

/// Returns the error of a rejected or missing TLS certificate, if it is one.
fn describe_tls_error(error: &tokio_postgres::Error, address: &PgConfig) -> Option<Error> {
    let cause = std::error::Error::source(error)?;
    let (message, help) = if let Some(reason) = certificate_error(cause) {
        (
            format!("the certificate of PostgreSQL at {address} is not trusted: {reason}"),
            "set `sslrootcert` to the certificate of the CA, and use the host name of the certificate; \
             `sslmode=require` encrypts without checking the certificate",
        )
    } else if cause.to_string().contains("does not support TLS") {
        (
            format!("PostgreSQL at {address} does not support TLS, but `sslmode` requires it"),
            "enable `ssl` with a certificate on the server, or use `sslmode=disable` on a trusted network",
        )
    } else {
        return None;
    };
    Some(Error::new(ErrorCode::ConfigInvalid, message).with_help(help))
}

fn outage(message: String, help: &str) -> Error {
    Error::new(ErrorCode::StoreUnavailable, message).with_help(help)
}

fn describe_code(code: Option<&SqlState>, address: &PgConfig) -> Error {
    let config_error = |message: String, help: &str| Error::new(ErrorCode::ConfigInvalid, message).with_help(help);
    let Some(code) = code else {
        return config_error(
            format!("PostgreSQL at {address} did not accept the connection"),
            "check that the URL contains the address of a PostgreSQL server, a user and, if required, a password",
        );
    };
    match code.code() {
        "53100" => outage(
            format!("the disk of PostgreSQL at {address} is full"),
            "this commit was not saved; all earlier acknowledged commits are saved; free some space, then continue the \
             thread",
        ),
        "53200" => outage(
            format!("PostgreSQL at {address} is out of memory"),
            "this commit was not saved; all earlier acknowledged commits are saved; give the server more memory, then \
             continue the thread",
        ),
        "57014" | "55P03" => outage(
            format!("PostgreSQL at {address} cancelled a statement that exceeded its timeout"),
            "this commit was not saved; all earlier acknowledged commits are saved; try again, or raise \
             `statement_timeout` or `lock_timeout`",
        ),
        "3D000" => config_error(format!("the database at {address} does not exist"), "create it, or use another one"),
        "42501" => config_error(
            format!("the user of {address} has no permission for this operation"),
            "grant the user permission to create the schema, or create it as another user and grant usage of \
             everything in it",
        ),
        "42P07" | "42723" => config_error(
            format!("the schema at {address} contains tables or functions of another program"),
            "use another schema with `schema`; nothing was changed in this one",
        ),
        "3F000" | "42P01" | "42883" | "42703" => outage(
            format!("tables at {address} are missing or were changed by another program"),
            "connect again to create missing tables; restore their content from a backup",
        )
        .with_retryable(false),
        "XX001" | "XX002" => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("the files of PostgreSQL at {address} are corrupt"))
                .with_help("restore the database from a backup; readable threads are complete")
        }
        "54000" | "22001" => {
            Error::new(ErrorCode::TooLarge, format!("a value is too large for PostgreSQL at {address}"))
                .with_help("PostgreSQL stores values of up to 1,000,000,000 bytes")
        }
        other if other.starts_with("28") => config_error(
            format!("PostgreSQL at {address} rejected the user"),
            "check the user, the password and the rules of `pg_hba.conf`",
        ),
        _ => Error::internal(format!("a statement for PostgreSQL at {address} failed")),
    }
}
