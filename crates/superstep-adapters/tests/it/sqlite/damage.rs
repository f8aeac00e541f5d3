//! Rows that are not what was written.

use rusqlite::Connection;
use superstep::core::error::Code;
use superstep::core::testing::block_on;
use superstep_adapters::sqlite::Sqlite;

use super::folder;
use super::writing::{diary, pages, write};

/// R-FWK-46: a damaged row is `CheckpointCorrupt` and names the checkpoint; earlier ones and other threads stay readable.
#[test]
fn a_damaged_row_names_its_checkpoint() {
    let damages = [
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
    for (number, damage) in damages.iter().enumerate() {
        let path = folder().join(format!("damaged-{number}.db"));
        let graph = diary(Sqlite::open(&path).unwrap(), 300);
        write(&graph, "t", 3);
        write(&graph, "other", 3);
        let history = block_on(graph.threads().history("t", &Default::default())).unwrap();
        let (newest, earlier) = (history[0].id(), history[1].id());
        drop(graph);
        assert!(Connection::open(&path).unwrap().execute(damage, []).unwrap() > 0, "{damage}");
        let graph = diary(Sqlite::open(&path).unwrap(), 300);
        let error = pages(&graph, "t").expect_err(damage);
        assert_eq!(error.code(), Code::CheckpointCorrupt, "{damage}: {error}");
        assert!(error.message().contains(&newest.to_string()), "{damage}: {error}");
        let run = graph.go_on("t").wait().map(|done| done.supersteps).unwrap_err();
        assert_eq!(run.code(), Code::CheckpointCorrupt, "{damage}: {run}");
        assert_eq!(pages(&graph, "other").unwrap().len(), 3, "{damage}");
        if !damage.contains("origin") {
            let before = block_on(graph.threads().state_at("t", earlier)).unwrap();
            assert_eq!(before.state.pages.len(), 2, "{damage}");
        }
    }
}
