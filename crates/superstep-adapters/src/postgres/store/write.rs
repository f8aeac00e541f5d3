//! Changes of items inside a write transaction.

use superstep_core::store::{DeleteOp, PutOp, is_expired};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::config::PgConfig;
use super::super::error::PgResult;
use super::{ItemNames, index_filter};
use crate::store_rows::{StoreSetup, index_terms, write_index};

/// A writer on one connection at one time.
pub(super) struct ItemWriter<'a> {
    pub(super) client: &'a Client,
    pub(super) address: &'a PgConfig,
    pub(super) setup: &'a StoreSetup,
    pub(super) now: i64,
}

impl ItemWriter<'_> {
    /// Puts a value with its index terms and vectors.
    pub(super) async fn put(&self, put: &PutOp, vectors: &[Vec<f32>]) -> PgResult<()> {
        let ttl = self.setup.options.ttl_micros(put);
        let expires = ttl.map(|ttl| self.now.saturating_add(ttl));
        let written = put.value.to_string();
        let (space, key, value) = (put.namespace.to_bytes(), put.key.as_bytes(), written.as_bytes());
        let (doc, paths) = (index_filter::doc(put, &written), write_index(&put.index));
        let terms = paths.as_ref().and_then(|_| index_filter::tsvector_terms(index_terms(put)));
        let statement = self.address.fill(
            "INSERT INTO @schema@.memory AS kept (space, key, value, doc, paths, marks, created, updated, expires, lasts) \
             VALUES ($1, $2, $3, $4::jsonb, $5, array_to_tsvector($6), $7, $7, $8, $9) \
             ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, doc = excluded.doc, paths = excluded.paths, \
             marks = excluded.marks, updated = excluded.updated, expires = excluded.expires, lasts = excluded.lasts, \
             created = CASE WHEN kept.expires <= excluded.updated THEN excluded.created ELSE kept.created END \
             RETURNING id, xmax = 0",
        );
        let arguments = [
            (&space as _, Type::BYTEA),
            (&key as _, Type::BYTEA),
            (&value as _, Type::BYTEA),
            (&doc as _, Type::TEXT),
            (&paths as _, Type::TEXT),
            (&terms as _, Type::TEXT_ARRAY),
            (&self.now as _, Type::INT8),
            (&expires as _, Type::INT8),
            (&ttl as _, Type::INT8),
        ];
        let row = self.client.query_typed_one(&statement, &arguments).await?;
        let (id, is_new): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
        self.put_vectors(id, is_new, vectors).await
    }

    async fn put_vectors(&self, id: i64, is_new: bool, vectors: &[Vec<f32>]) -> PgResult<()> {
        if !is_new {
            let delete = self.address.fill("DELETE FROM @schema@.memory_vector WHERE item = $1");
            self.client.execute_typed(&delete, &[(&id, Type::INT8)]).await?;
        }
        let insert = self.address.fill("INSERT INTO @schema@.memory_vector (item, model, floats) VALUES ($1, $2, $3)");
        let model = self.setup.model().as_bytes();
        for floats in vectors {
            let arguments = [(&id as _, Type::INT8), (&model as _, Type::BYTEA), (floats as _, Type::FLOAT4_ARRAY)];
            self.client.execute_typed(&insert, &arguments).await?;
        }
        Ok(())
    }

    /// Deletes an item; returns true if an unexpired item existed.
    pub(super) async fn delete(&self, delete: &DeleteOp) -> PgResult<bool> {
        let statement =
            self.address.fill("DELETE FROM @schema@.memory WHERE space = $1 AND key = $2 RETURNING expires");
        let (space, key) = (delete.namespace.to_bytes(), delete.key.as_bytes());
        let row = self.client.query_typed_opt(&statement, &[(&space, Type::BYTEA), (&key, Type::BYTEA)]).await?;
        Ok(match row {
            Some(row) => !is_expired(row.try_get(0)?, self.now),
            None => false,
        })
    }

    /// Renews the time to live of items.
    pub(super) async fn refresh(&self, (spaces, keys): &ItemNames) -> PgResult<()> {
        if spaces.is_empty() {
            return Ok(());
        }
        // Rows are locked in a fixed order to prevent deadlocks.
        let renew = self.address.fill(
            "UPDATE @schema@.memory SET expires = $3 + lasts WHERE id IN (SELECT id FROM @schema@.memory m \
             JOIN unnest($1::bytea[], $2::bytea[]) AS named (space, key) ON m.space = named.space AND m.key = named.key \
             WHERE m.expires > $3 ORDER BY id FOR UPDATE OF m)",
        );
        let arguments =
            [(spaces as _, Type::BYTEA_ARRAY), (keys as _, Type::BYTEA_ARRAY), (&self.now as _, Type::INT8)];
        self.client.execute_typed(&renew, &arguments).await?;
        Ok(())
    }

    /// Deletes at most `limit` expired items and skips those locked by other transactions.
    pub(super) async fn sweep(&self, limit: Option<i64>) -> PgResult<u64> {
        let statement = self.address.fill(
            "DELETE FROM @schema@.memory WHERE id IN (SELECT id FROM @schema@.memory WHERE expires <= $1 \
             ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)",
        );
        Ok(self.client.execute_typed(&statement, &[(&self.now, Type::INT8), (&limit, Type::INT8)]).await?)
    }
}
