//! The tables: made once, by whoever comes first, brought up to this version where they are older, and refused when they
//! are of a newer program.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::address::Address;
use super::room::Room;
use super::trouble::Answer;

/// The version of the tables. A number is never reused. 1: values as they are. 2: long ones may be squeezed. 3: events.
const VERSION: i32 = 3;
/// What makes tables of a version those of the next, from 1. The functions of this version are made after it, so those
/// of the version before go; by their names, because others may live in the same schema.
const STEPS: [&str; VERSION as usize - 1] = [
    "DROP FUNCTION @schema@.beat, @schema@.is_moved, @schema@.acquire, @schema@.release, @schema@.abandon, \
     @schema@.commit, @schema@.delete_thread, @schema@.copy_thread",
    // Those of a version that was skipped were never made.
    "DROP FUNCTION IF EXISTS @schema@.beat, @schema@.is_moved, @schema@.acquire, @schema@.release, @schema@.abandon, \
     @schema@.commit, @schema@.add, @schema@.delete_thread, @schema@.copy_thread; \
     ALTER TABLE @schema@.thread ADD COLUMN forgotten bigint NOT NULL DEFAULT 0; \
     CREATE TABLE @schema@.event (thread bigint NOT NULL, number bigint NOT NULL, run bytea NOT NULL, \
     body bytea NOT NULL, sum integer NOT NULL, PRIMARY KEY (thread, number))",
];
const TABLES: &str = include_str!("tables.sql");
const FUNCTIONS: &str = include_str!("functions.sql");
/// The oldest server that has all that is used here.
const OLDEST: i32 = 12;
/// The lock of whoever makes tables, any schema; held until its transaction ends.
const LOCK: i64 = 0x7375_7065_7273_7465;

/// Makes the tables where they are missing and checks them where not; gives what a user should know of the server.
pub(super) async fn prepare(room: &Room) -> Result<Vec<String>> {
    let address = &room.address;
    let prepared = room.ask(|client: Arc<Client>| async move {
        let warnings = look_at(&client, address).await?;
        if found(&client, address).await? != Some(VERSION) {
            make(&client, address).await?;
        }
        // Holders that are long gone have left their rows.
        let swept = "DELETE FROM @schema@.holder WHERE seen + lapse < clock_timestamp() - interval '1 day'";
        client.execute_typed(&address.fill(swept), &[]).await?;
        Ok(warnings)
    });
    prepared.await.map_err(|trouble| trouble.into_error(address))
}

impl Address {
    /// A statement with the name of the schema.
    pub(super) fn fill(&self, statement: &str) -> String {
        statement.replace("@schema@", &self.schema)
    }
}

/// What the settings of the server mean for what was told.
async fn look_at(client: &Client, address: &Address) -> Answer<Vec<String>> {
    let asked = "SELECT current_setting('server_version_num')::integer / 10000, \
                 current_setting('synchronous_commit'), current_setting('fsync'), \
                 coalesce((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()), false)";
    let row = client.query_typed_one(asked, &[]).await?;
    let (version, synchronous, fsync) =
        (row.try_get::<_, i32>(0)?, row.try_get::<_, String>(1)?, row.try_get::<_, String>(2)?);
    if version < OLDEST {
        let message = format!("PostgreSQL at {address} is of version {version}");
        return Err(Error::new(Code::ConfigInvalid, message).help(format!("use version {OLDEST} or newer")).into());
    }
    let mut warnings = Vec::new();
    if synchronous == "off" {
        warnings.push(
            "`synchronous_commit` is off: when the server crashes the last supersteps may be gone, although \
                       they were told as saved"
                .to_owned(),
        );
    }
    if fsync == "off" {
        warnings.push("`fsync` is off: when the machine of the server goes down the database may be lost".to_owned());
    }
    if address.is_readable() && !row.try_get::<_, bool>(3)? {
        warnings.push(
            "the connection is not encrypted: whoever can listen between here and the server can read and \
                       change what is saved"
                .to_owned(),
        );
    }
    Ok(warnings)
}

/// The version of the tables that are there. Needs no right to make any.
async fn found(client: &Client, address: &Address) -> Answer<Option<i32>> {
    // Asked of the catalogue as of any table: what the server remembers of names may be from before the lock.
    let found = "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'version'";
    let name = address.schema.trim_matches('"');
    if client.query_typed_opt(found, &[(&name, Type::TEXT)]).await?.is_none() {
        return Ok(None);
    }
    let numbers = client.query_typed(&address.fill("SELECT number FROM @schema@.version"), &[]).await?;
    let [number] = &numbers[..] else {
        return Err(foreign(address).into());
    };
    match number.try_get::<_, i32>(0)? {
        version @ 1..=VERSION => Ok(Some(version)),
        version if version > VERSION => Err(too_new(address, version).into()),
        _ => Err(foreign(address).into()),
    }
}

/// All of it or nothing. Two that do this at once do it once: the second waits and finds it done.
async fn make(client: &Client, address: &Address) -> Answer<()> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
    match found(client, address).await? {
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

fn too_new(address: &Address, version: i32) -> Error {
    let message = format!("PostgreSQL at {address} has tables of version {version}; this program knows {VERSION}");
    Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
}

fn foreign(address: &Address) -> Error {
    Error::new(Code::ConfigInvalid, format!("PostgreSQL at {address} has tables of another program"))
        .help("name another schema with `schema`; nothing was changed in this one")
}
