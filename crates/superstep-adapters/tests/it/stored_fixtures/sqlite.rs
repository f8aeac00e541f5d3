//! Recorded SQLite files.

use std::path::Path;

use superstep_adapters::sqlite::SqliteCheckpointer;

use super::{check_going_on, check_held, check_reshaped, check_saying, versions};
use crate::sqlite::folder;

fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// R-FWK-47, R-FWK-36: a file of every version opens, has the expected content, can be continued, and is intact
/// afterwards.
#[tokio::test]
async fn files_of_every_version_open_and_go_on() {
    for (version, recorded) in versions() {
        let path = folder().join("copy.db");
        std::fs::copy(recorded.join("sqlite.db"), &path).unwrap();
        let store = SqliteCheckpointer::open(&path).unwrap().into();
        check_held(&version, &recorded, &store).await;
        check_going_on(&store).await;
        check_saying(&store).await;
        drop(store);
        let again = SqliteCheckpointer::open(&path).unwrap().into();
        let told = super::told(&again).await.unwrap();
        assert_eq!(told["interrupted"]["status"], "idle", "{version}");
        drop(again);
        assert_eq!(integrity(&path), "ok", "{version}");
    }
}

/// R-FWK-47: threads in a file of every version can be continued with a changed state schema.
#[tokio::test]
async fn files_of_every_version_go_on_in_a_new_shape() {
    for (version, recorded) in versions() {
        let path = folder().join("copy.db");
        std::fs::copy(recorded.join("sqlite.db"), &path).unwrap();
        check_reshaped(&SqliteCheckpointer::open(&path).unwrap().into()).await;
        assert_eq!(integrity(&path), "ok", "{version}");
    }
}
