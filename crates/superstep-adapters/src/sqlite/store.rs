//! The long-term store in an SQLite file, in separate tables of the file of the checkpointer.
//!
//! Shares the file, the writer and the readers of the checkpointer, and none of its tables. Text search uses an FTS5
//! index, which contains index terms instead of words; a vector search compares all vectors. sqlite-vec is not used:
//! loading it requires `unsafe` code, which this project does not allow.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use superstep_core::error::Result;
use superstep_core::port::{PreparedOperation, Store, prepare};
use superstep_core::store::{OpResult, StoreOp, StoreOptions};

mod read;
mod schema;
mod write;

use super::SqliteCheckpointer;
use super::error::{SqliteError, SqliteResult};
use super::writer_thread::SyncMode;
use crate::store_rows::{SWEEP_BATCH, StoreSetup, is_read_only};
use read::ItemReader;

/// Namespaces and keys of items, as bytes.
type ItemNames = Vec<(Vec<u8>, Vec<u8>)>;

/// A long-term store in an SQLite file. Clones share one store.
///
/// ```
/// use superstep::store::{SearchOp, Store};
/// use superstep_adapters::sqlite::SqliteCheckpointer;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let folder = std::env::temp_dir().join(format!("superstep-memory-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("agent.db");
/// let file = SqliteCheckpointer::open(&path)?; // for `graph.checkpointer(..)`
/// let store = file.store().await?; // for `graph.store(..)`
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// assert_eq!(store.search(SearchOp::new("users").query("curry")).await?.len(), 1);
/// # drop((file, store));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    file: SqliteCheckpointer,
    setup: Arc<StoreSetup>,
}

impl SqliteCheckpointer {
    /// Opens the long-term store in the same file and creates its tables if they do not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or contains a long-term store of a newer version.
    pub async fn store(&self) -> Result<SqliteStore> {
        self.store_with(StoreOptions::default()).await
    }

    /// Opens the store like [`SqliteCheckpointer::store`], with an embedder, a clock or a time to live.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteCheckpointer::store`].
    pub async fn store_with(&self, options: StoreOptions) -> Result<SqliteStore> {
        let name = self.name();
        let prepared = self.0.writer.perform(SyncMode::Sync, move |connection| schema::prepare(connection, &name));
        prepared.await?;
        Ok(SqliteStore { file: self.clone(), setup: Arc::new(StoreSetup::new(options)) })
    }

    fn name(&self) -> String {
        self.0.writer.database().name()
    }
}

impl SqliteStore {
    /// Opens a file for a long-term store and creates it if it does not exist; `":memory:"` exists as long as the
    /// store.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteCheckpointer::open`] and [`SqliteCheckpointer::store`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        SqliteCheckpointer::open(path)?.store().await
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.file.path()).finish()
    }
}

impl Store for SqliteStore {
    async fn batch(&self, operations: Vec<StoreOp>) -> Result<Vec<OpResult>> {
        let prepared = prepare(&self.setup.options, operations).await?;
        let now = self.setup.now();
        let is_read = is_read_only(&prepared);
        let mut batch = Batch { prepared, setup: self.setup.clone(), database: self.file.name(), now };
        let writer = &self.file.0.writer;
        if !is_read {
            return writer.perform(SyncMode::Sync, move |connection| batch.write(connection)).await;
        }
        let (results, names) = self.file.read(move |connection| batch.read(connection)).await?;
        if !names.is_empty() {
            // A renewed time to live need not be synced to disk.
            writer.perform(SyncMode::NoSync, move |connection| write::refresh(connection, &names, now)).await?;
        }
        Ok(results)
    }

    async fn sweep_ttl(&self) -> Result<u64> {
        let now = self.setup.now();
        self.file.0.writer.perform(SyncMode::Sync, move |connection| write::sweep(connection, now, i64::MAX)).await
    }
}

/// A batch of operations that is executed atomically.
struct Batch {
    prepared: Vec<PreparedOperation>,
    setup: Arc<StoreSetup>,
    database: String,
    now: i64,
}

impl Batch {
    /// Returns the results, and the items whose time to live has to be renewed.
    fn read(&mut self, connection: &Connection) -> SqliteResult<(Vec<OpResult>, ItemNames)> {
        let mut names = Vec::new();
        let results = self.prepared.iter().map(|prepared| self.perform(connection, prepared, &mut names));
        let results = results.collect::<SqliteResult<_>>()?;
        Ok((results, names))
    }

    /// Writes all or nothing, with a savepoint: other jobs share the transaction and must not be affected by a
    /// rejected batch.
    fn write(&mut self, connection: &Connection) -> SqliteResult<Vec<OpResult>> {
        connection.prepare_cached("SAVEPOINT batch")?.execute([])?;
        let results = self.write_all(connection);
        if let Err(SqliteError::Rejected(_)) = &results {
            connection.prepare_cached("ROLLBACK TO batch")?.execute([])?;
        }
        if !matches!(&results, Err(SqliteError::Database(_))) {
            connection.prepare_cached("RELEASE batch")?.execute([])?;
        }
        results
    }

    fn write_all(&mut self, connection: &Connection) -> SqliteResult<Vec<OpResult>> {
        write::sweep(connection, self.now, SWEEP_BATCH)?;
        let mut results = Vec::with_capacity(self.prepared.len());
        for prepared in &self.prepared {
            let mut names = Vec::new();
            results.push(self.perform(connection, prepared, &mut names)?);
            write::refresh(connection, &names, self.now)?;
        }
        Ok(results)
    }

    fn perform(
        &self,
        connection: &Connection,
        prepared: &PreparedOperation,
        names: &mut ItemNames,
    ) -> SqliteResult<OpResult> {
        let (options, now) = (&self.setup.options, self.now);
        let reader = ItemReader { connection, database: &self.database, model: self.setup.model(), now };
        Ok(match &prepared.operation {
            StoreOp::Put(put) => {
                write::put(connection, &self.setup, (put, &prepared.vectors), now)?;
                OpResult::Done
            }
            StoreOp::Delete(delete) => OpResult::Deleted(write::delete(connection, delete, now)?),
            StoreOp::Get(get) => {
                OpResult::Item(reader.get(get, options.should_refresh(get.refresh_ttl).then_some(names))?)
            }
            StoreOp::Search(search) => {
                let names = options.should_refresh(search.refresh_ttl).then_some(names);
                OpResult::Hits(reader.search(search, &prepared.query, names)?)
            }
            StoreOp::Namespaces(list) => OpResult::Namespaces(reader.namespaces(list)?),
        })
    }
}
