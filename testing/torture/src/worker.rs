//! The worker process that is exposed to faults: it runs one thread and reports to its parent what the library
//! reports.
//!
//! It behaves like any program: it reads the thread, sends the input if there is none, and continues if there are
//! next tasks. It does not know the plan of its parent.

use std::io::BufRead;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::core::id::{TaskId, hash_id};
use superstep::core::port::SharedCheckpointer;
use superstep::core::seeded_bugs::{SeededBug, enable};
use superstep::{Error, ErrorCode, EventKind, MachineEvent, Result, RunBuilder, RunEvent};

use crate::checkpointer::CheckpointerLocation;
use crate::protocol::{ChildMessage, digest};
use crate::reader;
use crate::side_effects::SideEffectLog;
use crate::workload::{SubgraphState, WorkloadGraph, WorkloadState, graph, input};

/// Delay before a retry while another process holds the thread.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Arguments of a worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkerArgs {
    /// Threads to run, one after the other.
    pub(crate) threads: Vec<String>,
    pub(crate) rounds: u64,
    pub(crate) weight: u64,
    /// Path of the side effect log.
    pub(crate) effects: Option<PathBuf>,
    /// Number of the process within the run.
    pub(crate) process: u32,
    /// After an error: report what can be read, wait for a line, continue with the same checkpointer.
    pub(crate) waits_after_failure: bool,
    /// Retry while another process holds the thread.
    pub(crate) retries_when_busy: bool,
    /// Write the event journal.
    pub(crate) journal_events: bool,
    /// Name of a seeded bug of the engine.
    pub(crate) seeded_bug: Option<String>,
}

/// Runs the threads. Returns true if all of them ended.
///
/// # Errors
/// Returns an error if the worker cannot start: a mistake of the parent and not a violation.
pub(crate) async fn run(location: &CheckpointerLocation, args: &WorkerArgs) -> Result<bool, String> {
    ChildMessage::Started { pid: std::process::id() }.send();
    enable(seeded_bug(args)?);
    let effects = effects(args, args.process)?;
    let graph = graph().map_err(|error| error.to_string())?;
    let checkpointer = match location.open().await {
        Ok(checkpointer) => checkpointer,
        Err(error) => {
            ChildMessage::failed(&error).send();
            return Ok(false);
        }
    };
    ChildMessage::Opened.send();
    let mut worker = Worker { graph, checkpointer, effects, args };
    for thread in &args.threads {
        let mut process = args.process;
        while let Err(error) = worker.advance(thread).await {
            // The lease of the previous process may not have expired; a checkpointer that frees threads immediately
            // is not retried.
            if error.code() == ErrorCode::ThreadBusy && args.retries_when_busy {
                tokio::time::sleep(BUSY_RETRY_DELAY).await;
                continue;
            }
            ChildMessage::failed(&error).send();
            if !args.waits_after_failure {
                return Ok(false);
            }
            worker.report_and_wait(thread).await?;
            // From now on the worker counts as another process, as if it had been restarted.
            process += 1;
            worker.effects = self::effects(args, process)?;
        }
    }
    Ok(true)
}

fn effects(args: &WorkerArgs, process: u32) -> Result<SideEffectLog, String> {
    args.effects.as_ref().map_or_else(|| Ok(SideEffectLog::none()), |path| SideEffectLog::open(path, process))
}

fn seeded_bug(args: &WorkerArgs) -> Result<Option<SeededBug>, String> {
    let Some(name) = &args.seeded_bug else { return Ok(None) };
    let bug = SeededBug::ALL.iter().find(|bug| bug.name() == name);
    bug.map(|bug| Some(*bug)).ok_or_else(|| format!("unknown seeded bug `{name}`"))
}

struct Worker<'a> {
    graph: WorkloadGraph,
    checkpointer: SharedCheckpointer,
    effects: SideEffectLog,
    args: &'a WorkerArgs,
}

impl Worker<'_> {
    /// Runs a thread to its end from its current state.
    async fn advance(&self, thread: &str) -> Result<()> {
        let threads = self.graph.threads().checkpointer(self.checkpointer.clone());
        let run = match threads.get_state(thread).await {
            Ok(snapshot) if snapshot.next.is_empty() => {
                ChildMessage::Ended { digest: digest(&*snapshot.state) }.send();
                return Ok(());
            }
            Ok(_) => self.graph.continue_thread(thread),
            Err(error) if error.code() == ErrorCode::NotFound => {
                self.graph.invoke(input(self.args.rounds, self.args.weight)).thread(thread)
            }
            Err(error) => return Err(error),
        };
        self.perform(thread, run).await
    }

    async fn perform(&self, thread: &str, run: RunBuilder<WorkloadState, SideEffectLog>) -> Result<()> {
        let run = run.checkpointer(self.checkpointer.clone()).context(self.effects.clone()).recursion_limit(10_000);
        let run = if self.args.journal_events { run.journal_events() } else { run };
        let mut stream = run.stream();
        while let Some(event) = stream.next().await {
            if let Some(message) = to_message(thread, &event) {
                message.send();
            }
        }
        let outcome = stream.finish().await?;
        if !outcome.is_finished() {
            return Err(Error::internal(format!("a run without interrupts ended with {:?}", outcome.end)));
        }
        ChildMessage::Ended { digest: digest(&*outcome.state) }.send();
        Ok(())
    }

    /// Reports what can still be read, and waits for a line of the parent.
    async fn report_and_wait(&self, thread: &str) -> Result<(), String> {
        reader::report_thread(&self.checkpointer, thread, false).await;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
        if read == 0 { Err("the parent has exited".to_owned()) } else { Ok(()) }
    }
}

/// Converts an event to the message that acknowledges it to the parent; `None` for events without a guarantee.
fn to_message(thread: &str, event: &RunEvent) -> Option<ChildMessage> {
    let path = event.namespace().as_str().to_owned();
    let EventKind::Machine(event) = &event.kind else { return None };
    match event {
        MachineEvent::TaskFinished { task, node, step, .. } => {
            let key = idempotency_key(thread, *task).to_string();
            Some(ChildMessage::Done { path, step: *step, node: node.to_string(), key })
        }
        MachineEvent::Values { step, state, .. } => {
            let root_digest = state.state.downcast_ref::<WorkloadState>().map(digest);
            let digest = root_digest.or_else(|| state.state.downcast_ref::<SubgraphState>().map(digest))?;
            Some(ChildMessage::Values { path, step: *step, digest })
        }
        MachineEvent::Checkpoint { id, step, .. } => {
            Some(ChildMessage::Checkpoint { path, step: *step, id: id.to_string() })
        }
        _ => None,
    }
}

/// Returns the idempotency key of the node of a task.
pub(crate) fn idempotency_key(thread: &str, task: TaskId) -> TaskId {
    TaskId::from_bits(hash_id(&[thread.as_bytes(), &task.bits().to_le_bytes()]))
}
