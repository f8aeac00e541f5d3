//! Each rule bites on a history that was made wrong by hand.

use std::sync::Arc;

use serde_json::json;
use superstep::core::checkpoint::{Answer, FORMAT_VERSION, Pending, StoredOutput};
use superstep::core::datum::Datum;
use superstep::core::port::Lease;

use super::*;
use crate::rules::Violation;

const RUN: RunId = RunId::from_bits(7);
const TASK: TaskId = TaskId::from_bits(70);
const SIBLING: TaskId = TaskId::from_bits(71);

fn id(number: u128) -> CheckpointId {
    CheckpointId::from_bits(number)
}

/// A checkpoint of the outermost graph with nothing due.
pub(crate) fn step(number: u128, parent: Option<u128>) -> Arc<Checkpoint> {
    Arc::new(Checkpoint {
        format: FORMAT_VERSION,
        id: id(number),
        parent: parent.map(id),
        thread: THREAD.into(),
        namespace: Namespace::root(),
        step: i64::try_from(number).unwrap(),
        source: if parent.is_some() { Source::Loop } else { Source::Input },
        run: RUN,
        time: 0,
        graph: "sim".into(),
        schema_version: 1,
        due: Vec::new(),
        joins: Vec::new(),
        deferred: Vec::new(),
        written: Vec::new(),
        outer_task: None,
        since_input: None,
        metadata: Arc::default(),
    })
}

/// A commit under a lease.
pub(crate) fn commit(fence: u64, checkpoint: Option<Arc<Checkpoint>>, entries: Vec<(TaskId, Entry)>) -> Commit {
    let known = |(task, entry)| Pending { checkpoint: id(1), task, node: "node".into(), entry };
    let pending = entries.into_iter().map(known).collect();
    Commit { checkpoint, pending, ..Commit::empty(Lease { thread: THREAD.into(), fence }, Namespace::root()) }
}

fn done() -> Entry {
    Entry::Done(StoredOutput::default())
}

fn answer(value: u64) -> Entry {
    Entry::Answer(Answer { id: InterruptId::from_bits(9), value: json!(value), time: 0 })
}

fn execution(task: TaskId, label: u64) -> Execution {
    Execution { key: Key::of(task), label, run: RUN, namespace: Namespace::root(), checkpoint: Some(id(1)) }
}

/// A thread that one run has, with its input saved.
fn begun() -> Record {
    let mut record = Record::default();
    record.acquired(RUN, 1);
    record.committed(&commit(1, Some(step(1, None)), Vec::new())).unwrap();
    record
}

fn rule<T: std::fmt::Debug>(verdict: Result<T, Violation>) -> Rule {
    verdict.unwrap_err().rule
}

#[test]
fn a_commit_under_a_stale_lease_is_found() {
    let mut record = begun();
    record.acquired(RunId::from_bits(8), 2);
    assert_eq!(rule(record.committed(&commit(1, None, Vec::new()))), Rule::OneWriter);
    record.committed(&commit(2, None, Vec::new())).unwrap();
    record.let_go(2);
    assert_eq!(rule(record.committed(&commit(2, None, Vec::new()))), Rule::OneWriter);
}

#[test]
fn a_good_lease_that_is_refused_is_found() {
    let mut record = begun();
    let (error, commit) = (Error::new(Code::ThreadBusy, "fenced"), commit(1, None, Vec::new()));
    assert_eq!(rule(record.refused(&commit, &error)), Rule::OneWriter);
    record.acquired(RunId::from_bits(8), 2);
    assert_eq!(record.refused(&commit, &error), Ok(true));
}

#[test]
fn a_finished_task_that_begins_again_is_found() {
    let mut record = begun();
    assert_eq!(record.begins(&execution(TASK, 5)), Ok(Standing::First));
    assert_eq!(record.begins(&execution(TASK, 5)), Ok(Standing::Again));
    record.committed(&commit(1, None, vec![(TASK, done())])).unwrap();
    assert_eq!(rule(record.begins(&execution(TASK, 5))), Rule::DoneIsDone);
    record.acquired(RunId::from_bits(8), 2);
    assert_eq!(record.begins(&execution(TASK, 5)), Ok(Standing::Zombie));
}

#[test]
fn a_task_of_a_superstep_that_is_saved_must_not_begin() {
    let mut record = begun();
    record.committed(&commit(1, Some(step(2, Some(1))), Vec::new())).unwrap();
    assert_eq!(rule(record.begins(&execution(TASK, 5))), Rule::DoneIsDone);
}

#[test]
fn two_keys_for_a_task_and_one_for_two_are_found() {
    let mut record = begun();
    record.begins(&execution(TASK, 5)).unwrap();
    assert_eq!(rule(record.begins(&execution(SIBLING, 5))), Rule::OneKey);
    assert_eq!(rule(record.begins(&execution(TASK, 6))), Rule::OneKey);
}

#[test]
fn a_recorded_result_that_is_made_again_is_found() {
    let mut record = begun();
    record.makes(&execution(TASK, 5), "pay").unwrap();
    let paid = Entry::Once { key: "pay".to_owned(), value: Datum::json(json!(1)) };
    record.committed(&commit(1, None, vec![(TASK, paid)])).unwrap();
    assert_eq!(rule(record.makes(&execution(TASK, 5), "pay")), Rule::OnceIsOnce);
    record.makes(&execution(TASK, 5), "mail").unwrap();
}

#[test]
fn a_second_answer_is_found() {
    let mut record = begun();
    record.committed(&commit(1, None, vec![(TASK, answer(1))])).unwrap();
    assert_eq!(rule(record.committed(&commit(1, None, vec![(TASK, answer(1))]))), Rule::AnsweredOnce);
    assert_eq!(rule(record.committed(&commit(1, None, vec![(TASK, answer(2))]))), Rule::AnsweredOnce);
}

#[test]
fn a_finished_sibling_that_is_lost_is_found() {
    let mut record = begun();
    record.returns(&execution(SIBLING, 6));
    record.returns(&execution(TASK, 5));
    assert_eq!(rule(record.committed(&commit(1, None, vec![(TASK, done())]))), Rule::CleanCancel);
    let mut record = begun();
    record.returns(&execution(SIBLING, 6));
    record.cancels();
    record.returns(&execution(TASK, 5));
    assert_eq!(rule(record.cancelled()), Rule::CleanCancel);
    record.committed(&commit(1, None, vec![(SIBLING, done())])).unwrap();
    record.cancelled().unwrap();
}

#[test]
fn what_is_told_before_it_is_saved_is_found() {
    let mut record = begun();
    let root = Namespace::root();
    let saved = Event::Checkpoint {
        id: id(1),
        parent: None,
        step: 1,
        source: Source::Input,
        next: Vec::new(),
        tasks: Vec::new(),
        state: None,
    };
    assert_eq!(record.tells(&root, &saved), Ok(true));
    let lost = Event::Checkpoint {
        id: id(2),
        parent: None,
        step: 2,
        source: Source::Loop,
        next: Vec::new(),
        tasks: Vec::new(),
        state: None,
    };
    assert_eq!(rule(record.tells(&root, &lost)), Rule::ToldIsSaved);
    let update = superstep::core::update::Update::new();
    let task_done = Event::TaskDone { task: TASK, node: "node".into(), step: 2, update, cached: false };
    assert_eq!(rule(record.tells(&root, &task_done)), Rule::ToldIsSaved);
    record.committed(&commit(1, None, vec![(TASK, done())])).unwrap();
    assert_eq!(record.tells(&root, &task_done), Ok(true));
    assert_eq!(rule(record.tells_checkpoint(id(3))), Rule::ToldIsSaved);
    let begun =
        Event::TaskStarted { task: TASK, node: "node".into(), step: 9, view: None, sent: None, checkpoint: None };
    assert_eq!(record.tells(&root, &begun), Ok(false));
}

#[test]
fn what_was_told_and_is_gone_is_found() {
    let mut record = begun();
    record.tells_checkpoint(id(1)).unwrap();
    record.check_told(|_| true).unwrap();
    assert_eq!(rule(record.check_told(|_| false)), Rule::ToldIsSaved);
}

#[test]
fn a_task_on_a_checkpoint_that_is_not_saved_is_found() {
    let mut record = begun();
    let early = Execution { checkpoint: Some(id(2)), ..execution(TASK, 5) };
    assert_eq!(rule(record.begins(&early)), Rule::ToldIsSaved);
}
