//! The change log as rows: converts commits to rows, and rows back to checkpoints.
//!
//! Shared by the checkpointers; contains no SQL. `history_writer` converts a commit to rows, `assemble` builds
//! checkpoints from rows and reports missing ones, `rows`, `event_row` and `value_index` define the content of rows,
//! `checksum` detects corruption. `save` builds a transaction on the state of threads that `history_cache` caches.
//!
//! Each namespace of a thread has a history of checkpoints, numbered in commit order. A checkpoint states the
//! location of the value of each field: a short value is stored in full in the row of a checkpoint; another value is
//! stored in a part, a separate row with a full value or a change on top of another value. A fork builds on the
//! values of its parent: branches share the rows before the fork.

mod assemble;
mod checksum;
mod encoding;
mod event_row;
mod history_cache;
mod history_writer;
mod prune;
mod rows;
mod save;
mod value_index;
mod varint;

pub(crate) use assemble::{CheckpointAssembler, MissingRows};
pub(crate) use encoding::ValueEncoding;
pub(crate) use event_row::EventRow;
pub(crate) use history_cache::{AcquiredThread, CachedHistory, HistoryCache};
pub(crate) use history_writer::{CheckpointRows, HistoryWriter, ParentCheckpoint};
pub(crate) use prune::{NonCheckpointRows, PrunePlan, PruneRow, prune};
pub(crate) use rows::{
    CheckpointRow, PartRow, PendingRow, RetainedValuesRow, RunInfoRow, corrupt_history_error, corrupt_row_error,
    history_checksum, read_change,
};
pub(crate) use save::{
    CheckpointWithChanges, HistoryKey, HistoryRows, RowStorage, RowTransaction, WriteRejection, changed_fields, save,
};
pub(crate) use value_index::ValueLocation;
#[cfg(feature = "key-value")]
pub(crate) use varint::{VarintReader, put};

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
pub(crate) use superstep_core::port::errors::{
    checkpoint_not_found, invalid_thread_id, lease_lost, source_thread_not_found, thread_already_exists, thread_busy,
};

/// Parses the field names of a history from its row.
pub(crate) fn read_names(names: &[u8]) -> Result<Vec<Arc<str>>> {
    serde_json::from_slice(names).map_err(|error| {
        corrupt_row_error(CheckpointId::from_bits(0), &format!("the field names are invalid: {error}"))
    })
}
