//! Decoding of table rows to the rows of the change log, with their checksums.

use std::sync::Arc;

use superstep_core::checkpoint::{CheckpointHeader, CheckpointNamespace, CheckpointSource, PendingEntry, RunInfo};
use superstep_core::id::{CheckpointId, TaskId};
use tokio_postgres::Row as SqlRow;

use super::error::{PgError, PgResult};
use crate::change_log::{
    self, CheckpointAssembler, CheckpointRow, MissingRows, PartRow, PendingRow, RetainedValuesRow, RunInfoRow,
    ValueLocation, corrupt_row_error, read_change,
};

/// The columns that `read_row` reads, of a checkpoint `c`.
pub(super) const COLUMNS: &str =
    "c.number, c.id, c.parent, c.step, c.source, c.time, c.origin, c.ahead, c.heads, c.vals, c.sum";

/// The four arrays that `read_pending` reads, for a checkpoint `c`.
pub(super) const TASKS: &str = "LEFT JOIN LATERAL (SELECT array_agg(p.task ORDER BY p.id) AS tasks, \
     array_agg(p.slot ORDER BY p.id) AS slots, array_agg(p.body ORDER BY p.id) AS bodies, \
     array_agg(p.sum ORDER BY p.id) AS sums FROM @schema@.pending p WHERE p.line = c.line AND p.checkpoint = c.number) \
     AS known ON true";

fn read_id(bits: &[u8]) -> PgResult<CheckpointId> {
    let zero = CheckpointId::from_bits(0);
    let bits: [u8; 16] = bits.try_into().map_err(|_| corrupt_row_error(zero, "the id does not have 16 bytes"))?;
    Ok(CheckpointId::from_bits(u128::from_be_bytes(bits)))
}

/// Decodes a checkpoint from the columns `COLUMNS`, starting at an index, and checks its checksum.
pub(super) fn read_row(row: &SqlRow, from: usize) -> PgResult<CheckpointRow> {
    let number = |column: usize| row.try_get::<_, i64>(from + column);
    let bytes = |column: usize| row.try_get::<_, Vec<u8>>(from + column);
    let id = read_id(row.try_get(from + 1)?)?;
    let source = u8::try_from(row.try_get::<_, i16>(from + 4)?).ok().and_then(CheckpointSource::from_u8);
    let source = source.ok_or_else(|| corrupt_row_error(id, "the source is unknown"))?;
    let parent = row.try_get::<_, Option<&[u8]>>(from + 2)?.map(read_id).transpose()?;
    let read = CheckpointRow {
        number: number(0)?.cast_unsigned(),
        header: CheckpointHeader { id, parent, step: number(3)?, source, time: number(5)? },
        origin: number(6)?.cast_unsigned(),
        schedule: bytes(7)?,
        value_index: bytes(8)?,
        values: bytes(9)?,
    };
    if read.sum() != row.try_get::<_, i32>(from + 10)?.cast_unsigned() {
        return Err(PgError::Rejected(corrupt_row_error(id, "the checksum does not match")));
    }
    Ok(read)
}

/// Prepends the checksum to bytes, for columns without a checksum column.
pub(super) fn with_sum(sum: u32, bytes: &[u8]) -> Vec<u8> {
    [&sum.to_be_bytes(), bytes].concat()
}

/// Returns the checksum of the field names of a history. It does not include the thread, so that a copy has the same
/// checksum.
pub(super) fn names_sum(namespace: &CheckpointNamespace, names: &str) -> u32 {
    change_log::history_checksum(&"".into(), namespace, names)
}

/// Decodes the field names of a history.
pub(super) fn read_names(namespace: &CheckpointNamespace, stored: &[u8]) -> PgResult<Vec<Arc<str>>> {
    // A history without fields has no checksum.
    if stored == b"[]" {
        return Ok(Vec::new());
    }
    let (sum, names) = stored.split_first_chunk().unwrap_or((&[0; 4], &[]));
    if names_sum(namespace, &String::from_utf8_lossy(names)) != u32::from_be_bytes(*sum) {
        return Err(PgError::Rejected(change_log::corrupt_history_error(namespace, "the checksum does not match")));
    }
    Ok(change_log::read_names(names)?)
}

/// Decodes the run info of a checkpoint.
pub(super) fn read_origin(stored: Option<&[u8]>, checkpoint: &CheckpointRow) -> PgResult<RunInfo> {
    let corrupt_error =
        |reason: &str| PgError::Rejected(corrupt_row_error(checkpoint.header.id, &format!("the run info {reason}")));
    let (sum, body) = stored.and_then(<[u8]>::split_first_chunk).ok_or_else(|| corrupt_error("is missing"))?;
    let origin = RunInfoRow { number: checkpoint.origin, body: body.to_vec() };
    if origin.sum() != u32::from_be_bytes(*sum) {
        return Err(corrupt_error("does not match its checksum"));
    }
    Ok(RunInfoRow::read(body, checkpoint.header.id)?)
}

/// Decodes the pending entries of a checkpoint from four arrays, which may be null.
pub(super) fn read_pending(row: &SqlRow, from: usize, checkpoint: &CheckpointRow) -> PgResult<Vec<PendingEntry>> {
    let arrays = |column: usize| row.try_get::<_, Option<Vec<&[u8]>>>(from + column).map(Option::unwrap_or_default);
    let sums = row.try_get::<_, Option<Vec<i32>>>(from + 3)?.unwrap_or_default();
    let entries = arrays(0)?.into_iter().zip(arrays(1)?).zip(arrays(2)?).zip(sums);
    let read = entries.map(|(((task, slot), body), sum)| {
        let corrupt_error =
            || corrupt_row_error(checkpoint.header.id, "the pending entries do not match their checksum");
        let task = TaskId::from_bits(u128::from_be_bytes(task.try_into().map_err(|_| corrupt_error())?));
        let slot = String::from_utf8(slot.to_vec()).map_err(|_| corrupt_error())?;
        let pending_row = PendingRow { checkpoint: checkpoint.number, task, slot, body: body.to_vec() };
        if pending_row.sum() != sum.cast_unsigned() {
            return Err(PgError::Rejected(corrupt_error()));
        }
        Ok(pending_row.read(checkpoint.header.id)?)
    });
    read.collect()
}

/// Adds parts to the assembler after checking their checksums.
pub(super) fn add_missing_parts(assembler: &mut CheckpointAssembler, parts: Vec<SqlRow>) -> PgResult<()> {
    for row in parts {
        let number = row.try_get::<_, i64>(0)?.cast_unsigned();
        if assembler.has_part(number) {
            continue;
        }
        let field = row.try_get::<_, i32>(1)?.cast_unsigned();
        let corrupt_error = |reason: &str| assembler.corrupt_rows_error(Some(field), reason);
        let text = std::str::from_utf8(row.try_get(3)?).map_err(|_| corrupt_error("the change is not valid UTF-8"))?;
        let change = read_change(text).ok_or_else(|| corrupt_error("it is not a change"))?;
        let before = ValueLocation::from_number(row.try_get(2)?);
        let part = PartRow { number, field, before, change, body: row.try_get(4)? };
        if part.sum(text) != row.try_get::<_, i32>(5)?.cast_unsigned() {
            return Err(PgError::Rejected(corrupt_error("the checksum does not match")));
        }
        assembler.add_part(part);
    }
    Ok(())
}

/// Adds retained values of pruned checkpoints to the assembler.
pub(super) fn add_retained_values(assembler: &mut CheckpointAssembler, rows: Vec<SqlRow>) -> PgResult<()> {
    for row in rows {
        let (number, values) = (row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?);
        let retained = RetainedValuesRow { number, values };
        if retained.sum() != row.try_get::<_, i32>(2)?.cast_unsigned() {
            return Err(PgError::Rejected(
                assembler
                    .corrupt_rows_error(None, "the retained values of another checkpoint do not match their checksum"),
            ));
        }
        assembler.add_values(number, retained.values);
    }
    Ok(())
}

/// Returns an error for rows that were requested and do not exist, which would be requested again forever.
pub(super) fn require_rows(assembler: &CheckpointAssembler, requested: &[MissingRows]) -> PgResult<()> {
    let still_missing = assembler.missing_rows()?;
    match requested.iter().find(|row| still_missing.contains(row)) {
        None => Ok(()),
        Some(MissingRows::Row(number)) => {
            Err(assembler.corrupt_rows_error(None, &format!("checkpoint {number} of its history is missing")).into())
        }
        Some(MissingRows::Values(number)) => Err(assembler
            .corrupt_rows_error(None, &format!("the values of checkpoint {number} of its history are missing"))
            .into()),
        Some(MissingRows::Parts(number)) => {
            Err(assembler.corrupt_rows_error(None, &format!("part {number} of its values is missing")).into())
        }
    }
}
