//! A table of an SQLite file as a key-value store and as the storage of a checkpointer.

use superstep::ErrorCode;
use superstep_adapters::key_value::{KeyValueCheckpointer, SqliteKeyValue};
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::{diary, folder, pages, write};
use crate::sqlite::assert_opened_at_once;

fn open() -> SqliteKeyValue {
    SqliteKeyValue::open(folder().join("keys.db")).unwrap()
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(open);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueCheckpointer::open(open()).unwrap());
}

/// R-FWK-39: a new file that many callers open at once is created by one of them and works for all.
#[test]
fn a_new_file_is_opened_by_many_at_once() {
    assert_opened_at_once(|path| SqliteKeyValue::open(path));
}

/// R-FWK-39: saved data is available after the file is opened again; a file of another kind is rejected.
#[test]
fn a_file_is_opened_again() {
    let folder = folder();
    let path = folder.join("keys.db");
    write(&diary(KeyValueCheckpointer::open(SqliteKeyValue::open(&path).unwrap()).unwrap(), 3_000), "t", 5);
    assert_eq!(
        pages(&diary(KeyValueCheckpointer::open(SqliteKeyValue::open(&path).unwrap()).unwrap(), 3_000), "t").unwrap(),
        5
    );
    drop(SqliteCheckpointer::open(folder.join("other.db")).unwrap());
    assert_eq!(SqliteKeyValue::open(folder.join("other.db")).unwrap_err().code(), ErrorCode::ConfigInvalid);
    std::fs::write(folder.join("text.db"), "no database at all, but long enough to look like one").unwrap();
    assert_eq!(SqliteKeyValue::open(folder.join("text.db")).unwrap_err().code(), ErrorCode::CheckpointCorrupt);
    assert_eq!(SqliteKeyValue::open(folder.join("no/folder.db")).unwrap_err().code(), ErrorCode::StoreUnavailable);
}
