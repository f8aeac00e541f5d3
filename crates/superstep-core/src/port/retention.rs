//! Which checkpoints of a thread stay when it is pruned: one decision, for every store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Clock;
use crate::checkpoint::{Checkpoint, Entry, Mark, Origin, Pending, Source};
use crate::id::{CheckpointId, RunId};

/// Which checkpoints stay when a thread is pruned.
///
/// Of each graph on the thread stay the newest `keep_last` that are no older than `max_age`, the newest one however old
/// it is (unless `keep_last` is 0), whatever a rule of `keep` names, and always what the thread needs to go on: open
/// questions and results of tasks that the newest has; but what a run of `without_runs` made goes in any case.
///
/// The default keeps the newest 200 of each graph.
///
/// ```
/// use std::time::Duration;
/// use superstep_core::port::{Keep, Retention};
///
/// let retention = Retention::default().max_age(Duration::from_secs(30 * 86_400)).keep(Keep::First).keep(Keep::tagged("release"));
/// assert_eq!(retention.keep_last, 200);
/// assert_eq!(Retention::last(3).dry_run().keep_last, 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Retention {
    /// The newest of each namespace, of those that `without_runs` leaves.
    pub keep_last: usize,
    /// How old a checkpoint may become. Counts from the time [`Retention::at`] is given: stores know no clock.
    pub max_age: Option<Duration>,
    /// What was made before this goes, in microseconds since 1970.
    pub before: Option<i64>,
    /// What stays, however old it is.
    pub keep: Vec<Keep>,
    /// What these runs made goes, whatever else would keep it.
    pub without_runs: Vec<RunId>,
    /// Only say what would go.
    pub dry_run: bool,
}

/// A rule by which checkpoints stay.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Keep {
    /// The oldest there is of each graph.
    First,
    /// Those whose run was given this key with its metadata.
    Tagged {
        /// The key.
        key: String,
        /// The value it has; any where there is none.
        value: Option<Value>,
    },
    /// Those at which a person was asked, answered or not.
    Interrupted,
    /// Those that more than one other builds on.
    ForkPoints,
}

impl Keep {
    /// What was made by runs whose metadata has this key.
    pub fn tagged(key: impl Into<String>) -> Self {
        Self::Tagged { key: key.into(), value: None }
    }

    /// What was made by runs whose metadata has this value under this key.
    pub fn tagged_as(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Tagged { key: key.into(), value: Some(value.into()) }
    }
}

/// How many stay of each graph, unless told.
const KEPT: usize = 200;

impl Default for Retention {
    fn default() -> Self {
        Self::last(KEPT)
    }
}

impl Retention {
    /// Keeps the newest of each graph, and nothing else that is not needed.
    #[must_use]
    pub fn last(number: usize) -> Self {
        let (keep, without_runs) = (Vec::new(), Vec::new());
        Self { keep_last: number, max_age: None, before: None, keep, without_runs, dry_run: false }
    }

    /// Keeps all there is, to begin with.
    #[must_use]
    pub fn everything() -> Self {
        Self::last(usize::MAX)
    }

    /// Lets go what is older than this when it is pruned.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Lets stay what a rule names.
    #[must_use]
    pub fn keep(mut self, rule: Keep) -> Self {
        self.keep.push(rule);
        self
    }

    /// Removes nothing, and says what would go.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The same with `max_age` counted from now. Whoever gives it to a store does this first.
    #[must_use]
    pub fn at(&self, clock: &dyn Clock) -> Self {
        let oldest = self.max_age.map(|age| {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            clock.now().saturating_sub(age)
        });
        Self { max_age: None, before: self.before.max(oldest), ..self.clone() }
    }

    /// Whether the decision needs to know which run made a checkpoint, or what was said about it.
    #[must_use]
    pub fn asks_for_origin(&self) -> bool {
        !self.without_runs.is_empty() || self.keep.iter().any(|rule| matches!(rule, Keep::Tagged { .. }))
    }

    /// Decides which checkpoints of one graph stay; `line` is all of them, in the order they were saved.
    #[must_use]
    pub fn stays(&self, line: &[Candidate]) -> Vec<bool> {
        let is_wanted = |candidate: &Candidate| candidate.run.is_none_or(|run| !self.without_runs.contains(&run));
        let mut children: BTreeMap<CheckpointId, usize> = BTreeMap::new();
        for parent in line.iter().filter(|candidate| is_wanted(candidate)).filter_map(|candidate| candidate.parent) {
            *children.entry(parent).or_default() += 1;
        }
        let first = line.iter().find(|candidate| is_wanted(candidate)).map(|candidate| candidate.id);
        let is_ruled = |candidate: &Candidate| {
            self.keep.iter().any(|rule| match rule {
                Keep::First => Some(candidate.id) == first,
                Keep::Tagged { key, value } => candidate.is_tagged(key, value.as_ref()),
                Keep::Interrupted => candidate.is_interrupted,
                Keep::ForkPoints => children.get(&candidate.id).is_some_and(|children| *children > 1),
            })
        };
        let mut newer = 0;
        let mut stays: Vec<bool> = Vec::with_capacity(line.len());
        for candidate in line.iter().rev() {
            if !is_wanted(candidate) {
                stays.push(false);
                continue;
            }
            let is_newest = newer == 0;
            let is_young = self.before.is_none_or(|before| candidate.time >= before);
            let is_recent = newer < self.keep_last && (is_newest || is_young);
            let is_needed = candidate.has_open_question || (is_newest && candidate.has_pending);
            stays.push(is_recent || is_needed || is_ruled(candidate));
            newer += 1;
        }
        stays.reverse();
        stays
    }
}

/// A checkpoint as far as it matters for whether it stays.
#[derive(Debug, Clone)]
pub struct Candidate {
    id: CheckpointId,
    parent: Option<CheckpointId>,
    time: i64,
    run: Option<RunId>,
    metadata: Option<Arc<BTreeMap<String, Value>>>,
    has_pending: bool,
    has_open_question: bool,
    is_interrupted: bool,
}

impl Candidate {
    /// A checkpoint, and what is known of its tasks.
    #[must_use]
    pub fn new(checkpoint: &Checkpoint, pending: &[Pending]) -> Self {
        let bare = Self::bare(&Mark::from(checkpoint), pending);
        Self { run: Some(checkpoint.run), metadata: Some(checkpoint.metadata.clone()), ..bare }
    }

    /// As [`Candidate::new`], from pieces; the origin only where [`Retention::asks_for_origin`].
    #[must_use]
    pub fn from_pieces(mark: &Mark, origin: Option<&Origin>, pending: &[Pending]) -> Self {
        let (run, metadata) = (origin.map(|origin| origin.run), origin.map(|origin| origin.metadata.clone()));
        Self { run, metadata, ..Self::bare(mark, pending) }
    }

    fn bare(mark: &Mark, pending: &[Pending]) -> Self {
        let answered =
            |id| pending.iter().any(|known| matches!(&known.entry, Entry::Answer(answer) if answer.id == id));
        let mut questions = pending.iter().filter_map(|known| match &known.entry {
            Entry::Question(question) => Some(question.id),
            _ => None,
        });
        Self {
            id: mark.id,
            parent: mark.parent,
            time: mark.time,
            run: None,
            metadata: None,
            has_pending: !pending.is_empty(),
            is_interrupted: mark.source == Source::Interrupt || questions.clone().next().is_some(),
            has_open_question: questions.any(|id| !answered(id)),
        }
    }

    fn is_tagged(&self, key: &str, value: Option<&Value>) -> bool {
        let found = self.metadata.as_ref().and_then(|metadata| metadata.get(key));
        found.is_some_and(|found| value.is_none_or(|value| value == found))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    prop_compose! {
        fn any_candidate()(time in 0..20_i64, run in 0..3_u128, parent in 0..8_u128, tag in 0..3_u8, known in 0..4_u8)
            -> Candidate
        {
            Candidate {
                id: CheckpointId::from_bits(0),
                parent: Some(CheckpointId::from_bits(parent)),
                time,
                run: Some(RunId::from_bits(run)),
                metadata: Some(Arc::new((0..tag).map(|tag| (format!("tag{tag}"), json!(tag))).collect())),
                has_pending: known > 0,
                has_open_question: known == 2,
                is_interrupted: known > 1,
            }
        }
    }

    fn any_line() -> impl Strategy<Value = Vec<Candidate>> {
        proptest::collection::vec(any_candidate(), 0..12).prop_map(|mut line| {
            line.iter_mut().zip(0..).for_each(|(candidate, id)| candidate.id = CheckpointId::from_bits(id));
            line
        })
    }

    fn any_rules() -> impl Strategy<Value = Vec<Keep>> {
        let all = [Keep::First, Keep::tagged("tag0"), Keep::tagged_as("tag1", 1), Keep::Interrupted, Keep::ForkPoints];
        proptest::sample::subsequence(all.to_vec(), 0..=5)
    }

    prop_compose! {
        fn any_retention()(
            keep_last in 0..14_usize, before in proptest::option::of(0..20_i64), keep in any_rules(),
            run in proptest::option::of(0..3_u128),
        ) -> Retention {
            let without_runs = run.into_iter().map(RunId::from_bits).collect();
            Retention { before, keep, without_runs, ..Retention::last(keep_last) }
        }
    }

    /// Everything that stays under `less` stays under `more`.
    fn covers(more: &Retention, less: &Retention, line: &[Candidate]) -> bool {
        more.stays(line).into_iter().zip(less.stays(line)).all(|(more, less)| more || !less)
    }

    proptest! {
        /// R-FWK-43: each rule and each larger limit only adds to what stays, and unwanted runs always go.
        #[test]
        fn rules_only_add(line in any_line(), retention in any_retention(), rules in any_rules()) {
            let wider = Retention { keep: [retention.keep.clone(), rules].concat(), ..retention.clone() };
            prop_assert!(covers(&wider, &retention, &line));
            let longer = Retention { keep_last: retention.keep_last + 1, ..retention.clone() };
            prop_assert!(covers(&longer, &retention, &line));
            let older = Retention { before: None, ..retention.clone() };
            prop_assert!(covers(&older, &retention, &line));
            let plain = Retention { keep: Vec::new(), ..retention.clone() };
            prop_assert!(covers(&retention, &plain, &line));
            for (candidate, stays) in line.iter().zip(retention.stays(&line)) {
                let is_unwanted = retention.without_runs.iter().any(|run| candidate.run == Some(*run));
                prop_assert!(!(stays && is_unwanted));
                prop_assert!(stays || is_unwanted || !candidate.has_open_question);
            }
        }

        /// R-FWK-43: the newest that is wanted stays, unless nothing is to be kept.
        #[test]
        fn the_newest_stays(line in any_line(), retention in any_retention()) {
            let is_wanted = |candidate: &&Candidate| !retention.without_runs.iter().any(|run| candidate.run == Some(*run));
            let stays = retention.stays(&line);
            let newest = line.iter().rposition(|candidate| is_wanted(&candidate));
            prop_assert!(newest.is_none_or(|newest| stays[newest] || retention.keep_last == 0));
            prop_assert_eq!(Retention::everything().stays(&line), vec![true; line.len()]);
        }
    }

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> i64 {
            1_000_000
        }

        fn sleep(&self, _: Duration) -> super::super::BoxFuture<'static, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    /// R-FWK-43: an age becomes a time once there is a clock; the later of two times counts.
    #[test]
    fn an_age_becomes_a_time() {
        let aged = Retention::default().max_age(Duration::from_micros(400_000));
        assert_eq!((aged.at(&Noon).before, aged.at(&Noon).max_age), (Some(600_000), None));
        let both = Retention { before: Some(700_000), ..aged };
        assert_eq!(both.at(&Noon).before, Some(700_000));
        assert_eq!(Retention::default().at(&Noon), Retention::default());
    }
}
