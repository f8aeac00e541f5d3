//! Recorded answers: the lines of a file, how they are read, and how a request differs from the nearest of them.
//!
//! A line holds the written form of a request (see [`Request::canonical`](superstep_core::model::Request::canonical)), which
//! has no keys, headers or addresses, and the answer to it.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::message::Message;
use superstep_core::model::{Answer, ModelInfo, StopReason, fingerprint_of};

/// The version of the lines.
pub(super) const FORMAT: u32 = 1;

/// How many differences are told.
const TOLD: usize = 5;

/// One recorded answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    format: u32,
    key: String,
    /// Who was asked. Another may have answered in its place.
    pub(super) asked: ModelInfo,
    pub(super) request: Value,
    answer: Kept,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    message: Message,
    stop: StopReason,
    model: ModelInfo,
}

impl Line {
    pub(super) fn new(asked: ModelInfo, request: Value, answer: &Answer) -> Self {
        let Answer { message, stop, model, .. } = answer.clone();
        Self { format: FORMAT, key: key(&request), asked, request, answer: Kept { message, stop, model } }
    }

    /// The answer as it was given.
    pub(super) fn answer(&self) -> Answer {
        Answer::new(self.answer.message.clone(), self.answer.model.clone()).with_stop(self.answer.stop.clone())
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    fn check(self) -> Result<Self, String> {
        match self.key == key(&self.request) {
            true => Ok(self),
            false => Err("the key does not belong to the request".to_owned()),
        }
    }
}

/// The name under which a request is found.
pub(super) fn key(request: &Value) -> String {
    format!("{:032x}", fingerprint_of(request))
}

/// The lines of a file, and a word on a last line that is only half there.
pub(super) fn read(path: &Path) -> Result<(Vec<Line>, Option<String>)> {
    let bytes = std::fs::read(path).map_err(|error| {
        let unreadable = trouble(path, format!("cannot be read: {error}"));
        if error.kind() == ErrorKind::NotFound {
            unreadable.help("record it with `Recorder` first")
        } else {
            unreadable
        }
    })?;
    let (whole, half) = bytes.split_at(whole_length(&bytes));
    let mut lines = Vec::new();
    for (number, line) in whole.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let line = parse(line).map_err(|fact| trouble(path, format!("line {}: {fact}", number + 1)))?;
        lines.push(line);
    }
    let note = (!half.is_empty()).then(|| {
        format!("`{}`: the last line is only half there ({} bytes) and was left out", path.display(), half.len())
    });
    Ok((lines, note))
}

/// How many bytes are whole lines: a last line without its end counts only when it can be read.
pub(super) fn whole_length(bytes: &[u8]) -> usize {
    let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = &bytes[ended..];
    if !last.is_empty() && parse(last).is_ok() { bytes.len() } else { ended }
}

fn parse(line: &[u8]) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let version: Version = serde_json::from_slice(line).map_err(|error| format!("not a recorded answer: {error}"))?;
    if version.format != FORMAT {
        return Err(format!("version {} of the format, and this program knows version {FORMAT}", version.format));
    }
    serde_json::from_slice::<Line>(line).map_err(|error| format!("not a recorded answer: {error}"))?.check()
}

pub(super) fn trouble(path: &Path, fact: String) -> Error {
    Error::new(Code::ConfigInvalid, format!("recorded answers `{}`: {fact}", path.display()))
}

/// What differs between a request and the recorded one that is nearest to it.
pub(super) fn differences<'a>(request: &Value, recorded: impl Iterator<Item = &'a Value>) -> Vec<Problem> {
    let asked = parts(request);
    let nearest = recorded.map(|other| differing(&asked, &parts(other))).min_by_key(Vec::len).unwrap_or_default();
    let left_out = nearest.len().saturating_sub(TOLD);
    let mut problems: Vec<Problem> = nearest.into_iter().take(TOLD).collect();
    if left_out > 0 {
        let message = format!("and {left_out} more");
        problems.push(Problem { pointer: String::new(), message, help: None });
    }
    problems
}

/// A request in the parts that are compared: each message, each tool, each setting.
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

fn differing(asked: &[(String, &Value)], recorded: &[(String, &Value)]) -> Vec<Problem> {
    let find = |parts: &[(String, &Value)], name: &str| {
        parts.iter().find(|(other, _)| other == name).map(|(_, value)| (*value).clone())
    };
    let mut names: Vec<&String> = asked.iter().chain(recorded).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let pairs = names.into_iter().map(|name| (name, find(asked, name), find(recorded, name)));
    let differ = pairs.filter(|(_, asked, recorded)| asked != recorded);
    let problem = |(name, asked, recorded): (&String, Option<Value>, Option<Value>)| Problem {
        pointer: name.clone(),
        message: format!("asked {}, recorded {}", shown(asked), shown(recorded)),
        help: None,
    };
    differ.map(problem).collect()
}

fn shown(value: Option<Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    let short: String = text.chars().take(100).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}
