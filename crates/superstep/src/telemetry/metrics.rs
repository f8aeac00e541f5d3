//! Measurements of runs, kept here and written in the text format of Prometheus.
//!
//! Kept by an object that a graph is given, and by no global recorder: a graph without one measures nothing, two
//! programs in one process do not mix, and tests need no order. Written without a library: the format is a page long,
//! while `metrics` with its exporter brings some forty crates and builds labels also when nobody records, and
//! `prometheus-client` would be a dependency of everybody or a feature in the middle of the engine.
//!
//! Labels are names a program chose: graphs, nodes, models, tools, codes of errors. Threads, runs and whatever people
//! or models say are none.

mod family;

use std::fmt::Write;
use std::sync::Arc;

use superstep_core::message::Usage;
use superstep_core::model::ModelInfo;
use superstep_core::redact::Counts;

use family::{Family, Histogram, Kind, Number};

/// Measurements of the runs of one or more graphs. Clones are one and the same.
///
/// | name | labels | what |
/// |---|---|---|
/// | `superstep_runs_total` | graph, outcome | runs that ended |
/// | `superstep_failures_total` | graph, code | runs that failed |
/// | `superstep_run_seconds` | graph | how long runs took |
/// | `superstep_waiting_runs` | graph | runs that wait for their thread |
/// | `superstep_node_seconds` | graph, node | how long tasks took |
/// | `superstep_node_failures_total` | graph, node, code | tasks that failed for good |
/// | `superstep_node_retries_total` | graph, node | attempts that were followed by another |
/// | `superstep_model_seconds` | provider, model | how long calls of models took |
/// | `superstep_model_failures_total` | provider, model, code | calls of models that failed |
/// | `superstep_tokens_total` | provider, model, direction | tokens that models read and wrote |
/// | `superstep_cost_cents_total` | provider, model | what models with a price cost |
/// | `superstep_tool_seconds` | tool | how long calls of tools took |
/// | `superstep_tool_failures_total` | tool, reason | calls of tools without a result |
/// | `superstep_commit_seconds` | graph | how long the store took to save |
/// | `superstep_checkpoint_bytes_total` | graph | what was saved, as JSON before it is made smaller |
/// | `superstep_redactions_total` | kind | what was taken out of texts |
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    runs: Family<Number>,
    failures: Family<Number>,
    run_seconds: Family<Histogram>,
    waiting: Family<Number>,
    node_seconds: Family<Histogram>,
    node_failures: Family<Number>,
    node_retries: Family<Number>,
    model_seconds: Family<Histogram>,
    model_failures: Family<Number>,
    tokens: Family<Number>,
    cost: Family<Number>,
    tool_seconds: Family<Histogram>,
    tool_failures: Family<Number>,
    commit_seconds: Family<Histogram>,
    bytes: Family<Number>,
    redactions: Family<Number>,
}

impl Metrics {
    /// The media type of what [`render`](Self::render) gives, for whoever serves it.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// No measurements yet.
    #[must_use]
    pub fn new() -> Self {
        let counter = |name, labels, help| Family::new(Kind::Counter, name, labels, help);
        let gauge = |name, labels, help| Family::new(Kind::Gauge, name, labels, help);
        let seconds = |name, labels, help| Family::new(Kind::Histogram, name, labels, help);
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

    /// Everything measured so far, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let (families, mut text) = (&*self.0, Text(String::new()));
        text.add(&families.runs).add(&families.failures).add(&families.run_seconds).add(&families.waiting);
        text.add(&families.node_seconds).add(&families.node_failures).add(&families.node_retries);
        text.add(&families.model_seconds).add(&families.model_failures).add(&families.tokens).add(&families.cost);
        text.add(&families.tool_seconds).add(&families.tool_failures);
        text.add(&families.commit_seconds).add(&families.bytes).add(&families.redactions);
        text.0
    }

    /// Counts what was taken out of a text, by kind, such as `mail`.
    pub fn redacted(&self, kind: &str, count: u64) {
        self.0.redactions.add(&[kind], count as f64);
    }

    pub(crate) fn all_redacted(&self, counts: &Counts) {
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

    pub(super) fn tokens(&self, model: &ModelInfo, usage: &Usage, cents: Option<f64>) {
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

/// What is written so far.
struct Text(String);

impl Text {
    fn add<V: family::Value>(&mut self, family: &Family<V>) -> &mut Self {
        // A string takes whatever is written.
        let _ = write!(self.0, "{family}");
        self
    }
}
