//! Integration tests of the document search: a folder and queries.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod folder;
mod read_limits;
mod refresh;
mod write_file;

use std::fs;
use std::path::PathBuf;

use superstep_documents::Documents;

/// Creates an empty folder for a test.
fn empty_folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("documents-{name}"));
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the sources that a query finds, in their order.
fn sources(documents: &Documents, query: &str) -> Vec<String> {
    documents.passages(query, 20).into_iter().map(|passage| passage.source).collect()
}
