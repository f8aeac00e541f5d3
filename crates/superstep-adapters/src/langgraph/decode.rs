//! Values as LangGraph stores them: the name of an encoding and bytes.

use serde_json::Value;

use super::msgpack::{self, DecodeResult, plain_bytes};
use super::python_values::message;

/// Maximum size of a value that is read, in bytes.
const MAX_BYTES: usize = 256 << 20;

/// Decodes a value. Nothing is imported, constructed or executed, whatever the bytes contain.
pub(super) fn read(encoding: &str, bytes: &[u8]) -> DecodeResult<Value> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("the value has {} bytes; the maximum is {MAX_BYTES}", bytes.len()));
    }
    match encoding {
        "null" => Ok(Value::Null),
        "bytes" | "bytearray" => Ok(plain_bytes(bytes)),
        "msgpack" => msgpack::read(bytes),
        "json" => serde_json::from_slice(bytes).map(revive).map_err(|error| error.to_string()),
        "pickle" => Err("the value is a pickle, which could execute code; pickles are not supported".to_owned()),
        other if other.contains('+') => Err(format!("the value is encrypted (`{other}`)")),
        other => Err(format!("unknown encoding `{other}`")),
    }
}

/// Converts messages in JSON from before 2024, which describes their constructor; all other objects stay as they are.
fn revive(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(revive).collect(),
        Value::Object(map) => {
            let map = Value::Object(map.into_iter().map(|(key, value)| (key, revive(value))).collect());
            if is_message(&map) { message(map) } else { map }
        }
        other => other,
    }
}

fn is_message(map: &Value) -> bool {
    let path = map.get("id").and_then(Value::as_array);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
    let (first, last) = (text(path.and_then(|path| path.first())), text(path.and_then(|path| path.last())));
    map.get("lc").is_some_and(Value::is_number)
        && map.get("type").and_then(Value::as_str) == Some("constructor")
        && matches!(first.as_str(), "langchain" | "langchain_core")
        && last.trim_end_matches("Chunk").ends_with("Message")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-NFR-16b: an object that describes a constructor stays data unless it is a message.
    #[test]
    fn a_constructor_in_old_json_is_data() {
        let human = json!({
            "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": { "content": "hi", "type": "human", "id": "m" }
        });
        let evil = json!({ "lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"] });
        let named = json!({ "lc": 2, "type": "constructor", "id": ["os", "AIMessage"], "kwargs": { "content": "x" } });
        let read = read("json", json!([human, { "deep": evil }, named]).to_string().as_bytes()).unwrap();
        assert_eq!(read, json!([{ "role": "user", "content": "hi", "id": "m" }, { "deep": evil }, named]));
    }

    #[test]
    fn unsupported_encodings_are_rejected_by_name() {
        assert_eq!(read("null", b"").unwrap(), Value::Null);
        assert_eq!(read("bytes", b"\x00\xff").unwrap(), json!({ "__bytes__": "AP8=" }));
        assert!(read("pickle", b"cos\nsystem\n").unwrap_err().starts_with("the value is a pickle"));
        assert_eq!(read("msgpack+aes", b"").unwrap_err(), "the value is encrypted (`msgpack+aes`)");
        assert_eq!(read("yaml", b"").unwrap_err(), "unknown encoding `yaml`");
    }
}
