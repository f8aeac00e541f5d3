//! Typed access to the arguments of a call. The tool node validates arguments against the schema; tools check them
//! again.

use superstep::ToolError;
use superstep::tools::ToolInvocation;

use super::error::invalid;

/// Returns a required text.
pub(super) fn required<'a>(call: &'a ToolInvocation, name: &str) -> Result<&'a str, ToolError> {
    let text = optional(call, name)?.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| invalid(format_args!("`{name}` is missing")))
}

/// Returns an optional text.
pub(super) fn optional<'a>(call: &'a ToolInvocation, name: &str) -> Result<Option<&'a str>, ToolError> {
    match call.args.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| invalid(format_args!("`{name}` is not a string"))),
    }
}

/// Returns an optional whole number.
pub(super) fn number(call: &ToolInvocation, name: &str) -> Result<Option<usize>, ToolError> {
    match call.args.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.map(Some).ok_or_else(|| invalid(format_args!("`{name}` is not an integer")))
        }
    }
}
