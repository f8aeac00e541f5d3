//! Connections for the tables of an application, with the address, the encryption and the patience of the store.
//!
//! What is asked there is the application's matter. The tables of the store are not reached from here by accident: an
//! application names a schema of its own.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use tokio::runtime::Handle;
use tokio_postgres::Client;

use super::Options;
use super::address::Address;
use super::room::Room;
use super::trouble::Trouble;

/// Connections to a server, for an application's own tables. They belong to the runtime on which they were opened.
pub struct Connections(Room);

/// Why a question has no answer: the server or the way to it failed, or whoever asked gave up.
#[derive(Debug)]
pub struct Failure(Trouble);

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(Trouble::Database(error))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(Trouble::Refused(error))
    }
}

impl Options {
    /// Connections to the same server for an application's own tables, which are in [`Options::schema`]. None is opened
    /// before something is asked, and no table is made.
    ///
    /// # Errors
    /// When the address cannot be read or asks for encryption that cannot be had, and outside of a runtime of tokio.
    pub fn connections_to(&self, url: &str) -> Result<Connections> {
        let handle = Handle::try_current().map_err(|error| Error::new(Code::ConfigInvalid, error.to_string()))?;
        Ok(Connections(Room::new(Address::new(url, self)?, handle, self.connections)))
    }
}

impl Connections {
    /// Asks until there is an answer, for as long as [`Options::patience`]. When a connection is lost the question is
    /// asked again on another: it must be one that may be asked twice. A connection comes back with what was done on it,
    /// so whoever gives up rolls back first.
    ///
    /// # Errors
    /// What the question gives up with, and `StoreUnavailable` when the server does not answer.
    ///
    /// # Cancel safety
    /// Dropped, the connection is closed, and the server takes back what was not committed.
    pub async fn ask<T, F>(&self, mut question: impl FnMut(Arc<Client>) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let answer = self.0.ask(|client| {
            let asked = question(client);
            async move { asked.await.map_err(|Failure(trouble)| trouble) }
        });
        answer.await.map_err(|trouble| trouble.into_error(&self.0.address))
    }

    /// The schema, quoted.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.0.address.schema
    }
}

/// Without the password.
impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connections").field(&format_args!("{}", self.0.address)).finish()
    }
}
