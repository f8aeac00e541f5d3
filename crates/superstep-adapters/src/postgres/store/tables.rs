//! The tables of the long-term store: made once, by whoever comes first; and whether the server can compare vectors.

use superstep_core::error::{Code, Error, Result};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::address::Address;
use super::super::room::Room;
use super::super::trouble::{Answer, Trouble};

/// The version of the tables. A number is never reused.
const VERSION: i32 = 1;
const TABLES: &str = include_str!("tables.sql");
/// The lock of whoever makes these tables, any schema; held until its transaction ends.
const LOCK: i64 = 0x7375_7065_726d_656d;

/// Makes the tables where they are missing and checks them where not.
pub(super) async fn prepare(room: &Room) -> Result<()> {
    let address = &room.address;
    let prepared = room.ask(|client| async move {
        if !is_ready(&client, address).await? {
            make(&client, address).await?;
        }
        Ok(())
    });
    prepared.await.map_err(|trouble| trouble.into_error(address))
}

/// Where the extension `vector` is, made when it can be; `None` when the server has none.
pub(super) async fn find_extension(room: &Room) -> Result<Option<String>> {
    let found = room.ask(|client| async move {
        if let Some(schema) = extension(&client).await? {
            return Ok(Some(schema));
        }
        let is_known = "SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'vector'";
        if client.query_typed_opt(is_known, &[]).await?.is_none() {
            return Ok(None);
        }
        match client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await {
            // The user may not, or somebody else has just made it.
            Err(error) if error.code().is_none() => Err(Trouble::from(error)),
            _ => extension(&client).await,
        }
    });
    found.await.map_err(|trouble| trouble.into_error(&room.address))
}

/// The quoted name of the schema the extension is in.
async fn extension(client: &Client) -> Answer<Option<String>> {
    let asked = "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
                 JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
    let row = client.query_typed_opt(asked, &[]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Whether there are tables of this version. Needs no right to make any.
async fn is_ready(client: &Client, address: &Address) -> Answer<bool> {
    let found = "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'memory_version'";
    let name = address.schema.trim_matches('"');
    if client.query_typed_opt(found, &[(&name, Type::TEXT)]).await?.is_none() {
        return Ok(false);
    }
    let asked = address.fill("SELECT max(number) FROM @schema@.memory_version");
    match client.query_typed_one(&asked, &[]).await?.try_get::<_, Option<i32>>(0)? {
        Some(VERSION) => Ok(true),
        version => Err(Trouble::Refused(too_new(address, version.unwrap_or_default()))),
    }
}

/// All of it or nothing. Two that do this at once do it once: the second waits and finds it done.
async fn make(client: &Client, address: &Address) -> Answer<()> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
    match is_ready(client, address).await {
        Ok(true) => {}
        Ok(false) => client.batch_execute(&address.fill(TABLES)).await?,
        Err(trouble) => {
            client.batch_execute("ROLLBACK").await?;
            return Err(trouble);
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

fn too_new(address: &Address, version: i32) -> Error {
    let message =
        format!("PostgreSQL at {address} has a long-term store of version {version}; this program knows {VERSION}");
    Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
}
