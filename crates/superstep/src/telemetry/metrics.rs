//! Metrics of runs, in the text format of Prometheus.
//!
//! Collected by a value of the graph instead of a global recorder: a graph without one collects nothing, two
//! applications in one process do not mix, and tests need no order. Implemented without a library: the format is
//! simple, while `metrics` with its exporter adds about forty crates and builds labels even without a recorder, and
//! `prometheus-client` would be a dependency of every user or a feature in the core of the engine.
//!
//! Labels are names that the application chose: graphs, nodes, models, tools, error codes. Thread ids, run ids and
//! message content are never labels.

mod family;

use std::fmt::Write;
use std::sync::Arc;

use superstep_core::message::TokenUsage;
use superstep_core::model::ModelInfo;
use superstep_core::redaction::RedactionCounts;

use family::{Histogram, MetricFamily, MetricKind, Scalar};

/// Metrics of the runs of one or more graphs. Clones share the same data.
///
/// | name | labels | meaning |
/// |---|---|---|
/// | `superstep_runs_total` | graph, outcome | ended runs |
/// | `superstep_failures_total` | graph, code | failed runs |
/// | `superstep_run_seconds` | graph | duration of runs |
/// | `superstep_waiting_runs` | graph | runs that wait for their thread |
/// | `superstep_node_seconds` | graph, node | duration of tasks |
/// | `superstep_node_failures_total` | graph, node, code | tasks that failed after their last attempt |
/// | `superstep_node_retries_total` | graph, node | failed attempts that were retried |
/// | `superstep_model_seconds` | provider, model | duration of model calls |
/// | `superstep_model_failures_total` | provider, model, code | failed model calls |
/// | `superstep_tokens_total` | provider, model, direction | input and output tokens of models |
/// | `superstep_cost_cents_total` | provider, model | cost of models with a price |
/// | `superstep_tool_seconds` | tool | duration of tool calls |
/// | `superstep_tool_failures_total` | tool, reason | tool calls without a result |
/// | `superstep_commit_seconds` | graph | duration of commits |
/// | `superstep_checkpoint_bytes_total` | graph | size of commits as JSON, before compression |
/// | `superstep_redactions_total` | kind | redactions in texts |
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    runs: MetricFamily<Scalar>,
    failures: MetricFamily<Scalar>,
    run_seconds: MetricFamily<Histogram>,
    waiting: MetricFamily<Scalar>,
    node_seconds: MetricFamily<Histogram>,
    node_failures: MetricFamily<Scalar>,
    node_retries: MetricFamily<Scalar>,
    model_seconds: MetricFamily<Histogram>,
    model_failures: MetricFamily<Scalar>,
    tokens: MetricFamily<Scalar>,
    cost: MetricFamily<Scalar>,
    tool_seconds: MetricFamily<Histogram>,
    tool_failures: MetricFamily<Scalar>,
    commit_seconds: MetricFamily<Histogram>,
    bytes: MetricFamily<Scalar>,
    redactions: MetricFamily<Scalar>,
}

impl Metrics {
    /// Media type of the output of [`render`](Self::render).
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Creates empty metrics.
    #[must_use]
    pub fn new() -> Self {
        let counter = |name, labels, help| MetricFamily::new(MetricKind::Counter, name, labels, help);
        let gauge = |name, labels, help| MetricFamily::new(MetricKind::Gauge, name, labels, help);
        let seconds = |name, labels, help| MetricFamily::new(MetricKind::Histogram, name, labels, help);
        let (provider, code): (_, &[_]) = (&["provider", "model"], &["provider", "model", "code"]);
        let direction = &["provider", "model", "direction"];
        Self(Arc::new(Families {
            runs: counter("superstep_runs_total", &["graph", "outcome"], "Runs that ended."),
            failures: counter("superstep_failures_total", &["graph", "code"], "Runs that failed."),
            run_seconds: seconds("superstep_run_seconds", &["graph"], "How long runs took."),
            waiting: gauge("superstep_waiting_runs", &["graph"], "Runs that wait for their thread."),
            node_seconds: seconds("superstep_node_seconds", &["graph", "node"], "How long tasks took."),
            node_failures: counter("superstep_node_failures_total", &["graph", "node", "code"], "Tasks that failed."),
            node_retries: counter("superstep_node_retries_total", &["graph", "node"], "Attempts followed by another."),
            model_seconds: seconds("superstep_model_seconds", provider, "How long calls of models took."),
            model_failures: counter("superstep_model_failures_total", code, "Calls of models that failed."),
            tokens: counter("superstep_tokens_total", direction, "Tokens that models read and wrote."),
            cost: counter("superstep_cost_cents_total", provider, "What models with a price cost."),
            tool_seconds: seconds("superstep_tool_seconds", &["tool"], "How long calls of tools took."),
            tool_failures: counter("superstep_tool_failures_total", &["tool", "reason"], "Calls without a result."),
            commit_seconds: seconds("superstep_commit_seconds", &["graph"], "How long the store took to save."),
            bytes: counter("superstep_checkpoint_bytes_total", &["graph"], "What was saved, as JSON."),
            redactions: counter("superstep_redactions_total", &["kind"], "What was taken out of texts."),
        }))
    }

    /// Renders all metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let (families, mut text) = (&*self.0, PrometheusText(String::new()));
        text.add(&families.runs).add(&families.failures).add(&families.run_seconds).add(&families.waiting);
        text.add(&families.node_seconds).add(&families.node_failures).add(&families.node_retries);
        text.add(&families.model_seconds).add(&families.model_failures).add(&families.tokens).add(&families.cost);
        text.add(&families.tool_seconds).add(&families.tool_failures);
        text.add(&families.commit_seconds).add(&families.bytes).add(&families.redactions);
        text.0
    }

    /// Counts redactions of a kind, such as `mail`.
    pub fn redacted(&self, kind: &str, count: u64) {
        self.0.redactions.add(&[kind], count as f64);
    }

    pub(crate) fn all_redacted(&self, counts: &RedactionCounts) {
        counts.iter().for_each(|(kind, count)| self.redacted(kind, count));
    }

    pub(super) fn run_ended(&self, graph: &str, outcome: &str, seconds: f64) {
        self.0.runs.add(&[graph, outcome], 1.0);
        self.0.run_seconds.add(&[graph], seconds);
    }

    pub(super) fn run_failed(&self, graph: &str, code: &str) {
        self.0.failures.add(&[graph, code], 1.0);
    }

    pub(super) fn waiting(&self, graph: &str, change: f64) {
        self.0.waiting.add(&[graph], change);
    }

    pub(super) fn node_ended(&self, graph: &str, node: &str, seconds: f64) {
        self.0.node_seconds.add(&[graph, node], seconds);
    }

    pub(super) fn node_failed(&self, graph: &str, node: &str, code: &str) {
        self.0.node_failures.add(&[graph, node, code], 1.0);
    }

    pub(super) fn node_retried(&self, graph: &str, node: &str) {
        self.0.node_retries.add(&[graph, node], 1.0);
    }

    pub(super) fn model_called(&self, model: &ModelInfo, seconds: f64) {
        self.0.model_seconds.add(&[&model.provider, &model.name], seconds);
    }

    pub(super) fn model_failed(&self, model: &ModelInfo, code: &str) {
        self.0.model_failures.add(&[&model.provider, &model.name, code], 1.0);
    }

    pub(super) fn tokens(&self, model: &ModelInfo, usage: &TokenUsage, cents: Option<f64>) {
        let (provider, name) = (&*model.provider, &*model.name);
        self.0.tokens.add(&[provider, name, "input"], usage.input_tokens as f64);
        self.0.tokens.add(&[provider, name, "output"], usage.output_tokens as f64);
        if let Some(cents) = cents {
            self.0.cost.add(&[provider, name], cents);
        }
    }

    pub(super) fn tool_called(&self, tool: &str, seconds: f64) {
        self.0.tool_seconds.add(&[tool], seconds);
    }

    pub(super) fn tool_failed(&self, tool: &str, reason: &str) {
        self.0.tool_failures.add(&[tool, reason], 1.0);
    }

    pub(super) fn committed(&self, graph: &str, seconds: f64, bytes: u64) {
        self.0.commit_seconds.add(&[graph], seconds);
        self.0.bytes.add(&[graph], bytes as f64);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Output so far.
struct PrometheusText(String);

impl PrometheusText {
    fn add<V: family::MetricValue>(&mut self, family: &MetricFamily<V>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{family}");
        self
    }
}
