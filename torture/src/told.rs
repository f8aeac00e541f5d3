//! What children say, one line of JSON each: a victim tells what the library told it, a reader what is stored.
//!
//! A line is one `write` to standard output, so it is whole or absent when the child dies, and its place among the
//! system calls of the child is the moment at which the parent was told.

use std::collections::BTreeMap;
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Error;
use superstep::core::id::derive;

/// One thing a child says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub(crate) enum Told {
    /// It lives, under this process id.
    Born { pid: u32 },
    /// The store is open.
    Opened,
    /// A task has finished; the key is the one its node was given.
    Done { path: String, step: i64, node: String, key: String },
    /// The values after a superstep, as a digest.
    Values { path: String, step: i64, digest: String },
    /// A checkpoint was saved.
    Checkpoint { path: String, step: i64, id: String },
    /// The run has ended well, with these values.
    Ended { digest: String },
    /// Something failed.
    Failed { code: String, message: String },
    /// A checkpoint is stored.
    Seen(Seen),
    /// A thread was read to its end; what its newest values are, where somebody asked.
    Read { thread: String, values: Option<Value> },
    /// What is kept of what a thread said.
    Kept { thread: String, kept: Kept },
    /// How often another process had the thread.
    Busy { times: u64 },
    /// A thread cannot be read.
    Unreadable { thread: String, code: String, message: String },
    /// What the database says of itself.
    Integrity { verdict: String },
}

/// The events of a thread that are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) events: u64,
    /// How often a task of each node was told to have ended.
    pub(crate) ends: BTreeMap<String, u64>,
    /// Numbers that are missing, tasks that ended twice.
    pub(crate) problems: Vec<String>,
}

/// A checkpoint as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) thread: String,
    pub(crate) path: String,
    pub(crate) step: i64,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) run: String,
    pub(crate) time: i64,
    /// The values, as a digest.
    pub(crate) digest: String,
    /// The tasks that finished after it.
    pub(crate) done: Vec<String>,
}

impl Told {
    /// Says it to the parent.
    ///
    /// A parent that has gone needs no answer, so a broken pipe is not looked at.
    pub(crate) fn tell(&self) {
        let mut line = serde_json::to_string(self).unwrap_or_else(|error| format!("unspeakable: {error}"));
        line.push('\n');
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }

    /// A failure, with everything it says.
    pub(crate) fn failed(error: &Error) -> Self {
        Self::Failed { code: error.code().name().to_owned(), message: spoken(error) }
    }
}

/// An error with all that it says, causes too, on one line.
pub(crate) fn spoken(error: &Error) -> String {
    let mut text = error.to_string().replace('\n', "; ");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!("; because {error}"));
        cause = error.source();
    }
    text
}

/// What stands for a value: equal values have equal digests.
pub(crate) fn digest(value: &impl Serialize) -> String {
    let text = serde_json::to_vec(value).unwrap_or_else(|error| error.to_string().into_bytes());
    format!("{:032x}", derive(&[&text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_back() {
        let told = Told::Done { path: String::new(), step: 3, node: "pay".into(), key: "k".into() };
        let line = serde_json::to_string(&told).unwrap();
        assert_eq!(serde_json::from_str::<Told>(&line).unwrap(), told);
        assert!(!line.contains('\n'));
    }

    #[test]
    fn other_values_have_another_digest() {
        assert_eq!(digest(&[1, 2]), digest(&vec![1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
    }
}
