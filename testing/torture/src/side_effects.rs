//! Side effects of nodes: one line each in a file that is only appended to.
//!
//! The lines of all processes of a run are in one file, in the order in which they happened. A kill loses none of
//! them, because a line is one `write` and the page cache outlives the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::protocol::ChildMessage;

/// The side effect log that nodes write.
#[derive(Clone)]
pub(crate) struct SideEffectLog {
    file: Option<Arc<File>>,
    process: u32,
}

impl SideEffectLog {
    /// Opens the file for one process of a run.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub(crate) fn open(path: &Path, process: u32) -> Result<Self, String> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { file: Some(Arc::new(file)), process })
    }

    /// Returns a log that discards everything.
    pub(crate) fn none() -> Self {
        Self { file: None, process: 0 }
    }

    /// Records a side effect of a task.
    pub(crate) fn record(&self, kind: SideEffectKind, key: &str, node: &str) {
        if let Some(file) = &self.file {
            let line = format!("{} {} {key} {node}\n", self.process, kind.name());
            // A node that cannot record its side effect must not continue.
            (&**file).write_all(line.as_bytes()).expect("the side effect log can be written");
        }
    }
}

/// Kind of a side effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SideEffectKind {
    /// The task started.
    Started,
    /// The task finished its work.
    Worked,
    /// A result to be recorded was computed.
    Computed,
    /// The recorded result was returned.
    Recorded,
}

impl SideEffectKind {
    const ALL: [Self; 4] = [Self::Started, Self::Worked, Self::Computed, Self::Recorded];

    const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Worked => "worked",
            Self::Computed => "computed",
            Self::Recorded => "recorded",
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SideEffect {
    pub(crate) process: u32,
    pub(crate) kind: SideEffectKind,
    pub(crate) key: String,
    pub(crate) node: String,
}

/// Reads the log; a missing file is an empty log.
///
/// # Errors
/// Returns an error if a line is invalid.
pub(crate) fn read(path: &Path) -> Result<Vec<SideEffect>, String> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    text.lines().map(|line| parse(line).ok_or_else(|| format!("`{line}` is not a side effect"))).collect()
}

fn parse(line: &str) -> Option<SideEffect> {
    let mut fields = line.split(' ');
    let process = fields.next()?.parse().ok()?;
    let name = fields.next()?;
    let kind = SideEffectKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    Some(SideEffect { process, kind, key: fields.next()?.to_owned(), node: fields.next()?.to_owned() })
}

/// Reported events with the number of their process.
pub(crate) type ReportedEvents = Vec<(u32, ChildMessage)>;

/// Result of checking the side effects.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SideEffectReport {
    /// Number of tasks that started more than once without being reported as finished: they were in flight when their
    /// process ended.
    pub(crate) in_flight: u64,
    /// Violations.
    pub(crate) violations: Vec<String>,
}

/// Compares side effects with reported events: a task reported as finished has started and never starts again, and a
/// recorded result is never computed again.
pub(crate) fn check(effects: &[SideEffect], reported: &ReportedEvents) -> SideEffectReport {
    let mut report = SideEffectReport::default();
    let mut starts_by_task: BTreeMap<&str, Vec<&SideEffect>> = BTreeMap::new();
    let mut recorded = BTreeSet::new();
    for effect in effects {
        match effect.kind {
            SideEffectKind::Started => starts_by_task.entry(&effect.key).or_default().push(effect),
            SideEffectKind::Recorded => _ = recorded.insert(&effect.key),
            SideEffectKind::Computed if recorded.contains(&effect.key) => report.violations.push(format!(
                "process {} computed the recorded result of `{}` again (task {})",
                effect.process, effect.node, effect.key
            )),
            SideEffectKind::Computed | SideEffectKind::Worked => {}
        }
    }
    for (process, message) in reported {
        let ChildMessage::Done { node, key, step, path } = message else { continue };
        // A subgraph is a task without side effects of its own.
        let Some(starts) = starts_by_task.get(&**key) else {
            if node != crate::workload::INNER {
                report.violations.push(format!("task {key} of `{node}` was reported as finished and never started"));
            }
            continue;
        };
        let starts_in_process = starts.iter().filter(|effect| effect.process == *process).count();
        if starts.iter().any(|effect| effect.process > *process) || starts_in_process > 1 {
            report.violations.push(format!(
                "task {key} of `{node}` (step {step} of `{path}`) finished in process {process} and started again"
            ));
        }
    }
    report.in_flight = starts_by_task.values().map(|starts| starts.len() as u64 - 1).sum();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(lines: &str) -> Vec<SideEffect> {
        lines.lines().map(|line| parse(line.trim()).unwrap()).collect()
    }

    fn done(key: &str) -> ChildMessage {
        ChildMessage::Done { path: String::new(), step: 1, node: "plan".into(), key: key.into() }
    }

    #[test]
    fn a_finished_task_must_not_begin_again() {
        let twice = effects("1 started k plan\n1 worked k plan\n2 started k plan");
        assert_eq!(check(&twice, &vec![]), SideEffectReport { in_flight: 1, violations: vec![] });
        assert_eq!(check(&twice, &vec![(2, done("k"))]).violations.len(), 0);
        assert_eq!(check(&twice, &vec![(1, done("k"))]).violations.len(), 1);
        let twice_in_process = effects("1 started k plan\n1 started k plan");
        assert_eq!(check(&twice_in_process, &vec![(1, done("k"))]).violations.len(), 1);
        assert_eq!(check(&[], &vec![(1, done("k"))]).violations.len(), 1);
    }

    #[test]
    fn a_recomputed_recorded_result_is_a_violation() {
        assert!(check(&effects("1 computed k pay\n2 computed k pay\n2 recorded k pay"), &vec![]).violations.is_empty());
        assert_eq!(
            check(&effects("1 computed k pay\n1 recorded k pay\n2 computed k pay"), &vec![]).violations.len(),
            1
        );
    }

    #[test]
    fn a_line_is_parsed_or_rejected() {
        assert!(parse("x started k plan").is_none() && parse("1 sang k plan").is_none());
    }
}
