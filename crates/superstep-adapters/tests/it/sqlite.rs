//! Tests of the checkpointer in an SQLite file.

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use superstep_adapters::sqlite::SqliteCheckpointer;
use superstep_core::error::Result;

mod compression;
mod corruption;
mod disk_usage;
mod fixtures;
mod multi_process;
mod open;
mod store;

/// Returns an empty folder for this test; data of an earlier run is removed.
pub(crate) fn folder() -> PathBuf {
    let name = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Checks that each of many new files can be opened by several callers at once.
pub(crate) fn assert_opened_at_once<T>(open: impl Fn(&Path) -> Result<T> + Sync) {
    let folder = folder();
    for number in 0..50 {
        let (path, start) = (folder.join(format!("new-{number}.db")), Barrier::new(4));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let opened = open(&path);
                    assert!(opened.is_ok(), "{:?}", opened.err());
                });
            }
        });
    }
}

mod in_a_file {
    use super::*;

    superstep_core::checkpointer_conformance!(|| SqliteCheckpointer::open(folder().join("checkpoints.db")).unwrap());
}

mod in_memory {
    use super::*;

    superstep_core::checkpointer_conformance!(|| SqliteCheckpointer::open(":memory:").unwrap());
}
