//! The schema of the tables: created by the first process, migrated from older versions, and rejected if it belongs
//! to a newer program.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::config::PgConfig;
use super::error::PgResult;
use super::pool::ConnectionPool;

/// Version of the tables. A version is never reused. 1: uncompressed values. 2: long values may be compressed. 3:
/// events.
const VERSION: i32 = 3;
/// Migrations, each from one version to the next, starting with version 1. The functions of the current version are
/// created after the last step, so each step drops the old ones; by name, because the schema may contain other
/// functions.
const STEPS: [&str; VERSION as usize - 1] = [
    "DROP FUNCTION @schema@.beat, @schema@.is_moved, @schema@.acquire, @schema@.release, @schema@.abandon, \
     @schema@.commit, @schema@.delete_thread, @schema@.copy_thread",
    // The functions of a skipped version were never created.
    "DROP FUNCTION IF EXISTS @schema@.beat, @schema@.is_moved, @schema@.acquire, @schema@.release, @schema@.abandon, \
     @schema@.commit, @schema@.add, @schema@.delete_thread, @schema@.copy_thread; \
     ALTER TABLE @schema@.thread ADD COLUMN forgotten bigint NOT NULL DEFAULT 0; \
     CREATE TABLE @schema@.event (thread bigint NOT NULL, number bigint NOT NULL, run bytea NOT NULL, \
     body bytea NOT NULL, sum integer NOT NULL, PRIMARY KEY (thread, number))",
];
const TABLES: &str = include_str!("tables.sql");
const FUNCTIONS: &str = include_str!("functions.sql");
/// Oldest supported server version.
const MIN_SERVER_VERSION: i32 = 12;
/// Key of the advisory lock for creating tables in any schema; held until the transaction ends.
const LOCK: i64 = 0x7375_7065_7273_7465;

/// Creates or migrates the tables and returns warnings about the server settings.
pub(super) async fn prepare(pool: &ConnectionPool) -> Result<Vec<String>> {
    let address = &pool.address;
    let prepared = pool.with_connection(|client: Arc<Client>| async move {
        let warnings = check_server_settings(&client, address).await?;
        if installed_version(&client, address).await? != Some(VERSION) {
            install(&client, address).await?;
        }
        // Remove the rows of processes whose leases expired more than a day ago.
        let cleanup = "DELETE FROM @schema@.holder WHERE seen + lapse < clock_timestamp() - interval '1 day'";
        client.execute_typed(&address.fill(cleanup), &[]).await?;
        Ok(warnings)
    });
    prepared.await.map_err(|error| error.into_error(address))
}

impl PgConfig {
    /// Inserts the name of the schema into a statement.
    pub(super) fn fill(&self, statement: &str) -> String {
        statement.replace("@schema@", &self.schema)
    }
}

/// Returns warnings about settings of the server that weaken the guarantees.
async fn check_server_settings(client: &Client, address: &PgConfig) -> PgResult<Vec<String>> {
    let statement = "SELECT current_setting('server_version_num')::integer / 10000, \
                 current_setting('synchronous_commit'), current_setting('fsync'), \
                 coalesce((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()), false)";
    let row = client.query_typed_one(statement, &[]).await?;
    let (version, synchronous, fsync) =
        (row.try_get::<_, i32>(0)?, row.try_get::<_, String>(1)?, row.try_get::<_, String>(2)?);
    if version < MIN_SERVER_VERSION {
        let message = format!("PostgreSQL at {address} has version {version}, which is not supported");
        return Err(Error::new(ErrorCode::ConfigInvalid, message)
            .with_help(format!("use version {MIN_SERVER_VERSION} or newer"))
            .into());
    }
    let mut warnings = Vec::new();
    if synchronous == "off" {
        warnings.push(
            "`synchronous_commit` is off: the last acknowledged supersteps may be lost when the server crashes"
                .to_owned(),
        );
    }
    if fsync == "off" {
        warnings.push("`fsync` is off: the database may be lost when the machine of the server fails".to_owned());
    }
    if address.is_unencrypted() && !row.try_get::<_, bool>(3)? {
        warnings.push("the connection is not encrypted: saved data can be read and changed on the network".to_owned());
    }
    Ok(warnings)
}

/// Returns the version of the existing tables. Needs no permission to create any.
async fn installed_version(client: &Client, address: &PgConfig) -> PgResult<Option<i32>> {
    // The catalog is queried directly: name resolution of the server may use a cache from before the lock.
    let statement = "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'version'";
    let name = address.schema.trim_matches('"');
    if client.query_typed_opt(statement, &[(&name, Type::TEXT)]).await?.is_none() {
        return Ok(None);
    }
    let numbers = client.query_typed(&address.fill("SELECT number FROM @schema@.version"), &[]).await?;
    let [number] = &numbers[..] else {
        return Err(foreign_schema_error(address).into());
    };
    match number.try_get::<_, i32>(0)? {
        version @ 1..=VERSION => Ok(Some(version)),
        version if version > VERSION => Err(too_new(address, version).into()),
        _ => Err(foreign_schema_error(address).into()),
    }
}

/// Creates or migrates the tables in one transaction. A concurrent caller waits for the lock and then finds the work
/// done.
async fn install(client: &Client, address: &PgConfig) -> PgResult<()> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
    match installed_version(client, address).await? {
        Some(VERSION) => {}
        Some(version) => {
            for step in &STEPS[version as usize - 1..] {
                client.batch_execute(&address.fill(step)).await?;
            }
            client.batch_execute(&address.fill(FUNCTIONS)).await?;
            let version = format!("UPDATE @schema@.version SET number = {VERSION}");
            client.batch_execute(&address.fill(&version)).await?;
        }
        None => {
            let schema = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";
            let name = address.schema.trim_matches('"');
            if client.query_typed_opt(schema, &[(&name, Type::TEXT)]).await?.is_none() {
                client.batch_execute(&address.fill("CREATE SCHEMA @schema@")).await?;
            }
            client.batch_execute(&address.fill(TABLES)).await?;
            client.batch_execute(&address.fill(FUNCTIONS)).await?;
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

fn too_new(address: &PgConfig, version: i32) -> Error {
    let message = format!(
        "PostgreSQL at {address} has tables of version {version}, which is newer than the supported version {VERSION}"
    );
    Error::new(ErrorCode::CheckpointTooNew, message).with_help("open it with the version that wrote it, or a newer one")
}

fn foreign_schema_error(address: &PgConfig) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("the schema at {address} contains tables of another program"))
        .with_help("use another schema with `schema`; nothing was changed in this one")
}
