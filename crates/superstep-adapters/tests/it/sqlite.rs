//! Checkpoints in an SQLite file.

use std::path::PathBuf;

use superstep_adapters::sqlite::Sqlite;

mod damage;
mod growth;
mod opening;
mod sharing;
mod squeezed;
mod store;
mod writing;

/// An empty folder of this test; what an earlier run of it left there goes.
pub(crate) fn folder() -> PathBuf {
    let name = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

mod in_a_file {
    use super::*;

    superstep_core::checkpointer_conformance!(|| Sqlite::open(folder().join("checkpoints.db")).unwrap());
}

mod in_memory {
    use super::*;

    superstep_core::checkpointer_conformance!(|| Sqlite::open(":memory:").unwrap());
}
