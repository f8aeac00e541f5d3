//! The nodes of the graphs: they pause, report their execution, and write one mark each.

use std::time::Duration;

use serde_json::Value;
use superstep::prelude::*;

use crate::oracle::Execution;
use crate::process::{AwaitPoint, Process};
use crate::state::{SimState, SimStateUpdate, SubgraphState, SubgraphStateUpdate, label};

type NodeResult<T = SimStateUpdate> = Result<T, NodeError>;

/// Starts the execution of a task.
async fn enter(process: &Process, cx: &TaskContext, label: u64) -> Execution {
    process.pause(AwaitPoint::Task(label, "start")).await;
    process.start_task(cx, label)
}

/// Finishes the execution of a task.
async fn leave(process: &Process, execution: &Execution) {
    process.pause(AwaitPoint::Task(execution.label, "work")).await;
    process.pause(AwaitPoint::Task(execution.label, "end")).await;
    process.task_returned(execution);
}

fn mark(label: u64) -> SimStateUpdate {
    SimState::update().log(label).count(1_u64).marks((label.to_string(), label))
}

fn subgraph_mark(label: u64) -> SubgraphStateUpdate {
    SubgraphState::update().log(label).count(1_u64).marks((label.to_string(), label)).steps(1_u64)
}

/// Writes a mark.
pub(super) async fn plain(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Writes a mark and a field that keeps the last value.
pub(super) async fn writes(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    Ok(plain(state, process, cx, node).await?.last(node))
}

/// Writes a mark and increments the round.
pub(super) async fn turns(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let round = state.round + 1;
    Ok(plain(state, process, cx, node).await?.round(round))
}

/// Processes one item of a send.
pub(super) async fn takes_item(
    state: View<SimState>,
    item: SendPayload<u64>,
    process: RunContext<Process>,
    cx: TaskContext,
) -> NodeResult {
    let label = label(2, &state.inputs, state.round, *item);
    let execution = process.start_task(&cx, label);
    process.pause(AwaitPoint::Task(label, "work")).await;
    process.task_returned(&execution);
    Ok(mark(label))
}

/// Raises interrupts one after the other.
pub(super) async fn raises(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
    names: &'static [&'static str],
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    let mut update = mark(execution.label);
    for name in names {
        update = update.answers(number(&cx.interrupts().raise_with_schema(name, node, "", None).await?));
    }
    leave(&process, &execution).await;
    Ok(update)
}

/// Raises two interrupts concurrently.
pub(super) async fn raises_two(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    let interrupts = cx.interrupts();
    let (first, second) = tokio::join!(
        interrupts.raise_with_schema("q3", node, "", None),
        interrupts.raise_with_schema("q4", node, "", None)
    );
    leave(&process, &execution).await;
    Ok(mark(execution.label).answers(number(&first?)).answers(number(&second?)))
}

fn number(resume_value: &Value) -> u64 {
    resume_value.as_u64().unwrap_or(0)
}

/// Records a result, interrupts, and records another result.
pub(super) async fn records(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    let paid = recorded(&process, &cx, &execution, "pay").await?;
    let resume_value = number(&cx.interrupts().raise_with_schema("q1", paid, "", None).await?);
    let mailed = recorded(&process, &cx, &execution, "mail").await?;
    leave(&process, &execution).await;
    Ok(mark(execution.label).answers(resume_value + paid + mailed))
}

async fn recorded(process: &Process, cx: &TaskContext, execution: &Execution, name: &'static str) -> NodeResult<u64> {
    let mut is_computed = false;
    let compute = async {
        is_computed = true;
        process.record_computed(execution, name);
        process.pause(AwaitPoint::Task(execution.label, name)).await;
        Ok::<u64, NodeError>(name.len() as u64)
    };
    let value = cx.once(name, compute).await?;
    if !is_computed {
        process.record_reused();
    }
    Ok(value)
}

/// Fails at the first attempt in each process and is retried.
pub(super) async fn flaky(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    if cx.attempt() == 1 {
        return Err(NodeError::new("not yet").retryable());
    }
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Fails permanently. Its error is recorded before its handler runs, so it must not run again after that.
pub(super) async fn broken(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    process.record_computed(&execution, "__failure__");
    Err(NodeError::new("never").fatal())
}

/// Waits for the clock.
pub(super) async fn waits(
    state: View<SimState>,
    process: RunContext<Process>,
    cx: TaskContext,
    (node, time): (u64, u64),
) -> NodeResult {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    cx.sleep(Duration::from_millis(time)).await;
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Writes a mark in the subgraph.
pub(super) async fn subgraph_plain(
    state: View<SubgraphState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult<SubgraphStateUpdate> {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    leave(&process, &execution).await;
    Ok(subgraph_mark(execution.label))
}

/// Interrupts in the subgraph.
pub(super) async fn subgraph_interrupts(
    state: View<SubgraphState>,
    process: RunContext<Process>,
    cx: TaskContext,
    node: u64,
) -> NodeResult<SubgraphStateUpdate> {
    let execution = enter(&process, &cx, label(node, &state.inputs, state.round, 0)).await;
    let resume_value = number(&cx.interrupts().raise_with_schema("q1", node, "", None).await?);
    leave(&process, &execution).await;
    Ok(subgraph_mark(execution.label).answers(resume_value))
}
