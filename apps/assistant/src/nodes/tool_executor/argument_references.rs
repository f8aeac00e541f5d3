//! Replaces references in arguments by the results of earlier calls.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep::Message;
use superstep::core::message::ToolStatus;

use crate::plan::{PlannedCall, reference};

/// Returns the arguments with every `{{id}}` replaced by the result of that call.
pub(super) fn resolve_references(
    call: &PlannedCall,
    done: &BTreeMap<String, Message>,
) -> Result<Map<String, Value>, String> {
    let mut results = BTreeMap::new();
    for id in &call.depends_on {
        match done.get(id) {
            Some(message) if message.status == ToolStatus::Success => {
                results.insert(reference(id), message.text().into_owned());
            }
            _ => return Err(format!("unavailable: it needs the result of `{id}`, which failed")),
        }
    }
    let mut args = call.args.clone();
    args.values_mut().for_each(|value| replace_references(value, &results));
    Ok(args)
}

fn replace_references(value: &mut Value, results: &BTreeMap<String, String>) {
    match value {
        // A reference without other text becomes the JSON value of the result instead of text.
        Value::String(text) if results.contains_key(text.trim()) => {
            let result = &results[text.trim()];
            let parsed = serde_json::from_str(result).ok().map(unwrap_single_value);
            *value = parsed.unwrap_or_else(|| Value::String(result.clone()));
        }
        Value::String(text) => {
            for (name, result) in results {
                if text.contains(name) {
                    let parsed: Option<Value> = serde_json::from_str(result).ok().map(unwrap_single_value);
                    let replacement = match parsed {
                        Some(Value::String(text)) => text,
                        Some(value) => value.to_string(),
                        None => result.clone(),
                    };
                    *text = text.replace(name, &replacement);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_references(item, results)),
        Value::Object(entries) => entries.values_mut().for_each(|item| replace_references(item, results)),
        _ => {}
    }
}

/// Reduces a result to its value: the single value of a query, or the result of a calculation.
fn unwrap_single_value(value: Value) -> Value {
    if let Some(result) = value.get("result") {
        return result.clone();
    }
    match value.get("rows").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Array(cells)]) if cells.len() == 1 => cells[0].clone(),
        _ => value,
    }
}
