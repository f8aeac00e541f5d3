//! What nodes do outside: one line in a file that is only appended to, whatever dies.
//!
//! The lines of all lives of a victim stand in one file, in the order in which they happened. A kill loses none of them,
//! because a line is one `write` and the page cache outlives the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::told::Told;

/// The file, as nodes see it.
#[derive(Clone)]
pub(crate) struct Effects {
    file: Option<Arc<File>>,
    life: u32,
}

impl Effects {
    /// Opens the file for one life of a victim.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(path: &Path, life: u32) -> Result<Self, String> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { file: Some(Arc::new(file)), life })
    }

    /// Effects that nobody looks at.
    pub(crate) fn none() -> Self {
        Self { file: None, life: 0 }
    }

    /// Writes that something happened to a task.
    pub(crate) fn note(&self, what: What, key: &str, node: &str) {
        if let Some(file) = &self.file {
            let line = format!("{} {} {key} {node}\n", self.life, what.word());
            // A node that cannot write its effect must not count as one that had none.
            (&**file).write_all(line.as_bytes()).expect("the file of effects can be written");
        }
    }
}

/// What happened to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// It began.
    Began,
    /// It did its work.
    Worked,
    /// What is to be recorded was made.
    Made,
    /// The recorded result came back.
    Recorded,
}

impl What {
    const ALL: [Self; 4] = [Self::Began, Self::Worked, Self::Made, Self::Recorded];

    const fn word(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Worked => "worked",
            Self::Made => "made",
            Self::Recorded => "recorded",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub(crate) life: u32,
    pub(crate) what: What,
    pub(crate) key: String,
    pub(crate) node: String,
}

/// Reads what happened; a file that is not there says that nothing did.
///
/// # Errors
/// When a line is not one of ours.
pub(crate) fn read(path: &Path) -> Result<Vec<Effect>, String> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    text.lines().map(|line| parse(line).ok_or_else(|| format!("`{line}` is no effect"))).collect()
}

fn parse(line: &str) -> Option<Effect> {
    let mut words = line.split(' ');
    let life = words.next()?.parse().ok()?;
    let word = words.next()?;
    let what = What::ALL.into_iter().find(|what| what.word() == word)?;
    Some(Effect { life, what, key: words.next()?.to_owned(), node: words.next()?.to_owned() })
}

/// What was heard of the tasks of a thread, life by life.
pub(crate) type Heard = Vec<(u32, Told)>;

/// What the effects say.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Tasks that began more than once without having been told finished: in flight when their life ended.
    pub(crate) in_flight: u64,
    /// What must not have happened.
    pub(crate) problems: Vec<String>,
}

/// Holds the effects against what was told: what was told finished never begins again, what was recorded is never made
/// again, and what was told finished has begun.
pub(crate) fn judge(effects: &[Effect], heard: &Heard) -> Verdict {
    let mut verdict = Verdict::default();
    let mut begun: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    let mut recorded = BTreeSet::new();
    for effect in effects {
        match effect.what {
            What::Began => begun.entry(&effect.key).or_default().push(effect),
            What::Recorded => _ = recorded.insert(&effect.key),
            What::Made if recorded.contains(&effect.key) => verdict.problems.push(format!(
                "life {} made the recorded result of `{}` again (task {})",
                effect.life, effect.node, effect.key
            )),
            What::Made | What::Worked => {}
        }
    }
    for (life, told) in heard {
        let Told::Done { node, key, step, path } = told else { continue };
        // A graph inside is a task without effects of its own.
        let Some(begun) = begun.get(&**key) else {
            if node != crate::work::INNER {
                verdict.problems.push(format!("task {key} of `{node}` was told finished and never began"));
            }
            continue;
        };
        let same_life = begun.iter().filter(|effect| effect.life == *life).count();
        if begun.iter().any(|effect| effect.life > *life) || same_life > 1 {
            verdict.problems.push(format!(
                "task {key} of `{node}` (step {step} of `{path}`) was told finished in life {life}, and began again"
            ));
        }
    }
    verdict.in_flight = begun.values().map(|begun| begun.len() as u64 - 1).sum();
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(lines: &str) -> Vec<Effect> {
        lines.lines().map(|line| parse(line.trim()).unwrap()).collect()
    }

    fn done(key: &str) -> Told {
        Told::Done { path: String::new(), step: 1, node: "plan".into(), key: key.into() }
    }

    #[test]
    fn a_finished_task_must_not_begin_again() {
        let twice = effects("1 began k plan\n1 worked k plan\n2 began k plan");
        assert_eq!(judge(&twice, &vec![]), Verdict { in_flight: 1, problems: vec![] });
        assert_eq!(judge(&twice, &vec![(2, done("k"))]).problems.len(), 0);
        assert_eq!(judge(&twice, &vec![(1, done("k"))]).problems.len(), 1);
        let in_one_life = effects("1 began k plan\n1 began k plan");
        assert_eq!(judge(&in_one_life, &vec![(1, done("k"))]).problems.len(), 1);
        assert_eq!(judge(&[], &vec![(1, done("k"))]).problems.len(), 1);
    }

    #[test]
    fn what_is_recorded_must_not_be_made_again() {
        assert!(judge(&effects("1 made k pay\n2 made k pay\n2 recorded k pay"), &vec![]).problems.is_empty());
        assert_eq!(judge(&effects("1 made k pay\n1 recorded k pay\n2 made k pay"), &vec![]).problems.len(), 1);
    }

    #[test]
    fn a_line_is_read_or_refused() {
        assert!(parse("x began k plan").is_none() && parse("1 sang k plan").is_none());
    }
}
