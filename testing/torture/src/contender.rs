//! A child process that shares a thread with others: it runs a small graph repeatedly and waits while the thread is
//! busy.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::{CompiledGraph, ErrorCode, MultitaskStrategy, Result};

use crate::checkpointer::CheckpointerLocation;
use crate::protocol::ChildMessage;
use crate::workload::{THREAD, WorkloadState, WorkloadStateUpdate};

/// Arguments of the process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ContenderArgs {
    /// Prefix of its log entries.
    pub(crate) name: String,
    pub(crate) runs: u32,
    /// True to retry while the thread is busy, instead of waiting in the library.
    pub(crate) retries_when_busy: bool,
}

/// Nodes of a run, preceded by its input: the log entries of a run in this order.
pub(crate) const LOG_NODES: [&str; 3] = ["input", "one", "two"];

/// Performs the runs. Returns true if all of them succeeded.
///
/// # Errors
/// Returns an error if the process cannot start its work.
pub(crate) async fn run(location: &CheckpointerLocation, args: &ContenderArgs) -> Result<bool, String> {
    ChildMessage::Started { pid: std::process::id() }.send();
    let graph = graph().map_err(|error| error.to_string())?;
    let checkpointer = match location.open().await {
        Ok(checkpointer) => checkpointer,
        Err(error) => {
            ChildMessage::failed(&error).send();
            return Ok(false);
        }
    };
    ChildMessage::Opened.send();
    let mut busy = 0;
    for number in 0..args.runs {
        let label = format!("{} {number}", args.name);
        loop {
            let input = WorkloadState::update().log(log_entry(&label, LOG_NODES[0]));
            let run = graph.invoke(input).thread(THREAD).checkpointer(checkpointer.clone()).context(label.clone());
            let strategy = if args.retries_when_busy { MultitaskStrategy::Reject } else { MultitaskStrategy::Enqueue };
            match run.multitask_strategy(strategy).await {
                Ok(_) => break,
                Err(error) if error.code() == ErrorCode::ThreadBusy => {
                    busy += 1;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(error) => {
                    ChildMessage::failed(&error).send();
                    return Ok(false);
                }
            }
        }
    }
    ChildMessage::Busy { times: busy }.send();
    Ok(true)
}

/// Returns a log entry.
pub(crate) fn log_entry(label: &str, node: &str) -> String {
    format!("{label} {node}")
}

fn graph() -> Result<CompiledGraph<WorkloadState, String>> {
    let mut graph = StateGraph::<WorkloadState, String>::new("contender");
    let one = graph.add_node("one", append_log_entry);
    let two = graph.add_node("two", append_log_entry);
    graph.add_edge(START, one).add_edge(one, two).add_edge(two, END);
    graph.compile()
}

async fn append_log_entry(label: RunContext<String>, cx: TaskContext) -> Result<WorkloadStateUpdate, NodeError> {
    Ok(WorkloadState::update().log(log_entry(&label, cx.node())).count(1_u64))
}
