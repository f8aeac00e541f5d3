//! Changes of items inside a write transaction.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::store::{DeleteOp, PutOp, is_expired, to_bytes};

use super::super::error::SqliteResult;
use crate::store_rows::{StoreSetup, index_terms, write_index};

/// Puts a value with its index terms and vectors.
pub(super) fn put(
    connection: &Connection,
    setup: &StoreSetup,
    (put, vectors): (&PutOp, &[Vec<f32>]),
    now: i64,
) -> SqliteResult<()> {
    let ttl = setup.options.ttl_micros(put);
    let expires = ttl.map(|ttl| now.saturating_add(ttl));
    let upsert = "INSERT INTO memory (space, key, value, paths, created, updated, expires, lasts) \
                VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7) ON CONFLICT (space, key) DO UPDATE SET \
                value = excluded.value, paths = excluded.paths, updated = excluded.updated, expires = excluded.expires, \
                lasts = excluded.lasts, created = CASE WHEN memory.expires <= excluded.updated THEN excluded.created \
                ELSE memory.created END RETURNING id";
    let (space, value, paths) = (put.namespace.to_bytes(), put.value.to_string().into_bytes(), write_index(&put.index));
    let values = params![space, put.key.as_bytes(), value, paths, now, expires, ttl];
    let id: i64 = connection.prepare_cached(upsert)?.query_row(values, |row| row.get(0))?;
    delete_index_rows(connection, id)?;
    let terms = index_terms(put);
    if !terms.is_empty() {
        let insert_terms = "INSERT INTO memory_word (rowid, marks) VALUES (?1, ?2)";
        connection.prepare_cached(insert_terms)?.execute(params![id, terms.join(" ")])?;
    }
    for vector in vectors {
        let insert_vector = "INSERT INTO memory_vector (item, model, floats) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(insert_vector)?.execute(params![id, setup.model(), to_bytes(vector)])?;
    }
    Ok(())
}

/// Removes the index terms and vectors of an item.
fn delete_index_rows(connection: &Connection, id: i64) -> SqliteResult<()> {
    connection.prepare_cached("DELETE FROM memory_word WHERE rowid = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM memory_vector WHERE item = ?1")?.execute([id])?;
    Ok(())
}

/// Deletes an item; returns true if an unexpired item existed.
pub(super) fn delete(connection: &Connection, delete: &DeleteOp, now: i64) -> SqliteResult<bool> {
    let sql = "DELETE FROM memory WHERE space = ?1 AND key = ?2 RETURNING id, expires";
    let name = params![delete.namespace.to_bytes(), delete.key.as_bytes()];
    let mut statement = connection.prepare_cached(sql)?;
    let deleted: Option<(i64, Option<i64>)> =
        statement.query_row(name, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((id, expires)) = deleted else { return Ok(false) };
    delete_index_rows(connection, id)?;
    Ok(!is_expired(expires, now))
}

/// Renews the time to live of items.
pub(super) fn refresh(connection: &Connection, names: &[(Vec<u8>, Vec<u8>)], now: i64) -> SqliteResult<()> {
    let renew = "UPDATE memory SET expires = ?3 + lasts WHERE space = ?1 AND key = ?2 AND expires > ?3";
    let mut statement = connection.prepare_cached(renew)?;
    for (space, key) in names {
        statement.execute(params![space, key, now])?;
    }
    Ok(())
}

/// Deletes at most `limit` expired items.
pub(super) fn sweep(connection: &Connection, now: i64, limit: i64) -> SqliteResult<u64> {
    let sql = "DELETE FROM memory WHERE id IN (SELECT id FROM memory WHERE expires <= ?1 LIMIT ?2) RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let ids: Vec<i64> = statement.query_map([now, limit], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    ids.iter().try_for_each(|id| delete_index_rows(connection, *id))?;
    Ok(ids.len() as u64)
}
