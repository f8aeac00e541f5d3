//! What the nodes do: they pause, say that they run, and write one mark each.

use std::time::Duration;

use serde_json::Value;
use superstep::prelude::*;

use crate::process::{Place, Process};
use crate::record::Execution;
use crate::work::{Part, PartUpdate, Work, WorkUpdate, label};

type Made<T = WorkUpdate> = Result<T, NodeError>;

/// Comes to the work of a task.
async fn enter(process: &Process, cx: &Cx, label: u64) -> Execution {
    process.pause(Place::Task(label, "start")).await;
    process.begins(cx, label)
}

/// Does the work of a task, and has its result.
async fn leave(process: &Process, execution: &Execution) {
    process.pause(Place::Task(execution.label, "work")).await;
    process.pause(Place::Task(execution.label, "end")).await;
    process.returns(execution);
}

fn mark(label: u64) -> WorkUpdate {
    Work::update().log(label).count(1_u64).marks((label.to_string(), label))
}

fn part_mark(label: u64) -> PartUpdate {
    Part::update().log(label).count(1_u64).marks((label.to_string(), label)).steps(1_u64)
}

/// Writes its mark.
pub(super) async fn plain(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Also writes a field that keeps the last value.
pub(super) async fn writes(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    Ok(plain(work, process, cx, node).await?.last(node))
}

/// Also counts a round.
pub(super) async fn turns(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let round = work.round + 1;
    Ok(plain(work, process, cx, node).await?.round(round))
}

/// Works on one item of many.
pub(super) async fn takes_item(work: View<Work>, item: Sent<u64>, process: Ctx<Process>, cx: Cx) -> Made {
    let label = label(2, &work.inputs, work.round, *item);
    let execution = process.begins(&cx, label);
    process.pause(Place::Task(label, "work")).await;
    process.returns(&execution);
    Ok(mark(label))
}

/// Asks one question after the other.
pub(super) async fn asks(
    work: View<Work>,
    process: Ctx<Process>,
    cx: Cx,
    node: u64,
    names: &'static [&'static str],
) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    let mut update = mark(execution.label);
    for name in names {
        update = update.answers(number(&cx.ask().with(name, node, "", None).await?));
    }
    leave(&process, &execution).await;
    Ok(update)
}

/// Asks two questions at once.
pub(super) async fn asks_two(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    let ask = cx.ask();
    let (first, second) = tokio::join!(ask.with("q3", node, "", None), ask.with("q4", node, "", None));
    leave(&process, &execution).await;
    Ok(mark(execution.label).answers(number(&first?)).answers(number(&second?)))
}

fn number(answer: &Value) -> u64 {
    answer.as_u64().unwrap_or(0)
}

/// Records a result, asks, and records another.
pub(super) async fn records(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    let paid = recorded(&process, &cx, &execution, "pay").await?;
    let answer = number(&cx.ask().with("q1", paid, "", None).await?);
    let mailed = recorded(&process, &cx, &execution, "mail").await?;
    leave(&process, &execution).await;
    Ok(mark(execution.label).answers(answer + paid + mailed))
}

async fn recorded(process: &Process, cx: &Cx, execution: &Execution, name: &'static str) -> Made<u64> {
    let mut is_made = false;
    let make = async {
        is_made = true;
        process.makes(execution, name);
        process.pause(Place::Task(execution.label, name)).await;
        Ok::<u64, NodeError>(name.len() as u64)
    };
    let value = cx.once(name, make).await?;
    if !is_made {
        process.served();
    }
    Ok(value)
}

/// Fails the first time in each process, and is tried again.
pub(super) async fn shaky(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    if cx.attempt() == 1 {
        return Err(NodeError::new("not yet").retryable());
    }
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Fails for good. Its failure is recorded before its handler runs, so it must not run again after that.
pub(super) async fn broken(work: View<Work>, process: Ctx<Process>, cx: Cx, node: u64) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    process.makes(&execution, "__failure__");
    Err(NodeError::new("never").fatal())
}

/// Waits for the clock.
pub(super) async fn waits(work: View<Work>, process: Ctx<Process>, cx: Cx, (node, time): (u64, u64)) -> Made {
    let execution = enter(&process, &cx, label(node, &work.inputs, work.round, 0)).await;
    cx.sleep(Duration::from_millis(time)).await;
    leave(&process, &execution).await;
    Ok(mark(execution.label))
}

/// Writes its mark, in the graph inside.
pub(super) async fn part_plain(part: View<Part>, process: Ctx<Process>, cx: Cx, node: u64) -> Made<PartUpdate> {
    let execution = enter(&process, &cx, label(node, &part.inputs, part.round, 0)).await;
    leave(&process, &execution).await;
    Ok(part_mark(execution.label))
}

/// Asks, in the graph inside.
pub(super) async fn part_asks(part: View<Part>, process: Ctx<Process>, cx: Cx, node: u64) -> Made<PartUpdate> {
    let execution = enter(&process, &cx, label(node, &part.inputs, part.round, 0)).await;
    let answer = number(&cx.ask().with("q1", node, "", None).await?);
    leave(&process, &execution).await;
    Ok(part_mark(execution.label).answers(answer))
}
