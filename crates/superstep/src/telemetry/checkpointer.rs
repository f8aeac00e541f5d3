//! Checkpointer wrapper with telemetry: spans of commits, their size and duration.
//!
//! Placed between write-behind queue and checkpointer, so that spans cover the actual writes.

use std::io;
use std::sync::Arc;

use superstep_core::delegate_checkpointer;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{Checkpointer, Commit, SharedCheckpointer};
use tracing::{Instrument, Span, debug_span, error, field, warn};

use super::RunObserver;
use super::observer::failed;

/// Duration in seconds above which a commit is logged as slow.
const SLOW_COMMIT_SECONDS: f64 = 1.0;

/// Returns the checkpointer of a run, with telemetry if it is enabled.
pub(crate) fn traced_checkpointer(
    observer: Option<&Arc<RunObserver>>,
    store: &SharedCheckpointer,
) -> SharedCheckpointer {
    match observer {
        None => store.clone(),
        Some(observer) => TracedCheckpointer { store: store.clone(), observer: observer.clone() }.into(),
    }
}

struct TracedCheckpointer {
    store: SharedCheckpointer,
    observer: Arc<RunObserver>,
}

impl Checkpointer for TracedCheckpointer {
    delegate_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.store; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let observer = &*self.observer;
        let span = span(observer, commit);
        // Computing the size takes as long as serializing, so only on demand.
        let bytes = (observer.metrics.is_some() || !span.is_disabled()).then(|| bytes_of(commit));
        span.record("superstep.checkpoint.bytes", bytes);
        let started_at = observer.clock.now();
        let saved = self.store.commit(commit).instrument(span.clone()).await;
        let seconds = observer.since(started_at);
        match &saved {
            Err(error) => record_commit_error(observer, &span, error),
            Ok(()) if seconds > SLOW_COMMIT_SECONDS => {
                warn!(target: "superstep", parent: &span, { superstep.took_seconds = seconds }, "slow commit");
            }
            Ok(()) => {}
        }
        if let Some(metrics) = &observer.metrics {
            metrics.committed(&observer.graph, seconds, bytes.filter(|_| saved.is_ok()).unwrap_or(0));
        }
        saved
    }
}

fn span(observer: &RunObserver, commit: &Commit) -> Span {
    // There is no current span in the background: the span then belongs to the run.
    let parent = Span::current().id().or_else(|| observer.span.id());
    let checkpoint = commit.checkpoint.as_ref();
    debug_span!(
        target: "superstep",
        parent: parent,
        "checkpoint",
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        superstep.checkpoint.id = checkpoint.map(|checkpoint| field::display(checkpoint.id)),
        superstep.step = checkpoint.map(|checkpoint| checkpoint.step),
        superstep.checkpoint.bytes = field::Empty,
        superstep.tasks = commit.pending.len(),
    )
}

fn record_commit_error(observer: &RunObserver, span: &Span, commit_error: &Error) {
    let code = commit_error.code();
    failed(span, &code.to_string());
    let message = observer.message(commit_error);
    match code {
        // Another run holds the lease now.
        ErrorCode::ThreadBusy => {
            error!(target: "superstep", parent: span, { "error.type" = %code, error.message = message }, "lease lost");
        }
        _ => error!(target: "superstep", parent: span, { "error.type" = %code, error.message = message }, "commit \
             failed"),
    }
}

/// Returns the size of a commit as JSON, before compression.
fn bytes_of(commit: &Commit) -> u64 {
    let mut count = ByteCounter(0);
    // A value that does not serialize is rejected by the checkpointer, which returns the error.
    let _ = serde_json::to_writer(&mut count, &(&commit.checkpoint, &commit.changes[..], &commit.pending));
    for event in &commit.events {
        let _ = event.payload.write_json(&mut count);
    }
    count.0 + commit.subgraph_commits.iter().map(bytes_of).sum::<u64>()
}

struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
