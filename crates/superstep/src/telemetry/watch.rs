//! What observes one graph of one run: made when somebody listens, and only then.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep_core::error::Error;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::Clock;
use superstep_core::redact::Counts;
use tracing::level_filters::LevelFilter;
use tracing::span::Id;
use tracing::{Span, debug_span, field};

use super::{Given, Metrics};
use crate::context::{Cx, lock};
use crate::redacting::in_words;

/// The observer of one graph of one run.
pub(crate) struct Watch {
    /// The graph's span; of the outermost, that of the run.
    pub(super) span: Span,
    /// The superstep that runs.
    superstep: Mutex<(i64, Span)>,
    pub(super) graph: Arc<str>,
    pub(super) metrics: Option<Metrics>,
    /// Whether what was said may be told.
    pub(super) content: bool,
    pub(super) clock: Arc<dyn Clock>,
}

impl Watch {
    /// Whether somebody listens to a run. One look at a number where nobody does.
    pub(crate) fn is_wanted(given: &Given) -> bool {
        given.metrics.is_some() || LevelFilter::current() != LevelFilter::OFF
    }

    pub(super) fn new(span: Span, graph: Arc<str>, given: &Given, clock: Arc<dyn Clock>) -> Self {
        let (metrics, content) = (given.metrics.clone(), given.content);
        Self { span, superstep: Mutex::new((NO_STEP, Span::none())), graph, metrics, content, clock }
    }

    /// The observer of a graph inside a node of this one.
    pub(crate) fn inside(&self, cx: &Cx, graph: &Arc<str>) -> Arc<Self> {
        let given = Given { metrics: self.metrics.clone(), prices: None, content: self.content };
        let span = super::run::span(graph, parent(cx));
        span.record("superstep.run.id", field::display(cx.run()));
        if let Some(thread) = cx.thread() {
            span.record("gen_ai.conversation.id", thread.as_str());
        }
        Arc::new(Self::new(span, graph.clone(), &given, self.clock.clone()))
    }

    /// The run has its id, and its thread where it has one.
    pub(crate) fn begun(&self, run: RunId, thread: Option<&ThreadId>) {
        self.span.record("superstep.run.id", field::display(run));
        if let Some(thread) = thread {
            self.span.record("gen_ai.conversation.id", thread.as_str());
        }
    }

    /// Counts a run that waits for its thread, as long as what is given is kept.
    pub(crate) fn waits(&self) -> Option<Waiting<'_>> {
        let metrics = self.metrics.as_ref()?;
        metrics.waiting(&self.graph, 1.0);
        Some(Waiting { metrics, graph: &self.graph })
    }

    /// A superstep begins, unless it is the one that runs.
    pub(crate) fn superstep_begins(&self, step: i64) {
        let mut superstep = lock(&self.superstep);
        if superstep.0 != step {
            let span = debug_span!(target: "superstep", parent: self.span.id(), "superstep", superstep.step = step);
            *superstep = (step, span);
        }
    }

    /// Nothing of this graph runs any more.
    pub(super) fn is_over(&self) {
        *lock(&self.superstep) = (NO_STEP, Span::none());
    }

    /// The span of the superstep that runs, or of the graph where supersteps are not listened to.
    pub(crate) fn here(&self) -> Span {
        let superstep = lock(&self.superstep).1.clone();
        if superstep.is_disabled() { self.span.clone() } else { superstep }
    }

    /// The message of an error, where it may be told: it may say what a person said.
    pub(super) fn message<'a>(&self, error: &'a Error) -> Option<field::DisplayValue<&'a Error>> {
        self.content.then(|| field::display(error))
    }

    /// As [`Self::message`], of an error that was not yet put in words that may be kept.
    pub(super) fn words(&self, cx: &Cx, error: &Error) -> Option<String> {
        self.content.then(|| in_words(cx, error.clone()).to_string())
    }

    /// What was said in words that may be told, where a graph or the call of a tool takes something out.
    pub(super) fn told(cx: &Cx, mut said: Value) -> Value {
        cx.0.shared.told_without().for_each(|redaction| redaction.value(&mut said, &mut Counts::default()));
        said
    }

    /// Counts what was taken out.
    pub(crate) fn redacted(&self, counts: &Counts) {
        if let Some(metrics) = &self.metrics {
            metrics.all_redacted(counts);
        }
    }

    /// Seconds since then.
    pub(super) fn since(&self, began: i64) -> f64 {
        self.clock.now().saturating_sub(began).max(0) as f64 / 1_000_000.0
    }
}

/// No superstep has this number.
const NO_STEP: i64 = i64::MIN;

/// A run that waits for its thread.
pub(crate) struct Waiting<'a> {
    metrics: &'a Metrics,
    graph: &'a Arc<str>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.metrics.waiting(self.graph, -1.0);
    }
}

/// The span that what a node does belongs to: the one that is current, or that of the node where a node has spawned work
/// of its own.
pub(super) fn parent(cx: &Cx) -> Option<Id> {
    Span::current().id().or_else(|| cx.span()?.id())
}

/// Notes on a span that what it is about has failed.
pub(super) fn failed(span: &Span, error_type: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}
