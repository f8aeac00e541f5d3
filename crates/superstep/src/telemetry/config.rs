//! Telemetry configuration of graphs and runs.

use std::sync::Arc;

use superstep_core::state::GraphState;

use super::Metrics;
use crate::graph::builder::StateGraph;
use crate::models::Prices;
use crate::run::builder::RunBuilder;

/// Metrics, prices, and the permission to trace content.
#[derive(Clone, Default)]
pub(crate) struct TelemetryConfig {
    pub(crate) metrics: Option<Metrics>,
    pub(crate) prices: Option<Arc<Prices>>,
    pub(crate) content: bool,
}

impl<S: GraphState, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Sets the metrics of its runs. Several graphs may share one value.
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::telemetry::Metrics;
    /// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # let mut graph = StateGraph::<Count>::new("count");
    /// # let one = graph.add_node("one", || Count::update().n(1u64));
    /// # graph.add_edge(START, one).add_edge(one, END);
    /// let metrics = Metrics::new();
    /// let count = graph.metrics(&metrics).compile()?;
    /// count.invoke(Count::input().n(41u64)).wait_blocking()?;
    /// assert!(metrics.render().contains("superstep_runs_total{graph=\"count\",outcome=\"finished\"} 1\n"));
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn metrics(&mut self, metrics: &Metrics) -> &mut Self {
        self.settings.telemetry.metrics = Some(metrics.clone());
        self
    }

    /// Sets the prices of models: for [`crate::Outcome::usage`], for spans and for metrics. A subgraph uses the
    /// prices of its root graph.
    pub fn prices(&mut self, prices: impl Into<Arc<Prices>>) -> &mut Self {
        self.settings.telemetry.prices = Some(prices.into());
        self
    }

    /// Includes the content of messages and tool calls in spans and log lines. Default: names, counts and times only.
    /// A subgraph uses the setting of its root graph.
    pub fn trace_content(&mut self) -> &mut Self {
        self.settings.telemetry.content = true;
        self
    }
}

impl<S: GraphState, C: Send + Sync + 'static> RunBuilder<S, C> {
    /// Sets the metrics of the run. Default: those of the graph.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.call.telemetry.metrics = Some(metrics.clone());
        self
    }

    /// Sets the prices of models. Default: those of the graph.
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.call.telemetry.prices = Some(prices.into());
        self
    }

    /// Includes the content of messages and tool calls in spans and log lines: see [`StateGraph::trace_content`].
    pub fn trace_content(mut self) -> Self {
        self.call.telemetry.content = true;
        self
    }
}
