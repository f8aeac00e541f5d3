//! Observer of one graph of a run; created only if telemetry is enabled.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep_core::error::Error;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::Clock;
use superstep_core::redaction::RedactionCounts;
use tracing::level_filters::LevelFilter;
use tracing::span::Id;
use tracing::{Span, debug_span, field};

use super::{Metrics, TelemetryConfig};
use crate::engine::context::{TaskContext, lock};
use crate::engine::redaction::redact_error;

/// Observer of one graph of a run.
pub(crate) struct RunObserver {
    /// Span of the graph; for the root graph, that of the run.
    pub(super) span: Span,
    /// The running superstep with its span.
    superstep: Mutex<(i64, Span)>,
    pub(super) graph: Arc<str>,
    pub(super) metrics: Option<Metrics>,
    /// True if message content is recorded.
    pub(super) content: bool,
    pub(super) clock: Arc<dyn Clock>,
}

impl RunObserver {
    /// Returns true if telemetry is enabled for a run. Costs one atomic read if it is disabled.
    pub(crate) fn is_enabled(config: &TelemetryConfig) -> bool {
        config.metrics.is_some() || LevelFilter::current() != LevelFilter::OFF
    }

    pub(super) fn new(span: Span, graph: Arc<str>, config: &TelemetryConfig, clock: Arc<dyn Clock>) -> Self {
        let (metrics, content) = (config.metrics.clone(), config.content);
        Self { span, superstep: Mutex::new((NO_STEP, Span::none())), graph, metrics, content, clock }
    }

    /// Creates the observer of a subgraph.
    pub(crate) fn for_subgraph(&self, cx: &TaskContext, graph: &Arc<str>) -> Arc<Self> {
        let config = TelemetryConfig { metrics: self.metrics.clone(), prices: None, content: self.content };
        let span = super::run::span(graph, parent(cx));
        span.record("superstep.run.id", field::display(cx.run_id()));
        if let Some(thread) = cx.thread_id() {
            span.record("gen_ai.conversation.id", thread.as_str());
        }
        Arc::new(Self::new(span, graph.clone(), &config, self.clock.clone()))
    }

    /// Records the ids of the run and its thread.
    pub(crate) fn run_started(&self, run: RunId, thread: Option<&ThreadId>) {
        self.span.record("superstep.run.id", field::display(run));
        if let Some(thread) = thread {
            self.span.record("gen_ai.conversation.id", thread.as_str());
        }
    }

    /// Counts a run that waits for its thread, until the guard is dropped.
    pub(crate) fn run_queued(&self) -> Option<QueuedRunGuard<'_>> {
        let metrics = self.metrics.as_ref()?;
        metrics.waiting(&self.graph, 1.0);
        Some(QueuedRunGuard { metrics, graph: &self.graph })
    }

    /// Creates the span of a superstep, unless it is already running.
    pub(crate) fn superstep_started(&self, step: i64) {
        let mut superstep = lock(&self.superstep);
        if superstep.0 != step {
            let span = debug_span!(target: "superstep", parent: self.span.id(), "superstep", superstep.step = step);
            *superstep = (step, span);
        }
    }

    /// Closes the span of the superstep when the graph stops.
    pub(super) fn finish(&self) {
        *lock(&self.superstep) = (NO_STEP, Span::none());
    }

    /// Returns the span of the running superstep, or that of the graph if superstep spans are disabled.
    pub(crate) fn current_span(&self) -> Span {
        let superstep = lock(&self.superstep).1.clone();
        if superstep.is_disabled() { self.span.clone() } else { superstep }
    }

    /// Returns the message of an error if content is recorded: it may contain message content.
    pub(super) fn message<'a>(&self, error: &'a Error) -> Option<field::DisplayValue<&'a Error>> {
        self.content.then(|| field::display(error))
    }

    /// Returns the message of an error that was not redacted yet. See [`Self::message`].
    pub(super) fn redacted_message(&self, cx: &TaskContext, error: &Error) -> Option<String> {
        self.content.then(|| redact_error(cx, error.clone()).to_string())
    }

    /// Redacts content for a log line.
    pub(super) fn redact_json(cx: &TaskContext, mut value: Value) -> Value {
        cx.0.shared
            .event_redactions()
            .for_each(|redaction| redaction.redact_value(&mut value, &mut RedactionCounts::default()));
        value
    }

    /// Counts redactions.
    pub(crate) fn redacted(&self, counts: &RedactionCounts) {
        if let Some(metrics) = &self.metrics {
            metrics.all_redacted(counts);
        }
    }

    /// Returns the seconds since a time.
    pub(super) fn since(&self, started_at: i64) -> f64 {
        self.clock.now().saturating_sub(started_at).max(0) as f64 / 1_000_000.0
    }
}

/// Placeholder that is no superstep number.
const NO_STEP: i64 = i64::MIN;

/// Guard of a run that waits for its thread.
pub(crate) struct QueuedRunGuard<'a> {
    metrics: &'a Metrics,
    graph: &'a Arc<str>,
}

impl Drop for QueuedRunGuard<'_> {
    fn drop(&mut self) {
        self.metrics.waiting(self.graph, -1.0);
    }
}

/// Returns the parent span for work of a node: the current span, or that of the node if the node has spawned a task.
pub(super) fn parent(cx: &TaskContext) -> Option<Id> {
    Span::current().id().or_else(|| cx.span()?.id())
}

/// Marks a span as failed.
pub(super) fn failed(span: &Span, error_type: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}
