//! Recorded SQLite files.

use std::path::Path;

use superstep_adapters::sqlite::SqliteCheckpointer;

use super::{check_appends_events, check_continues, check_held, check_reshaped, versions};
use crate::sqlite::folder;

fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// R-FWK-47, R-FWK-36: a file of every version opens, has the expected content, can be continued, and is intact
/// afterwards.
#[tokio::test]
async fn files_of_every_version_open_and_continue() {
    for (version, recorded) in versions() {
        let path = folder().join("copy.db");
        std::fs::copy(recorded.join("sqlite.db"), &path).unwrap();
        let store = SqliteCheckpointer::open(&path).unwrap().into();
        check_held(&version, &recorded, &store).await;
        check_continues(&store).await;
        check_appends_events(&store).await;
        drop(store);
        let reopened = SqliteCheckpointer::open(&path).unwrap().into();
        let content = super::stored_content(&reopened).await.unwrap();
        assert_eq!(content["interrupted"]["status"], "idle", "{version}");
        drop(reopened);
        assert_eq!(integrity(&path), "ok", "{version}");
    }
}

/// R-FWK-47: threads in a file of every version can be continued with a changed state schema.
#[tokio::test]
async fn files_of_every_version_continue_with_a_new_schema() {
    for (version, recorded) in versions() {
        let path = folder().join("copy.db");
        std::fs::copy(recorded.join("sqlite.db"), &path).unwrap();
        check_reshaped(&SqliteCheckpointer::open(&path).unwrap().into()).await;
        assert_eq!(integrity(&path), "ok", "{version}");
    }
}
