//! Comparison of acknowledged data with stored data.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildProcess, command};
use crate::protocol::{CheckpointSummary, ChildMessage, JournalSummary};
use crate::reader::ReaderArgs;
use crate::workload::THREAD;

/// Content of a checkpointer as reported by a reader process.
#[derive(Debug, Default)]
pub(crate) struct StoredState {
    pub(crate) checkpoints: Vec<CheckpointSummary>,
    /// Reasons why the checkpointer or a thread could not be read; the thread is empty for the checkpointer.
    pub(crate) unreadable: Vec<Unreadable>,
    /// Newest values by thread, if requested.
    pub(crate) values: BTreeMap<String, Value>,
    /// Journal summaries by thread.
    pub(crate) journals: BTreeMap<String, JournalSummary>,
    /// Result of the database's own integrity check.
    pub(crate) integrity: Option<String>,
    /// Description of a crash of the reader, which no corruption justifies.
    pub(crate) crash: Option<String>,
}

/// Reason why something could not be read.
#[derive(Debug, Clone)]
pub(crate) struct Unreadable {
    pub(crate) thread: String,
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Reads threads of a checkpointer in a separate process.
///
/// # Errors
/// Returns an error if the reader does not start.
pub(crate) fn read(location: &CheckpointerLocation, args: &ReaderArgs) -> Result<StoredState, String> {
    let exit = match ChildProcess::start(&command("reader", location, args)?)?.wait() {
        Ok(exit) => exit,
        Err(stuck) => return Ok(StoredState { crash: Some(stuck), ..StoredState::default() }),
    };
    let crash = exit.is_crash().then(|| format!("the reader ended with {}", exit.describe()));
    Ok(StoredState { crash, ..StoredState::from_messages(exit.messages) })
}

/// Reads the thread that most tests use, with all information.
///
/// # Errors
/// Returns an error if the reader does not start.
pub(crate) fn read_thread(location: &CheckpointerLocation) -> Result<StoredState, String> {
    read(location, &ReaderArgs { threads: vec![THREAD.to_owned()], integrity: true, values: false })
}

impl StoredState {
    /// Collects the messages of a reader.
    pub(crate) fn from_messages(messages: impl IntoIterator<Item = ChildMessage>) -> Self {
        let mut stored = Self::default();
        messages.into_iter().for_each(|message| stored.apply(message));
        stored
    }

    fn apply(&mut self, reported: ChildMessage) {
        match reported {
            ChildMessage::StoredCheckpoint(checkpoint) => self.checkpoints.push(checkpoint),
            ChildMessage::Unreadable { thread, code, message } => {
                self.unreadable.push(Unreadable { thread, code, message })
            }
            ChildMessage::Failed { code, message } => {
                self.unreadable.push(Unreadable { thread: String::new(), code, message });
            }
            ChildMessage::Read { thread, values: Some(values) } => _ = self.values.insert(thread, values),
            ChildMessage::Journal { thread, journal } => _ = self.journals.insert(thread, journal),
            ChildMessage::Integrity { result } => self.integrity = Some(result),
            _ => {}
        }
    }

    /// Returns the reasons why the content is not intact.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut violations: Vec<String> = self.crash.iter().cloned().collect();
        violations.extend(self.unreadable.iter().map(|Unreadable { thread, code, message }| {
            format!("thread `{thread}` cannot be read: {code}: {message}")
        }));
        let violations_by_thread = self
            .journals
            .iter()
            .flat_map(|(thread, journal)| journal.violations.iter().map(move |violation| (thread, violation)));
        violations.extend(violations_by_thread.map(|(thread, violation)| format!("thread `{thread}`: {violation}")));
        let failures = self.integrity.iter().filter(|result| *result != "ok");
        violations.extend(failures.map(|result| format!("integrity_check: {result}")));
        violations
    }

    /// Returns the checkpoints of one namespace of a thread, newest first.
    pub(crate) fn history(&self, thread: &str, path: &str) -> Vec<&CheckpointSummary> {
        self.checkpoints.iter().filter(|checkpoint| checkpoint.thread == thread && checkpoint.path == path).collect()
    }

    /// Returns what was acknowledged for a thread and is not stored.
    pub(crate) fn missing<'a>(
        &self,
        thread: &str,
        messages: impl IntoIterator<Item = &'a ChildMessage>,
    ) -> Vec<String> {
        let mut messages = messages.into_iter().peekable();
        let index = Index::new(self.checkpoints.iter().filter(|checkpoint| checkpoint.thread == thread));
        let newest = self.history(thread, "").first().map(|checkpoint| checkpoint.digest.clone());
        let mut lost = Vec::new();
        while let Some(message) = messages.next() {
            let is_last = messages.peek().is_none();
            match message {
                ChildMessage::Checkpoint { path, step, id } if !index.ids.contains(&(&**path, *step, &**id)) => {
                    lost.push(format!(
                        "checkpoint {id} (step {step} of `{path}`) was reported as saved and is missing"
                    ));
                }
                ChildMessage::Values { path, step, digest } if !index.values.contains(&(&**path, *step, &**digest)) => {
                    lost.push(format!("the values of step {step} of `{path}` were reported, and are not stored"));
                }
                ChildMessage::Done { path, step, node, key } if !index.has_done(path, *step, key) => {
                    lost.push(format!(
                        "task {key} of `{node}` (step {step} of `{path}`) was reported as finished, and is not"
                    ));
                }
                ChildMessage::Ended { digest } if is_last && newest.as_ref() != Some(digest) => {
                    lost.push("the run was reported as ended with other values than the stored ones".to_owned());
                }
                _ => {}
            }
        }
        lost
    }
}

/// Lookup of the stored data of a thread.
struct Index<'a> {
    ids: BTreeSet<(&'a str, i64, &'a str)>,
    values: BTreeSet<(&'a str, i64, &'a str)>,
    done: BTreeSet<&'a str>,
    newest: BTreeMap<&'a str, i64>,
}

impl<'a> Index<'a> {
    fn new(checkpoints: impl Iterator<Item = &'a CheckpointSummary> + Clone) -> Self {
        let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
        for checkpoint in checkpoints.clone() {
            let step = newest.entry(&checkpoint.path).or_insert(checkpoint.step);
            *step = checkpoint.step.max(*step);
        }
        Self {
            ids: checkpoints.clone().map(|checkpoint| (&*checkpoint.path, checkpoint.step, &*checkpoint.id)).collect(),
            values: checkpoints
                .clone()
                .map(|checkpoint| (&*checkpoint.path, checkpoint.step, &*checkpoint.digest))
                .collect(),
            done: checkpoints.flat_map(|checkpoint| checkpoint.done.iter().map(|key| &**key)).collect(),
            newest,
        }
    }

    /// Returns true if a finished task is stored: as a pending entry until its superstep is complete, then as part of
    /// the superstep.
    fn has_done(&self, path: &str, step: i64, key: &str) -> bool {
        self.newest.get(path).is_some_and(|newest| *newest >= step) || self.done.contains(key)
    }
}

/// Checks that a history is linear, newest first: each checkpoint follows the next one of the list, steps increase,
/// and the checkpoints of a run are contiguous.
pub(crate) fn history_errors(history: &[&CheckpointSummary]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut runs: Vec<&str> = Vec::new();
    for (index, checkpoint) in history.iter().enumerate() {
        let previous = history.get(index + 1);
        if checkpoint.parent.as_deref() != previous.map(|previous| &*previous.id) {
            let (step, id, parent) = (checkpoint.step, &checkpoint.id, &checkpoint.parent);
            violations.push(format!("checkpoint {id} of step {step} has the parent {parent:?}, not the previous one"));
        }
        if previous.is_some_and(|previous| previous.step >= checkpoint.step) {
            violations.push(format!(
                "checkpoint {} of step {} follows one whose step is not lower",
                checkpoint.id, checkpoint.step
            ));
        }
        if runs.last() != Some(&&*checkpoint.run) {
            if runs.contains(&&*checkpoint.run) {
                violations.push(format!("run {} has a checkpoint of another run between its own", checkpoint.run));
            }
            runs.push(&checkpoint.run);
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(step: i64, id: &str, parent: Option<&str>, run: &str) -> CheckpointSummary {
        CheckpointSummary {
            thread: "t".into(),
            path: String::new(),
            step,
            id: id.into(),
            parent: parent.map(str::to_owned),
            run: run.into(),
            time: 0,
            digest: format!("digest {id}"),
            done: vec![format!("done {id}")],
        }
    }

    fn stored() -> StoredState {
        StoredState {
            checkpoints: vec![checkpoint(1, "b", Some("a"), "r"), checkpoint(0, "a", None, "r")],
            ..StoredState::default()
        }
    }

    fn values(step: i64, digest: &str) -> ChildMessage {
        ChildMessage::Values { path: String::new(), step, digest: digest.into() }
    }

    fn done(step: i64, key: &str) -> ChildMessage {
        ChildMessage::Done { path: String::new(), step, node: "n".into(), key: key.into() }
    }

    #[test]
    fn reported_and_stored_data_is_not_lost() {
        let messages = [
            ChildMessage::Checkpoint { path: String::new(), step: 1, id: "b".into() },
            values(1, "digest b"),
            done(1, "gone, but its superstep is whole"),
            done(2, "done b"),
            ChildMessage::Ended { digest: "digest b".into() },
        ];
        assert_eq!(stored().missing("t", &messages), Vec::<String>::new());
    }

    #[test]
    fn reported_data_that_is_not_stored_is_missing() {
        for message in [
            ChildMessage::Checkpoint { path: String::new(), step: 2, id: "c".into() },
            values(1, "digest a"),
            done(2, "done c"),
            ChildMessage::Ended { digest: "digest a".into() },
        ] {
            assert_eq!(stored().missing("t", [&message]).len(), 1, "{message:?}");
            assert_eq!(stored().missing("other", [&message]).len(), 1, "{message:?}");
        }
    }

    #[test]
    fn a_history_that_is_not_linear_is_a_violation() {
        let (a, b, c) =
            (checkpoint(0, "a", None, "r"), checkpoint(1, "b", Some("a"), "r"), checkpoint(2, "c", Some("b"), "q"));
        assert!(history_errors(&[&c, &b, &a]).is_empty());
        assert_eq!(history_errors(&[&c, &a]).len(), 1);
        let resumed = checkpoint(3, "d", Some("c"), "r");
        assert_eq!(history_errors(&[&resumed, &c, &b, &a]), ["run r has a checkpoint of another run between its own"]);
        let same_step = checkpoint(1, "d", Some("b"), "r");
        assert_eq!(history_errors(&[&same_step, &b, &a]).len(), 1);
    }
}
