//! Tests of files that cannot be opened or are rejected.

use superstep::core::error::ErrorCode;
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::fixtures::{Diary, diary, pages, write};
use super::folder;

/// R-FWK-47: a file of a newer version is rejected with a clear error and not changed.
#[test]
fn a_newer_file_is_rejected() {
    let path = folder().join("newer.db");
    drop(SqliteCheckpointer::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let error = SqliteCheckpointer::open(&path).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
    assert!(
        error.message().ends_with("has tables of version 99, which is newer than the supported version 3"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// A file of another program is rejected and not changed.
#[test]
fn a_file_of_another_program_is_rejected() {
    let path = folder().join("other.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE invoice (id INTEGER)").unwrap();
    drop(connection);
    let error = SqliteCheckpointer::open(&path).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

/// The error for a file that is no database, a missing folder and a folder without write access names the
/// cause.
#[test]
fn open_errors_name_their_cause() {
    // The path as in errors, even if the build folder is a link.
    let folder = folder().canonicalize().unwrap();
    let (text, nowhere) = (folder.join("notes.txt"), folder.join("no such folder").join("a.db"));
    let forbidden = std::path::PathBuf::from("/proc/a.db");
    std::fs::write(&text, "these are notes and not a database, however long they may become ".repeat(100)).unwrap();
    let unavailable = ErrorCode::StoreUnavailable;
    for (path, code) in [(text, ErrorCode::CheckpointCorrupt), (nowhere, unavailable), (forbidden, unavailable)] {
        let error = SqliteCheckpointer::open(&path).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(&path.display().to_string()) && error.help().is_some(), "{error}");
    }
}

/// A read-only file can be read; a write is rejected with its cause, and the file is not changed.
#[test]
fn a_read_only_file_is_read_and_not_written() {
    let path = folder().join("read.db");
    write(&diary(SqliteCheckpointer::open(&path).unwrap(), 5), "t", 3);
    // The file format write version: SQLite opens a file with an unknown value read-only.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[18] = 3;
    std::fs::write(&path, &bytes).unwrap();
    let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 5);
    assert_eq!(pages(&graph, "t").unwrap().len(), 3);
    let error = graph.invoke(Diary::input().target(9_usize)).thread("t").wait_blocking().err().unwrap();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, false), "{error}");
    assert!(error.message().contains("read.db` cannot be written") && error.help().is_some(), "{error}");
    drop(graph);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    bytes[18] = 2;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(write(&diary(SqliteCheckpointer::open(&path).unwrap(), 5), "t", 4).pages.len(), 4);
}

/// R-FWK-36: a file keeps saved data; an in-memory database loses it when it is dropped.
#[test]
fn a_file_is_persistent_and_memory_is_not() {
    let path = folder().join("kept.db");
    write(&diary(SqliteCheckpointer::open(&path).unwrap(), 5), "t", 3);
    assert_eq!(pages(&diary(SqliteCheckpointer::open(&path).unwrap(), 5), "t").unwrap(), ["00000", "00001", "00002"]);
    let memory = SqliteCheckpointer::open(":memory:").unwrap();
    assert_eq!((memory.path(), write(&diary(memory, 5), "t", 3).pages.len()), (None, 3));
    assert!(pages(&diary(SqliteCheckpointer::open(":memory:").unwrap(), 5), "t").is_err());
}

/// Only the database file remains after all checkpointers have closed it.
#[test]
fn closing_leaves_one_file() {
    let folder = folder();
    let path = folder.join("tidy.db");
    write(&diary(SqliteCheckpointer::open(&path).unwrap(), 5), "t", 3);
    let remaining: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(remaining, ["tidy.db"]);
}
