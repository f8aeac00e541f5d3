//! Two writers of one value in one superstep: refused, accepted when equal, or settled by `last_wins`.

use smallvec::SmallVec;

use super::TaskWrite;
use crate::error::{Code, Error, Result};
use crate::id::FieldId;
use crate::schema::Schema;
use crate::update::How;

/// Leaves at most one write to each field that keeps one value, and one `Overwrite` to any field.
pub(super) fn settle(schema: &Schema, writes: &mut SmallVec<[TaskWrite; 4]>) -> Result<()> {
    if writes.len() < 2 {
        return Ok(());
    }
    let mut fields: SmallVec<[FieldId; 8]> = writes.iter().map(|write| write.write.field).collect();
    fields.sort_unstable();
    let mut repeated: SmallVec<[FieldId; 4]> = SmallVec::new();
    for pair in fields.windows(2) {
        if pair[0] == pair[1] && repeated.last() != Some(&pair[0]) {
            repeated.push(pair[0]);
        }
    }
    for field in repeated {
        settle_field(schema, field, writes)?;
    }
    Ok(())
}

fn settle_field(schema: &Schema, id: FieldId, writes: &mut SmallVec<[TaskWrite; 4]>) -> Result<()> {
    let on_field = |write: &TaskWrite| write.write.field == id;
    let overwrites: Vec<usize> = (0..writes.len())
        .filter(|index| on_field(&writes[*index]) && writes[*index].write.how == How::Overwrite)
        .collect();
    if overwrites.len() > 1 {
        return Err(refuse(schema, id, writes));
    }
    let keeper = match overwrites.first() {
        Some(index) => Some(*index),
        None if schema.is_exclusive(id) && !all_equal(id, writes) => return Err(refuse(schema, id, writes)),
        None if schema.field(id).reducer.is_none() => writes.iter().rposition(on_field),
        None => None,
    };
    if let Some(keeper) = keeper {
        let mut index = 0;
        writes.retain(|write| {
            let keep = write.write.field != id || index == keeper;
            index += 1;
            keep
        });
    }
    Ok(())
}

fn all_equal(id: FieldId, writes: &[TaskWrite]) -> bool {
    let mut values = writes.iter().filter(|write| write.write.field == id).map(|write| &write.write.value);
    let Some(first) = values.next() else { return true };
    values.all(|value| value == first)
}

fn refuse(schema: &Schema, id: FieldId, writes: &[TaskWrite]) -> Error {
    let name = &schema.field(id).name;
    let mine: Vec<&TaskWrite> = writes.iter().filter(|write| write.write.field == id).collect();
    let shown: Vec<String> =
        mine.iter().map(|write| format!("`{}` wrote {}", write.node, cut(&write.write.value))).collect();
    let message =
        format!("field `{name}` got {} writes in one superstep, and keeps only one: {}", mine.len(), shown.join(", "));
    Error::new(Code::ConcurrentUpdate, message).help(format!(
        "give `{name}` a reducer such as `#[reduce(append)]`, mark it `#[state(last_wins)]`, or run the nodes one after the other"
    ))
}

fn cut(value: &crate::datum::Datum) -> String {
    let text = format!("{value:?}");
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain(['…']).collect() }
}
