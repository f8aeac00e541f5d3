//! A debate as text: one line of JSON, the same for the same debate.
//!
//! The full form keeps messages whole. The short form of old, whose messages have only `type` and `content` and whose
//! debates have only the first five fields, is read as well.

use std::time::Duration;

use superstep::core::canonical::sorted;
use superstep::core::port::{KeyValue, Put};
use superstep::{Code, Error, Result, State};

use crate::state::Debate;

/// Writes a debate.
///
/// # Errors
/// When a value in it cannot be written as JSON.
pub fn serialize_state(debate: &Debate) -> Result<String> {
    // Objects inside messages come in any order of their keys, and are equal in each.
    serde_json::to_value(debate)
        .map(|value| sorted(value).to_string())
        .map_err(|error| Error::new(Code::OutputInvalid, format!("the debate cannot be written: {error}")))
}

/// Reads a debate; fields that are not there have their defaults.
///
/// # Errors
/// When it is not JSON, or lists everything that is wrong with it, with JSON pointers.
pub fn deserialize_state(text: &str) -> Result<Debate> {
    let object = serde_json::from_str(text).map_err(|error| {
        Error::new(Code::InputInvalid, format!("a debate is a JSON object, and this is not: {error}"))
    })?;
    let schema = Debate::schema().ok_or_else(|| Error::internal("a debate has no schema"))?;
    let state = schema.read_state(object)?;
    let debate: &Debate =
        state.downcast_ref().ok_or_else(|| Error::internal("a debate was read as a state of another type"))?;
    debate.check()?;
    Ok(debate.clone())
}

/// Puts a debate under its id into a store of values under keys, for a time or for ever.
///
/// # Errors
/// When the id is no key, the debate cannot be written, or the store fails.
pub async fn keep_state(store: &impl KeyValue, id: &str, debate: &Debate, lasts: Option<Duration>) -> Result<()> {
    let text = serialize_state(debate)?;
    store.put(&key(id), text.as_bytes(), Put { only_new: false, lasts }).await?;
    Ok(())
}

/// The debate under an id; none when there never was one, or its time is over.
///
/// # Errors
/// When the id is no key, what is there is no debate, or the store fails.
pub async fn kept_state(store: &impl KeyValue, id: &str) -> Result<Option<Debate>> {
    let Some(bytes) = store.get(&key(id)).await? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(Code::InputInvalid, format!("what is kept of debate `{id}` is no text: {error}"))
    })?;
    deserialize_state(&text).map(Some)
}

fn key(id: &str) -> String {
    format!("debate/{id}")
}
