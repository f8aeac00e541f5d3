//! Checkpointers of the suite: opened empty, reopened, and measured in size.

use std::path::{Path, PathBuf};

use superstep::MemoryCheckpointer;
use superstep::core::port::{Checkpointer as _, SharedCheckpointer};
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_adapters::sqlite::SqliteCheckpointer;

use crate::runtime::Runtime;

/// Kind of checkpointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckpointerKind {
    None,
    Memory,
    Sqlite,
    Postgres,
}

impl CheckpointerKind {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::Memory, Self::Sqlite, Self::Postgres].into_iter().find(|kind| kind.name() == name)
    }

    /// Parses the name of a checkpointer; `None` for `none` and unknown names.
    pub(crate) fn parse_persistent(name: &str) -> Option<Self> {
        Self::parse(name).filter(|kind| *kind != Self::None)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Memory => "mem",
            Self::Sqlite => "sqlite",
            Self::Postgres => "pg",
        }
    }

    /// Opens an empty checkpointer.
    pub(crate) fn open(self, runtime: &Runtime) -> OpenCheckpointer {
        match self {
            Self::None => panic!("a workload without a checkpointer opens none"),
            Self::Memory => {
                let memory = MemoryCheckpointer::new();
                OpenCheckpointer { store: memory.clone().into(), location: CheckpointerLocation::Memory(memory) }
            }
            Self::Sqlite => {
                let folder = TempDir::new();
                let path = folder.0.join("checkpoints.db");
                OpenCheckpointer { store: sqlite(&path), location: CheckpointerLocation::File(path, folder) }
            }
            Self::Postgres => runtime.block_on(async {
                drop_schema().await.expect("the database of BENCH_PG_URL can be emptied");
                OpenCheckpointer { store: postgres().await, location: CheckpointerLocation::Server }
            }),
        }
    }
}

fn sqlite(path: &Path) -> SharedCheckpointer {
    SqliteCheckpointer::open(path).expect("a new file can be opened").into()
}

fn address() -> String {
    std::env::var("BENCH_PG_URL").expect("BENCH_PG_URL names an empty PostgreSQL database")
}

async fn postgres() -> SharedCheckpointer {
    PostgresCheckpointer::connect(&address()).await.expect("the server of BENCH_PG_URL responds").into()
}

/// Opens a connection of its own to the database.
async fn connect() -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(&address(), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn drop_schema() -> Result<(), tokio_postgres::Error> {
    connect().await?.batch_execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS superstep CASCADE").await
}

/// Returns the size in bytes of the tables with their indexes.
async fn table_bytes() -> Result<u64, tokio_postgres::Error> {
    let sum = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c \
               JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'superstep' AND c.relkind = 'r'";
    Ok(connect().await?.query_one(sum, &[]).await?.get::<_, i64>(0).cast_unsigned())
}

/// An open checkpointer.
pub(crate) struct OpenCheckpointer {
    // Declared first, so that it is closed before its folder is removed.
    pub(crate) store: SharedCheckpointer,
    location: CheckpointerLocation,
}

enum CheckpointerLocation {
    Memory(MemoryCheckpointer),
    File(PathBuf, TempDir),
    Server,
}

impl OpenCheckpointer {
    /// Opens the same data again, through new connections.
    pub(crate) fn reopen(&self, runtime: &Runtime) -> SharedCheckpointer {
        match &self.location {
            CheckpointerLocation::Memory(memory) => memory.clone().into(),
            CheckpointerLocation::File(path, _) => sqlite(path),
            CheckpointerLocation::Server => runtime.block_on(postgres()),
        }
    }

    /// Returns the stored bytes: the size on disk, or the size of the values in memory.
    pub(crate) fn bytes(self, runtime: &Runtime) -> u64 {
        let Self { store, location } = self;
        match location {
            CheckpointerLocation::Memory(memory) => {
                runtime.block_on(memory.stats()).expect("an in-memory checkpointer has statistics").bytes
            }
            CheckpointerLocation::File(path, _folder) => {
                // Closing merges the write-ahead log into the database.
                drop(store);
                std::fs::metadata(path).expect("the database file exists").len()
            }
            CheckpointerLocation::Server => {
                runtime.block_on(table_bytes()).expect("the server returns the size of its tables")
            }
        }
    }
}

/// A temporary folder, removed when dropped.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::var_os("BENCH_TMP").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = root.join(format!("superstep-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for databases can be written");
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
