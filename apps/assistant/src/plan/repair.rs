//! Parses the JSON in a model response and repairs minor errors.
//!
//! Repairs must not change the meaning: surrounding text, code fences, extra commas, unclosed brackets and quotes,
//! and aliases of keys. Nothing is invented.

use serde_json::{Map, Value};

use super::{NextStep, Plan, PlannedCall};

/// Finds the first object in a text, or the list of objects in its place.
pub(super) fn object(text: &str) -> Option<Value> {
    let start = text.char_indices().find(|(offset, letter)| match letter {
        '{' => true,
        '[' => text[offset + 1..].trim_start().starts_with('{'),
        _ => false,
    })?;
    serde_json::from_str(&close_brackets(&text[start.0..])).ok()
}

/// Returns the text up to the end of its first value, with missing closing characters added.
fn close_brackets(text: &str) -> String {
    let (mut out, mut open) = (String::new(), Vec::new());
    let (mut in_text, mut escaped) = (false, false);
    for letter in text.chars() {
        if in_text {
            in_text = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            match letter {
                '\n' => out.push_str("\\n"),
                letter => out.push(letter),
            }
            continue;
        }
        match letter {
            '"' => in_text = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                drop_comma(&mut out);
                // Closes inner brackets that were not closed.
                while let Some(end) = open.pop().filter(|end| *end != letter) {
                    out.push(end);
                }
            }
            // Skips code fences and other characters that are not JSON.
            '`' | ';' => continue,
            _ => {}
        }
        out.push(letter);
        if open.is_empty() {
            return out;
        }
    }
    if in_text {
        out.push('"');
    }
    drop_comma(&mut out);
    out.extend(open.into_iter().rev());
    out
}

fn drop_comma(out: &mut String) {
    let length = out.trim_end().trim_end_matches(',').len();
    out.truncate(length);
}

/// Builds a plan from an object with any of the known aliases of the keys.
pub(super) fn plan(value: Value) -> Result<Plan, String> {
    let mut entries = match value {
        Value::Array(calls) => Map::from_iter([("tool_calls".to_owned(), Value::Array(calls))]),
        Value::Object(entries) => entries,
        _ => return Err("a plan must be a JSON object".to_owned()),
    };
    let calls = take(&mut entries, &["tool_calls", "calls", "tools", "steps"]);
    let mut tool_calls = match calls {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => calls.into_iter().map(call).collect::<Result<Vec<_>, _>>()?,
        Some(object @ Value::Object(_)) => vec![call(object)?],
        Some(_) => return Err("`tool_calls` must be a list of calls".to_owned()),
    };
    let next_step = match take(&mut entries, &["next_step", "next", "step"]).as_ref().and_then(Value::as_str) {
        Some("generate" | "answer" | "respond") => NextStep::Generate,
        Some("tool_use" | "tools" | "tool" | "use_tools") => NextStep::ToolUse,
        Some(other) => return Err(format!("`next_step` must be `generate` or `tool_use`, not `{other}`")),
        None if !tool_calls.is_empty() => NextStep::ToolUse,
        None => return Err("`next_step` is missing".to_owned()),
    };
    match next_step {
        NextStep::Generate => tool_calls.clear(),
        NextStep::ToolUse if tool_calls.is_empty() => {
            return Err("the plan has `tool_use`, but no calls".to_owned());
        }
        NextStep::ToolUse => {}
    }
    Ok(Plan { next_step, tool_calls, reason: text(take(&mut entries, &["why", "reason", "reasoning"])) })
}

fn call(value: Value) -> Result<PlannedCall, String> {
    let Value::Object(mut entries) = value else { return Err("a call must be a JSON object".to_owned()) };
    let tool = text(take(&mut entries, &["tool", "name", "tool_name", "function"]));
    if tool.is_empty() {
        return Err("a call has no `tool`".to_owned());
    }
    let args = match take(&mut entries, &["args", "arguments", "input", "parameters"]) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args,
        Some(Value::String(text)) => match object(&text) {
            Some(Value::Object(args)) => args,
            _ => return Err(format!("the `args` of `{tool}` are not an object")),
        },
        Some(_) => return Err(format!("the `args` of `{tool}` are not an object")),
    };
    let depends_on = match take(&mut entries, &["depends_on", "after", "needs"]) {
        Some(Value::Array(ids)) => ids.into_iter().map(|id| text(Some(id))).collect(),
        None | Some(Value::Null) => Vec::new(),
        id => vec![text(id)],
    };
    let id = text(take(&mut entries, &["id", "call_id"]));
    Ok(PlannedCall { id, tool, args, depends_on, reason: text(take(&mut entries, &["why", "reason"])) })
}

fn take(entries: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| entries.remove(*name))
}

fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
