//! Two writers of one value in one superstep: refused, accepted when equal, or settled by `last_wins`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;

use super::{TaskWrite, shorten};
use crate::datum::Datum;
use crate::error::{Code, Error, Result};
use crate::field::{Conflict, Field};
use crate::id::FieldId;
use crate::schema::Schema;
use crate::update::How;

/// Leaves at most one write to each field that keeps one value, and one `Overwrite` to any field.
pub(super) fn settle(schema: &Schema, nodes: &[Arc<str>], writes: &mut SmallVec<[TaskWrite; 4]>) -> Result<()> {
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
        settle_field(schema, field, nodes, writes)?;
    }
    Ok(())
}

fn settle_field(schema: &Schema, id: FieldId, nodes: &[Arc<str>], writes: &mut SmallVec<[TaskWrite; 4]>) -> Result<()> {
    if schema.extras == Some(id) {
        return settle_extras(schema, id, nodes, writes);
    }
    let field = schema.field(id);
    let on_field = |write: &TaskWrite| write.write.field == id;
    let overwrites = |write: &TaskWrite| on_field(write) && write.write.how == How::Overwrite;
    if writes.iter().filter(|write| overwrites(write)).count() > 1 {
        return Err(refuse(&field.name, &on(id, nodes, writes)));
    }
    let keeper = if field.reducer.is_some() {
        writes.iter().position(overwrites)
    } else if field.conflict == Conflict::Refuse && !all_equal(field, &on(id, nodes, writes)) {
        return Err(refuse(&field.name, &on(id, nodes, writes)));
    } else {
        writes.iter().rposition(on_field)
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

/// Undeclared fields share one slot, but two writers of one of them are in conflict all the same.
fn settle_extras(schema: &Schema, id: FieldId, nodes: &[Arc<str>], writes: &[TaskWrite]) -> Result<()> {
    let mut by_key: BTreeMap<String, Vec<(Arc<str>, Datum)>> = BTreeMap::new();
    for (node, value) in on(id, nodes, writes) {
        let Ok(Value::Object(values)) = value.to_json() else { continue };
        for (key, value) in values {
            by_key.entry(key).or_default().push((node.clone(), Datum::json(value)));
        }
    }
    let field = schema.field(id);
    let refused = by_key.iter().find(|(_, values)| field.conflict == Conflict::Refuse && !all_equal(field, values));
    refused.map_or(Ok(()), |(key, values)| Err(refuse(key, values)))
}

/// Who wrote what to a field, in order.
fn on(id: FieldId, nodes: &[Arc<str>], writes: &[TaskWrite]) -> Vec<(Arc<str>, Datum)> {
    let mine = writes.iter().filter(|write| write.write.field == id);
    mine.map(|write| (nodes[write.task].clone(), write.write.value.clone())).collect()
}

fn all_equal(field: &Field, values: &[(Arc<str>, Datum)]) -> bool {
    // Live values that are never written as data cannot be compared as data.
    let is_opaque = |value: &Datum| field.flags.untracked && matches!(value, Datum::Live(_));
    values.windows(2).all(|pair| pair[0].1 == pair[1].1 && !is_opaque(&pair[0].1))
}

fn refuse(name: &str, values: &[(Arc<str>, Datum)]) -> Error {
    let shown: Vec<String> = values.iter().map(|(node, value)| format!("`{node}` wrote {}", shorten(value))).collect();
    let message =
        format!("field `{name}` got {} writes in one superstep, and keeps only one: {}", shown.len(), shown.join(", "));
    Error::new(Code::ConcurrentUpdate, message).help(format!(
        "give `{name}` a reducer such as `#[reduce(append)]`, mark it `#[state(last_wins)]`, or run the nodes one after the other"
    ))
}
