//! Conflicts between two writers of one value in one superstep: rejected, accepted if the values are equal, or
//! resolved by `last_wins`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;

use super::{TaskWrite, truncate_for_message};
use crate::error::{Error, ErrorCode, Result};
use crate::field::{ConflictPolicy, Field};
use crate::id::FieldId;
use crate::schema::Schema;
use crate::update::WriteMode;
use crate::value::AnyValue;

/// Reduces the writes to at most one for each field without a reducer, and to at most one `Overwrite` for any
/// field.
pub(super) fn resolve_conflicts(
    schema: &Schema,
    nodes: &[Arc<str>],
    writes: &mut SmallVec<[TaskWrite; 4]>,
) -> Result<()> {
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
        resolve_field_conflict(schema, field, nodes, writes)?;
    }
    Ok(())
}

fn resolve_field_conflict(
    schema: &Schema,
    id: FieldId,
    nodes: &[Arc<str>],
    writes: &mut SmallVec<[TaskWrite; 4]>,
) -> Result<()> {
    if schema.undeclared_field == Some(id) {
        return check_undeclared_conflicts(schema, id, nodes, writes);
    }
    let field = schema.field(id);
    let on_field = |write: &TaskWrite| write.write.field == id;
    let overwrites = |write: &TaskWrite| on_field(write) && write.write.mode == WriteMode::Overwrite;
    if writes.iter().filter(|write| overwrites(write)).count() > 1 {
        return Err(conflict_error(&field.name, &writes_to(id, nodes, writes)));
    }
    let winner = if field.reducer.is_some() {
        writes.iter().position(overwrites)
    } else if field.conflict == ConflictPolicy::Reject && !all_equal(field, &writes_to(id, nodes, writes)) {
        return Err(conflict_error(&field.name, &writes_to(id, nodes, writes)));
    } else {
        writes.iter().rposition(on_field)
    };
    if let Some(winner) = winner {
        let mut index = 0;
        writes.retain(|write| {
            let is_retained = write.write.field != id || index == winner;
            index += 1;
            is_retained
        });
    }
    Ok(())
}

/// Checks undeclared fields for conflicts. Undeclared fields share one slot, but two writers of the same key
/// conflict.
fn check_undeclared_conflicts(schema: &Schema, id: FieldId, nodes: &[Arc<str>], writes: &[TaskWrite]) -> Result<()> {
    let mut by_key: BTreeMap<String, Vec<(Arc<str>, AnyValue)>> = BTreeMap::new();
    for (node, value) in writes_to(id, nodes, writes) {
        let Ok(Value::Object(values)) = value.to_json() else { continue };
        for (key, value) in values {
            by_key.entry(key).or_default().push((node.clone(), AnyValue::json(value)));
        }
    }
    let field = schema.field(id);
    let conflict =
        by_key.iter().find(|(_, values)| field.conflict == ConflictPolicy::Reject && !all_equal(field, values));
    conflict.map_or(Ok(()), |(key, values)| Err(conflict_error(key, values)))
}

/// Returns the writes to a field with the names of their nodes, in order.
fn writes_to(id: FieldId, nodes: &[Arc<str>], writes: &[TaskWrite]) -> Vec<(Arc<str>, AnyValue)> {
    let field_writes = writes.iter().filter(|write| write.write.field == id);
    field_writes.map(|write| (nodes[write.task].clone(), write.write.value.clone())).collect()
}

fn all_equal(field: &Field, values: &[(Arc<str>, AnyValue)]) -> bool {
    // Native values of untracked fields are never serialized, so they cannot be compared as data.
    let is_opaque = |value: &AnyValue| field.flags.untracked && matches!(value, AnyValue::Native(_));
    values.windows(2).all(|pair| pair[0].1 == pair[1].1 && !is_opaque(&pair[0].1))
}

fn conflict_error(name: &str, values: &[(Arc<str>, AnyValue)]) -> Error {
    let descriptions: Vec<String> =
        values.iter().map(|(node, value)| format!("`{node}` wrote {}", truncate_for_message(value))).collect();
    let message = format!(
        "field `{name}` received {} writes in one superstep but has no reducer: {}",
        descriptions.len(),
        descriptions.join(", ")
    );
    Error::new(ErrorCode::ConcurrentUpdate, message).with_help(format!(
        "give `{name}` a reducer such as `#[reduce(append)]`, mark it `#[state(last_wins)]`, or run the nodes \
             one after another"
    ))
}
