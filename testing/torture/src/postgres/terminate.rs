//! An administrator connection that terminates others.

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

/// An administrator connection.
pub(super) struct AdminConnection {
    runtime: Runtime,
    client: Client,
}

impl AdminConnection {
    /// Connects to the server.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub(super) fn connect(url: &str) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            // Callers receive connection errors from their requests.
            tokio::spawn(async move { drop(connection.await) });
            Ok::<_, tokio_postgres::Error>(client)
        });
        let client = client.map_err(|error| format!("the administrator cannot connect: {error}"))?;
        Ok(Self { runtime, client })
    }

    /// Terminates all connections with this application name; returns their number.
    ///
    /// # Errors
    /// Returns an error if the server does not respond.
    pub(super) fn terminate(&self, name: &str) -> Result<u64, String> {
        let statement = "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = $1";
        let ended = self.runtime.block_on(self.client.query_typed_one(statement, &[(&name, Type::TEXT)]));
        let ended = ended.and_then(|row| row.try_get::<_, i64>(0));
        ended.map(i64::cast_unsigned).map_err(|error| format!("connections cannot be terminated: {error}"))
    }
}
