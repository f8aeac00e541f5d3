//! Rows of the tables as the log has them: whole, or an error that says what is wrong with them.

use std::sync::Arc;

use superstep_core::checkpoint::{Mark, Namespace, Origin, Pending, Source};
use superstep_core::id::{CheckpointId, TaskId};
use tokio_postgres::Row as SqlRow;

use super::trouble::{Answer, Trouble};
use crate::log::{self, End, Gather, Need, OriginRow, PartRow, PendingRow, RemnantRow, Row, damaged, read_change};

/// What `read_row` reads, of a checkpoint `c`.
pub(super) const COLUMNS: &str =
    "c.number, c.id, c.parent, c.step, c.source, c.time, c.origin, c.ahead, c.heads, c.vals, c.sum";

/// The four arrays of `read_pending`, for a checkpoint `c`.
pub(super) const TASKS: &str = "LEFT JOIN LATERAL (SELECT array_agg(p.task ORDER BY p.id) AS tasks, \
     array_agg(p.slot ORDER BY p.id) AS slots, array_agg(p.body ORDER BY p.id) AS bodies, \
     array_agg(p.sum ORDER BY p.id) AS sums FROM @schema@.pending p WHERE p.line = c.line AND p.checkpoint = c.number) \
     AS known ON true";

fn read_id(bits: &[u8]) -> Answer<CheckpointId> {
    let zero = CheckpointId::from_bits(0);
    let bits: [u8; 16] = bits.try_into().map_err(|_| damaged(zero, "its id is not of 16 bytes"))?;
    Ok(CheckpointId::from_bits(u128::from_be_bytes(bits)))
}

/// A checkpoint of `COLUMNS` from this place on, whole and undamaged.
pub(super) fn read_row(row: &SqlRow, from: usize) -> Answer<Row> {
    let number = |place: usize| row.try_get::<_, i64>(from + place);
    let bytes = |place: usize| row.try_get::<_, Vec<u8>>(from + place);
    let id = read_id(row.try_get(from + 1)?)?;
    let source = u8::try_from(row.try_get::<_, i16>(from + 4)?).ok().and_then(Source::from_number);
    let source = source.ok_or_else(|| damaged(id, "nobody knows what made it"))?;
    let parent = row.try_get::<_, Option<&[u8]>>(from + 2)?.map(read_id).transpose()?;
    let read = Row {
        number: number(0)?.cast_unsigned(),
        mark: Mark { id, parent, step: number(3)?, source, time: number(5)? },
        origin: number(6)?.cast_unsigned(),
        ahead: bytes(7)?,
        heads: bytes(8)?,
        values: bytes(9)?,
    };
    if read.sum() != row.try_get::<_, i32>(from + 10)?.cast_unsigned() {
        return Err(Trouble::Refused(damaged(id, "its checksum does not fit")));
    }
    Ok(read)
}

/// Bytes behind their checksum, for columns that have none of their own.
pub(super) fn with_sum(sum: u32, bytes: &[u8]) -> Vec<u8> {
    [&sum.to_be_bytes(), bytes].concat()
}

/// The checksum of the names of a line's fields. Not of whose line it is: a copy has the same.
pub(super) fn names_sum(namespace: &Namespace, names: &str) -> u32 {
    log::line_sum(&"".into(), namespace, names)
}

/// The names of a line's fields.
pub(super) fn read_names(namespace: &Namespace, stored: &[u8]) -> Answer<Vec<Arc<str>>> {
    // A line that never had a field has none to be summed up.
    if stored == b"[]" {
        return Ok(Vec::new());
    }
    let (sum, names) = stored.split_first_chunk().unwrap_or((&[0; 4], &[]));
    if names_sum(namespace, &String::from_utf8_lossy(names)) != u32::from_be_bytes(*sum) {
        return Err(Trouble::Refused(log::damaged_line(namespace, "its checksum does not fit")));
    }
    Ok(log::read_names(names)?)
}

/// What the run of a checkpoint has in common.
pub(super) fn read_origin(stored: Option<&[u8]>, of: &Row) -> Answer<Origin> {
    let spoilt = |how: &str| Trouble::Refused(damaged(of.mark.id, &format!("what its run has in common {how}")));
    let (sum, body) = stored.and_then(<[u8]>::split_first_chunk).ok_or_else(|| spoilt("is gone"))?;
    let origin = OriginRow { number: of.origin, body: body.to_vec() };
    if origin.sum() != u32::from_be_bytes(*sum) {
        return Err(spoilt("has another checksum"));
    }
    Ok(OriginRow::read(body, of.mark.id)?)
}

/// What is known of the tasks of a checkpoint: four arrays from this place on, or none.
pub(super) fn read_pending(row: &SqlRow, from: usize, of: &Row) -> Answer<Vec<Pending>> {
    let arrays = |place: usize| row.try_get::<_, Option<Vec<&[u8]>>>(from + place).map(Option::unwrap_or_default);
    let sums = row.try_get::<_, Option<Vec<i32>>>(from + 3)?.unwrap_or_default();
    let entries = arrays(0)?.into_iter().zip(arrays(1)?).zip(arrays(2)?).zip(sums);
    let read = entries.map(|(((task, slot), body), sum)| {
        let spoilt = || damaged(of.mark.id, "what is known of its tasks has another checksum");
        let task = TaskId::from_bits(u128::from_be_bytes(task.try_into().map_err(|_| spoilt())?));
        let slot = String::from_utf8(slot.to_vec()).map_err(|_| spoilt())?;
        let known = PendingRow { checkpoint: of.number, task, slot, body: body.to_vec() };
        if known.sum() != sum.cast_unsigned() {
            return Err(Trouble::Refused(spoilt()));
        }
        Ok(known.read(of.mark.id)?)
    });
    read.collect()
}

/// Hands parts on, whole and undamaged.
pub(super) fn give_parts(gather: &mut Gather, parts: Vec<SqlRow>) -> Answer<()> {
    for row in parts {
        let number = row.try_get::<_, i64>(0)?.cast_unsigned();
        if gather.has_part(number) {
            continue;
        }
        let field = row.try_get::<_, i32>(1)?.cast_unsigned();
        let spoilt = |how: &str| gather.damaged(Some(field), how);
        let text = std::str::from_utf8(row.try_get(3)?).map_err(|_| spoilt("it is no text"))?;
        let change = read_change(text).ok_or_else(|| spoilt("it is no change"))?;
        let before = End::from_number(row.try_get(2)?);
        let part = PartRow { number, field, before, change, body: row.try_get(4)? };
        if part.sum(text) != row.try_get::<_, i32>(5)?.cast_unsigned() {
            return Err(Trouble::Refused(spoilt("its checksum does not fit")));
        }
        gather.give_part(part);
    }
    Ok(())
}

/// Hands on what is left of checkpoints that were pruned.
pub(super) fn give_remnants(gather: &mut Gather, remnants: Vec<SqlRow>) -> Answer<()> {
    for row in remnants {
        let (number, values) = (row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?);
        let remnant = RemnantRow { number, values };
        if remnant.sum() != row.try_get::<_, i32>(2)?.cast_unsigned() {
            return Err(Trouble::Refused(gather.damaged(None, "what it has of another has another checksum")));
        }
        gather.give_values(number, remnant.values);
    }
    Ok(())
}

/// What was asked for and is not there would be asked for again and again.
pub(super) fn check_given(gather: &Gather, asked: &[Need]) -> Answer<()> {
    let left = gather.needs()?;
    match asked.iter().find(|need| left.contains(need)) {
        None => Ok(()),
        Some(Need::Row(number)) => {
            Err(gather.damaged(None, &format!("checkpoint {number} of its line is gone")).into())
        }
        Some(Need::Values(number)) => {
            Err(gather.damaged(None, &format!("the values of checkpoint {number} of its line are gone")).into())
        }
        Some(Need::Parts(number)) => Err(gather.damaged(None, &format!("part {number} of its values is gone")).into()),
    }
}
