//! Serialization of a debate as one line of JSON, the same for equal debates.
//!
//! The full form has complete messages. The old short form, whose messages have only `type` and `content` and whose
//! debates have only the first five fields, can be read as well.

use std::time::Duration;

use superstep::core::canonical::sort_keys;
use superstep::core::port::{KeyValue, PutOptions};
use superstep::{Error, ErrorCode, GraphState, Result};

use crate::state::DebateState;

/// Serializes a debate.
///
/// # Errors
/// Returns an error if a value cannot be represented as JSON.
pub fn serialize_state(debate: &DebateState) -> Result<String> {
    // The keys of objects inside messages are sorted, because their order has no meaning.
    serde_json::to_value(debate)
        .map(|value| sort_keys(value).to_string())
        .map_err(|error| Error::new(ErrorCode::OutputInvalid, format!("the debate cannot be serialized: {error}")))
}

/// Deserializes a debate; missing fields get their defaults.
///
/// # Errors
/// Returns an error if the text is not JSON, or lists everything that is wrong with the debate, with JSON pointers.
pub fn deserialize_state(text: &str) -> Result<DebateState> {
    let object = serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorCode::InputInvalid, format!("a debate must be a JSON object: {error}")))?;
    let schema = DebateState::schema().ok_or_else(|| Error::internal("the debate state has no schema"))?;
    let state = schema.state_from_json(object)?;
    let debate: &DebateState =
        state.downcast_ref().ok_or_else(|| Error::internal("the debate was decoded as another state type"))?;
    debate.check()?;
    Ok(debate.clone())
}

/// Saves a debate under its id in a key-value backend, with an optional time to live.
///
/// # Errors
/// Returns an error if the id is not a valid key, the debate cannot be serialized, or the backend fails.
pub async fn save_state(store: &impl KeyValue, id: &str, debate: &DebateState, ttl: Option<Duration>) -> Result<()> {
    let text = serialize_state(debate)?;
    store.put(&key(id), text.as_bytes(), PutOptions { if_absent: false, ttl }).await?;
    Ok(())
}

/// Loads the debate of an id; `None` if there is none, or its time to live has passed.
///
/// # Errors
/// Returns an error if the id is not a valid key, the value is not a debate, or the backend fails.
pub async fn load_state(store: &impl KeyValue, id: &str) -> Result<Option<DebateState>> {
    let Some(bytes) = store.get(&key(id)).await? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(ErrorCode::InputInvalid, format!("stored debate `{id}` is not valid text: {error}"))
    })?;
    deserialize_state(&text).map(Some)
}

fn key(id: &str) -> String {
    format!("debate/{id}")
}
