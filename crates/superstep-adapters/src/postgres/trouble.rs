//! What can go wrong with the server, in words a person can act on.
//!
//! A failure is of one of four kinds, and only this file says which: the connection is gone and another may do, the
//! server took back a transaction and wants it again, it cannot be written at the moment, or there is no use in trying.

use std::sync::Arc;

use superstep_core::error::{Code, Error};
use tokio_postgres::error::SqlState;

use super::address::Address;
use super::tls::distrust;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nothing was written, and this is why.
    Refused(Error),
    /// The server or the way to it failed.
    Database(tokio_postgres::Error),
    /// The server has not answered in time. It may still do what it was asked.
    Silent(Error),
    /// One statement was not enough, and between two the tables may change.
    Torn,
}

/// What the server is asked for.
pub(super) type Answer<T> = Result<T, Trouble>;

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Trouble {
    /// Whether the server may have done what it was asked.
    pub(super) fn is_doubtful(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// The error a caller gets.
    pub(super) fn into_error(self, address: &Address) -> Error {
        match self {
            Self::Refused(error) | Self::Silent(error) => error,
            Self::Database(error) => describe(&error, address),
            Self::Torn => Error::internal("what was read in one transaction needed another"),
        }
    }
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Take another connection, after a while.
    Reconnect,
    /// Drop every connection and find the server that takes writes, after a while.
    FindWriter,
    /// Do the whole transaction again.
    Again,
    /// Tell the caller.
    None,
}

/// What may help against a failure.
pub(super) fn remedy(error: &tokio_postgres::Error) -> Remedy {
    let Some(code) = error.code() else {
        return if is_lost(error) { Remedy::Reconnect } else { Remedy::None };
    };
    match *code {
        SqlState::READ_ONLY_SQL_TRANSACTION => Remedy::FindWriter,
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Remedy::Again,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::TOO_MANY_CONNECTIONS => Remedy::Reconnect,
        // The server ends connections that were idle for too long.
        _ if code.code() == "57P05" || code.code().starts_with("08") => Remedy::Reconnect,
        _ => Remedy::None,
    }
}

/// Whether the connection is gone, or was never there.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    error.is_closed() || cause.is_some_and(|cause| cause.is::<std::io::Error>())
}

/// A failure as an error of ours.
pub(super) fn describe(error: &tokio_postgres::Error, address: &Address) -> Error {
    let described = match remedy(error) {
        Remedy::Reconnect => outage(
            format!("PostgreSQL at {address} could not be reached for {:?}", address.patience),
            "this may or may not be saved, everything told before it is; see that the server runs and takes connections, \
             then go on with the thread",
        ),
        Remedy::FindWriter => outage(
            format!("PostgreSQL at {address} has only been readable for {:?}", address.patience),
            "nothing of this was saved; name the server that takes writes, or wait until it does",
        ),
        Remedy::Again => outage(
            format!("PostgreSQL at {address} took a transaction back again and again"),
            "nothing of this was saved; try again",
        ),
        Remedy::None => describe_security(error, address).unwrap_or_else(|| describe_code(error.code(), address)),
    };
    let cause = match error.as_db_error() {
        Some(error) => format!("{}: {} ({})", error.severity(), error.message(), error.code().code()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = cause.into();
    described.caused_by(Arc::from(cause))
}

/// A connection that was not made because it would not be secret, or with somebody else.
fn describe_security(error: &tokio_postgres::Error, address: &Address) -> Option<Error> {
    let cause = std::error::Error::source(error)?;
    let (message, help) = if let Some(why) = distrust(cause) {
        (
            format!("the certificate of PostgreSQL at {address} is not believed: {why}"),
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
    Some(Error::new(Code::ConfigInvalid, message).help(help))
}

fn outage(message: String, help: &str) -> Error {
    Error::new(Code::StoreUnavailable, message).help(help)
}

fn describe_code(code: Option<&SqlState>, address: &Address) -> Error {
    let wrong = |message: String, help: &str| Error::new(Code::ConfigInvalid, message).help(help);
    let Some(code) = code else {
        return wrong(
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
        "3D000" => wrong(format!("there is no such database at {address}"), "make it, or name another"),
        "42501" => wrong(
            format!("the user of {address} may not do this"),
            "let the user make the schema once, or make it with another and grant usage of all in it",
        ),
        "42P07" | "42723" => wrong(
            format!("the schema at {address} has tables or functions of another program"),
            "name another schema with `schema`; nothing was changed in this one",
        ),
        "3F000" | "42P01" | "42883" | "42703" => outage(
            format!("the tables at {address} are gone or were changed by somebody"),
            "connect anew to have missing ones made; what they held comes back only from a backup",
        )
        .retryable(false),
        "XX001" | "XX002" => {
            Error::new(Code::CheckpointCorrupt, format!("the files of PostgreSQL at {address} are damaged"))
                .help("restore the database from a copy; threads that can be read are whole")
        }
        "54000" | "22001" => Error::new(Code::TooLarge, format!("a value is too long for PostgreSQL at {address}"))
            .help("PostgreSQL takes values of up to a thousand million bytes"),
        other if other.starts_with("28") => wrong(
            format!("PostgreSQL at {address} does not let the user in"),
            "see to the user, the password and the rules of `pg_hba.conf`",
        ),
        _ => Error::internal(format!("a statement for PostgreSQL at {address} failed")),
    }
}
