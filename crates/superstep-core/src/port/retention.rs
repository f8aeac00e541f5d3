//! Retention: the rule for which checkpoints of a thread stay when it is pruned, shared by all checkpointers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Clock;
use crate::checkpoint::{Checkpoint, CheckpointHeader, CheckpointSource, PendingEntry, RunInfo, TaskEntry};
use crate::id::{CheckpointId, RunId};

/// The rule for which checkpoints stay when a thread is pruned.
///
/// Of each graph on the thread these checkpoints stay: the newest `keep_last` that are no older than `max_age`; the
/// newest one at any age (unless `keep_last` is 0); those that a rule of `keep_rules` names; and always those the
/// thread needs to continue: open interrupts and task results of the latest checkpoint. A checkpoint of a run in
/// `excluded_runs` is removed in any case.
///
/// The default keeps the newest 200 of each graph.
///
/// ```
/// use std::time::Duration;
/// use superstep_core::port::{KeepRule, Retention};
///
/// let retention = Retention::default().max_age(Duration::from_secs(30 * 86_400)).keep_rule(KeepRule::First).keep_rule(KeepRule::tagged("release"));
/// assert_eq!(retention.keep_last, 200);
/// assert_eq!(Retention::keep_last(3).dry_run().keep_last, 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Retention {
    /// Number of latest checkpoints to keep per namespace, not counting those of `excluded_runs`.
    pub keep_last: usize,
    /// Maximum age of a checkpoint. Relative to the clock of [`Retention::resolve_max_age`]: checkpointers have no
    /// clock.
    pub max_age: Option<Duration>,
    /// Checkpoints created before this time are removed, in microseconds since 1970.
    pub before: Option<i64>,
    /// Rules for checkpoints that stay at any age.
    pub keep_rules: Vec<KeepRule>,
    /// Runs whose checkpoints are removed, whatever other rule would keep them.
    pub excluded_runs: Vec<RunId>,
    /// True if nothing is removed and only the report is computed.
    pub dry_run: bool,
}

/// A rule that keeps checkpoints.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum KeepRule {
    /// Keeps the oldest of each graph.
    First,
    /// Keeps those whose run has this key in its metadata.
    Tagged {
        /// Key in the metadata.
        key: String,
        /// Required value; `None` for any.
        value: Option<Value>,
    },
    /// Keeps those with an interrupt, resumed or not.
    Interrupted,
    /// Keeps those with more than one child.
    ForkPoints,
}

impl KeepRule {
    /// Keeps the checkpoints of runs whose metadata has this key.
    pub fn tagged(key: impl Into<String>) -> Self {
        Self::Tagged { key: key.into(), value: None }
    }

    /// Keeps the checkpoints of runs whose metadata has this value under this key.
    pub fn tagged_as(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Tagged { key: key.into(), value: Some(value.into()) }
    }
}

/// Default number of checkpoints that stay of each graph.
const DEFAULT_KEEP_LAST: usize = 200;

impl Default for Retention {
    fn default() -> Self {
        Self::keep_last(DEFAULT_KEEP_LAST)
    }
}

impl Retention {
    /// Keeps the newest of each graph, and nothing else that is not needed.
    #[must_use]
    pub fn keep_last(number: usize) -> Self {
        let (keep_rules, excluded_runs) = (Vec::new(), Vec::new());
        Self { keep_last: number, max_age: None, before: None, keep_rules, excluded_runs, dry_run: false }
    }

    /// Keeps all checkpoints; further rules can restrict it.
    #[must_use]
    pub fn keep_all() -> Self {
        Self::keep_last(usize::MAX)
    }

    /// Sets the maximum age.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Adds a rule that keeps checkpoints.
    #[must_use]
    pub fn keep_rule(mut self, rule: KeepRule) -> Self {
        self.keep_rules.push(rule);
        self
    }

    /// Removes nothing, and only computes the report.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Returns the same rule with `max_age` converted to a time. Must be called before the rule is passed to a
    /// checkpointer.
    #[must_use]
    pub fn resolve_max_age(&self, clock: &dyn Clock) -> Self {
        let oldest = self.max_age.map(|age| {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            clock.now().saturating_sub(age)
        });
        Self { max_age: None, before: self.before.max(oldest), ..self.clone() }
    }

    /// Returns true if the decision needs the run or the metadata of a checkpoint.
    #[must_use]
    pub fn needs_run_info(&self) -> bool {
        !self.excluded_runs.is_empty() || self.keep_rules.iter().any(|rule| matches!(rule, KeepRule::Tagged { .. }))
    }

    /// Decides which checkpoints of one graph stay; `candidates` is all of them, in commit order.
    #[must_use]
    pub fn decide(&self, candidates: &[PruneCandidate]) -> Vec<bool> {
        let is_included =
            |candidate: &PruneCandidate| candidate.run.is_none_or(|run| !self.excluded_runs.contains(&run));
        let mut children: BTreeMap<CheckpointId, usize> = BTreeMap::new();
        for parent in
            candidates.iter().filter(|candidate| is_included(candidate)).filter_map(|candidate| candidate.parent)
        {
            *children.entry(parent).or_default() += 1;
        }
        let first = candidates.iter().find(|candidate| is_included(candidate)).map(|candidate| candidate.id);
        let matches_rule = |candidate: &PruneCandidate| {
            self.keep_rules.iter().any(|rule| match rule {
                KeepRule::First => Some(candidate.id) == first,
                KeepRule::Tagged { key, value } => candidate.is_tagged(key, value.as_ref()),
                KeepRule::Interrupted => candidate.is_interrupted,
                KeepRule::ForkPoints => children.get(&candidate.id).is_some_and(|children| *children > 1),
            })
        };
        let mut newer = 0;
        let mut stays: Vec<bool> = Vec::with_capacity(candidates.len());
        for candidate in candidates.iter().rev() {
            if !is_included(candidate) {
                stays.push(false);
                continue;
            }
            let is_newest = newer == 0;
            let is_within_age = self.before.is_none_or(|before| candidate.time >= before);
            let is_recent = newer < self.keep_last && (is_newest || is_within_age);
            let is_needed = candidate.has_open_interrupt || (is_newest && candidate.has_pending);
            stays.push(is_recent || is_needed || matches_rule(candidate));
            newer += 1;
        }
        stays.reverse();
        stays
    }
}

/// The properties of a checkpoint that decide if it stays.
#[derive(Debug, Clone)]
pub struct PruneCandidate {
    id: CheckpointId,
    parent: Option<CheckpointId>,
    time: i64,
    run: Option<RunId>,
    metadata: Option<Arc<BTreeMap<String, Value>>>,
    has_pending: bool,
    has_open_interrupt: bool,
    is_interrupted: bool,
}

impl PruneCandidate {
    /// Creates a candidate from a checkpoint and its pending entries.
    #[must_use]
    pub fn new(checkpoint: &Checkpoint, pending: &[PendingEntry]) -> Self {
        let bare = Self::from_header(&CheckpointHeader::from(checkpoint), pending);
        Self { run: Some(checkpoint.run), metadata: Some(checkpoint.metadata.clone()), ..bare }
    }

    /// Same as [`PruneCandidate::new`], from columns; the run information is needed only if
    /// [`Retention::needs_run_info`].
    #[must_use]
    pub fn from_columns(header: &CheckpointHeader, run_info: Option<&RunInfo>, pending: &[PendingEntry]) -> Self {
        let (run, metadata) =
            (run_info.map(|run_info| run_info.run), run_info.map(|run_info| run_info.metadata.clone()));
        Self { run, metadata, ..Self::from_header(header, pending) }
    }

    fn from_header(header: &CheckpointHeader, pending: &[PendingEntry]) -> Self {
        let is_resumed = |id| {
            pending.iter().any(|entry| matches!(&entry.entry, TaskEntry::Resume(resume_value) if resume_value.id == id))
        };
        let mut interrupts = pending.iter().filter_map(|entry| match &entry.entry {
            TaskEntry::Interrupt(interrupt) => Some(interrupt.id),
            _ => None,
        });
        Self {
            id: header.id,
            parent: header.parent,
            time: header.time,
            run: None,
            metadata: None,
            has_pending: !pending.is_empty(),
            is_interrupted: header.source == CheckpointSource::Interrupt || interrupts.clone().next().is_some(),
            has_open_interrupt: interrupts.any(|id| !is_resumed(id)),
        }
    }

    fn is_tagged(&self, key: &str, value: Option<&Value>) -> bool {
        let actual = self.metadata.as_ref().and_then(|metadata| metadata.get(key));
        actual.is_some_and(|actual| value.is_none_or(|value| value == actual))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    prop_compose! {
        fn any_candidate()(time in 0..20_i64, run in 0..3_u128, parent in 0..8_u128, tag in 0..3_u8, entries in 0..4_u8)
            -> PruneCandidate
        {
            PruneCandidate {
                id: CheckpointId::from_bits(0),
                parent: Some(CheckpointId::from_bits(parent)),
                time,
                run: Some(RunId::from_bits(run)),
                metadata: Some(Arc::new((0..tag).map(|tag| (format!("tag{tag}"), json!(tag))).collect())),
                has_pending: entries > 0,
                has_open_interrupt: entries == 2,
                is_interrupted: entries > 1,
            }
        }
    }

    fn any_candidates() -> impl Strategy<Value = Vec<PruneCandidate>> {
        proptest::collection::vec(any_candidate(), 0..12).prop_map(|mut candidates| {
            candidates.iter_mut().zip(0..).for_each(|(candidate, id)| candidate.id = CheckpointId::from_bits(id));
            candidates
        })
    }

    fn any_rules() -> impl Strategy<Value = Vec<KeepRule>> {
        let all = [
            KeepRule::First,
            KeepRule::tagged("tag0"),
            KeepRule::tagged_as("tag1", 1),
            KeepRule::Interrupted,
            KeepRule::ForkPoints,
        ];
        proptest::sample::subsequence(all.to_vec(), 0..=5)
    }

    prop_compose! {
        fn any_retention()(
            keep_last in 0..14_usize, before in proptest::option::of(0..20_i64), keep_rules in any_rules(),
            run in proptest::option::of(0..3_u128),
        ) -> Retention {
            let excluded_runs = run.into_iter().map(RunId::from_bits).collect();
            Retention { before, keep_rules, excluded_runs, ..Retention::keep_last(keep_last) }
        }
    }

    /// Returns true if everything that stays under `less` stays under `more`.
    fn covers(more: &Retention, less: &Retention, candidates: &[PruneCandidate]) -> bool {
        more.decide(candidates).into_iter().zip(less.decide(candidates)).all(|(more, less)| more || !less)
    }

    proptest! {
        /// R-FWK-43: each rule and each larger limit only adds to the checkpoints that stay, and excluded runs are
        /// always removed.
        #[test]
        fn keep_rules_never_remove(candidates in any_candidates(), retention in any_retention(), rules in any_rules()) {
            let wider = Retention { keep_rules: [retention.keep_rules.clone(), rules].concat(), ..retention.clone() };
            prop_assert!(covers(&wider, &retention, &candidates));
            let longer = Retention { keep_last: retention.keep_last + 1, ..retention.clone() };
            prop_assert!(covers(&longer, &retention, &candidates));
            let older = Retention { before: None, ..retention.clone() };
            prop_assert!(covers(&older, &retention, &candidates));
            let plain = Retention { keep_rules: Vec::new(), ..retention.clone() };
            prop_assert!(covers(&retention, &plain, &candidates));
            for (candidate, stays) in candidates.iter().zip(retention.decide(&candidates)) {
                let is_excluded = retention.excluded_runs.iter().any(|run| candidate.run == Some(*run));
                prop_assert!(!(stays && is_excluded));
                prop_assert!(stays || is_excluded || !candidate.has_open_interrupt);
            }
        }

        /// R-FWK-43: the latest checkpoint of a run that is not excluded stays, unless `keep_last` is 0.
        #[test]
        fn the_newest_stays(candidates in any_candidates(), retention in any_retention()) {
            let is_included = |candidate: &&PruneCandidate| {
                !retention.excluded_runs.iter().any(|run| candidate.run == Some(*run))
            };
            let stays = retention.decide(&candidates);
            let newest = candidates.iter().rposition(|candidate| is_included(&candidate));
            prop_assert!(newest.is_none_or(|newest| stays[newest] || retention.keep_last == 0));
            prop_assert_eq!(Retention::keep_all().decide(&candidates), vec![true; candidates.len()]);
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

    /// R-FWK-43: an age becomes a time when a clock is given; the later of two times counts.
    #[test]
    fn an_age_becomes_a_time() {
        let aged = Retention::default().max_age(Duration::from_micros(400_000));
        assert_eq!((aged.resolve_max_age(&Noon).before, aged.resolve_max_age(&Noon).max_age), (Some(600_000), None));
        let both = Retention { before: Some(700_000), ..aged };
        assert_eq!(both.resolve_max_age(&Noon).before, Some(700_000));
        assert_eq!(Retention::default().resolve_max_age(&Noon), Retention::default());
    }
}
