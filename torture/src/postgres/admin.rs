//! The administrator who ends connections of others.

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

/// A connection of our own.
pub(super) struct Admin {
    runtime: Runtime,
    client: Client,
}

impl Admin {
    /// Connects.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(super) fn connect(url: &str) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            // How it ended is told to whoever asks on it.
            tokio::spawn(async move { drop(connection.await) });
            Ok::<_, tokio_postgres::Error>(client)
        });
        let client = client.map_err(|error| format!("the administrator is not let in: {error}"))?;
        Ok(Self { runtime, client })
    }

    /// Ends every connection of the program with this name; gives how many that were.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(super) fn terminate(&self, name: &str) -> Result<u64, String> {
        let end = "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = $1";
        let ended = self.runtime.block_on(self.client.query_typed_one(end, &[(&name, Type::TEXT)]));
        let ended = ended.and_then(|row| row.try_get::<_, i64>(0));
        ended.map(i64::cast_unsigned).map_err(|error| format!("connections are not ended: {error}"))
    }
}
