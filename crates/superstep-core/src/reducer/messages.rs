//! The reducer over message lists: replace by id, remove, append. The rules are in [`crate::message`].

use std::sync::Arc;

use serde_json::Value;

use super::{Reducer, UndoValue};
use crate::change::Change;
use crate::message::{Message, MessageId, MessageUpdates, Messages};
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// Replaces messages with the same id in place, removes messages, and appends the others.
pub struct AddMessages;

impl Reducer<Messages> for AddMessages {
    type Input = MessageUpdates;
    const ASSIGNS_IDS: bool = true;

    fn name() -> String {
        "add_messages".to_owned()
    }
    fn reduce(current: &mut Messages, input: MessageUpdates) -> Result<Change, ValidationError> {
        current.reduce(input)
    }
    fn delta(value: &Messages, change: &Change) -> AnyValue {
        AnyValue::native(value.delta(change))
    }
    fn apply_delta(value: &mut Messages, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        value.apply_delta(change, delta.into_value::<Vec<Arc<Message>>>()?)
    }
    fn reduce_with_undo(
        current: &mut Messages,
        input: MessageUpdates,
        undo: &mut Option<UndoValue<Messages>>,
    ) -> Result<Change, ValidationError> {
        let before = current.len();
        *undo = Some(match current.is_append_only(&input) {
            // A clone would share the list, and then every append would copy its last chunk.
            true => UndoValue::Undo(Box::new(move |messages| messages.truncate(before))),
            false => UndoValue::Value(current.clone()),
        });
        current.reduce(input)
    }
    fn parse_update(value: Value) -> Result<MessageUpdates, Vec<ValidationError>> {
        MessageUpdates::try_from(value).map_err(|error| vec![error])
    }
    fn assign_ids(input: &mut MessageUpdates, new_id: &mut dyn FnMut() -> String) {
        input.assign_ids(&mut || MessageId::from(new_id()));
    }
}
