//! Files that are not what they should be.

use superstep::core::error::Code;
use superstep_adapters::sqlite::Sqlite;

use super::folder;
use super::writing::{Diary, diary, pages, write};

/// R-FWK-47: a file of a newer version is refused in one sentence, and not touched.
#[test]
fn a_newer_file_is_refused() {
    let path = folder().join("newer.db");
    drop(Sqlite::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let error = Sqlite::open(&path).unwrap_err();
    assert_eq!(error.code(), Code::CheckpointTooNew);
    assert!(error.message().ends_with("has tables of version 99; this program knows 3"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// S6: a file of another program is refused, and not touched.
#[test]
fn a_file_of_another_program_is_refused() {
    let path = folder().join("other.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE invoice (id INTEGER)").unwrap();
    drop(connection);
    let error = Sqlite::open(&path).unwrap_err();
    assert_eq!(error.code(), Code::ConfigInvalid);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

/// S5, S6: what is no database, a folder that is not there and one that takes no files are said to be that.
#[test]
fn what_cannot_be_opened_says_why() {
    // As messages name it, also where the build folder is a link.
    let folder = folder().canonicalize().unwrap();
    let (text, nowhere) = (folder.join("notes.txt"), folder.join("no such folder").join("a.db"));
    let forbidden = std::path::PathBuf::from("/proc/a.db");
    std::fs::write(&text, "these are notes and not a database, however long they may become ".repeat(100)).unwrap();
    let outage = Code::StoreUnavailable;
    for (path, code) in [(text, Code::CheckpointCorrupt), (nowhere, outage), (forbidden, outage)] {
        let error = Sqlite::open(&path).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(&path.display().to_string()) && error.advice().is_some(), "{error}");
    }
}

/// S6: a file that may only be read is read; whoever wants to write is refused with the cause, and it is not touched.
#[test]
fn what_may_only_be_read_is_read_and_not_written() {
    let path = folder().join("read.db");
    write(&diary(Sqlite::open(&path).unwrap(), 5), "t", 3);
    // The number of the format for writers: one that SQLite does not know makes the file one to read, whoever opens it.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[18] = 3;
    std::fs::write(&path, &bytes).unwrap();
    let graph = diary(Sqlite::open(&path).unwrap(), 5);
    assert_eq!(pages(&graph, "t").unwrap().len(), 3);
    let error = graph.run(Diary::input().wanted(9_usize)).thread("t").wait().err().unwrap();
    assert_eq!((error.code(), error.is_retryable()), (Code::StoreUnavailable, false), "{error}");
    assert!(error.message().contains("read.db` cannot be written") && error.advice().is_some(), "{error}");
    drop(graph);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    bytes[18] = 2;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(write(&diary(Sqlite::open(&path).unwrap(), 5), "t", 4).pages.len(), 4);
}

/// R-FWK-36: a file keeps what was saved; memory forgets it with the store.
#[test]
fn a_file_keeps_and_memory_forgets() {
    let path = folder().join("kept.db");
    write(&diary(Sqlite::open(&path).unwrap(), 5), "t", 3);
    assert_eq!(pages(&diary(Sqlite::open(&path).unwrap(), 5), "t").unwrap(), ["00000", "00001", "00002"]);
    let memory = Sqlite::open(":memory:").unwrap();
    assert_eq!((memory.path(), write(&diary(memory, 5), "t", 3).pages.len()), (None, 3));
    assert!(pages(&diary(Sqlite::open(":memory:").unwrap(), 5), "t").is_err());
}

/// Nothing but the database is left when everybody has closed it.
#[test]
fn closing_leaves_one_file() {
    let folder = folder();
    let path = folder.join("tidy.db");
    write(&diary(Sqlite::open(&path).unwrap(), 5), "t", 3);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["tidy.db"]);
}
