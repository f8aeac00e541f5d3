//! Background work of a checkpointer on a dedicated thread: sends heartbeats, releases leases, and removes data that
//! is no longer needed.
//!
//! A release is repeated until the store has it: as long as this process sends heartbeats, no other process may take
//! over a thread whose lease it seems to hold.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, timeout};

use super::backend::Backend;
use super::log_record::LogRecord;
use super::{lease, thread_index, threads};

/// Time limit of the remaining work when the checkpointer is dropped, and of a single task.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before a failed release is retried.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A task of the background thread.
#[derive(Debug)]
pub(super) enum BackgroundTask {
    /// Release the lease on a thread with this fence.
    Release(ThreadId, u64),
    /// Remove records and values that a thread no longer needs.
    Clear(ThreadId),
    /// Shut down.
    Close,
}

/// Starts the background thread.
pub(super) fn start<K: KeyValue>(
    backend: Arc<Backend<K>>,
    inbox: UnboundedReceiver<BackgroundTask>,
) -> Result<JoinHandle<()>> {
    let thread_start_error = |error: std::io::Error| {
        Error::new(
            ErrorCode::StoreUnavailable,
            format!("failed to start the background OS thread of the key-value checkpointer: {error}"),
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(thread_start_error)?;
    let work = move || runtime.block_on(run_background(backend, inbox));
    std::thread::Builder::new().name("superstep-keys".to_owned()).spawn(work).map_err(thread_start_error)
}

async fn run_background<K: KeyValue>(backend: Arc<Backend<K>>, mut inbox: UnboundedReceiver<BackgroundTask>) {
    // Heartbeats run as a separate task: slow work must not cost this process its leases.
    let heartbeat = tokio::spawn(heartbeat_loop(backend.clone()));
    let sweeps = tokio::spawn(sweep_loop(backend.clone()));
    let mut unreleased: VecDeque<(ThreadId, u64)> = VecDeque::new();
    loop {
        let task = match unreleased.is_empty() {
            true => inbox.recv().await,
            false => match timeout(RETRY_DELAY, inbox.recv()).await {
                // While the store does not respond, further releases are only queued, so that `Close` is received
                // without delay.
                Ok(Some(BackgroundTask::Release(thread, fence))) => {
                    unreleased.push_back((thread, fence));
                    continue;
                }
                Ok(task) => task,
                Err(_) => unreleased.pop_front().map(|(thread, fence)| BackgroundTask::Release(thread, fence)),
            },
        };
        match task {
            Some(BackgroundTask::Release(thread, fence)) => {
                let done = timeout(SHUTDOWN_TIMEOUT, release(&backend, &thread, fence)).await;
                // A corrupt thread cannot be released.
                if done.is_err() || matches!(done, Ok(Err(error)) if error.is_retryable()) {
                    unreleased.push_back((thread, fence));
                }
            }
            // The next process that clears the thread removes what this one could not.
            Some(BackgroundTask::Clear(thread)) => drop(timeout(SHUTDOWN_TIMEOUT, clear(&backend, &thread)).await),
            Some(BackgroundTask::Close) | None => break,
        }
    }
    heartbeat.abort();
    sweeps.abort();
    // If this fails, other processes wait until the heartbeat of this one has expired.
    drop(timeout(SHUTDOWN_TIMEOUT, shut_down(&backend, unreleased)).await);
}

async fn heartbeat_loop<K: KeyValue>(backend: Arc<Backend<K>>) {
    let period = (backend.lease_timeout / 3).max(Duration::from_millis(1));
    // Not immediately: acquiring a lease sends a heartbeat itself.
    let mut interval = tokio::time::interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if backend.history_cache.has_any() {
            // If the heartbeat cannot be written, other processes take over the leases, and writes of this process
            // are rejected.
            drop(backend.heartbeat().await);
        }
    }
}

async fn sweep_loop<K: KeyValue>(backend: Arc<Backend<K>>) {
    let Some(time_to_live) = backend.time_to_live else { return };
    loop {
        tokio::time::sleep(thread_index::sweep_period(time_to_live)).await;
        // The next sweep finds what this one could not remove.
        drop(threads::sweep(&backend).await);
    }
}

async fn release<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId, fence: u64) -> Result<()> {
    let cell = backend.thread(thread);
    let mut log = cell.lock().await;
    log.refresh(backend).await?;
    loop {
        let tables = &log.tables;
        if tables.fence != fence || tables.lease_owner.is_none_or(|owner| owner.process_token != backend.token) {
            break;
        }
        let is_done = match tables.status {
            // Nothing was saved, so the thread does not exist.
            None => log.write_tombstone(backend).await?,
            Some(_) => log.append(backend, LogRecord::Released { fence }).await?,
        };
        if is_done {
            break;
        }
    }
    if log.is_index_uncertain && log.tables.status.is_some() {
        log.put_index_entry(backend, true).await?;
    }
    Ok(())
}

async fn clear<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId) -> Result<()> {
    let cell = backend.thread(thread);
    let mut log = cell.lock().await;
    log.refresh(backend).await?;
    if lease::needs_compaction(&log) { log.compact(backend).await } else { log.clear(backend).await }
}

/// Releases all leases and deletes the heartbeat of this process.
async fn shut_down<K: KeyValue>(backend: &Backend<K>, unreleased: VecDeque<(ThreadId, u64)>) -> Result<()> {
    for (thread, fence) in unreleased {
        release(backend, &thread, fence).await?;
    }
    backend.delete(&[backend.keys.holder(backend.token)]).await
}
