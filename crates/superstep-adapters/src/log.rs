//! The log of changes as rows: what a store of tables writes for a commit, and how rows become a checkpoint again.
//!
//! Shared by the doors to databases and knows no SQL: `plan` turns a commit into rows, `gather` says which rows are
//! still missing until a checkpoint is whole, `row`, `event` and `head` say what is in them, `sum` notices damage. `save` puts a
//! transaction together with what `held` knows of threads.
//!
//! Each graph of a thread has a line of checkpoints, numbered in the order they were saved. A checkpoint says for each
//! field where its value is: whole and short in the row of a checkpoint, or in a part, a row of its own, which is a whole
//! value or a change on top of another. A fork goes on from the values of its parent as they are: branches share what
//! came before.

mod bytes;
mod event;
mod form;
mod gather;
mod head;
mod held;
mod plan;
mod prune;
mod row;
mod save;
mod sum;

#[cfg(feature = "key-value")]
pub(crate) use bytes::{Bytes, put};
pub(crate) use event::EventRow;
pub(crate) use form::Form;
pub(crate) use gather::{Gather, Need};
pub(crate) use head::End;
pub(crate) use held::{Entry, Held, Taken};
pub(crate) use plan::{Base, Draft, Line};
pub(crate) use prune::{Candidate, Holdings, Pruning, prune};
pub(crate) use row::{OriginRow, PartRow, PendingRow, RemnantRow, Row, damaged, damaged_line, line_sum, read_change};
pub(crate) use save::{Job, LineJob, Place, Refusal, Tables, WithMade, made, save};

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
pub(crate) use superstep_core::port::refusal::{busy, exists, fenced, invalid, missing, nothing_to_copy};

/// The names of the fields of a line, out of its row.
pub(crate) fn read_names(names: &[u8]) -> Result<Vec<Arc<str>>> {
    serde_json::from_slice(names)
        .map_err(|error| damaged(CheckpointId::from_bits(0), &format!("the names of fields: {error}")))
}
