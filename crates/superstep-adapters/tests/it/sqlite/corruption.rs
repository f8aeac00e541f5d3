//! Tests of corrupt rows in an SQLite file.

use rusqlite::Connection;
use superstep::core::error::ErrorCode;
use superstep::core::testing::block_on;
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::fixtures::{diary, pages, write};
use super::folder;

/// R-FWK-46a: a corrupt row results in `CheckpointCorrupt` with its checkpoint; earlier checkpoints and other threads
/// stay readable.
#[test]
fn a_corrupt_row_names_its_checkpoint() {
    let corruptions = [
        "UPDATE checkpoint SET vals = x'00' WHERE key = (1 << 32) + 4",
        "UPDATE checkpoint SET heads = x'ff' WHERE key = (1 << 32) + 4",
        "UPDATE checkpoint SET ahead = x'7b207d' WHERE key = (1 << 32) + 4",
        "UPDATE checkpoint SET step = step + 1 WHERE key = (1 << 32) + 4",
        "UPDATE checkpoint SET parent = NULL WHERE key = (1 << 32) + 4",
        "UPDATE part SET body = CAST('[\"another page\"]' AS BLOB) WHERE key = (1 << 32) + 3",
        "UPDATE part SET change = '+0' WHERE key = (1 << 32) + 3",
        "DELETE FROM part WHERE key = (1 << 32) + 3",
        "UPDATE part SET key = key + 30 WHERE key = (1 << 32) + 3",
        "DELETE FROM origin WHERE key >> 32 = 1",
    ];
    for (number, corruption) in corruptions.iter().enumerate() {
        let path = folder().join(format!("damaged-{number}.db"));
        let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 300);
        write(&graph, "t", 3);
        write(&graph, "other", 3);
        let history = block_on(graph.threads().get_state_history("t", &Default::default())).unwrap();
        let (newest, earlier) = (history[0].id(), history[1].id());
        drop(graph);
        assert!(Connection::open(&path).unwrap().execute(corruption, []).unwrap() > 0, "{corruption}");
        let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 300);
        let error = pages(&graph, "t").expect_err(corruption);
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {error}");
        assert!(error.message().contains(&newest.to_string()), "{corruption}: {error}");
        let run = graph.continue_thread("t").wait_blocking().map(|done| done.supersteps).unwrap_err();
        assert_eq!(run.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {run}");
        assert_eq!(pages(&graph, "other").unwrap().len(), 3, "{corruption}");
        if !corruption.contains("origin") {
            let before = block_on(graph.threads().get_state_at("t", earlier)).unwrap();
            assert_eq!(before.state.pages.len(), 2, "{corruption}");
        }
    }
}

/// R-FWK-46a: rows of another thread, and rows that every checkpoint of a history needs, are checked as well.
#[test]
fn a_line_or_a_row_in_the_wrong_place_is_noticed() {
    let corruptions = [
        "UPDATE line SET names = replace(names, 'pages', 'Pages') WHERE id = 1",
        "UPDATE line SET namespace = 'x' WHERE id = 1; UPDATE line SET namespace = '', thread = 1 WHERE id = 2",
        "UPDATE origin SET body = CAST(replace(CAST(body AS TEXT), 'diary', 'Diary') AS BLOB) WHERE key >> 32 = 1",
        "UPDATE checkpoint SET key = (1 << 32) + 9 WHERE key = (2 << 32) + 4",
        "UPDATE checkpoint SET key = key + (1 << 32) WHERE key >> 32 = 2; DELETE FROM checkpoint WHERE key >> 32 = 1; \
         UPDATE checkpoint SET key = key - (2 << 32) WHERE key >> 32 = 3",
    ];
    for (number, corruption) in corruptions.iter().enumerate() {
        let path = folder().join(format!("misplaced-{number}.db"));
        let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 300);
        write(&graph, "t", 3);
        write(&graph, "other", 3);
        drop(graph);
        Connection::open(&path).unwrap().execute_batch(corruption).unwrap();
        let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 300);
        let error = pages(&graph, "t").expect_err(corruption);
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {error}");
        let listed = block_on(graph.threads().get_state_history("t", &Default::default()))
            .map(|listed| listed.len())
            .expect_err(corruption);
        assert_eq!(listed.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {listed}");
    }
}
