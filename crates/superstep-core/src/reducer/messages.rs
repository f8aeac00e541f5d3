//! The fold over message lists: replace by id, remove, append. The rules are in [`crate::message`].

use std::sync::Arc;

use serde_json::Value;

use super::{Reducer, Saved};
use crate::change::Change;
use crate::datum::Datum;
use crate::fault::Fault;
use crate::message::{Message, MessageEdits, MessageId, Messages};

/// Replaces messages that have the same id in their place, removes, and appends the rest.
pub struct AddMessages;

impl Reducer<Messages> for AddMessages {
    type Input = MessageEdits;
    const STAMPS: bool = true;

    fn name() -> String {
        "add_messages".to_owned()
    }
    fn reduce(current: &mut Messages, input: MessageEdits) -> Result<Change, Fault> {
        current.fold(input)
    }
    fn part(value: &Messages, change: &Change) -> Datum {
        Datum::live(value.part(change))
    }
    fn restore(value: &mut Messages, change: &Change, part: Datum) -> Result<(), Fault> {
        value.restore(change, part.take::<Vec<Arc<Message>>>()?)
    }
    fn reduce_with_undo(
        current: &mut Messages,
        input: MessageEdits,
        back: &mut Option<Saved<Messages>>,
    ) -> Result<Change, Fault> {
        let before = current.len();
        *back = Some(match current.is_appended_to_by(&input) {
            // A copy would share the list, and sharing makes every append copy the end of it.
            true => Saved::Undo(Box::new(move |messages| messages.truncate(before))),
            false => Saved::Value(current.clone()),
        });
        current.fold(input)
    }
    fn read(value: Value) -> Result<MessageEdits, Vec<Fault>> {
        MessageEdits::try_from(value).map_err(|fault| vec![fault])
    }
    fn stamp(input: &mut MessageEdits, fresh: &mut dyn FnMut() -> String) {
        input.stamp(&mut || MessageId::from(fresh()));
    }
}
