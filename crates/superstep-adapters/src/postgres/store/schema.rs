//! The tables of the long-term store, created by the first process, and the detection of pgvector.

use superstep_core::error::{Error, ErrorCode, Result};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::config::PgConfig;
use super::super::error::{PgError, PgResult};
use super::super::pool::ConnectionPool;

/// Version of the tables. A version is never reused.
const VERSION: i32 = 1;
const TABLES: &str = include_str!("tables.sql");
/// Key of the advisory lock for creating these tables in any schema; held until the transaction ends.
const LOCK: i64 = 0x7375_7065_726d_656d;

/// Creates the tables if they do not exist, and checks their version otherwise.
pub(super) async fn prepare(pool: &ConnectionPool) -> Result<()> {
    let address = &pool.address;
    let prepared = pool.with_connection(|client| async move {
        if !is_ready(&client, address).await? {
            create_tables(&client, address).await?;
        }
        Ok(())
    });
    prepared.await.map_err(|error| error.into_error(address))
}

/// Returns the schema of the extension `vector`, creating the extension if possible; `None` if the server does not
/// have it.
pub(super) async fn find_extension(pool: &ConnectionPool) -> Result<Option<String>> {
    let lookup = pool.with_connection(|client| async move {
        if let Some(schema) = extension(&client).await? {
            return Ok(Some(schema));
        }
        let is_available = "SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'vector'";
        if client.query_typed_opt(is_available, &[]).await?.is_none() {
            return Ok(None);
        }
        match client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await {
            // The user has no permission, or another client has just created the extension.
            Err(error) if error.code().is_none() => Err(PgError::from(error)),
            _ => extension(&client).await,
        }
    });
    lookup.await.map_err(|error| error.into_error(&pool.address))
}

/// Returns the quoted name of the schema of the extension.
async fn extension(client: &Client) -> PgResult<Option<String>> {
    let statement = "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
                 JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
    let row = client.query_typed_opt(statement, &[]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Returns true if tables of this version exist. Needs no permission to create any.
async fn is_ready(client: &Client, address: &PgConfig) -> PgResult<bool> {
    let statement = "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'memory_version'";
    let name = address.schema.trim_matches('"');
    if client.query_typed_opt(statement, &[(&name, Type::TEXT)]).await?.is_none() {
        return Ok(false);
    }
    let version_statement = address.fill("SELECT max(number) FROM @schema@.memory_version");
    match client.query_typed_one(&version_statement, &[]).await?.try_get::<_, Option<i32>>(0)? {
        Some(VERSION) => Ok(true),
        version => Err(PgError::Rejected(too_new(address, version.unwrap_or_default()))),
    }
}

/// Creates the tables in one transaction. A concurrent caller waits for the lock and then finds the work done.
async fn create_tables(client: &Client, address: &PgConfig) -> PgResult<()> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
    match is_ready(client, address).await {
        Ok(true) => {}
        Ok(false) => client.batch_execute(&address.fill(TABLES)).await?,
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            return Err(error);
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

fn too_new(address: &PgConfig, version: i32) -> Error {
    let message = format!(
        "PostgreSQL at {address} has a long-term store of version {version}, which is newer than the supported version \
         {VERSION}"
    );
    Error::new(ErrorCode::CheckpointTooNew, message).with_help("open it with the version that wrote it, or a newer one")
}
