//! The long-term store in PostgreSQL: values beside checkpoints, in tables of their own, for many processes.
//!
//! Shares the connections of the checkpoints of the same schema, and none of their tables. Text search goes through a
//! `tsvector` with a GIN index, which knows marks of words and no words. With pgvector the server puts vectors in order;
//! without it they all come here, and `warnings` says so.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{Prepared, Store, prepare};
use superstep_core::store::{Answer as Told, Operation, Options};
use tokio_postgres::Client;

mod narrow;
mod read;
mod tables;
mod write;

use super::Postgres;
use super::room::Room;
use super::trouble::{Answer, Trouble};
use crate::items::{SWEPT_AT_ONCE, Setup, only_reads};
use read::Reader;
use write::Writer;

/// Items, by namespace and by key, as bytes.
type Names = (Vec<Vec<u8>>, Vec<Vec<u8>>);

/// The longest vector that pgvector compares.
const LONGEST_VECTOR: usize = 16_000;

/// A long-term store in a PostgreSQL database. Clones are one and the same store.
///
/// ```no_run
/// use superstep::store::{Search, Store};
/// use superstep_adapters::postgres::Postgres;
/// # async fn remember() -> superstep::Result<()> {
/// let server = Postgres::connect("postgres://me:secret@localhost/work").await?; // for `graph.checkpointer(..)`
/// let store = server.store().await?; // for `graph.store(..)`
/// store.put(["users", "mia"], "food", "likes green curry").await?;
/// assert_eq!(store.search(Search::new("users").query("curry")).await?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    server: Postgres,
    inner: Arc<Inner>,
}

struct Inner {
    setup: Setup,
    /// The schema of pgvector, where the server has it and there are vectors.
    extension: Option<String>,
    warnings: Vec<String>,
}

impl Postgres {
    /// The long-term store in the same schema, made where it is missing.
    ///
    /// # Errors
    /// When the server cannot be reached or does not let the user make tables, and when there is a long-term store of a
    /// newer version.
    pub async fn store(&self) -> Result<PostgresStore> {
        self.store_with(Options::default()).await
    }

    /// As [`Postgres::store`], with an embedder, a clock or a time to live. With an embedder the extension `vector` is
    /// made where the server has it and the user may.
    ///
    /// # Errors
    /// As [`Postgres::store`].
    pub async fn store_with(&self, options: Options) -> Result<PostgresStore> {
        let room = self.room();
        tables::prepare(room).await?;
        let mut warnings = self.warnings().to_vec();
        let dimension = options.embedder.as_ref().map(|embedder| embedder.dimension());
        let extension = match dimension {
            None => None,
            Some(dimension) if dimension > LONGEST_VECTOR => {
                warnings.push(format!(
                    "vectors have more than {LONGEST_VECTOR} numbers: pgvector cannot compare them, and a search by vector \
                     reads all that are under its namespace"
                ));
                None
            }
            Some(_) => tables::find_extension(room).await?.or_else(|| {
                let message = "the extension `vector` is not there: a search by vector reads all vectors under its \
                               namespace; have it installed and made with `CREATE EXTENSION vector`, and connect anew";
                warnings.push(message.to_owned());
                None
            }),
        };
        let inner = Inner { setup: Setup::new(options), extension, warnings };
        Ok(PostgresStore { server: self.clone(), inner: Arc::new(inner) })
    }
}

impl PostgresStore {
    /// What the server takes away from the promises of this store or makes slow, as it was when it was connected to; empty
    /// when that is nothing.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    fn room(&self) -> &Room {
        self.server.room()
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresStore").field(&format_args!("{}", self.room().address)).finish()
    }
}

impl Store for PostgresStore {
    async fn batch(&self, operations: Vec<Operation>) -> Result<Vec<Told>> {
        let setup = &self.inner.setup;
        let prepared = prepare(&setup.options, operations).await?;
        let batch = &Batch { prepared, inner: &self.inner, room: self.room(), now: setup.now() };
        if !only_reads(&batch.prepared) {
            let written = self.room().ask(|client| async move { transact(&client, batch.write(&client)).await });
            return written.await.map_err(|trouble| trouble.into_error(&self.room().address));
        }
        // Several statements see one moment only inside a transaction.
        let asking = self.room().read(|client, is_within| async move {
            if is_within { batch.read(&client).await } else { Err(Trouble::Torn) }
        });
        let (told, names) = asking.await?;
        if !names.0.is_empty() {
            let names = &names;
            let anew = self.room().ask(|client| async move { batch.writer(&client).refresh(names).await });
            anew.await.map_err(|trouble| trouble.into_error(&self.room().address))?;
        }
        Ok(told)
    }

    async fn sweep(&self) -> Result<u64> {
        let (prepared, room, now) = (Vec::new(), self.room(), self.inner.setup.now());
        let batch = &Batch { prepared, inner: &self.inner, room, now };
        let swept = room.ask(|client| async move { batch.writer(&client).sweep(None).await });
        swept.await.map_err(|trouble| trouble.into_error(&room.address))
    }
}

/// All of it or nothing. A connection that failed is not given back, and the server takes back what was done on it.
async fn transact<T>(client: &Client, work: impl Future<Output = Answer<T>>) -> Answer<T> {
    client.batch_execute("BEGIN").await?;
    let done = work.await;
    match &done {
        // Somebody may have put another value since: what may be there is not put once more.
        Ok(_) => client.batch_execute("COMMIT").await.map_err(|error| match error.code() {
            Some(_) => Trouble::Database(error),
            None => Trouble::Silent(unheard(&error)),
        })?,
        Err(Trouble::Refused(_)) => client.batch_execute("ROLLBACK").await?,
        Err(_) => {}
    }
    done
}

fn unheard(error: &tokio_postgres::Error) -> Error {
    Error::new(Code::StoreUnavailable, format!("the answer of PostgreSQL was lost: {error}"))
        .help("what was put or deleted may or may not be saved; look, and do it again where it is not")
}

/// Several operations, as one.
struct Batch<'a> {
    prepared: Vec<Prepared>,
    inner: &'a Inner,
    room: &'a Room,
    now: i64,
}

impl Batch<'_> {
    fn writer<'b>(&'b self, client: &'b Client) -> Writer<'b> {
        Writer { client, address: &self.room.address, setup: &self.inner.setup, now: self.now }
    }

    /// Gives answers, and the items that are to last anew.
    async fn read(&self, client: &Client) -> Answer<(Vec<Told>, Names)> {
        let (mut told, mut names) = (Vec::with_capacity(self.prepared.len()), Names::default());
        for prepared in &self.prepared {
            told.push(self.perform(client, prepared, &mut names).await?);
        }
        Ok((told, names))
    }

    async fn write(&self, client: &Client) -> Answer<Vec<Told>> {
        self.writer(client).sweep(Some(SWEPT_AT_ONCE)).await?;
        let mut told = Vec::with_capacity(self.prepared.len());
        for prepared in &self.prepared {
            let mut names = Names::default();
            told.push(self.perform(client, prepared, &mut names).await?);
            self.writer(client).refresh(&names).await?;
        }
        Ok(told)
    }

    async fn perform(&self, client: &Client, prepared: &Prepared, names: &mut Names) -> Answer<Told> {
        let Inner { setup, extension, .. } = self.inner;
        let (address, extension) = (&self.room.address, extension.as_deref());
        let reader = Reader { client, address, model: setup.model(), extension, now: self.now };
        Ok(match &prepared.operation {
            Operation::Put(put) => {
                self.writer(client).put(put, &prepared.vectors).await?;
                Told::Done
            }
            Operation::Delete(delete) => Told::Deleted(self.writer(client).delete(delete).await?),
            Operation::Get(get) => {
                Told::Item(reader.get(get, setup.options.refreshes(get.refresh).then_some(names)).await?)
            }
            Operation::Search(search) => {
                let names = setup.options.refreshes(search.refresh).then_some(names);
                Told::Hits(reader.search(search, &prepared.query, names).await?)
            }
            Operation::Namespaces(list) => Told::Namespaces(reader.namespaces(list).await?),
        })
    }
}
