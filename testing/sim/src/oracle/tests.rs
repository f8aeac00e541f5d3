//! Each invariant detects a violation in a hand-made history.

use std::sync::Arc;

use serde_json::json;
use superstep::core::checkpoint::{FORMAT_VERSION, PendingEntry, ResumeValue, StoredOutput};
use superstep::core::port::Lease;
use superstep::core::value::AnyValue;

use super::*;
use crate::invariants::Violation;

const RUN: RunId = RunId::from_bits(7);
const TASK: TaskId = TaskId::from_bits(70);
const SIBLING: TaskId = TaskId::from_bits(71);

fn id(number: u128) -> CheckpointId {
    CheckpointId::from_bits(number)
}

/// Returns a checkpoint of the root graph without next tasks.
pub(crate) fn step(number: u128, parent: Option<u128>) -> Arc<Checkpoint> {
    Arc::new(Checkpoint {
        format: FORMAT_VERSION,
        id: id(number),
        parent: parent.map(id),
        thread: THREAD.into(),
        namespace: CheckpointNamespace::root(),
        step: i64::try_from(number).unwrap(),
        source: if parent.is_some() { CheckpointSource::Loop } else { CheckpointSource::Input },
        run: RUN,
        time: 0,
        graph: "sim".into(),
        schema_version: 1,
        next_tasks: Vec::new(),
        joins: Vec::new(),
        deferred: Vec::new(),
        written_fields: Vec::new(),
        parent_task: None,
        changes_since_input: None,
        metadata: Arc::default(),
    })
}

/// Returns a commit with a lease.
pub(crate) fn commit(fence: u64, checkpoint: Option<Arc<Checkpoint>>, entries: Vec<(TaskId, TaskEntry)>) -> Commit {
    let to_pending = |(task, entry)| PendingEntry { checkpoint: id(1), task, node: "node".into(), entry };
    let pending = entries.into_iter().map(to_pending).collect();
    Commit { checkpoint, pending, ..Commit::empty(Lease { thread: THREAD.into(), fence }, CheckpointNamespace::root()) }
}

fn finished() -> TaskEntry {
    TaskEntry::Done(StoredOutput::default())
}

fn resume(value: u64) -> TaskEntry {
    TaskEntry::Resume(ResumeValue { id: InterruptId::from_bits(9), value: json!(value), time: 0 })
}

fn execution(task: TaskId, label: u64) -> Execution {
    Execution {
        key: TaskIdentity::from_task(task),
        label,
        run: RUN,
        namespace: CheckpointNamespace::root(),
        checkpoint: Some(id(1)),
    }
}

/// Returns an oracle of a thread with a leased run and a saved input.
fn started() -> Oracle {
    let mut oracle = Oracle::default();
    oracle.acquired(RUN, 1);
    oracle.committed(&commit(1, Some(step(1, None)), Vec::new())).unwrap();
    oracle
}

fn rule<T: std::fmt::Debug>(check_result: Result<T, Violation>) -> Rule {
    check_result.unwrap_err().rule
}

#[test]
fn a_commit_under_a_stale_lease_is_detected() {
    let mut oracle = started();
    oracle.acquired(RunId::from_bits(8), 2);
    assert_eq!(rule(oracle.committed(&commit(1, None, Vec::new()))), Rule::OneWriter);
    oracle.committed(&commit(2, None, Vec::new())).unwrap();
    oracle.released(2);
    assert_eq!(rule(oracle.committed(&commit(2, None, Vec::new()))), Rule::OneWriter);
}

#[test]
fn a_rejected_valid_lease_is_detected() {
    let mut oracle = started();
    let (error, commit) = (Error::new(ErrorCode::ThreadBusy, "fenced"), commit(1, None, Vec::new()));
    assert_eq!(rule(oracle.rejected(&commit, &error)), Rule::OneWriter);
    oracle.acquired(RunId::from_bits(8), 2);
    assert_eq!(oracle.rejected(&commit, &error), Ok(true));
}

#[test]
fn a_repeated_finished_task_is_detected() {
    let mut oracle = started();
    assert_eq!(oracle.task_started(&execution(TASK, 5)), Ok(ExecutionKind::First));
    assert_eq!(oracle.task_started(&execution(TASK, 5)), Ok(ExecutionKind::Repeated));
    oracle.committed(&commit(1, None, vec![(TASK, finished())])).unwrap();
    assert_eq!(rule(oracle.task_started(&execution(TASK, 5))), Rule::FinishedNotRerun);
    oracle.acquired(RunId::from_bits(8), 2);
    assert_eq!(oracle.task_started(&execution(TASK, 5)), Ok(ExecutionKind::Zombie));
}

#[test]
fn a_task_of_a_superstep_that_is_saved_must_not_begin() {
    let mut oracle = started();
    oracle.committed(&commit(1, Some(step(2, Some(1))), Vec::new())).unwrap();
    assert_eq!(rule(oracle.task_started(&execution(TASK, 5))), Rule::FinishedNotRerun);
}

#[test]
fn different_keys_of_a_task_and_shared_keys_are_detected() {
    let mut oracle = started();
    oracle.task_started(&execution(TASK, 5)).unwrap();
    assert_eq!(rule(oracle.task_started(&execution(SIBLING, 5))), Rule::OneKey);
    assert_eq!(rule(oracle.task_started(&execution(TASK, 6))), Rule::OneKey);
}

#[test]
fn a_recomputed_recorded_result_is_detected() {
    let mut oracle = started();
    oracle.record_computed(&execution(TASK, 5), "pay").unwrap();
    let paid = TaskEntry::Recorded { key: "pay".to_owned(), value: AnyValue::json(json!(1)) };
    oracle.committed(&commit(1, None, vec![(TASK, paid)])).unwrap();
    assert_eq!(rule(oracle.record_computed(&execution(TASK, 5), "pay")), Rule::OnceNotRepeated);
    oracle.record_computed(&execution(TASK, 5), "mail").unwrap();
}

#[test]
fn a_second_resume_value_is_detected() {
    let mut oracle = started();
    oracle.committed(&commit(1, None, vec![(TASK, resume(1))])).unwrap();
    assert_eq!(rule(oracle.committed(&commit(1, None, vec![(TASK, resume(1))]))), Rule::ResumedOnce);
    assert_eq!(rule(oracle.committed(&commit(1, None, vec![(TASK, resume(2))]))), Rule::ResumedOnce);
}

#[test]
fn a_lost_finished_sibling_is_detected() {
    let mut oracle = started();
    oracle.task_returned(&execution(SIBLING, 6));
    oracle.task_returned(&execution(TASK, 5));
    assert_eq!(rule(oracle.committed(&commit(1, None, vec![(TASK, finished())]))), Rule::CancelKeepsResults);
    let mut oracle = started();
    oracle.task_returned(&execution(SIBLING, 6));
    oracle.record_cancellation();
    oracle.task_returned(&execution(TASK, 5));
    assert_eq!(rule(oracle.cancelled()), Rule::CancelKeepsResults);
    oracle.committed(&commit(1, None, vec![(SIBLING, finished())])).unwrap();
    oracle.cancelled().unwrap();
}

#[test]
fn an_event_published_before_its_commit_is_detected() {
    let mut oracle = started();
    let root = CheckpointNamespace::root();
    let saved = MachineEvent::Checkpoint {
        id: id(1),
        parent: None,
        step: 1,
        source: CheckpointSource::Input,
        next: Vec::new(),
        tasks: Vec::new(),
        state: None,
    };
    assert_eq!(oracle.event_published(&root, &saved), Ok(true));
    let lost = MachineEvent::Checkpoint {
        id: id(2),
        parent: None,
        step: 2,
        source: CheckpointSource::Loop,
        next: Vec::new(),
        tasks: Vec::new(),
        state: None,
    };
    assert_eq!(rule(oracle.event_published(&root, &lost)), Rule::ReportedIsSaved);
    let update = superstep::core::update::Update::new();
    let task_done = MachineEvent::TaskFinished { task: TASK, node: "node".into(), step: 2, update, cached: false };
    assert_eq!(rule(oracle.event_published(&root, &task_done)), Rule::ReportedIsSaved);
    oracle.committed(&commit(1, None, vec![(TASK, finished())])).unwrap();
    assert_eq!(oracle.event_published(&root, &task_done), Ok(true));
    assert_eq!(rule(oracle.checkpoint_published(id(3))), Rule::ReportedIsSaved);
    let task_started = MachineEvent::TaskStarted {
        task: TASK,
        node: "node".into(),
        step: 9,
        state: None,
        send_payload: None,
        checkpoint: None,
    };
    assert_eq!(oracle.event_published(&root, &task_started), Ok(false));
}

#[test]
fn a_published_checkpoint_that_disappears_is_detected() {
    let mut oracle = started();
    oracle.checkpoint_published(id(1)).unwrap();
    oracle.check_published(|_| true).unwrap();
    assert_eq!(rule(oracle.check_published(|_| false)), Rule::ReportedIsSaved);
}

#[test]
fn a_task_on_an_unsaved_checkpoint_is_detected() {
    let mut oracle = started();
    let early = Execution { checkpoint: Some(id(2)), ..execution(TASK, 5) };
    assert_eq!(rule(oracle.task_started(&early)), Rule::ReportedIsSaved);
}
