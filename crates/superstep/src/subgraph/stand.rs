//! Where a graph inside another stands: under which path, and on which line of history.
//!
//! Reads and decides; what follows from it is done in `subgraph`.

use std::sync::Arc;

use superstep_core::checkpoint::{Namespace, Source};
use superstep_core::error::Result;
use superstep_core::field::AnyState;
use superstep_core::id::{CheckpointId, TaskId, derive};
use superstep_core::machine::{ids_at, read_thread};
use superstep_core::port::{At, HistoryQuery, Loaded};

use super::Caller;
use crate::context::{Cx, Shared};
use crate::program::{Persistence, Program};

/// The path of a graph inside, below the one around it, where the node has this name.
pub(super) fn segment(program: &Program, caller: &Caller, name: &str) -> String {
    let Caller { cx, place } = caller;
    let segment = match program.settings.persistence {
        // Tasks of one fan-out run side by side: each place has a state of its own, or they would undo each other.
        Persistence::PerThread => match cx.0.task.key.fan_out() {
            0 => name.to_owned(),
            place => format!("{name}:send{place}"),
        },
        _ => format!("{name}:{}", cx.task_id()),
    };
    match (&*place.step, place.number) {
        ("", 0) => segment,
        ("", number) => format!("{segment}:{number}"),
        (step, number) => format!("{segment}:{:x}:{number}", derive(&[step.as_bytes()])),
    }
}

/// Where a graph inside stands.
pub(super) enum Stand {
    /// It has not run yet.
    New,
    /// On its own history.
    Here(Loaded),
    /// On the history it had when the node around it had another name.
    Elsewhere(Loaded),
}

pub(super) async fn load(shared: &Shared, caller: &Caller) -> Result<Stand> {
    let cx = &caller.cx;
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(Stand::New) };
    if shared.program.settings.persistence != Persistence::PerThread {
        let newest = saver.load(thread, &shared.namespace, At::Latest).await?;
        return Ok(newest.map_or(Stand::New, Stand::Here));
    }
    if let Some(found) = on_this_line(shared, cx, &shared.namespace).await? {
        return Ok(Stand::Here(found));
    }
    for former in cx.node_spec().names().filter(|name| *name != cx.task_name()) {
        let namespace = cx.namespace().child(&segment(&shared.program, caller, former));
        if let Some(found) = on_this_line(shared, cx, &namespace).await? {
            return Ok(Stand::Elsewhere(found));
        }
    }
    Ok(Stand::New)
}

/// The newest state of a graph that grows with its thread, as of the line of history the node around it is on.
async fn on_this_line(shared: &Shared, cx: &Cx, namespace: &Namespace) -> Result<Option<Loaded>> {
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(None) };
    let Some(newest) = saver.load(thread, namespace, At::Latest).await? else { return Ok(None) };
    let (mut next, mut oldest, mut made_by) = (cx.checkpoint(), None, Source::Loop);
    let mut line = vec![cx.task_id()];
    // The checkpoint before which supersteps may have run that were not saved one by one.
    let (mut after, mut seen) = (None, 0);
    if let (Some(draft), Some(id)) = (&cx.0.task.draft, next) {
        line.extend(unsaved_tasks(cx, id, draft.step..cx.step()));
        (next, made_by) = (draft.parent, draft.source);
    }
    loop {
        let outer = match next {
            Some(id) => saver.load(thread, cx.namespace(), At::Id(id)).await?,
            None => None,
        };
        let step = outer.as_ref().map_or(FIRST_STEP, |outer| outer.checkpoint.step);
        line.extend(after.into_iter().flat_map(|(id, end)| unsaved_tasks(cx, id, step..end)));
        if let Some(outer) = &outer {
            // What ran at a checkpoint that was forked or changed belongs to the line it was left on.
            let is_left = matches!(made_by, Source::Fork | Source::Update);
            line.extend(ids_at(cx.namespace(), cx.node_spec(), &outer.checkpoint).filter(|_| !is_left));
        }
        // As a rule the last visit is a few supersteps back: then nothing more has to be read.
        if newest.checkpoint.outer_task.is_some_and(|task| line[seen..].contains(&task)) {
            return Ok(Some(newest));
        }
        seen = line.len();
        let Some(outer) = outer.map(|outer| outer.checkpoint) else { break };
        after = Some((outer.id, outer.step));
        (next, oldest, made_by) = (outer.parent, Some(outer.id), outer.source);
    }
    let states = saver.history(thread, namespace, &HistoryQuery::default()).await?;
    let mut visits =
        line.iter().filter_map(|task| states.iter().find(|state| state.checkpoint.outer_task == Some(*task)));
    // Where older checkpoints were pruned, what was saved before them counts as seen from here.
    let before = |state: &&Loaded| next.is_some() && oldest.is_none_or(|oldest| state.checkpoint.id < oldest);
    Ok(visits.next().or_else(|| states.iter().find(before)).cloned())
}

/// No thread has an earlier step.
const FIRST_STEP: i64 = -2;

/// The tasks of this node that ran under a checkpoint before it was saved, newest first.
fn unsaved_tasks(cx: &Cx, checkpoint: CheckpointId, steps: std::ops::Range<i64>) -> impl Iterator<Item = TaskId> {
    let id = move |step, name: &str| cx.0.task.key.at(checkpoint, step).id(cx.namespace(), name);
    steps.rev().flat_map(move |step| cx.node_spec().names().map(move |name| id(step, name)))
}

/// The state after the input of the call that is being resumed.
pub(super) async fn first_state(shared: &Shared) -> Result<Option<Arc<AnyState>>> {
    let (Some(saver), Some(thread)) = (&shared.saver, &shared.thread) else { return Ok(None) };
    let query = HistoryQuery { source: Some(Source::Input), limit: Some(1), ..HistoryQuery::default() };
    let inputs = saver.history(thread, &shared.namespace, &query).await?;
    let read = |loaded| read_thread(&shared.program.topology, loaded).map(|read| read.state);
    inputs.into_iter().next().map(read).transpose()
}
