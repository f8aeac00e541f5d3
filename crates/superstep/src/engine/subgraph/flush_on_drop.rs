//! Subgraphs that are stopped during their call: their work is added to the buffer of the run.
//!
//! Only if the run commits at its end: otherwise every superstep of the subgraph is saved before the next one starts.

use std::sync::Arc;

use superstep_core::error::{ErrorCode, Result};
use superstep_core::machine::{Machine, MachineOutcome};
use superstep_core::port::ThreadStatus;

use crate::engine::context::RunShared;
use crate::engine::driver::drive;
use crate::engine::executor::TaskSet;

/// Drives a subgraph to its end, or until it is stopped by an error or by dropping the future.
pub(super) async fn drive_subgraph(machine: &mut Machine, shared: &Arc<RunShared>) -> Result<MachineOutcome> {
    let tasks = TaskSet::new(shared.limits.concurrency);
    let mut call = FlushOnDrop { machine, shared, tasks, is_over: false };
    let ended = drive(call.machine, shared, &mut call.tasks).await;
    // After any other error, such as that of a checkpointer, nothing more is saved.
    let is_stopped = |code: ErrorCode| matches!(code, ErrorCode::Cancelled | ErrorCode::Timeout | ErrorCode::TooLarge);
    call.is_over = ended.as_ref().err().is_none_or(|error| !is_stopped(error.code()));
    ended
}

struct FlushOnDrop<'a> {
    machine: &'a mut Machine,
    shared: &'a RunShared,
    tasks: TaskSet,
    is_over: bool,
}

impl Drop for FlushOnDrop<'_> {
    fn drop(&mut self) {
        // A machine that panicked is not called again: a second panic during unwinding would abort the process.
        let is_stopped = !self.is_over && !std::thread::panicking();
        let Some(buffer) = self.shared.subgraph_buffer.as_ref().filter(|_| is_stopped) else { return };
        self.shared.pass_recorded_results(self.machine);
        while let Some((index, end)) = self.tasks.try_next() {
            if self.machine.task_ended(index, end).is_err() {
                return;
            }
        }
        // The root graph sets the status of the thread.
        if let Some(commit) = self.machine.commit_on_stop(ThreadStatus::Idle) {
            buffer.buffer(&commit);
        }
    }
}
