//! What was acknowledged, held against what is stored.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::child::{Child, command};
use crate::reader::Question;
use crate::store::Place;
use crate::told::{Kept, Seen, Told};
use crate::work::THREAD;

/// What a store holds, as a reader told it.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) seen: Vec<Seen>,
    /// Why the store, or a thread, could not be read; the thread is empty for the store.
    pub(crate) unreadable: Vec<Unreadable>,
    /// The newest values, thread by thread, where somebody asked for them.
    pub(crate) values: BTreeMap<String, Value>,
    /// What is kept of what each thread said.
    pub(crate) kept: BTreeMap<String, Kept>,
    /// What the database says of itself.
    pub(crate) integrity: Option<String>,
    /// How the reader ended, when it ended in a way that no damage excuses.
    pub(crate) wild: Option<String>,
}

/// Why something could not be read.
#[derive(Debug, Clone)]
pub(crate) struct Unreadable {
    pub(crate) thread: String,
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Reads threads of a store in a process of its own.
///
/// # Errors
/// When the reader does not start.
pub(crate) fn read(place: &Place, question: &Question) -> Result<Stored, String> {
    let end = match Child::start(&command("reader", place, question)?)?.end() {
        Ok(end) => end,
        Err(stuck) => return Ok(Stored { wild: Some(stuck), ..Stored::default() }),
    };
    let wild = end.is_wild().then(|| format!("the reader ended with {}", end.spoken()));
    Ok(Stored { wild, ..Stored::heard(end.told) })
}

/// The one thread that most proofs are about, with everything that can be asked.
///
/// # Errors
/// When the reader does not start.
pub(crate) fn read_thread(place: &Place) -> Result<Stored, String> {
    read(place, &Question { threads: vec![THREAD.to_owned()], integrity: true, values: false })
}

impl Stored {
    /// What somebody told who had read it.
    pub(crate) fn heard(told: impl IntoIterator<Item = Told>) -> Self {
        let mut stored = Self::default();
        told.into_iter().for_each(|told| stored.hear(told));
        stored
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Seen(seen) => self.seen.push(seen),
            Told::Unreadable { thread, code, message } => self.unreadable.push(Unreadable { thread, code, message }),
            Told::Failed { code, message } => {
                self.unreadable.push(Unreadable { thread: String::new(), code, message });
            }
            Told::Read { thread, values: Some(values) } => _ = self.values.insert(thread, values),
            Told::Kept { thread, kept } => _ = self.kept.insert(thread, kept),
            Told::Integrity { verdict } => self.integrity = Some(verdict),
            _ => {}
        }
    }

    /// Why this is not a whole store.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.wild.iter().cloned().collect();
        problems.extend(self.unreadable.iter().map(|Unreadable { thread, code, message }| {
            format!("thread `{thread}` cannot be read: {code}: {message}")
        }));
        let gaps = self.kept.iter().flat_map(|(thread, kept)| kept.problems.iter().map(move |gap| (thread, gap)));
        problems.extend(gaps.map(|(thread, gap)| format!("thread `{thread}`: {gap}")));
        let sick = self.integrity.iter().filter(|verdict| *verdict != "ok");
        problems.extend(sick.map(|verdict| format!("integrity_check: {verdict}")));
        problems
    }

    /// The checkpoints of one graph of a thread, newest first.
    pub(crate) fn line(&self, thread: &str, path: &str) -> Vec<&Seen> {
        self.seen.iter().filter(|seen| seen.thread == thread && seen.path == path).collect()
    }

    /// What was told of a thread and is not stored.
    pub(crate) fn lost<'a>(&self, thread: &str, told: impl IntoIterator<Item = &'a Told>) -> Vec<String> {
        let mut told = told.into_iter().peekable();
        let index = Index::of(self.seen.iter().filter(|seen| seen.thread == thread));
        let newest = self.line(thread, "").first().map(|seen| seen.digest.clone());
        let mut lost = Vec::new();
        while let Some(one) = told.next() {
            let is_last = told.peek().is_none();
            match one {
                Told::Checkpoint { path, step, id } if !index.ids.contains(&(&**path, *step, &**id)) => {
                    lost.push(format!("checkpoint {id} (step {step} of `{path}`) was told saved, and is gone"));
                }
                Told::Values { path, step, digest } if !index.values.contains(&(&**path, *step, &**digest)) => {
                    lost.push(format!("the values of step {step} of `{path}` were told, and are not stored"));
                }
                Told::Done { path, step, node, key } if !index.has_done(path, *step, key) => {
                    lost.push(format!(
                        "task {key} of `{node}` (step {step} of `{path}`) was told finished, and is not"
                    ));
                }
                Told::Ended { digest } if is_last && newest.as_ref() != Some(digest) => {
                    lost.push("the run was told to have ended, with other values than are stored".to_owned());
                }
                _ => {}
            }
        }
        lost
    }
}

/// What is stored of a thread, to be looked up.
struct Index<'a> {
    ids: BTreeSet<(&'a str, i64, &'a str)>,
    values: BTreeSet<(&'a str, i64, &'a str)>,
    done: BTreeSet<&'a str>,
    newest: BTreeMap<&'a str, i64>,
}

impl<'a> Index<'a> {
    fn of(seen: impl Iterator<Item = &'a Seen> + Clone) -> Self {
        let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
        for seen in seen.clone() {
            let step = newest.entry(&seen.path).or_insert(seen.step);
            *step = seen.step.max(*step);
        }
        Self {
            ids: seen.clone().map(|seen| (&*seen.path, seen.step, &*seen.id)).collect(),
            values: seen.clone().map(|seen| (&*seen.path, seen.step, &*seen.digest)).collect(),
            done: seen.flat_map(|seen| seen.done.iter().map(|key| &**key)).collect(),
            newest,
        }
    }

    /// A finished task is kept for itself until its superstep is whole, and then in the superstep.
    fn has_done(&self, path: &str, step: i64, key: &str) -> bool {
        self.newest.get(path).is_some_and(|newest| *newest >= step) || self.done.contains(key)
    }
}

/// Whether a history is one line, newest first: each checkpoint follows the one after it, steps never go back, and the
/// checkpoints of a run stand together.
pub(crate) fn broken_line(line: &[&Seen]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut runs: Vec<&str> = Vec::new();
    for (place, seen) in line.iter().enumerate() {
        let before = line.get(place + 1);
        if seen.parent.as_deref() != before.map(|before| &*before.id) {
            let (step, id, parent) = (seen.step, &seen.id, &seen.parent);
            problems.push(format!("checkpoint {id} of step {step} does not follow the one before it, but {parent:?}"));
        }
        if before.is_some_and(|before| before.step >= seen.step) {
            problems
                .push(format!("checkpoint {} of step {} has a step before it that is not lower", seen.id, seen.step));
        }
        if runs.last() != Some(&&*seen.run) {
            if runs.contains(&&*seen.run) {
                problems.push(format!("run {} has another between its checkpoints", seen.run));
            }
            runs.push(&seen.run);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(step: i64, id: &str, parent: Option<&str>, run: &str) -> Seen {
        Seen {
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

    fn stored() -> Stored {
        Stored { seen: vec![seen(1, "b", Some("a"), "r"), seen(0, "a", None, "r")], ..Stored::default() }
    }

    fn values(step: i64, digest: &str) -> Told {
        Told::Values { path: String::new(), step, digest: digest.into() }
    }

    fn done(step: i64, key: &str) -> Told {
        Told::Done { path: String::new(), step, node: "n".into(), key: key.into() }
    }

    #[test]
    fn what_was_told_and_is_stored_is_not_lost() {
        let told = [
            Told::Checkpoint { path: String::new(), step: 1, id: "b".into() },
            values(1, "digest b"),
            done(1, "gone, but its superstep is whole"),
            done(2, "done b"),
            Told::Ended { digest: "digest b".into() },
        ];
        assert_eq!(stored().lost("t", &told), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_stored_is_lost() {
        for told in [
            Told::Checkpoint { path: String::new(), step: 2, id: "c".into() },
            values(1, "digest a"),
            done(2, "done c"),
            Told::Ended { digest: "digest a".into() },
        ] {
            assert_eq!(stored().lost("t", [&told]).len(), 1, "{told:?}");
            assert_eq!(stored().lost("other", [&told]).len(), 1, "{told:?}");
        }
    }

    #[test]
    fn a_line_that_is_none_is_found() {
        let (a, b, c) = (seen(0, "a", None, "r"), seen(1, "b", Some("a"), "r"), seen(2, "c", Some("b"), "q"));
        assert!(broken_line(&[&c, &b, &a]).is_empty());
        assert_eq!(broken_line(&[&c, &a]).len(), 1);
        let again = seen(3, "d", Some("c"), "r");
        assert_eq!(broken_line(&[&again, &c, &b, &a]), ["run r has another between its checkpoints"]);
        let level = seen(1, "d", Some("b"), "r");
        assert_eq!(broken_line(&[&level, &b, &a]).len(), 1);
    }
}
