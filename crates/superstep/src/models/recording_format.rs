//! Format of recorded responses: lines of a file, parsing, and the differences between a request and the nearest
//! recorded one.
//!
//! A line contains the canonical form of a request (see
//! [`ChatRequest::canonical_json`](superstep_core::model::ChatRequest::canonical_json)), which has no keys, headers or
//! addresses, and its response.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::message::Message;
use superstep_core::model::{ChatResponse, ModelInfo, StopReason, fingerprint_of};

/// Version of the line format.
pub(super) const FORMAT: u32 = 1;

/// Maximum number of differences in an error.
const MAX_DIFFERENCES: usize = 5;

/// One recorded call.
#[derive(Serialize, Deserialize)]
pub(super) struct RecordedCall {
    format: u32,
    key: String,
    /// The model that was called. Another one may have responded in its place.
    #[serde(rename = "asked")]
    pub(super) requested_model: ModelInfo,
    pub(super) request: Value,
    #[serde(rename = "answer")]
    response: RecordedResponse,
}

#[derive(Serialize, Deserialize)]
struct RecordedResponse {
    message: Message,
    stop: StopReason,
    model: ModelInfo,
}

impl RecordedCall {
    pub(super) fn new(requested_model: ModelInfo, request: Value, response: &ChatResponse) -> Self {
        let ChatResponse { message, stop, model, .. } = response.clone();
        Self {
            format: FORMAT,
            key: key(&request),
            requested_model,
            request,
            response: RecordedResponse { message, stop, model },
        }
    }

    /// Returns the recorded response.
    pub(super) fn response(&self) -> ChatResponse {
        ChatResponse::new(self.response.message.clone(), self.response.model.clone())
            .with_stop(self.response.stop.clone())
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    fn check(self) -> Result<Self, String> {
        match self.key == key(&self.request) {
            true => Ok(self),
            false => Err("the key does not match the request".to_owned()),
        }
    }
}

/// Returns the key of a request.
pub(super) fn key(request: &Value) -> String {
    format!("{:032x}", fingerprint_of(request))
}

/// Reads the lines of a file, and returns a note about a partial last line.
pub(super) fn read(path: &Path) -> Result<(Vec<RecordedCall>, Option<String>)> {
    let bytes = std::fs::read(path).map_err(|error| {
        let unreadable = recording_error(path, format!("failed to read: {error}"));
        if error.kind() == ErrorKind::NotFound {
            unreadable.with_help("record it with `RecordingModel` first")
        } else {
            unreadable
        }
    })?;
    let (complete, partial) = bytes.split_at(complete_length(&bytes));
    let mut lines = Vec::new();
    for (number, line) in complete.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let line = parse(line).map_err(|fact| recording_error(path, format!("line {}: {fact}", number + 1)))?;
        lines.push(line);
    }
    let note = (!partial.is_empty()).then(|| {
        format!("`{}`: the last line is incomplete ({} bytes) and was skipped", path.display(), partial.len())
    });
    Ok((lines, note))
}

/// Returns the length of all complete lines in bytes. A last line without a line break is complete only if it parses.
pub(super) fn complete_length(bytes: &[u8]) -> usize {
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = &bytes[complete..];
    if !last.is_empty() && parse(last).is_ok() { bytes.len() } else { complete }
}

fn parse(line: &[u8]) -> Result<RecordedCall, String> {
    #[derive(Deserialize)]
    struct FormatVersion {
        format: u32,
    }
    let version: FormatVersion =
        serde_json::from_slice(line).map_err(|error| format!("not a recorded response: {error}"))?;
    if version.format != FORMAT {
        return Err(format!("format version {}; the supported version is {FORMAT}", version.format));
    }
    serde_json::from_slice::<RecordedCall>(line).map_err(|error| format!("not a recorded response: {error}"))?.check()
}

pub(super) fn recording_error(path: &Path, fact: String) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("recording `{}`: {fact}", path.display()))
}

/// Returns the differences between a request and the nearest recorded one.
pub(super) fn differences<'a>(request: &Value, recorded: impl Iterator<Item = &'a Value>) -> Vec<Diagnostic> {
    let requested = parts(request);
    let nearest =
        recorded.map(|other| compare_parts(&requested, &parts(other))).min_by_key(Vec::len).unwrap_or_default();
    let left_out = nearest.len().saturating_sub(MAX_DIFFERENCES);
    let mut diagnostics: Vec<Diagnostic> = nearest.into_iter().take(MAX_DIFFERENCES).collect();
    if left_out > 0 {
        let message = format!("and {left_out} more");
        diagnostics.push(Diagnostic { pointer: String::new(), message, help: None });
    }
    diagnostics
}

/// Splits a request into the parts that are compared: each message, each tool, each setting.
fn parts(request: &Value) -> Vec<(String, &Value)> {
    let mut parts = Vec::new();
    for (name, value) in request.as_object().into_iter().flatten() {
        match value {
            Value::Array(values) => {
                parts.extend(values.iter().enumerate().map(|(index, value)| (format!("/{name}/{index}"), value)));
            }
            value => parts.push((format!("/{name}"), value)),
        }
    }
    parts
}

fn compare_parts(requested: &[(String, &Value)], recorded: &[(String, &Value)]) -> Vec<Diagnostic> {
    let find = |parts: &[(String, &Value)], name: &str| {
        parts.iter().find(|(other, _)| other == name).map(|(_, value)| (*value).clone())
    };
    let mut names: Vec<&String> = requested.iter().chain(recorded).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let pairs = names.into_iter().map(|name| (name, find(requested, name), find(recorded, name)));
    let differ = pairs.filter(|(_, requested, recorded)| requested != recorded);
    let diagnostic = |(name, requested, recorded): (&String, Option<Value>, Option<Value>)| Diagnostic {
        pointer: name.clone(),
        message: format!("requested {}, recorded {}", format_value(requested), format_value(recorded)),
        help: None,
    };
    differ.map(diagnostic).collect()
}

fn format_value(value: Option<Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    let short: String = text.chars().take(100).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}
