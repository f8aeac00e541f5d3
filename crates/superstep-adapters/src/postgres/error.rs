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
            Self::InconsistentRead => Error::internal("what was read in one transaction needed another"),
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
pub(super) fn remedy(error: &tokio_postgres::Error) -> PgRetryAction {
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
    let described = match remedy(error) {
        PgRetryAction::Reconnect => outage(
            format!("PostgreSQL at {address} could not be reached for {:?}", address.retry_timeout),
            "this may or may not be saved, everything told before it is; see that the server runs and takes connections, \
             then go on with the thread",
        ),
        PgRetryAction::ReconnectToPrimary => outage(
            format!("PostgreSQL at {address} has only been readable for {:?}", address.retry_timeout),
            "nothing of this was saved; name the server that takes writes, or wait until it does",
        ),
        PgRetryAction::RetryTransaction => outage(
            format!("PostgreSQL at {address} took a transaction back again and again"),
            "nothing of this was saved; try again",
        ),
        PgRetryAction::None => {
            describe_security(error, address).unwrap_or_else(|| describe_code(error.code(), address))
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
fn describe_security(error: &tokio_postgres::Error, address: &PgConfig) -> Option<Error> {
    let cause = std::error::Error::source(error)?;
    let (message, help) = if let Some(reason) = certificate_error(cause) {
        (
            format!("the certificate of PostgreSQL at {address} is not believed: {reason}"),
            "name the certificate of its authority with `sslrootcert`, and the host as the certificate does; \
             `sslmode=require` encrypts without asking who answers",
        )
    } else if cause.to_string().contains("does not support TLS") {
        (
            format!("PostgreSQL at {address} does not encrypt, and its address asks for it with `sslmode`"),
            "set `ssl` and a certificate in its settings, or say `sslmode=disable` where nobody can listen",
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
            format!("PostgreSQL at {address} cannot be spoken to"),
            "see that the address names a PostgreSQL server, a user and, where it asks for one, a password",
        );
    };
    match code.code() {
        "53100" => outage(
            format!("the disk of PostgreSQL at {address} is full"),
            "this was not saved, everything before it is; free some space and go on with the thread",
        ),
        "53200" => outage(
            format!("PostgreSQL at {address} has no memory left"),
            "this was not saved, everything before it is; give the server more, and go on with the thread",
        ),
        "57014" | "55P03" => outage(
            format!("PostgreSQL at {address} gave up on a statement that took too long"),
            "this was not saved, everything before it is; try again, or raise `statement_timeout` or `lock_timeout`",
        ),
        "3D000" => config_error(format!("there is no such database at {address}"), "make it, or name another"),
        "42501" => config_error(
            format!("the user of {address} may not do this"),
            "let the user make the schema once, or make it with another and grant usage of all in it",
        ),
        "42P07" | "42723" => config_error(
            format!("the schema at {address} has tables or functions of another program"),
            "name another schema with `schema`; nothing was changed in this one",
        ),
        "3F000" | "42P01" | "42883" | "42703" => outage(
            format!("the tables at {address} are gone or were changed by somebody"),
            "connect anew to have missing ones made; what they held comes back only from a backup",
        )
        .with_retryable(false),
        "XX001" | "XX002" => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("the files of PostgreSQL at {address} are damaged"))
                .with_help("restore the database from a copy; threads that can be read are whole")
        }
        "54000" | "22001" => {
            Error::new(ErrorCode::TooLarge, format!("a value is too long for PostgreSQL at {address}"))
                .with_help("PostgreSQL takes values of up to a thousand million bytes")
        }
        other if other.starts_with("28") => config_error(
            format!("PostgreSQL at {address} does not let the user in"),
            "see to the user, the password and the rules of `pg_hba.conf`",
        ),
        _ => Error::internal(format!("a statement for PostgreSQL at {address} failed")),
    }
}
