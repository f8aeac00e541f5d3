//! The stores of the suite: opened fresh and empty, opened again by somebody new, and weighed.

use std::path::{Path, PathBuf};

use superstep::Memory;
use superstep::core::port::{Checkpointer as _, SharedCheckpointer};
use superstep_adapters::postgres::Postgres;
use superstep_adapters::sqlite::Sqlite;

use crate::runtime::Runtime;

/// Where checkpoints go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    None,
    Memory,
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::None, Self::Memory, Self::Sqlite, Self::Postgres].into_iter().find(|store| store.name() == word)
    }

    /// A store that keeps something.
    pub(crate) fn kept(word: &str) -> Option<Self> {
        Self::parse(word).filter(|store| *store != Self::None)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Memory => "mem",
            Self::Sqlite => "sqlite",
            Self::Postgres => "pg",
        }
    }

    /// An empty store.
    pub(crate) fn open(self, runtime: &Runtime) -> Opened {
        match self {
            Self::None => panic!("a workload without a store opens none"),
            Self::Memory => {
                let memory = Memory::new();
                Opened { store: memory.clone().into(), place: Place::Memory(memory) }
            }
            Self::Sqlite => {
                let folder = Folder::new();
                let path = folder.0.join("checkpoints.db");
                Opened { store: sqlite(&path), place: Place::File(path, folder) }
            }
            Self::Postgres => runtime.block_on(async {
                empty().await.expect("the database of BENCH_PG_URL can be emptied");
                Opened { store: postgres().await, place: Place::Server }
            }),
        }
    }
}

fn sqlite(path: &Path) -> SharedCheckpointer {
    Sqlite::open(path).expect("a new file can be opened").into()
}

fn address() -> String {
    std::env::var("BENCH_PG_URL").expect("BENCH_PG_URL names an empty PostgreSQL database")
}

async fn postgres() -> SharedCheckpointer {
    Postgres::connect(&address()).await.expect("the server of BENCH_PG_URL answers").into()
}

/// A connection beside the store.
async fn connect() -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(&address(), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn empty() -> Result<(), tokio_postgres::Error> {
    connect().await?.batch_execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS superstep CASCADE").await
}

/// What the tables take, with their indexes.
async fn size() -> Result<u64, tokio_postgres::Error> {
    let sum = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c \
               JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'superstep' AND c.relkind = 'r'";
    Ok(connect().await?.query_one(sum, &[]).await?.get::<_, i64>(0).cast_unsigned())
}

/// A store that is open.
pub(crate) struct Opened {
    // Closed before its folder goes.
    pub(crate) store: SharedCheckpointer,
    place: Place,
}

enum Place {
    Memory(Memory),
    File(PathBuf, Folder),
    Server,
}

impl Opened {
    /// The same through new connections.
    pub(crate) fn again(&self, runtime: &Runtime) -> SharedCheckpointer {
        match &self.place {
            Place::Memory(memory) => memory.clone().into(),
            Place::File(path, _) => sqlite(path),
            Place::Server => runtime.block_on(postgres()),
        }
    }

    /// How much it holds: what it takes on the disk, in memory the bytes of values.
    pub(crate) fn bytes(self, runtime: &Runtime) -> u64 {
        let Self { store, place } = self;
        match place {
            Place::Memory(memory) => {
                runtime.block_on(memory.stats()).expect("a store in memory knows what it holds").bytes
            }
            Place::File(path, _folder) => {
                // Closing folds the log file into the database.
                drop(store);
                std::fs::metadata(path).expect("the file is there").len()
            }
            Place::Server => runtime.block_on(size()).expect("the server tells the size of tables"),
        }
    }
}

/// A folder that goes with its store.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::var_os("BENCH_TMP").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = root.join(format!("superstep-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for databases can be written");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
