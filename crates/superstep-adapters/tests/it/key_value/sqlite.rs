//! One table of an SQLite file as a store of values under keys, and of checkpoints.

use superstep::Code;
use superstep_adapters::key_value::{KeyValueStore, SqliteKeys};
use superstep_adapters::sqlite::Sqlite;

use super::{diary, folder, pages, write};
use crate::sqlite::assert_opened_at_once;

fn open() -> SqliteKeys {
    SqliteKeys::open(folder().join("keys.db")).unwrap()
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(open);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueStore::open(open()).unwrap());
}

/// R-FWK-39, S1: a new file is made by one of many that open it at once, and all of them have it.
#[test]
fn a_new_file_is_opened_by_many_at_once() {
    assert_opened_at_once(|path| SqliteKeys::open(path));
}

/// R-FWK-39: what was saved is there for the next who opens the file; a file of another kind is refused.
#[test]
fn a_file_is_opened_again() {
    let folder = folder();
    let path = folder.join("keys.db");
    write(&diary(KeyValueStore::open(SqliteKeys::open(&path).unwrap()).unwrap(), 3_000), "t", 5);
    assert_eq!(pages(&diary(KeyValueStore::open(SqliteKeys::open(&path).unwrap()).unwrap(), 3_000), "t").unwrap(), 5);
    drop(Sqlite::open(folder.join("other.db")).unwrap());
    assert_eq!(SqliteKeys::open(folder.join("other.db")).unwrap_err().code(), Code::ConfigInvalid);
    std::fs::write(folder.join("text.db"), "no database at all, but long enough to look like one").unwrap();
    assert_eq!(SqliteKeys::open(folder.join("text.db")).unwrap_err().code(), Code::CheckpointCorrupt);
    assert_eq!(SqliteKeys::open(folder.join("no/folder.db")).unwrap_err().code(), Code::StoreUnavailable);
}
