//! Reducers over lists: append, keep the last, cap, union, merge by key.
//!
//! None of them visits the existing items unless necessary, so appending costs only the appended items.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{FieldValue, OneOrMany, Reducer, UndoValue};
use crate::change::{Change, Splice};
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// Returns the inserted items of a change, or all items if the whole list is new.
pub(super) fn list_delta<E: FieldValue>(list: &[E], change: &Change) -> AnyValue {
    match change {
        Change::Appended { from } => AnyValue::native(list[*from..].to_vec()),
        Change::Spliced { edits } => {
            let inserted = edits.iter().flat_map(|edit| &list[edit.at..edit.at + edit.inserted]);
            AnyValue::native(inserted.cloned().collect::<Vec<E>>())
        }
        _ => AnyValue::native(list.to_vec()),
    }
}

/// Replays a change of a list.
pub(super) fn apply_list_delta<E: FieldValue>(
    list: &mut Vec<E>,
    change: &Change,
    delta: AnyValue,
) -> Result<(), ValidationError> {
    let mismatch = || ValidationError::new("the stored change does not match the list");
    match change {
        Change::Unchanged => return Ok(()),
        Change::Set => *list = delta.into_value()?,
        Change::Appended { from } if *from == list.len() => match delta.get::<Vec<E>>() {
            Some(items) => list.extend_from_slice(items),
            None => list.extend(delta.into_value::<Vec<E>>()?),
        },
        Change::Spliced { edits } => {
            let mut items = delta.into_value::<Vec<E>>()?.into_iter();
            for edit in edits {
                let end = edit.at.checked_add(edit.removed).filter(|end| *end <= list.len()).ok_or_else(mismatch)?;
                list.splice(edit.at..end, items.by_ref().take(edit.inserted)).for_each(drop);
            }
        }
        Change::Appended { .. } | Change::Merged { .. } => return Err(mismatch()),
    }
    Ok(())
}

fn append<E>(list: &mut Vec<E>, items: Vec<E>) -> Change {
    if items.is_empty() {
        return Change::Unchanged;
    }
    let from = list.len();
    list.extend(items);
    Change::Appended { from }
}

fn truncate_to<E: FieldValue>(list: &[E]) -> UndoValue<Vec<E>> {
    let length = list.len();
    UndoValue::Undo(Box::new(move |list: &mut Vec<E>| list.truncate(length)))
}

macro_rules! list_reducer {
    () => {
        fn parse_update(value: Value) -> Result<OneOrMany<E>, Vec<ValidationError>> {
            OneOrMany::parse(value)
        }
        fn delta(value: &Vec<E>, change: &Change) -> AnyValue {
            list_delta(value, change)
        }
        fn apply_delta(value: &mut Vec<E>, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
            apply_list_delta(value, change, delta)
        }
    };
}

/// Appends items.
pub struct Append;

impl<E: FieldValue> Reducer<Vec<E>> for Append {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        "append".to_owned()
    }
    fn reduce(current: &mut Vec<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        Ok(append(current, input.0))
    }
    fn undo_value(value: &Vec<E>) -> UndoValue<Vec<E>> {
        truncate_to(value)
    }
}

/// Appends items to a list that keeps the last `max`; moves the removed items into `evicted`.
fn keep_last<E>(current: &mut Vec<E>, mut items: Vec<E>, max: usize, evicted: Option<&mut Vec<E>>) -> Change {
    if items.is_empty() {
        return Change::Unchanged;
    }
    let from = current.len();
    items.drain(..items.len().saturating_sub(max));
    let inserted = items.len();
    let removed = (from + inserted).saturating_sub(max);
    let oldest = current.drain(..removed);
    match evicted {
        Some(evicted) => evicted.extend(oldest),
        None => drop(oldest),
    }
    current.append(&mut items);
    if removed == 0 {
        return Change::Appended { from };
    }
    let eviction = Splice { at: 0, removed, inserted: 0 };
    let insertion = Splice { at: from - removed, removed: 0, inserted };
    Change::Spliced { edits: vec![eviction, insertion] }
}

/// Appends items and keeps the last `N`.
pub struct KeepLast<const N: usize>;

impl<E: FieldValue, const N: usize> Reducer<Vec<E>> for KeepLast<N> {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        format!("keep_last:{N}")
    }
    fn reduce(current: &mut Vec<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        Ok(keep_last(current, input.0, N, None))
    }
    fn reduce_with_undo(
        current: &mut Vec<E>,
        input: OneOrMany<E>,
        undo: &mut Option<UndoValue<Vec<E>>>,
    ) -> Result<Change, ValidationError> {
        let (before, mut evicted) = (current.len(), Vec::new());
        let change = keep_last(current, input.0, N, Some(&mut evicted));
        *undo = Some(UndoValue::Undo(Box::new(move |list| {
            list.truncate(before - evicted.len());
            list.splice(..0, evicted);
        })));
        Ok(change)
    }
}

/// Appends items and rejects growth beyond `N`.
pub struct Capped<const N: usize>;

impl<E: FieldValue, const N: usize> Reducer<Vec<E>> for Capped<N> {
    type Input = OneOrMany<E>;
    list_reducer!();

    fn name() -> String {
        format!("capped:{N}")
    }
    fn reduce(current: &mut Vec<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        let grown = current.len() + input.0.len();
        if grown > N {
            return Err(ValidationError::new(format!("the list would have {grown} items, more than the cap of {N}")));
        }
        Ok(append(current, input.0))
    }
    fn undo_value(value: &Vec<E>) -> UndoValue<Vec<E>> {
        truncate_to(value)
    }
}

/// Appends missing items, in order of first appearance.
pub struct SetUnion;

impl<E: FieldValue + PartialEq> Reducer<Vec<E>> for SetUnion {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        "set_union".to_owned()
    }
    fn reduce(current: &mut Vec<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        let from = current.len();
        for item in input.0 {
            if !current.contains(&item) {
                current.push(item);
            }
        }
        Ok(if current.len() == from { Change::Unchanged } else { Change::Appended { from } })
    }
    fn undo_value(value: &Vec<E>) -> UndoValue<Vec<E>> {
        truncate_to(value)
    }
}

impl<E: FieldValue + Ord> Reducer<BTreeSet<E>> for SetUnion {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "set_union".to_owned()
    }
    fn reduce(current: &mut BTreeSet<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        let before = current.len();
        current.extend(input.0);
        Ok(if current.len() == before { Change::Unchanged } else { Change::Set })
    }
}

/// The key by which [`MergeBy`] identifies an item. Generated by `#[reduce(merge_by = field)]`.
pub trait MergeKey<E>: Send + Sync + 'static {
    /// Name of the key, as shown in schemas.
    const NAME: &'static str;
    /// Returns true if two items have the same key. The derive knows the field of the key, but not its type.
    fn is_same(one: &E, other: &E) -> bool;
}

/// Replaces items with the same key in place, and appends the others.
pub struct MergeBy<K>(std::marker::PhantomData<fn() -> K>);

impl<E: FieldValue, K: MergeKey<E>> Reducer<Vec<E>> for MergeBy<K> {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        format!("merge_by:{}", K::NAME)
    }
    fn reduce(current: &mut Vec<E>, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        let from = current.len();
        let mut replaced: BTreeSet<usize> = BTreeSet::new();
        for item in input.0 {
            match current.iter().position(|old| K::is_same(old, &item)) {
                Some(index) => {
                    current[index] = item;
                    if index < from {
                        replaced.insert(index);
                    }
                }
                None => current.push(item),
            }
        }
        let added = current.len() - from;
        if replaced.is_empty() {
            return Ok(if added == 0 { Change::Unchanged } else { Change::Appended { from } });
        }
        let mut edits: Vec<Splice> = replaced.into_iter().map(|at| Splice { at, removed: 1, inserted: 1 }).collect();
        if added > 0 {
            edits.push(Splice { at: from, removed: 0, inserted: added });
        }
        Ok(Change::Spliced { edits })
    }
}
