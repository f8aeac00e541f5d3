//! Folds over lists: append, keep the last, cap, union, merge by key.
//!
//! None of them looks at the items that are already there unless it must, so appending costs what is
//! appended.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{FieldValue, Items, Reducer, Saved};
use crate::change::{Change, Splice};
use crate::datum::Datum;
use crate::fault::Fault;

/// The inserted items of a change, or all of them when the whole list is new.
pub(super) fn list_part<E: FieldValue>(list: &[E], change: &Change) -> Datum {
    match change {
        Change::Appended { from } => Datum::live(list[*from..].to_vec()),
        Change::Spliced { edits } => {
            let inserted = edits.iter().flat_map(|edit| &list[edit.at..edit.at + edit.inserted]);
            Datum::live(inserted.cloned().collect::<Vec<E>>())
        }
        _ => Datum::live(list.to_vec()),
    }
}

/// Replays a change of a list.
pub(super) fn list_restore<E: FieldValue>(list: &mut Vec<E>, change: &Change, part: Datum) -> Result<(), Fault> {
    let does_not_fit = || Fault::new("a stored change does not fit the list it was made on");
    match change {
        Change::Unchanged => return Ok(()),
        Change::Set => *list = part.take()?,
        Change::Appended { from } if *from == list.len() => match part.get::<Vec<E>>() {
            Some(items) => list.extend_from_slice(items),
            None => list.extend(part.take::<Vec<E>>()?),
        },
        Change::Spliced { edits } => {
            let mut items = part.take::<Vec<E>>()?.into_iter();
            for edit in edits {
                let end =
                    edit.at.checked_add(edit.removed).filter(|end| *end <= list.len()).ok_or_else(does_not_fit)?;
                list.splice(edit.at..end, items.by_ref().take(edit.inserted)).for_each(drop);
            }
        }
        Change::Appended { .. } | Change::Merged { .. } => return Err(does_not_fit()),
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

fn truncate_to<E: FieldValue>(list: &[E]) -> Saved<Vec<E>> {
    let length = list.len();
    Saved::Undo(Box::new(move |list: &mut Vec<E>| list.truncate(length)))
}

macro_rules! list_reducer {
    () => {
        fn read(value: Value) -> Result<Items<E>, Vec<Fault>> {
            Items::read(value)
        }
        fn part(value: &Vec<E>, change: &Change) -> Datum {
            list_part(value, change)
        }
        fn restore(value: &mut Vec<E>, change: &Change, part: Datum) -> Result<(), Fault> {
            list_restore(value, change, part)
        }
    };
}

/// Adds items at the end.
pub struct Append;

impl<E: FieldValue> Reducer<Vec<E>> for Append {
    type Input = Items<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        "append".to_owned()
    }
    fn reduce(current: &mut Vec<E>, input: Items<E>) -> Result<Change, Fault> {
        Ok(append(current, input.0))
    }
    fn save(value: &Vec<E>) -> Saved<Vec<E>> {
        truncate_to(value)
    }
}

/// Adds items at the end of a list that keeps the last `most`; what must go goes into `gone`.
fn keep_last<E>(current: &mut Vec<E>, mut items: Vec<E>, most: usize, gone: Option<&mut Vec<E>>) -> Change {
    if items.is_empty() {
        return Change::Unchanged;
    }
    let from = current.len();
    items.drain(..items.len().saturating_sub(most));
    let inserted = items.len();
    let removed = (from + inserted).saturating_sub(most);
    let going = current.drain(..removed);
    match gone {
        Some(gone) => gone.extend(going),
        None => drop(going),
    }
    current.append(&mut items);
    if removed == 0 {
        return Change::Appended { from };
    }
    let front = Splice { at: 0, removed, inserted: 0 };
    let back = Splice { at: from - removed, removed: 0, inserted };
    Change::Spliced { edits: vec![front, back] }
}

/// Adds items at the end and keeps the last `N`.
pub struct KeepLast<const N: usize>;

impl<E: FieldValue, const N: usize> Reducer<Vec<E>> for KeepLast<N> {
    type Input = Items<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        format!("keep_last:{N}")
    }
    fn reduce(current: &mut Vec<E>, input: Items<E>) -> Result<Change, Fault> {
        Ok(keep_last(current, input.0, N, None))
    }
    fn reduce_with_undo(
        current: &mut Vec<E>,
        input: Items<E>,
        back: &mut Option<Saved<Vec<E>>>,
    ) -> Result<Change, Fault> {
        let (before, mut gone) = (current.len(), Vec::new());
        let change = keep_last(current, input.0, N, Some(&mut gone));
        *back = Some(Saved::Undo(Box::new(move |list| {
            list.truncate(before - gone.len());
            list.splice(..0, gone);
        })));
        Ok(change)
    }
}

/// Adds items at the end and refuses to grow beyond `N`.
pub struct Capped<const N: usize>;

impl<E: FieldValue, const N: usize> Reducer<Vec<E>> for Capped<N> {
    type Input = Items<E>;
    list_reducer!();

    fn name() -> String {
        format!("capped:{N}")
    }
    fn reduce(current: &mut Vec<E>, input: Items<E>) -> Result<Change, Fault> {
        let grown = current.len() + input.0.len();
        if grown > N {
            return Err(Fault::new(format!("the list would have {grown} items, and holds at most {N}")));
        }
        Ok(append(current, input.0))
    }
    fn save(value: &Vec<E>) -> Saved<Vec<E>> {
        truncate_to(value)
    }
}

/// Adds the items that are not there yet, first appearance first.
pub struct SetUnion;

impl<E: FieldValue + PartialEq> Reducer<Vec<E>> for SetUnion {
    type Input = Items<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        "set_union".to_owned()
    }
    fn reduce(current: &mut Vec<E>, input: Items<E>) -> Result<Change, Fault> {
        let from = current.len();
        for item in input.0 {
            if !current.contains(&item) {
                current.push(item);
            }
        }
        Ok(if current.len() == from { Change::Unchanged } else { Change::Appended { from } })
    }
    fn save(value: &Vec<E>) -> Saved<Vec<E>> {
        truncate_to(value)
    }
}

impl<E: FieldValue + Ord> Reducer<BTreeSet<E>> for SetUnion {
    type Input = Items<E>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "set_union".to_owned()
    }
    fn reduce(current: &mut BTreeSet<E>, input: Items<E>) -> Result<Change, Fault> {
        let before = current.len();
        current.extend(input.0);
        Ok(if current.len() == before { Change::Unchanged } else { Change::Set })
    }
}

/// The key by which [`MergeBy`] knows that two items are one. Made by `#[reduce(merge_by = field)]`.
pub trait KeyOf<E>: Send + Sync + 'static {
    /// The name of the key, as schemas show it.
    const NAME: &'static str;
    /// True when two items have the same key. A derive knows where the key is, not of which type.
    fn is_same(one: &E, other: &E) -> bool;
}

/// Replaces items that have the same key, in their place, and adds the others at the end.
pub struct MergeBy<K>(std::marker::PhantomData<fn() -> K>);

impl<E: FieldValue, K: KeyOf<E>> Reducer<Vec<E>> for MergeBy<K> {
    type Input = Items<E>;
    const FALLIBLE: bool = false;
    list_reducer!();

    fn name() -> String {
        format!("merge_by:{}", K::NAME)
    }
    fn reduce(current: &mut Vec<E>, input: Items<E>) -> Result<Change, Fault> {
        let from = current.len();
        let mut replaced: BTreeSet<usize> = BTreeSet::new();
        for item in input.0 {
            match current.iter().position(|old| K::is_same(old, &item)) {
                Some(place) => {
                    current[place] = item;
                    if place < from {
                        replaced.insert(place);
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
