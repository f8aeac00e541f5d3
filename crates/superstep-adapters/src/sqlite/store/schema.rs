//! The tables of the long-term store, separate from those of checkpoints.

use rusqlite::Connection;
use superstep_core::error::{Error, ErrorCode};

use super::super::error::{SqliteError, SqliteResult};

/// Version of the tables. A version is never reused.
const VERSION: i64 = 1;

/// The tables. Names are stored as bytes, so that they sort as in core. `memory_word` contains only index terms and
/// selects candidates.
const TABLES: &str = "
CREATE TABLE memory_version (number INTEGER NOT NULL) STRICT;
CREATE TABLE memory (
    id INTEGER PRIMARY KEY,
    space BLOB NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    paths TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    expires INTEGER,
    lasts INTEGER,
    UNIQUE (space, key)
) STRICT;
CREATE INDEX memory_by_end ON memory (expires) WHERE expires IS NOT NULL;
CREATE TABLE memory_vector (
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    model TEXT NOT NULL,
    floats BLOB NOT NULL
) STRICT;
CREATE INDEX memory_vector_by_item ON memory_vector (item, model);
CREATE VIRTUAL TABLE memory_word USING fts5 (marks, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
INSERT INTO memory_version (number) VALUES (1);
";

/// Creates the tables if they do not exist, and checks their version otherwise. Runs inside a write transaction,
/// which makes concurrent calls safe.
pub(super) fn prepare(connection: &Connection, name: &str) -> SqliteResult<()> {
    let is_there = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'memory_version'";
    if connection.query_row(is_there, [], |row| row.get::<_, i64>(0))? == 0 {
        connection.execute_batch(TABLES)?;
        return Ok(());
    }
    match connection.query_row("SELECT max(number) FROM memory_version", [], |row| row.get(0))? {
        VERSION => Ok(()),
        version => Err(SqliteError::Rejected(too_new(name, version))),
    }
}

fn too_new(name: &str, version: i64) -> Error {
    let message = format!(
        "`{name}` has a long-term store of version {version}, which is newer than the supported version {VERSION}"
    );
    Error::new(ErrorCode::CheckpointTooNew, message).with_help("open it with the version that wrote it, or a newer one")
}
