//! Manipulated files: rejected with the name of the cause, and nothing is imported.

use rusqlite::Connection;
use superstep::MemoryCheckpointer;
use superstep::core::port::SharedCheckpointer;
use superstep_adapters::langgraph::LangGraphImporter;

use super::{folder, sqlite};
use crate::sqlite::folder as temp_folder;

/// Opens a copy of the file that was changed by SQL statements.
fn tampered_copy(statements: &str) -> LangGraphImporter {
    let path = temp_folder().join("bent.sqlite");
    std::fs::copy(folder().join("threads.sqlite"), &path).unwrap();
    Connection::open(&path).unwrap().execute_batch(statements).unwrap();
    LangGraphImporter::sqlite(path).unwrap()
}

/// Returns the import error of a thread after checking that nothing was imported.
async fn import_error(python: &LangGraphImporter, thread: &str) -> String {
    let store: SharedCheckpointer = MemoryCheckpointer::new().into();
    let error = python.import(thread, store.clone()).await.unwrap_err();
    assert!(store.threads(&Default::default()).await.unwrap().is_empty());
    error.message().to_owned()
}

/// R-NFR-16b: a pickle is executable code and is rejected with thread, checkpoint and channel.
#[tokio::test]
async fn a_pickle_is_rejected_by_name() {
    let python = tampered_copy("UPDATE writes SET type = 'pickle', value = x'80' WHERE channel = '__interrupt__'");
    let message = import_error(&python, "asked").await;
    assert!(message.starts_with("LangGraph thread `asked`, checkpoint 1f"), "{message}");
    assert!(
        message.ends_with(
            ", channel `__interrupt__`: the value is a pickle, which could execute code; \
             pickles are not supported"
        ),
        "{message}"
    );
    let python = tampered_copy("UPDATE checkpoints SET type = 'pickle'");
    assert!(import_error(&python, "asked").await.ends_with("pickles are not supported"));
}

/// R-NFR-16b: encrypted, corrupt or unknown values are rejected, and other threads are not affected.
#[tokio::test]
async fn unreadable_values_are_rejected_with_their_location() {
    let rows = [
        ("UPDATE checkpoints SET type = 'msgpack+aes'", "the value is encrypted (`msgpack+aes`)"),
        ("UPDATE checkpoints SET checkpoint = x'c7010900' WHERE thread_id = 'asked'", "unknown extension 9"),
        ("UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 40)", "unexpected end of data"),
        ("UPDATE checkpoints SET checkpoint = x'90'", "the checkpoint is not a map"),
        ("UPDATE checkpoints SET metadata = x'7b'", "the metadata cannot be read"),
        ("UPDATE checkpoints SET checkpoint_id = 'one' WHERE parent_checkpoint_id IS NULL", "`one` is not a valid id"),
    ];
    for (statement, expected) in rows {
        let message = import_error(&tampered_copy(statement), "asked").await;
        assert!(
            message.starts_with("LangGraph thread `asked`, checkpoint ") && message.contains(expected),
            "{message}"
        );
    }
    let python = tampered_copy("UPDATE checkpoints SET type = 'pickle' WHERE thread_id = 'asked'");
    import_error(&python, "asked").await;
    python.import("jobs", MemoryCheckpointer::new()).await.unwrap();
}

/// R-NFR-16b: a delta channel is rejected by name: its value depends on a Python reducer.
#[tokio::test]
async fn delta_channels_are_rejected_by_name() {
    let message = import_error(&sqlite(), "delta").await;
    assert!(message.contains("channel `log`: only the writes since a snapshot are stored"), "{message}");
}

/// Opens the file with another checkpoint version: replaces the number 4 of the key `v` wherever it occurs.
fn with_version(version: u8) -> LangGraphImporter {
    tampered_copy(&format!(
        "UPDATE checkpoints SET checkpoint = unhex(replace(hex(checkpoint), 'A17604', 'A1760{version}'))"
    ))
}

/// R-NFR-16b: checkpoints of versions with other channels are rejected with help.
#[tokio::test]
async fn old_versions_are_rejected() {
    assert!(import_error(&with_version(2), "jobs").await.ends_with("version 2 is not supported; the oldest is 3"));
}

/// R-NFR-16b: sends of versions before 4 are stored with pending writes, and are found there.
#[tokio::test]
async fn sends_of_version_3_are_imported() {
    let (old, _) = with_version(3).read_thread("jobs", "jobs").await.unwrap();
    let (new, _) = sqlite().read_thread("jobs", "jobs").await.unwrap();
    assert_eq!(old, new);
    assert_eq!(old.checkpoints.last().unwrap().checkpoint.next_tasks.len(), 4);
}

/// R-NFR-16b: a file of another program is rejected and not changed.
#[tokio::test]
async fn a_file_of_another_program_is_rejected() {
    let folder = temp_folder();
    let error = LangGraphImporter::sqlite(folder.join("none.sqlite")).err().unwrap();
    assert!(error.message().contains("none.sqlite` cannot be read"), "{error}");
    assert!(!folder.join("none.sqlite").exists());
    Connection::open(folder.join("other.sqlite")).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    let error = LangGraphImporter::sqlite(folder.join("other.sqlite")).err().unwrap();
    assert!(error.message().ends_with("other.sqlite` is not a database of LangGraph's SQLite checkpointer"), "{error}");
    let error = LangGraphImporter::postgres("postgres://user:S3CRET@/db?sslmode=require").await.err().unwrap();
    assert!(!error.to_string().contains("S3CRET"), "{error}");
}
