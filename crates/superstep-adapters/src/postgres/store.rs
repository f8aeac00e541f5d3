//! The long-term store in PostgreSQL, in separate tables of the schema of the checkpointer, for many processes.
//!
//! Shares the connections of the checkpointer of the same schema and none of its tables. Text search uses a
//! `tsvector` with a GIN index, which contains index terms instead of words. With pgvector the server sorts vectors
//! by distance; without it all vectors are transferred and sorted here, and `warnings` reports that.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{PreparedOperation, Store, prepare};
use superstep_core::store::{OpResult, StoreOp, StoreOptions};
use tokio_postgres::Client;

mod index_filter;
mod read;
mod schema;
mod write;

use super::PostgresCheckpointer;
use super::error::{PgError, PgResult};
use super::pool::ConnectionPool;
use crate::store_rows::{SWEEP_BATCH, StoreSetup, is_read_only};
use read::ItemReader;
use write::ItemWriter;

/// Namespaces and keys of items, as bytes.
type ItemNames = (Vec<Vec<u8>>, Vec<Vec<u8>>);

/// Maximum dimension of a vector that pgvector compares.
const MAX_VECTOR_DIMENSIONS: usize = 16_000;

/// A long-term store in a PostgreSQL database. Clones share one store.
///
/// ```no_run
/// use superstep::store::{SearchOp, Store};
/// use superstep_adapters::postgres::PostgresCheckpointer;
/// # async fn remember() -> superstep::Result<()> {
/// // For `graph.checkpointer(..)`.
/// let server = PostgresCheckpointer::connect("postgres://me:secret@localhost/work").await?;
/// // For `graph.store(..)`.
/// let store = server.store().await?;
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// assert_eq!(store.search(SearchOp::new("users").query("curry")).await?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    server: PostgresCheckpointer,
    inner: Arc<Inner>,
}

struct Inner {
    setup: StoreSetup,
    /// Schema of pgvector, if it is installed and there are vectors.
    extension: Option<String>,
    warnings: Vec<String>,
}

impl PostgresCheckpointer {
    /// Opens the long-term store in the same schema and creates its tables if they do not exist.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, if the user may not create tables, or if the tables belong
    /// to a newer version.
    pub async fn store(&self) -> Result<PostgresStore> {
        self.store_with(StoreOptions::default()).await
    }

    /// Opens the store like [`PostgresCheckpointer::store`], with an embedder, a clock or a time to live. With an
    /// embedder, the extension `vector` is created if the server has it and the user has permission.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresCheckpointer::store`].
    pub async fn store_with(&self, options: StoreOptions) -> Result<PostgresStore> {
        let pool = self.pool();
        schema::prepare(pool).await?;
        let mut warnings = self.warnings().to_vec();
        let dimension = options.embedder.as_ref().map(|embedder| embedder.dimension());
        let extension = match dimension {
            None => None,
            Some(dimension) if dimension > MAX_VECTOR_DIMENSIONS => {
                warnings.push(format!(
                    "vectors have more than {MAX_VECTOR_DIMENSIONS} dimensions: pgvector cannot compare them, and a \
                     vector search reads all vectors under its namespace"
                ));
                None
            }
            Some(_) => schema::find_extension(pool).await?.or_else(|| {
                let message = "the extension `vector` is missing: a vector search reads all vectors under its \
                               namespace; install it, run `CREATE EXTENSION vector`, and connect again";
                warnings.push(message.to_owned());
                None
            }),
        };
        let inner = Inner { setup: StoreSetup::new(options), extension, warnings };
        Ok(PostgresStore { server: self.clone(), inner: Arc::new(inner) })
    }
}

impl PostgresStore {
    /// Returns a warning for each server setting that weakens the guarantees of the store or makes it slow, as read
    /// when connecting; empty if there is none.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    fn pool(&self) -> &ConnectionPool {
        self.server.pool()
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresStore").field(&format_args!("{}", self.pool().address)).finish()
    }
}

impl Store for PostgresStore {
    async fn batch(&self, operations: Vec<StoreOp>) -> Result<Vec<OpResult>> {
        let setup = &self.inner.setup;
        let prepared = prepare(&setup.options, operations).await?;
        let batch = &Batch { prepared, inner: &self.inner, pool: self.pool(), now: setup.now() };
        if !is_read_only(&batch.prepared) {
            let written =
                self.pool().with_connection(|client| async move { transact(&client, batch.write(&client)).await });
            return written.await.map_err(|error| error.into_error(&self.pool().address));
        }
        // Several statements see one snapshot only inside a transaction.
        let reading = self.pool().read(|client, in_transaction| async move {
            if in_transaction { batch.read(&client).await } else { Err(PgError::InconsistentRead) }
        });
        let (results, names) = reading.await?;
        if !names.0.is_empty() {
            let names = &names;
            let refreshed =
                self.pool().with_connection(|client| async move { batch.writer(&client).refresh(names).await });
            refreshed.await.map_err(|error| error.into_error(&self.pool().address))?;
        }
        Ok(results)
    }

    async fn sweep_ttl(&self) -> Result<u64> {
        let (prepared, pool, now) = (Vec::new(), self.pool(), self.inner.setup.now());
        let batch = &Batch { prepared, inner: &self.inner, pool, now };
        let swept = pool.with_connection(|client| async move { batch.writer(&client).sweep(None).await });
        swept.await.map_err(|error| error.into_error(&pool.address))
    }
}

/// Runs `work` in a transaction. A failed connection is not reused, and the server rolls back its changes.
async fn transact<T>(client: &Client, work: impl Future<Output = PgResult<T>>) -> PgResult<T> {
    client.batch_execute("BEGIN").await?;
    let done = work.await;
    match &done {
        // The commit must not be retried: another client may have put a newer value since.
        Ok(_) => client.batch_execute("COMMIT").await.map_err(|error| match error.code() {
            Some(_) => PgError::Database(error),
            None => PgError::Timeout(outcome_unknown_error(&error)),
        })?,
        Err(PgError::Rejected(_)) => client.batch_execute("ROLLBACK").await?,
        Err(_) => {}
    }
    done
}

fn outcome_unknown_error(error: &tokio_postgres::Error) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the response of PostgreSQL was lost: {error}"))
        .with_help("the changes may or may not be saved; read the items, and repeat the changes that are missing")
}

/// A batch of operations that is executed atomically.
struct Batch<'a> {
    prepared: Vec<PreparedOperation>,
    inner: &'a Inner,
    pool: &'a ConnectionPool,
    now: i64,
}

impl Batch<'_> {
    fn writer<'b>(&'b self, client: &'b Client) -> ItemWriter<'b> {
        ItemWriter { client, address: &self.pool.address, setup: &self.inner.setup, now: self.now }
    }

    /// Returns the results, and the items whose time to live has to be renewed.
    async fn read(&self, client: &Client) -> PgResult<(Vec<OpResult>, ItemNames)> {
        let (mut results, mut names) = (Vec::with_capacity(self.prepared.len()), ItemNames::default());
        for prepared in &self.prepared {
            results.push(self.perform(client, prepared, &mut names).await?);
        }
        Ok((results, names))
    }

    async fn write(&self, client: &Client) -> PgResult<Vec<OpResult>> {
        self.writer(client).sweep(Some(SWEEP_BATCH)).await?;
        let mut results = Vec::with_capacity(self.prepared.len());
        for prepared in &self.prepared {
            let mut names = ItemNames::default();
            results.push(self.perform(client, prepared, &mut names).await?);
            self.writer(client).refresh(&names).await?;
        }
        Ok(results)
    }

    async fn perform(
        &self,
        client: &Client,
        prepared: &PreparedOperation,
        names: &mut ItemNames,
    ) -> PgResult<OpResult> {
        let Inner { setup, extension, .. } = self.inner;
        let (address, extension) = (&self.pool.address, extension.as_deref());
        let reader = ItemReader { client, address, model: setup.model(), extension, now: self.now };
        Ok(match &prepared.operation {
            StoreOp::Put(put) => {
                self.writer(client).put(put, &prepared.vectors).await?;
                OpResult::Done
            }
            StoreOp::Delete(delete) => OpResult::Deleted(self.writer(client).delete(delete).await?),
            StoreOp::Get(get) => {
                OpResult::Item(reader.get(get, setup.options.should_refresh(get.refresh_ttl).then_some(names)).await?)
            }
            StoreOp::Search(search) => {
                let names = setup.options.should_refresh(search.refresh_ttl).then_some(names);
                OpResult::Hits(reader.search(search, &prepared.query, names).await?)
            }
            StoreOp::Namespaces(list) => OpResult::Namespaces(reader.namespaces(list).await?),
        })
    }
}
