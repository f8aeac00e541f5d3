//! Messages of child processes, one JSON line each: a worker reports what the library reported to it, a reader
//! reports what is stored.
//!
//! A line is one `write` to standard output, so it is complete or absent when the child dies, and its position among
//! the system calls is the moment of the acknowledgement.

use std::collections::BTreeMap;
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Error;
use superstep::core::id::hash_id;

/// A message of a child process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ChildMessage {
    /// The process started with this process id.
    Started { pid: u32 },
    /// The checkpointer is open.
    Opened,
    /// A task finished; the key is the idempotency key of its node.
    Done { path: String, step: i64, node: String, key: String },
    /// The values after a superstep, as a digest.
    Values { path: String, step: i64, digest: String },
    /// A checkpoint was saved.
    Checkpoint { path: String, step: i64, id: String },
    /// The run ended successfully with these values.
    Ended { digest: String },
    /// An error occurred.
    Failed { code: String, message: String },
    /// A stored checkpoint.
    StoredCheckpoint(CheckpointSummary),
    /// A thread was read completely; with its newest values if requested.
    Read { thread: String, values: Option<Value> },
    /// Journal summary of a thread.
    Journal { thread: String, journal: JournalSummary },
    /// Number of times that another process held the thread.
    Busy { times: u64 },
    /// A thread cannot be read.
    Unreadable { thread: String, code: String, message: String },
    /// Result of the integrity check of the database.
    Integrity { result: String },
}

/// Summary of the event journal of a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalSummary {
    pub(crate) events: u64,
    /// Number of ended tasks by node.
    pub(crate) ends: BTreeMap<String, u64>,
    /// Missing numbers and tasks that ended twice.
    #[serde(rename = "problems")]
    pub(crate) violations: Vec<String>,
}

/// A stored checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckpointSummary {
    pub(crate) thread: String,
    pub(crate) path: String,
    pub(crate) step: i64,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) run: String,
    pub(crate) time: i64,
    /// Digest of the values.
    pub(crate) digest: String,
    /// Tasks that finished after it.
    pub(crate) done: Vec<String>,
}

impl ChildMessage {
    /// Sends the message to the parent.
    ///
    /// A broken pipe is ignored: a parent that has exited needs no message.
    pub(crate) fn send(&self) {
        let mut line = serde_json::to_string(self).unwrap_or_else(|error| format!("unserializable message: {error}"));
        line.push('\n');
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }

    /// Creates the message of an error with all its information.
    pub(crate) fn failed(error: &Error) -> Self {
        Self::Failed { code: error.code().name().to_owned(), message: describe_error(error) }
    }
}

/// Formats an error with its causes on one line.
pub(crate) fn describe_error(error: &Error) -> String {
    let mut text = error.to_string().replace('\n', "; ");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!("; because {error}"));
        cause = error.source();
    }
    text
}

/// Returns a digest of a value: equal values have equal digests.
pub(crate) fn digest(value: &impl Serialize) -> String {
    let text = serde_json::to_vec(value).unwrap_or_else(|error| error.to_string().into_bytes());
    format!("{:032x}", hash_id(&[&text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_back() {
        let message = ChildMessage::Done { path: String::new(), step: 3, node: "pay".into(), key: "k".into() };
        let line = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<ChildMessage>(&line).unwrap(), message);
        assert!(!line.contains('\n'));
    }

    #[test]
    fn other_values_have_another_digest() {
        assert_eq!(digest(&[1, 2]), digest(&vec![1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
    }
}
