//! The long-term store in an SQLite file: values beside checkpoints, in tables of their own.
//!
//! Shares the file, the connection that writes and those that read with the checkpoints of the same file, and none of
//! their tables. Text search goes through an FTS5 index, which knows marks of words and no words; vectors are all looked
//! at. sqlite-vec is not used: it can only be loaded by code that the compiler does not check, which this project has none of.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use superstep_core::error::Result;
use superstep_core::port::{Prepared, Store, prepare};
use superstep_core::store::{Answer as Told, Operation, Options};

mod read;
mod tables;
mod write;

use super::Sqlite;
use super::trouble::{Answer, Trouble};
use super::writer::Effect;
use crate::items::{SWEPT_AT_ONCE, Setup, only_reads};
use read::Reader;

/// Items, by namespace and key, as bytes.
type Names = Vec<(Vec<u8>, Vec<u8>)>;

/// A long-term store in an SQLite file. Clones are one and the same store.
///
/// ```
/// use superstep::store::{Search, Store};
/// use superstep_adapters::sqlite::Sqlite;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let folder = std::env::temp_dir().join(format!("superstep-memory-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("agent.db");
/// let file = Sqlite::open(&path)?; // for `graph.checkpointer(..)`
/// let store = file.store().await?; // for `graph.store(..)`
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// assert_eq!(store.search(Search::new("users").query("curry")).await?.len(), 1);
/// # drop((file, store));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    file: Sqlite,
    setup: Arc<Setup>,
}

impl Sqlite {
    /// The long-term store in the same file, made where it is missing.
    ///
    /// # Errors
    /// When the file cannot be written, or has a long-term store of a newer version.
    pub async fn store(&self) -> Result<SqliteStore> {
        self.store_with(Options::default()).await
    }

    /// As [`Sqlite::store`], with an embedder, a clock or a time to live.
    ///
    /// # Errors
    /// As [`Sqlite::store`].
    pub async fn store_with(&self, options: Options) -> Result<SqliteStore> {
        let name = self.name();
        let made = self.0.writer.perform(Effect::Durable, move |connection| tables::prepare(connection, &name));
        made.await?;
        Ok(SqliteStore { file: self.clone(), setup: Arc::new(Setup::new(options)) })
    }

    fn name(&self) -> String {
        self.0.writer.place().name()
    }
}

impl SqliteStore {
    /// Opens a file, or makes it, for a long-term store; `":memory:"` lives as long as the store.
    ///
    /// # Errors
    /// As [`Sqlite::open`] and [`Sqlite::store`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Sqlite::open(path)?.store().await
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.file.path()).finish()
    }
}

impl Store for SqliteStore {
    async fn batch(&self, operations: Vec<Operation>) -> Result<Vec<Told>> {
        let prepared = prepare(&self.setup.options, operations).await?;
        let now = self.setup.now();
        let is_read = only_reads(&prepared);
        let mut batch = Batch { prepared, setup: self.setup.clone(), place: self.file.name(), now };
        let writer = &self.file.0.writer;
        if !is_read {
            return writer.perform(Effect::Durable, move |connection| batch.write(connection)).await;
        }
        let (told, names) = self.file.ask(move |connection| batch.read(connection)).await?;
        if !names.is_empty() {
            // How long something still lasts is worth no wait for the disk.
            writer.perform(Effect::Fleeting, move |connection| write::refresh(connection, &names, now)).await?;
        }
        Ok(told)
    }

    async fn sweep(&self) -> Result<u64> {
        let now = self.setup.now();
        self.file.0.writer.perform(Effect::Durable, move |connection| write::sweep(connection, now, i64::MAX)).await
    }
}

/// Several operations, as one.
struct Batch {
    prepared: Vec<Prepared>,
    setup: Arc<Setup>,
    place: String,
    now: i64,
}

impl Batch {
    /// Gives answers, and the items that are to last anew.
    fn read(&mut self, connection: &Connection) -> Answer<(Vec<Told>, Names)> {
        let mut names = Vec::new();
        let told = self.prepared.iter().map(|prepared| self.perform(connection, prepared, &mut names));
        let told = told.collect::<Answer<_>>()?;
        Ok((told, names))
    }

    /// All or nothing: other works share the transaction and must not notice when this one is refused halfway.
    fn write(&mut self, connection: &Connection) -> Answer<Vec<Told>> {
        connection.prepare_cached("SAVEPOINT batch")?.execute([])?;
        let told = self.write_all(connection);
        if let Err(Trouble::Refused(_)) = &told {
            connection.prepare_cached("ROLLBACK TO batch")?.execute([])?;
        }
        if !matches!(&told, Err(Trouble::Database(_))) {
            connection.prepare_cached("RELEASE batch")?.execute([])?;
        }
        told
    }

    fn write_all(&mut self, connection: &Connection) -> Answer<Vec<Told>> {
        write::sweep(connection, self.now, SWEPT_AT_ONCE)?;
        let mut told = Vec::with_capacity(self.prepared.len());
        for prepared in &self.prepared {
            let mut names = Vec::new();
            told.push(self.perform(connection, prepared, &mut names)?);
            write::refresh(connection, &names, self.now)?;
        }
        Ok(told)
    }

    fn perform(&self, connection: &Connection, prepared: &Prepared, names: &mut Names) -> Answer<Told> {
        let (options, now) = (&self.setup.options, self.now);
        let reader = Reader { connection, place: &self.place, model: self.setup.model(), now };
        Ok(match &prepared.operation {
            Operation::Put(put) => {
                write::put(connection, &self.setup, (put, &prepared.vectors), now)?;
                Told::Done
            }
            Operation::Delete(delete) => Told::Deleted(write::delete(connection, delete, now)?),
            Operation::Get(get) => Told::Item(reader.get(get, options.refreshes(get.refresh).then_some(names))?),
            Operation::Search(search) => {
                let names = options.refreshes(search.refresh).then_some(names);
                Told::Hits(reader.search(search, &prepared.query, names)?)
            }
            Operation::Namespaces(list) => Told::Namespaces(reader.namespaces(list)?),
        })
    }
}
