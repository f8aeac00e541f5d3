//! The reducer of message lists, and the replay of its changes.
//!
//! The reducer first plans against the unchanged list and then changes it, so a rejected update changes nothing.
//! Reducer and replay share the function that changes the list, so a stored change has the same effect when it is
//! loaded. Appending and replacing cost in proportion to the update; removing also moves everything behind the
//! first removal.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::{Message, MessageId, MessageUpdate, MessageUpdates, Messages};
use crate::change::{Change, Splice};
use crate::validation_error::ValidationError;

impl Messages {
    /// Reduces an update into the list and returns the exact change.
    ///
    /// A message whose id is in the list replaces the old one in place, any other is appended. Of two messages with
    /// one id in the update, the later content takes the position of the first; putting a removed message again
    /// cancels the removal. After `RemoveAll` only the following elements of the update remain.
    ///
    /// ```
    /// use superstep_core::change::Change;
    /// use superstep_core::message::{Message, Messages};
    ///
    /// let mut messages = Messages::new();
    /// let change = messages.reduce(Message::user("Hi").with_id("1").into())?;
    /// assert_eq!(change, Change::Appended { from: 0 });
    /// # Ok::<(), superstep_core::validation_error::ValidationError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the update removes an id that is neither in the list nor put
    /// before it.
    pub fn reduce(&mut self, updates: MessageUpdates) -> Result<Change, ValidationError> {
        let mut updates = updates.0;
        // Fast path for one appended message, the most frequent update by far.
        if let [MessageUpdate::Put(message)] = &*updates
            && self.is_new(message)
            && let Some(MessageUpdate::Put(message)) = updates.pop()
        {
            let from = self.len();
            self.push(message.into());
            return Ok(Change::Appended { from });
        }
        let last_remove_all = updates.iter().rposition(|update| matches!(update, MessageUpdate::RemoveAll));
        let script = match last_remove_all {
            None => UpdatePlan::new(self, updates)?.script(),
            Some(index) => {
                self.replace_all_script(UpdatePlan::new(&Self::new(), updates.split_off(index + 1))?.script().items)
            }
        };
        let change = script.change(self.len());
        self.apply(script);
        Ok(change)
    }

    /// Returns true if an update only appends messages.
    pub(crate) fn is_append_only(&self, edits: &MessageUpdates) -> bool {
        edits.0.iter().all(|edit| match edit {
            MessageUpdate::Put(message) => self.is_new(message),
            MessageUpdate::Remove(_) | MessageUpdate::RemoveAll => false,
        })
    }

    /// Returns true if no message of the list has the id of this one.
    fn is_new(&self, message: &Message) -> bool {
        message.id.as_ref().is_none_or(|id| self.index_of(id.as_str()).is_none())
    }

    /// Removes the messages after the first `length` ones.
    pub(crate) fn truncate(&mut self, length: usize) {
        while self.len() > length
            && let Some(message) = self.list.pop_back()
        {
            if let Some(id) = &message.id {
                self.index.remove(id.as_str());
            }
        }
    }

    /// Returns the delta of a change: its new items, read from the list after the change.
    pub fn delta(&self, change: &Change) -> Vec<Arc<Message>> {
        let items = |range: Range<usize>| {
            (range.start..range.end.min(self.len())).filter_map(|index| self.list.get(index).cloned())
        };
        match change {
            Change::Unchanged | Change::Merged { .. } => Vec::new(),
            Change::Set => self.list.iter().cloned().collect(),
            Change::Appended { from } => items(*from..self.len()).collect(),
            Change::Spliced { edits } => {
                edits.iter().flat_map(|edit| items(edit.at..edit.at.saturating_add(edit.inserted))).collect()
            }
        }
    }

    /// Replays a change on the list before that change, with the items that [`Messages::delta`] returned.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the change or the items do not fit the list.
    pub fn apply_delta(&mut self, change: &Change, items: Vec<Arc<Message>>) -> Result<(), ValidationError> {
        let edits = match change {
            Change::Unchanged => Vec::new(),
            Change::Set => vec![Splice { at: 0, removed: self.len(), inserted: items.len() }],
            Change::Appended { from } if *from == self.len() => {
                vec![Splice { at: *from, removed: 0, inserted: items.len() }]
            }
            Change::Appended { from } => {
                return Err(ValidationError::new(format!(
                    "the change appends after {from} messages, but the list has {}",
                    self.len()
                )));
            }
            Change::Spliced { edits } => edits.clone(),
            Change::Merged { .. } => {
                return Err(ValidationError::new("a map change cannot be applied to a message list"));
            }
        };
        let script = SpliceScript::from_stored(edits, items, self.len()).ok_or_else(|| {
            ValidationError::new(format!(
                "the change does not match the list of {} messages or its own items",
                self.len()
            ))
        })?;
        self.check_ids(&script)?;
        self.apply(script);
        Ok(())
    }

    /// Returns the script that replaces the whole list by these items.
    fn replace_all_script(&self, items: Vec<Arc<Message>>) -> SpliceScript {
        let mut script = SpliceScript::default();
        if !self.list.iter().eq(&items) {
            script.push(0..self.len(), items);
        }
        script
    }

    fn check_ids(&self, script: &SpliceScript) -> Result<(), ValidationError> {
        let mut seen = BTreeSet::new();
        for id in script.items.iter().filter_map(|item| item.id.as_ref()) {
            let stays = self.index_of(id.as_str()).is_some_and(|index| !script.removes(index));
            if stays || !seen.insert(id) {
                return Err(ValidationError::new(format!("the change creates a duplicate message id `{id}`")));
            }
        }
        Ok(())
    }

    fn apply(&mut self, script: SpliceScript) {
        // All removed ids before any inserted one: a message may be inserted at an earlier position than the one it
        // left.
        for index in script.removed_ranges.iter().cloned().flatten() {
            if let Some(id) = self.list.get(index).and_then(|message| message.id.as_ref()) {
                self.index.remove(id.as_str());
            }
        }
        let mut items = script.items.into_iter();
        let in_place = script.edits.iter().take_while(|edit| edit.removed == edit.inserted).count();
        let (in_place, moving) = script.edits.split_at(in_place);
        for (index, item) in in_place.iter().flat_map(|edit| edit.at..edit.at + edit.inserted).zip(&mut items) {
            if let Some(id) = &item.id {
                self.index.insert(id.clone(), index);
            }
            self.list.set(index, item);
        }
        let Some(first) = moving.first() else { return };
        let mut rest: Vec<_> = (first.at..self.len()).filter_map(|_| self.list.pop_back()).collect();
        rest.reverse();
        let mut rest = rest.into_iter();
        for edit in moving {
            let retained = edit.at - self.len();
            rest.by_ref().take(retained).for_each(|message| self.push(message));
            rest.by_ref().take(edit.removed).for_each(drop);
            items.by_ref().take(edit.inserted).for_each(|message| self.push(message));
        }
        rest.for_each(|message| self.push(message));
    }
}

/// The effect of an update on a list, by index; indices from the length of the list on are those of added messages.
struct UpdatePlan<'a> {
    list: &'a Messages,
    /// Replaced and removed messages of the list.
    touched: BTreeMap<usize, Option<Arc<Message>>>,
    /// Added messages; `None` for those that were removed again.
    added: Vec<Option<Arc<Message>>>,
    added_indices: BTreeMap<MessageId, usize>,
}

impl<'a> UpdatePlan<'a> {
    fn new(list: &'a Messages, edits: Vec<MessageUpdate>) -> Result<Self, ValidationError> {
        let mut plan = Self { list, touched: BTreeMap::new(), added: Vec::new(), added_indices: BTreeMap::new() };
        for edit in edits {
            match edit {
                MessageUpdate::Put(message) => plan.put(message),
                MessageUpdate::Remove(id) => plan.remove(&id)?,
                MessageUpdate::RemoveAll => unreachable!("the reducer drops updates before the last `RemoveAll`"),
            }
        }
        Ok(plan)
    }

    fn put(&mut self, message: Message) {
        match message.id.as_ref().and_then(|id| self.index_of(id)) {
            Some(index) => self.set(index, Some(message.into())),
            None => {
                if let Some(id) = &message.id {
                    self.added_indices.insert(id.clone(), self.list.len() + self.added.len());
                }
                self.added.push(Some(message.into()));
            }
        }
    }

    fn remove(&mut self, id: &MessageId) -> Result<(), ValidationError> {
        let index = self.index_of(id).ok_or_else(|| {
            ValidationError::new(format!("no message with the id `{id}` to remove"))
                .with_help("remove only ids that are in the list; the list may have been trimmed since it was read")
        })?;
        self.set(index, None);
        Ok(())
    }

    fn index_of(&self, id: &MessageId) -> Option<usize> {
        self.list.index_of(id.as_str()).or_else(|| self.added_indices.get(id).copied())
    }

    fn set(&mut self, index: usize, message: Option<Arc<Message>>) {
        match index.checked_sub(self.list.len()) {
            None => drop(self.touched.insert(index, message)),
            Some(added) => self.added[added] = message,
        }
    }

    fn script(self) -> SpliceScript {
        let mut script = SpliceScript::default();
        for (index, message) in self.touched {
            if message.as_ref() != self.list.list.get(index) {
                script.push(index..index + 1, message);
            }
        }
        let end = self.list.len();
        let added: Vec<_> = self.added.into_iter().flatten().collect();
        if !added.is_empty() {
            script.push(end..end, added);
        }
        script
    }
}

/// The splices that turn one list into another, with all data that applying them needs.
#[derive(Default)]
struct SpliceScript {
    edits: Vec<Splice>,
    /// Removed indices, per splice, in the list before any splice.
    removed_ranges: Vec<Range<usize>>,
    /// Inserted items of all splices, in order.
    items: Vec<Arc<Message>>,
}

impl SpliceScript {
    /// Adds a splice behind all others: removes these indices of the old list and inserts these items.
    fn push(&mut self, range: Range<usize>, items: impl IntoIterator<Item = Arc<Message>>) {
        let before = self.items.len();
        self.items.extend(items);
        let inserted = self.items.len() - before;
        match (self.edits.last_mut(), self.removed_ranges.last_mut()) {
            (Some(edit), Some(last)) if last.end == range.start => {
                edit.removed += range.len();
                edit.inserted += inserted;
                last.end = range.end;
            }
            (last, last_range) => {
                let end = last.map_or(0, |edit| edit.at + edit.inserted);
                let at = end + range.start - last_range.map_or(0, |last| last.end);
                self.edits.push(Splice { at, removed: range.len(), inserted });
                self.removed_ranges.push(range);
            }
        }
    }

    /// Builds a script from stored splices; returns `None` if they do not fit a list of that length or the items.
    fn from_stored(edits: Vec<Splice>, items: Vec<Arc<Message>>, len: usize) -> Option<Self> {
        let (mut end, mut removed, mut inserted) = (0, 0_usize, 0_usize);
        let mut removed_ranges = Vec::with_capacity(edits.len());
        for edit in &edits {
            let start = edit.at.checked_add(removed)?.checked_sub(inserted)?;
            let next = start.checked_add(edit.removed)?;
            if start < end || next > len {
                return None;
            }
            removed_ranges.push(start..next);
            end = next;
            removed += edit.removed;
            inserted = inserted.checked_add(edit.inserted)?;
        }
        (inserted == items.len()).then_some(Self { edits, removed_ranges, items })
    }

    fn change(&self, len: usize) -> Change {
        match self.edits.as_slice() {
            [] => Change::Unchanged,
            [edit] if edit.removed == 0 && edit.at == len => Change::Appended { from: len },
            edits => Change::Spliced { edits: edits.to_vec() },
        }
    }

    fn removes(&self, index: usize) -> bool {
        let next = self.removed_ranges.partition_point(|range| range.end <= index);
        self.removed_ranges.get(next).is_some_and(|range| range.contains(&index))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::message::{RemoveAll, RemoveMessage};
    use crate::reducer::{AddMessages, Reducer as _, UndoValue};

    /// Reduces an update in JSON into user messages given as `id:text`, and compares texts and change.
    fn check(before: &[&str], update: Value, expected: Result<(&[&str], Change), &str>) {
        let mut messages = list(before);
        let edits: MessageUpdates = serde_json::from_value(update).unwrap();
        match (messages.reduce(edits), expected) {
            (Ok(change), Ok((after, expected))) => {
                assert_eq!(to_texts(&messages), after);
                assert_eq!(change, expected);
                assert_replays(&list(before), &messages, &change);
            }
            (Err(error), Err(expected)) => {
                assert_eq!(error.message, expected);
                assert_eq!(messages, list(before));
            }
            (actual, expected) => panic!("expected {expected:?}, found {actual:?}"),
        }
        assert_indexed(&messages);
    }

    fn list(messages: &[&str]) -> Messages {
        let parse = |message: &&str| match message.split_once(':') {
            Some((id, text)) => Message::user(text).with_id(id),
            None => Message::user(*message),
        };
        messages.iter().map(parse).collect()
    }

    fn to_texts(messages: &Messages) -> Vec<String> {
        let write = |message: &Message| match &message.id {
            Some(id) => format!("{id}:{}", message.text()),
            None => message.text().into_owned(),
        };
        messages.iter().map(write).collect()
    }

    fn assert_replays(before: &Messages, after: &Messages, change: &Change) {
        let mut replayed = before.clone();
        replayed.apply_delta(change, after.delta(change)).unwrap();
        assert_eq!(&replayed, after);
        assert_indexed(&replayed);
    }

    fn assert_indexed(messages: &Messages) {
        let entries = messages.iter().enumerate().filter_map(|(index, message)| Some((message.id.clone()?, index)));
        assert_eq!(messages.index, entries.collect());
    }

    fn put(id: &str, text: &str) -> Value {
        json!({ "role": "user", "id": id, "content": text })
    }

    fn remove(id: &str) -> Value {
        json!({ "type": "remove", "id": id })
    }

    fn remove_all() -> Value {
        remove("__remove_all__")
    }

    fn spliced(edits: &[(usize, usize, usize)]) -> Change {
        let edits = edits.iter().map(|&(at, removed, inserted)| Splice { at, removed, inserted }).collect();
        Change::Spliced { edits }
    }

    /// R-GRA-24, R-REF-144: a message with an existing id is replaced in place, the others are appended in order.
    #[test]
    fn known_ids_are_replaced_and_the_rest_appended_in_order() {
        check(&[], json!([put("1", "a"), put("2", "b")]), Ok((&["1:a", "2:b"], Change::Appended { from: 0 })));
        check(&["1:a"], json!([put("2", "b")]), Ok((&["1:a", "2:b"], Change::Appended { from: 1 })));
        let update = json!([put("9", "x"), put("1", "A"), put("8", "y")]);
        check(&["1:a", "2:b"], update, Ok((&["1:A", "2:b", "9:x", "8:y"], spliced(&[(0, 1, 1), (2, 0, 2)]))));
        check(&["1:a"], json!([]), Ok((&["1:a"], Change::Unchanged)));
    }

    /// R-GRA-25: the example of the original application holds exactly.
    #[test]
    fn the_example_of_the_seed_holds() {
        let update = json!([put("2", "Hello! How can I help?"), put("3", "Tell me a joke")]);
        let after: &[&str] = &["1:Hi", "2:Hello! How can I help?", "3:Tell me a joke"];
        check(&["1:Hi", "2:Hello"], update, Ok((after, spliced(&[(1, 1, 2)]))));
    }

    /// R-GRA-24: putting an equal message is no change.
    #[test]
    fn an_equal_message_changes_nothing() {
        check(&["1:a", "2:b"], json!([put("1", "a")]), Ok((&["1:a", "2:b"], Change::Unchanged)));
        let update = json!([put("1", "a"), put("3", "c")]);
        check(&["1:a", "2:b"], update, Ok((&["1:a", "2:b", "3:c"], Change::Appended { from: 2 })));
    }

    /// R-GRA-26: n messages without ids make the list n longer, with assigned ids or without, even if texts are
    /// equal.
    #[test]
    fn messages_without_ids_are_always_appended() {
        check(&["hi"], json!(["hi", "hi"]), Ok((&["hi", "hi", "hi"], Change::Appended { from: 1 })));
        let mut messages = Messages::new();
        let mut next = 0;
        for _ in 0..2 {
            let mut edits = MessageUpdates::from([Message::user("hi"), Message::user("hi").with_id("mine")]);
            edits.assign_ids(&mut || {
                next += 1;
                format!("new-{next}").into()
            });
            messages.reduce(edits).unwrap();
        }
        assert_eq!(to_texts(&messages), ["new-1:hi", "mine:hi", "new-2:hi"]);
    }

    /// R-GRA-27, R-REF-145: of two messages with one id in one update the later content takes the position of the
    /// first.
    #[test]
    fn later_content_takes_the_position_of_the_first() {
        let update = json!([put("7", "x"), put("8", "y"), put("7", "z")]);
        check(&["1:a"], update, Ok((&["1:a", "7:z", "8:y"], Change::Appended { from: 1 })));
        check(&["1:a"], json!([put("1", "x"), put("1", "y")]), Ok((&["1:y"], spliced(&[(0, 1, 1)]))));
        check(&["1:a"], json!([put("1", "x"), put("1", "a")]), Ok((&["1:a"], Change::Unchanged)));
    }

    /// R-GRA-28, R-REF-144: a removal removes, and adjacent splices become one.
    #[test]
    fn a_removal_removes() {
        let five = ["1:a", "2:b", "3:c", "4:d", "5:e"];
        check(&five, remove("3"), Ok((&["1:a", "2:b", "4:d", "5:e"], spliced(&[(2, 1, 0)]))));
        check(&five, json!([remove("4"), remove("1")]), Ok((&["2:b", "3:c", "5:e"], spliced(&[(0, 1, 0), (2, 1, 0)]))));
        let update = json!([remove("1"), remove("2"), put("3", "C"), put("6", "f"), remove("5")]);
        check(&five, update, Ok((&["3:C", "4:d", "6:f"], spliced(&[(0, 3, 1), (2, 1, 1)]))));
        check(&five, json!([remove("2"), remove("2")]), Ok((&["1:a", "3:c", "4:d", "5:e"], spliced(&[(1, 1, 0)]))));
    }

    /// R-GRA-28, R-REF-144: removing an unknown id is an error that names the id, and leaves the list unchanged.
    #[test]
    fn an_unknown_removal_is_rejected_and_changes_nothing() {
        let unknown = "no message with the id `9` to remove";
        check(&["1:a"], json!([put("1", "x"), put("2", "b"), remove("9")]), Err(unknown));
        check(&["1:a"], json!([remove("1"), remove("9")]), Err(unknown));
        check(&["1:a"], json!([remove("9"), put("9", "too late")]), Err(unknown));
        check(&["9:a"], json!([remove_all(), remove("9")]), Err(unknown));
    }

    /// R-GRA-28: a message that the same update added can be removed again without a trace.
    #[test]
    fn an_update_may_remove_messages_that_it_added() {
        check(&["1:a"], json!([put("2", "b"), remove("2")]), Ok((&["1:a"], Change::Unchanged)));
        let update = json!([put("2", "b"), put("3", "c"), remove("2")]);
        check(&["1:a"], update, Ok((&["1:a", "3:c"], Change::Appended { from: 1 })));
    }

    /// R-GRA-28, R-REF-144: putting a message again after its removal cancels the removal and keeps the position.
    #[test]
    fn putting_again_cancels_a_removal() {
        check(&["1:a", "2:b"], json!([remove("1"), put("1", "x")]), Ok((&["1:x", "2:b"], spliced(&[(0, 1, 1)]))));
        check(&["1:a", "2:b"], json!([remove("1"), put("1", "a")]), Ok((&["1:a", "2:b"], Change::Unchanged)));
        let update = json!([put("7", "x"), put("8", "y"), remove("7"), put("7", "z")]);
        check(&[], update, Ok((&["7:z", "8:y"], Change::Appended { from: 0 })));
    }

    /// R-GRA-28, R-REF-144: removing all empties the list; elements after the last such removal are applied, those
    /// before it are dropped.
    #[test]
    fn removing_all_keeps_only_what_follows() {
        check(&["1:a", "hi"], remove_all(), Ok((&[], spliced(&[(0, 2, 0)]))));
        check(&["1:a"], json!([put("2", "b"), remove_all(), put("3", "c")]), Ok((&["3:c"], spliced(&[(0, 1, 1)]))));
        let update = json!([remove("unknown"), remove_all(), put("2", "b"), remove_all(), put("1", "x")]);
        check(&["1:a", "2:b"], update, Ok((&["1:x"], spliced(&[(0, 2, 1)]))));
        check(&["1:a"], json!([remove_all(), put("1", "a")]), Ok((&["1:a"], Change::Unchanged)));
        check(&[], json!([remove_all(), put("1", "a")]), Ok((&["1:a"], Change::Appended { from: 0 })));
        check(&[], remove_all(), Ok((&[], Change::Unchanged)));
    }

    /// R-GRA-28, R-GRA-29: in Rust as in JSON, one element can replace a list of one.
    #[test]
    fn rust_values_become_updates() {
        let mut messages = list(&["1:a"]);
        messages.reduce("b".into()).unwrap();
        messages.reduce(String::from("c").into()).unwrap();
        messages.reduce(Some(Message::user("d").with_id("4")).into()).unwrap();
        messages.reduce(None.into()).unwrap();
        messages.reduce(vec![Message::user("e")].into()).unwrap();
        messages.reduce(RemoveMessage::new("1").into()).unwrap();
        assert_eq!(to_texts(&messages), ["b", "c", "4:d", "e"]);
        messages.reduce(RemoveAll.into()).unwrap();
        assert!(messages.is_empty());
        assert_eq!(MessageUpdate::from(RemoveMessage::new("__remove_all__")), MessageUpdate::RemoveAll);
    }

    /// R-GRA-30: ids match for every form of message, whether the id was a text or a number.
    #[test]
    fn ids_match_across_forms() {
        let before: &[&str] = &["1:a", "2:b"];
        let after: Result<(&[&str], Change), &str> = Ok((&["1:x", "2:b"], spliced(&[(0, 1, 1)])));
        for update in [
            json!({ "role": "human", "id": 1, "content": "x" }),
            json!({ "type": "HumanMessage", "id": "1", "content": "x" }),
            json!([{ "type": "human", "id": "1", "content": "x" }]),
            json!({ "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"],
                    "kwargs": { "id": "1", "content": "x" } }),
        ] {
            check(before, update, after.clone());
        }
        check(before, json!({ "role": "remove", "id": 1 }), Ok((&["2:b"], spliced(&[(0, 1, 0)]))));
    }

    /// R-FWK-42: a stored change that does not fit the list is rejected and changes nothing.
    #[test]
    fn a_change_that_does_not_fit_is_rejected() {
        let item = |id: &str| vec![Arc::new(Message::user("x").with_id(id))];
        let merged = Change::Merged { set: vec![], removed: vec![] };
        for (change, items) in [
            (Change::Appended { from: 1 }, item("9")),
            (Change::Appended { from: 2 }, item("1")),
            (Change::Unchanged, item("9")),
            (spliced(&[(2, 1, 1)]), item("9")),
            (spliced(&[(1, 1, 1)]), item("1")),
            (spliced(&[(0, 1, 1)]), vec![]),
            (spliced(&[(1, 1, 1), (0, 1, 0)]), item("9")),
            (spliced(&[(0, usize::MAX, usize::MAX), (1, usize::MAX, 1)]), item("9")),
            (Change::Set, [item("9"), item("9")].concat()),
            (merged, vec![]),
        ] {
            let mut messages = list(&["1:a", "2:b"]);
            assert!(messages.apply_delta(&change, items).is_err(), "{change:?}");
            assert_eq!(messages, list(&["1:a", "2:b"]));
        }
    }

    /// R-FWK-42: `Set` replays to exactly its items, and a message may move between two splices.
    #[test]
    fn set_and_moves_replay() {
        let mut messages = list(&["1:a", "2:b", "3:c"]);
        let moved = list(&["3:c"]).delta(&Change::Set);
        messages.apply_delta(&spliced(&[(0, 0, 1), (3, 1, 0)]), moved).unwrap();
        assert_eq!(to_texts(&messages), ["3:c", "1:a", "2:b"]);
        assert_indexed(&messages);
        messages.apply_delta(&Change::Set, list(&["x", "2:y"]).delta(&Change::Set)).unwrap();
        assert_eq!(to_texts(&messages), ["x", "2:y"]);
        assert_indexed(&messages);
    }

    /// R-GRA-24, R-GRA-28: a long list replaces, appends and removes as a short one does.
    #[test]
    fn a_long_list_folds_as_a_short_one() {
        let all: Vec<String> = (0..5_000).map(|i| format!("{i}:text")).collect();
        let before: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut after = before.clone();
        after[4_000] = "4000:new";
        after.remove(100);
        after.push("5000:last");
        let update = json!([put("4000", "new"), put("5000", "last"), remove("100")]);
        check(&before, update, Ok((&after, spliced(&[(100, 1, 0), (3_999, 1, 1), (4_999, 0, 1)]))));
    }

    fn any_edit() -> impl Strategy<Value = MessageUpdate> {
        let id = || prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]);
        let text = || prop::sample::select(vec!["x", "y"]);
        prop_oneof![
            8 => (id(), text()).prop_map(|(id, text)| Message::user(text).with_id(id).into()),
            2 => text().prop_map(|text| Message::user(text).into()),
            4 => id().prop_map(|id| RemoveMessage::new(id).into()),
            1 => Just(MessageUpdate::RemoveAll),
        ]
    }

    /// Reduces as LangGraph describes it, without regard for cost: the reference implementation.
    fn reference_reduce(before: &Messages, edits: &[MessageUpdate]) -> Option<Vec<Message>> {
        let start = edits.iter().rposition(|edit| *edit == MessageUpdate::RemoveAll);
        let mut all: Vec<_> = match start {
            Some(_) => vec![],
            None => before.iter().map(|message| (message.clone(), true)).collect(),
        };
        for edit in &edits[start.map_or(0, |start| start + 1)..] {
            let same = |id: &MessageId| all.iter().position(|(old, _)| old.id.as_ref() == Some(id));
            match edit {
                MessageUpdate::Put(message) => match message.id.as_ref().and_then(same) {
                    Some(index) => all[index] = (message.clone(), true),
                    None => all.push((message.clone(), true)),
                },
                MessageUpdate::Remove(id) => {
                    let index = same(id)?;
                    all[index].1 = false;
                }
                MessageUpdate::RemoveAll => unreachable!(),
            }
        }
        Some(all.into_iter().filter(|(_, is_retained)| *is_retained).map(|(message, _)| message).collect())
    }

    /// Asserts that splices are ascending and disjoint, and that the change contains no more than what changed.
    fn assert_exact(before: &Messages, after: &Messages, change: &Change) {
        let grew = after.len() > before.len() && before.iter().eq(after.iter().take(before.len()));
        match change {
            Change::Unchanged => assert_eq!(before, after),
            Change::Appended { from } => assert!(grew && *from == before.len()),
            Change::Spliced { edits } => {
                assert_ne!(before, after);
                assert!(edits.windows(2).all(|pair| pair[0].at + pair[0].inserted < pair[1].at));
                assert!(edits.iter().all(|edit| edit.removed + edit.inserted > 0));
                assert!(edits.iter().any(|edit| edit.removed > 0), "that is appending");
            }
            other => panic!("a reduction never returns {other:?}"),
        }
    }

    proptest! {
        /// The undo of a reduction restores the list, also when the update was rejected.
        #[test]
        fn any_reduction_can_be_undone(
            first in prop::collection::vec(any_edit(), 0..6),
            then in prop::collection::vec(any_edit(), 0..4),
        ) {
            let mut messages = Messages::new();
            let _ = messages.reduce(first.into());
            let (before, mut undo_value) = (messages.clone(), None);
            let _ = AddMessages::reduce_with_undo(&mut messages, then.into(), &mut undo_value);
            match undo_value.expect("there is always undo data") {
                UndoValue::Value(value) => messages = value,
                UndoValue::Undo(undo) => undo(&mut messages),
            }
            assert_indexed(&messages);
            prop_assert_eq!(&messages, &before);
        }

        /// R-GRA-24, R-GRA-27, R-GRA-28, R-FWK-42: the reducer agrees with the reference implementation or changes
        /// nothing, and the delta replays to the same list.
        #[test]
        fn any_folds_replay_to_the_same_list(
            updates in prop::collection::vec(prop::collection::vec(any_edit(), 0..6), 0..12)
        ) {
            let mut messages = Messages::new();
            let mut replayed = Messages::new();
            for edits in updates {
                let before = messages.clone();
                let expected = reference_reduce(&before, &edits);
                match messages.reduce(edits.into()) {
                    Err(_) => {
                        prop_assert!(expected.is_none());
                        prop_assert_eq!(&messages, &before);
                    }
                    Ok(change) => {
                        prop_assert_eq!(Some(messages.iter().cloned().collect()), expected);
                        assert_exact(&before, &messages, &change);
                        let stored = serde_json::to_string(&(&change, messages.delta(&change))).unwrap();
                        let (change, items): (Change, Vec<Arc<Message>>) = serde_json::from_str(&stored).unwrap();
                        replayed.apply_delta(&change, items).unwrap();
                    }
                }
                assert_indexed(&messages);
                assert_indexed(&replayed);
                prop_assert_eq!(&messages, &replayed);
            }
        }
    }
}
