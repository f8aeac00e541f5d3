//! A graph inside that is stopped in the middle of its call: what it has done is kept where it waits to be saved.
//!
//! Only where a run saves at its end: otherwise every superstep inside is saved by the time the next one starts.

use std::sync::Arc;

use superstep_core::error::{Code, Result};
use superstep_core::machine::{Machine, Outcome};
use superstep_core::port::ThreadStatus;

use crate::context::Shared;
use crate::executor::Tasks;
use crate::run::drive;

/// Drives a graph inside to its end, or to where it is stopped: by an error, or by dropping this.
pub(super) async fn drive_inside(machine: &mut Machine, shared: &Arc<Shared>) -> Result<Outcome> {
    let tasks = Tasks::new(shared.limits.concurrency);
    let mut call = Unfinished { machine, shared, tasks, is_over: false };
    let ended = drive(call.machine, shared, &mut call.tasks).await;
    // After another error, as of a store, nothing more is to be saved.
    let is_stopped = |code: Code| matches!(code, Code::Cancelled | Code::Timeout | Code::TooLarge);
    call.is_over = ended.as_ref().err().is_none_or(|error| !is_stopped(error.code()));
    ended
}

struct Unfinished<'a> {
    machine: &'a mut Machine,
    shared: &'a Shared,
    tasks: Tasks,
    is_over: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // A machine that panicked is not asked any more: a second panic on the way out would end the process.
        let is_stopped = !self.is_over && !std::thread::panicking();
        let Some(stage) = self.shared.stage.as_ref().filter(|_| is_stopped) else { return };
        self.shared.hand_over_records(self.machine);
        while let Some((index, end)) = self.tasks.ended() {
            if self.machine.finished(index, end).is_err() {
                return;
            }
        }
        // How the thread stands is said by the outermost graph.
        if let Some(commit) = self.machine.stop_unsaved(ThreadStatus::Idle) {
            stage.put(&commit);
        }
    }
}
