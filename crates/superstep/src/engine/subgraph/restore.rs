//! Start of a subgraph: its namespace, and the branch of the history from which it continues.
//!
//! Reads and decides only; `subgraph` acts on the result.

use std::sync::Arc;

use superstep_core::checkpoint::{CheckpointNamespace, CheckpointSource};
use superstep_core::error::Result;
use superstep_core::field::AnyState;
use superstep_core::id::{CheckpointId, TaskId, hash_id};
use superstep_core::machine::{restore_checkpoint, task_ids_at};
use superstep_core::port::{CheckpointSelector, CheckpointTuple, HistoryQuery};

use super::CallingTask;
use crate::engine::context::{RunShared, TaskContext};
use crate::graph::program::{Program, SubgraphPersistence};

/// Returns the namespace segment of a subgraph below its parent, for a node with this name.
pub(super) fn namespace_segment(program: &Program, caller: &CallingTask, name: &str) -> String {
    let CallingTask { cx, ordinal } = caller;
    let segment = match program.settings.persistence {
        // Tasks of one fan-out run in parallel: each position has a separate state, otherwise they would overwrite
        // each other.
        SubgraphPersistence::PerThread => match cx.0.task.key.send_index() {
            0 => name.to_owned(),
            index => format!("{name}:send{index}"),
        },
        _ => format!("{name}:{}", cx.task_id()),
    };
    match (&*ordinal.step, ordinal.number) {
        ("", 0) => segment,
        ("", number) => format!("{segment}:{number}"),
        (step, number) => format!("{segment}:{:x}:{number}", hash_id(&[step.as_bytes()])),
    }
}

/// Start of a subgraph.
pub(super) enum SubgraphStart {
    /// The subgraph has not run yet.
    New,
    /// The subgraph continues from its own history.
    FromCheckpoint(CheckpointTuple),
    /// The subgraph continues from the history under a former name of its node.
    FromFormerName(CheckpointTuple),
}

pub(super) async fn load(shared: &RunShared, caller: &CallingTask) -> Result<SubgraphStart> {
    let cx = &caller.cx;
    let (Some(checkpointer), Some(thread)) = (&shared.checkpointer, &shared.thread) else {
        return Ok(SubgraphStart::New);
    };
    if shared.program.settings.persistence != SubgraphPersistence::PerThread {
        let newest = checkpointer.load(thread, &shared.namespace, CheckpointSelector::Latest).await?;
        return Ok(newest.map_or(SubgraphStart::New, SubgraphStart::FromCheckpoint));
    }
    if let Some(checkpoint) = latest_on_branch(shared, cx, &shared.namespace).await? {
        return Ok(SubgraphStart::FromCheckpoint(checkpoint));
    }
    for former in cx.node_spec().names().filter(|name| *name != cx.task_name()) {
        let namespace = cx.namespace().child(&namespace_segment(&shared.program, caller, former));
        if let Some(checkpoint) = latest_on_branch(shared, cx, &namespace).await? {
            return Ok(SubgraphStart::FromFormerName(checkpoint));
        }
    }
    Ok(SubgraphStart::New)
}

/// Returns the latest checkpoint of a subgraph with per-thread state, on the branch of the history to which the
/// parent task belongs.
async fn latest_on_branch(
    shared: &RunShared,
    cx: &TaskContext,
    namespace: &CheckpointNamespace,
) -> Result<Option<CheckpointTuple>> {
    let (Some(checkpointer), Some(thread)) = (&shared.checkpointer, &shared.thread) else { return Ok(None) };
    let Some(newest) = checkpointer.load(thread, namespace, CheckpointSelector::Latest).await? else { return Ok(None) };
    let (mut next, mut oldest, mut source) = (cx.checkpoint_id(), None, CheckpointSource::Loop);
    let mut branch_tasks = vec![cx.task_id()];
    // The checkpoint after which supersteps may have run that were not saved one by one.
    let (mut after, mut searched) = (None, 0);
    if let (Some(unsaved), Some(id)) = (&cx.0.task.unsaved_checkpoint, next) {
        branch_tasks.extend(unsaved_tasks(cx, id, unsaved.step..cx.step()));
        (next, source) = (unsaved.parent, unsaved.source);
    }
    loop {
        let outer = match next {
            Some(id) => checkpointer.load(thread, cx.namespace(), CheckpointSelector::Id(id)).await?,
            None => None,
        };
        let step = outer.as_ref().map_or(FIRST_STEP, |outer| outer.checkpoint.step);
        branch_tasks.extend(after.into_iter().flat_map(|(id, end)| unsaved_tasks(cx, id, step..end)));
        if let Some(outer) = &outer {
            // Tasks of a checkpoint that was forked or updated belong to the branch that was left there.
            let is_left = matches!(source, CheckpointSource::Fork | CheckpointSource::Update);
            branch_tasks.extend(task_ids_at(cx.namespace(), cx.node_spec(), &outer.checkpoint).filter(|_| !is_left));
        }
        // Usually the last call is a few supersteps back: then nothing more has to be read.
        if newest.checkpoint.parent_task.is_some_and(|task| branch_tasks[searched..].contains(&task)) {
            return Ok(Some(newest));
        }
        searched = branch_tasks.len();
        let Some(outer) = outer.map(|outer| outer.checkpoint) else { break };
        after = Some((outer.id, outer.step));
        (next, oldest, source) = (outer.parent, Some(outer.id), outer.source);
    }
    let states = checkpointer.history(thread, namespace, &HistoryQuery::default()).await?;
    let mut visits =
        branch_tasks.iter().filter_map(|task| states.iter().find(|state| state.checkpoint.parent_task == Some(*task)));
    // If older checkpoints were pruned, states from before them count as part of this branch.
    let before = |state: &&CheckpointTuple| next.is_some() && oldest.is_none_or(|oldest| state.checkpoint.id < oldest);
    Ok(visits.next().or_else(|| states.iter().find(before)).cloned())
}

/// Step number before the first step of any thread.
const FIRST_STEP: i64 = -2;

/// Returns the tasks of this node that ran after a checkpoint and before the next one was saved, newest first.
fn unsaved_tasks(
    cx: &TaskContext,
    checkpoint: CheckpointId,
    steps: std::ops::Range<i64>,
) -> impl Iterator<Item = TaskId> {
    let id = move |step, name: &str| cx.0.task.key.for_superstep(checkpoint, step).id(cx.namespace(), name);
    steps.rev().flat_map(move |step| cx.node_spec().names().map(move |name| id(step, name)))
}

/// Returns the state after the input of the call that is being resumed.
pub(super) async fn state_after_input(shared: &RunShared) -> Result<Option<Arc<AnyState>>> {
    let (Some(checkpointer), Some(thread)) = (&shared.checkpointer, &shared.thread) else { return Ok(None) };
    let query = HistoryQuery { source: Some(CheckpointSource::Input), limit: Some(1), ..HistoryQuery::default() };
    let inputs = checkpointer.history(thread, &shared.namespace, &query).await?;
    let read = |loaded| restore_checkpoint(&shared.program.topology, loaded).map(|read| read.state);
    inputs.into_iter().next().map(read).transpose()
}
