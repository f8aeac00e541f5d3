//! What a graph or a run is told about being observed.

use std::sync::Arc;

use superstep_core::state::State;

use super::Metrics;
use crate::call::Run;
use crate::graph::Graph;
use crate::model::Prices;

/// Who observes, what models cost, and whether traces may say what was said.
#[derive(Clone, Default)]
pub(crate) struct Given {
    pub(crate) metrics: Option<Metrics>,
    pub(crate) prices: Option<Arc<Prices>>,
    pub(crate) content: bool,
}

impl<S: State, C: Send + Sync + 'static> Graph<S, C> {
    /// Where its runs are measured. Several graphs may share one.
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::telemetry::Metrics;
    /// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # let mut graph = Graph::<Count>::new("count");
    /// # let one = graph.node("one", || Count::update().n(1u64));
    /// # graph.edge(START, one).edge(one, END);
    /// let metrics = Metrics::new();
    /// let count = graph.metrics(&metrics).compile()?;
    /// count.run(Count::input().n(41u64)).wait()?;
    /// assert!(metrics.render().contains("superstep_runs_total{graph=\"count\",outcome=\"finished\"} 1\n"));
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn metrics(&mut self, metrics: &Metrics) -> &mut Self {
        self.settings.observed.metrics = Some(metrics.clone());
        self
    }

    /// What models cost: for [`crate::Outcome::usage`], for spans and for metrics. Inside another graph, that one's
    /// prices hold.
    pub fn prices(&mut self, prices: impl Into<Arc<Prices>>) -> &mut Self {
        self.settings.observed.prices = Some(prices.into());
        self
    }

    /// Lets spans and log lines say what people, models and tools said. Without this they have names, counts and times
    /// only. Inside another graph, that one decides.
    pub fn trace_content(&mut self) -> &mut Self {
        self.settings.observed.content = true;
        self
    }
}

impl<S: State, C: Send + Sync + 'static> Run<S, C> {
    /// Where it is measured, in place of the graph's own.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.call.observed.metrics = Some(metrics.clone());
        self
    }

    /// What models cost, in place of the graph's own prices.
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.call.observed.prices = Some(prices.into());
        self
    }

    /// Lets its spans and log lines say what people, models and tools said: see [`Graph::trace_content`].
    pub fn trace_content(mut self) -> Self {
        self.call.observed.content = true;
        self
    }
}
