//! The stores of the suite: opened fresh and empty, opened again by somebody new, and weighed.

use std::path::{Path, PathBuf};

use superstep::Memory;
use superstep::core::port::{Checkpointer as _, SharedCheckpointer};
use superstep_adapters::sqlite::Sqlite;

use crate::runtime::Runtime;

/// Where checkpoints go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    None,
    Memory,
    Sqlite,
}

impl Store {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::None, Self::Memory, Self::Sqlite].into_iter().find(|store| store.name() == word)
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
        }
    }

    /// An empty store.
    pub(crate) fn open(self) -> Opened {
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
        }
    }
}

fn sqlite(path: &Path) -> SharedCheckpointer {
    Sqlite::open(path).expect("a new file can be opened").into()
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
}

impl Opened {
    /// The same through new connections.
    pub(crate) fn again(&self) -> SharedCheckpointer {
        match &self.place {
            Place::Memory(memory) => memory.clone().into(),
            Place::File(path, _) => sqlite(path),
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
