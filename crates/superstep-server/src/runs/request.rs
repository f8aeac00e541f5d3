//! Run requests. Persisted before the run starts, so that the run can be recovered after a crash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::ResumeValues;
use superstep::core::id::{RunId, ThreadId};

/// Maximum length in characters of a title derived from a text.
const MAX_TITLE_CHARS: usize = 100;

/// A request for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRequest {
    /// Id of the run. Default: a new id.
    pub run: RunId,
    /// Thread of the run.
    pub thread: ThreadId,
    /// Name of the graph.
    pub graph: String,
    /// Input of the run.
    #[serde(rename = "what")]
    pub input: RunInput,
    /// Values from which the application creates the run context. Must not contain secrets: they are persisted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[serde(rename = "options")]
    pub context: Value,
    /// Metadata of the run, saved with its checkpoints and part of its events.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// Title of the thread, for lists and searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Input of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunInput {
    /// Input for the state.
    #[serde(rename = "start")]
    Input(Value),
    /// Resume values for open interrupts, by id.
    #[serde(rename = "answer")]
    Resume(ResumeValues),
    /// No input: the run continues from the last checkpoint.
    #[serde(rename = "go_on")]
    Continue,
}

impl RunRequest {
    /// Creates a request for a run of a graph on a thread, with a new run id.
    pub fn new(graph: impl Into<String>, thread: impl Into<ThreadId>, input: RunInput) -> Self {
        let (thread, graph, metadata) = (thread.into(), graph.into(), BTreeMap::new());
        Self { run: new_run_id(), thread, graph, input, context: Value::Null, metadata, title: None }
    }

    /// Sets the values from which the application creates the run context.
    #[must_use]
    pub fn context(mut self, context: impl Into<Value>) -> Self {
        self.context = context.into();
        self
    }

    /// Adds metadata by which checkpoints and records can be found.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the title of the thread.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the title from a text, shortened to one line, unless the request has a title.
    #[must_use]
    pub fn title_from_text(mut self, text: &str) -> Self {
        self.title.get_or_insert_with(|| {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.char_indices().nth(MAX_TITLE_CHARS) {
                Some((end, _)) => format!("{}...", &line[..end]),
                None => line,
            }
        });
        self
    }
}

/// Returns a new run id.
#[must_use]
pub fn new_run_id() -> RunId {
    RunId::from_bits(new_uuid_v7())
}

/// Returns a new thread id.
#[must_use]
pub fn new_thread_id() -> ThreadId {
    ThreadId::from(RunId::from_bits(new_uuid_v7()).to_string())
}

/// Returns a UUID of version 7: its text sorts by time, and its random bits make it hard to guess.
fn new_uuid_v7() -> u128 {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system provides random bytes");
    let millis = u128::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    let random = u128::from_be_bytes(random);
    let (low, middle) = (random & ((1 << 62) - 1), (random >> 64) & 0xfff);
    (millis & 0xffff_ffff_ffff) << 80 | 7 << 76 | middle << 64 | 2 << 62 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back_as_it_was_written() {
        let values = ResumeValues::from([(superstep::core::id::InterruptId::from_bits(7), Value::Bool(true))]);
        for input in [RunInput::Input(serde_json::json!({"n": 1})), RunInput::Resume(values), RunInput::Continue] {
            let request = RunRequest::new("count", "t1", input).title("one").metadata("k", 1);
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<RunRequest>(&text).unwrap(), request);
        }
    }

    #[test]
    fn a_thread_is_titled_by_its_first_text_unless_it_has_a_title() {
        let request = || RunRequest::new("count", "t1", RunInput::Continue);
        let title = |request: RunRequest| request.title.unwrap();
        assert_eq!(title(request().title_from_text(" Piano\n every  Tuesday ")), "Piano every Tuesday");
        assert_eq!(title(request().title_from_text(&"ä".repeat(100))), "ä".repeat(100));
        assert_eq!(title(request().title_from_text(&"ä".repeat(101))), "ä".repeat(100) + "...");
        assert_eq!(title(request().title("one").title_from_text("two")), "one");
    }

    #[test]
    fn new_ids_are_of_version_seven_and_differ() {
        let (a, b) = (new_run_id().to_string(), new_run_id().to_string());
        assert_ne!(a, b);
        assert_eq!((a.as_bytes()[14], b"89ab".contains(&a.as_bytes()[19])), (b'7', true));
        assert!(new_thread_id().is_valid());
    }
}
