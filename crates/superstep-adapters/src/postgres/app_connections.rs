//! Connections for the tables of an application, with the configuration, TLS and retries of the checkpointer.
//!
//! The application defines its own queries. It has to use a schema of its own, so that it does not access the tables
//! of the checkpointer accidentally.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio::runtime::Handle;
use tokio_postgres::Client;

use super::PostgresOptions;
use super::config::PgConfig;
use super::error::PgError;
use super::pool::ConnectionPool;

/// Connections to a server for the tables of an application. They belong to the runtime on which they were opened.
pub struct AppConnections(ConnectionPool);

/// Error of a query: the server or the connection failed, or the query returned an error.
#[derive(Debug)]
pub struct QueryError(PgError);

impl From<tokio_postgres::Error> for QueryError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(PgError::Database(error))
    }
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self(PgError::Rejected(error))
    }
}

impl PostgresOptions {
    /// Returns connections to the same server for the tables of an application in [`PostgresOptions::schema`]. No
    /// connection is opened before the first query, and no table is created.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, if required TLS is not available, or if there is no tokio runtime.
    pub fn app_connections(&self, url: &str) -> Result<AppConnections> {
        let handle = Handle::try_current().map_err(|error| Error::new(ErrorCode::ConfigInvalid, error.to_string()))?;
        Ok(AppConnections(ConnectionPool::new(PgConfig::new(url, self)?, handle, self.max_connections)))
    }
}

impl AppConnections {
    /// Runs a query until it succeeds, for at most [`PostgresOptions::retry_timeout`]. If the connection is lost, the
    /// query runs again on another one, so it must be idempotent. A connection is reused in the state in which the
    /// query leaves it, so a query that returns an error has to roll back first.
    ///
    /// # Errors
    /// Returns the error of the query, or `StoreUnavailable` if the server does not respond.
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection is closed and the server rolls back uncommitted changes.
    pub async fn with_connection<T, F>(&self, mut operation: impl FnMut(Arc<Client>) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, QueryError>>,
    {
        let result = self.0.with_connection(|client| {
            let request = operation(client);
            async move { request.await.map_err(|QueryError(error)| error) }
        });
        result.await.map_err(|error| error.into_error(&self.0.address))
    }

    /// Returns the quoted name of the schema.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.0.address.schema
    }
}

/// Hides the password.
impl std::fmt::Debug for AppConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AppConnections").field(&format_args!("{}", self.0.address)).finish()
    }
}
