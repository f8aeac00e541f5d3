//! A store that somebody listens to: what is committed, how much it is, how long it took.
//!
//! Stands in front of the store itself and behind whatever saves later, so that a span is of what the store does.

use std::io;
use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::forward_checkpointer;
use superstep_core::port::{Checkpointer, Commit, SharedCheckpointer};
use tracing::{Instrument, Span, debug_span, error, field, warn};

use super::Watch;
use super::watch::failed;

/// Longer than this, in seconds, and the store is called slow.
const SLOW: f64 = 1.0;

/// The store of a run; watched where somebody listens.
pub(crate) fn watched_store(watch: Option<&Arc<Watch>>, store: &SharedCheckpointer) -> SharedCheckpointer {
    match watch {
        None => store.clone(),
        Some(watch) => Watched { store: store.clone(), watch: watch.clone() }.into(),
    }
}

struct Watched {
    store: SharedCheckpointer,
    watch: Arc<Watch>,
}

impl Checkpointer for Watched {
    forward_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.store; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let watch = &*self.watch;
        let span = span(watch, commit);
        // Counting them takes as long as writing them: nobody pays for it unasked.
        let bytes = (watch.metrics.is_some() || !span.is_disabled()).then(|| bytes_of(commit));
        span.record("superstep.checkpoint.bytes", bytes);
        let began = watch.clock.now();
        let saved = self.store.commit(commit).instrument(span.clone()).await;
        let took = watch.since(began);
        match &saved {
            Err(error) => not_saved(watch, &span, error),
            Ok(()) if took > SLOW => {
                warn!(target: "superstep", parent: &span, { superstep.took_seconds = took }, "store is slow");
            }
            Ok(()) => {}
        }
        if let Some(metrics) = &watch.metrics {
            metrics.committed(&watch.graph, took, bytes.filter(|_| saved.is_ok()).unwrap_or(0));
        }
        saved
    }
}

fn span(watch: &Watch, commit: &Commit) -> Span {
    // In the background nothing is current: then it belongs to the run.
    let parent = Span::current().id().or_else(|| watch.span.id());
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

fn not_saved(watch: &Watch, span: &Span, trouble: &Error) {
    let code = trouble.code();
    failed(span, &code.to_string());
    let message = watch.message(trouble);
    match code {
        // Another run moves the thread now.
        Code::ThreadBusy => {
            error!(target: "superstep", parent: span, { "error.type" = %code, error.message = message }, "lease lost");
        }
        _ => error!(target: "superstep", parent: span, { "error.type" = %code, error.message = message }, "not saved"),
    }
}

/// How much a commit says, as JSON, before a store makes it smaller.
fn bytes_of(commit: &Commit) -> u64 {
    let mut count = Count(0);
    // What cannot be written is refused by the store, which says so.
    let _ = serde_json::to_writer(&mut count, &(&commit.checkpoint, &commit.changes[..], &commit.pending));
    for event in &commit.events {
        let _ = event.body.write_json(&mut count);
    }
    count.0 + commit.inside.iter().map(bytes_of).sum::<u64>()
}

struct Count(u64);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
