//! The arguments of a call, by name. Whoever runs the tool has held them against its schema; a tool trusts that to nobody.

use superstep::ToolError;
use superstep::tool::Invocation;

use super::failure::invalid;

/// A text that must be there.
pub(super) fn required<'a>(call: &'a Invocation, name: &str) -> Result<&'a str, ToolError> {
    let text = optional(call, name)?.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| invalid(format_args!("`{name}` is missing")))
}

/// A text that may be there.
pub(super) fn optional<'a>(call: &'a Invocation, name: &str) -> Result<Option<&'a str>, ToolError> {
    match call.args.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| invalid(format_args!("`{name}` is no text"))),
    }
}

/// A whole number that may be there.
pub(super) fn number(call: &Invocation, name: &str) -> Result<Option<usize>, ToolError> {
    match call.args.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.map(Some).ok_or_else(|| invalid(format_args!("`{name}` is no whole number")))
        }
    }
}
