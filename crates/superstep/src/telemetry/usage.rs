//! Model usage of a run: calls, tokens, cost. Counted per call, not per superstep.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use superstep_core::message::TokenUsage;
use superstep_core::model::{ChatResponse, ModelInfo};

use crate::engine::context::{TaskContext, lock};
use crate::models::Prices;

/// Usage of a run so far; shared with its subgraphs.
#[derive(Default)]
pub(crate) struct UsageTracker {
    tokens: AtomicU64,
    prices: Option<Arc<Prices>>,
    rows: Mutex<Vec<ModelUsage>>,
}

impl UsageTracker {
    pub(crate) fn new(prices: Option<Arc<Prices>>) -> Arc<Self> {
        Arc::new(Self { prices, ..Self::default() })
    }

    /// Returns the number of tokens so far, including those that nodes counted themselves.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Adds tokens, and returns the new total.
    pub(crate) fn add(&self, tokens: u64) -> u64 {
        self.tokens.fetch_add(tokens, Ordering::Relaxed) + tokens
    }

    /// Returns the cost of a call in cents, if the model has a price.
    pub(crate) fn cost(&self, usage: &TokenUsage, model: &ModelInfo) -> Option<f64> {
        self.prices.as_ref()?.cost(usage, model)
    }

    /// Counts a response.
    pub(crate) fn add_response(&self, cx: &TaskContext, response: &ChatResponse) {
        let Some(usage) = &response.message.usage else { return };
        let (graph, node, model) = (&cx.0.shared.program.topology.name, cx.node(), &response.model);
        let cents = self.cost(usage, model);
        let mut rows = lock(&self.rows);
        let is_same_model = |row: &ModelUsage| row.graph == *graph && &*row.node == node && row.model == *model;
        let index = rows.iter().position(is_same_model).unwrap_or(rows.len());
        if index == rows.len() {
            rows.push(ModelUsage::none(graph, node, model));
        }
        let row = &mut rows[index];
        row.calls += 1;
        row.input_tokens += usage.input_tokens;
        row.output_tokens += usage.output_tokens;
        row.is_estimated |= usage.estimated;
        row.cost_cents = sum(row.cost_cents, cents);
    }

    /// Returns the usage so far.
    pub(crate) fn usage(&self) -> RunUsage {
        RunUsage { rows: lock(&self.rows).clone() }
    }
}

/// Usage of one model in one node of one graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The graph; in a summary by model, the first graph that used the model.
    pub graph: Arc<str>,
    /// The node; in a summary by model, the first node that used the model.
    pub node: Arc<str>,
    /// The model that responded.
    pub model: ModelInfo,
    /// Number of calls.
    pub calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// True if some counts are estimates and do not come from the provider.
    pub is_estimated: bool,
    /// Cost in cents; `None` if the model has no price.
    #[serde(rename = "cents")]
    pub cost_cents: Option<f64>,
}

impl ModelUsage {
    fn none(graph: &Arc<str>, node: &str, model: &ModelInfo) -> Self {
        let (graph, node, model) = (graph.clone(), node.into(), model.clone());
        Self { graph, node, model, calls: 0, input_tokens: 0, output_tokens: 0, is_estimated: false, cost_cents: None }
    }
}

/// Model usage of a run, by node and model.
///
/// ```
/// use superstep::models::{Price, Prices, ScriptedModel, SharedModel};
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Chat { #[reduce(messages)] messages: Messages }
///
/// async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
///     Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
/// }
///
/// let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
/// let think = graph.add_node("think", think);
/// graph.add_edge(START, think).add_edge(think, END).prices(Prices::new().with_price("scripted/script", Price::new(3.0, 15.0)));
/// let run = graph.compile()?.invoke(Chat::input().messages("Hi")).context(ScriptedModel::new(["Hello!"]).into());
/// let usage = run.wait_blocking()?.usage().clone();
/// assert_eq!(usage.calls(), 1);
/// assert!(usage.cost_cents().is_some_and(|cents| cents > 0.0));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunUsage {
    rows: Vec<ModelUsage>,
}

impl RunUsage {
    /// Returns the usage by graph, node and model, in the order of first use.
    #[must_use]
    pub fn rows(&self) -> &[ModelUsage] {
        &self.rows
    }

    /// Returns the usage by model, over all nodes.
    #[must_use]
    pub fn by_model(&self) -> Vec<ModelUsage> {
        let mut models: BTreeMap<String, ModelUsage> = BTreeMap::new();
        for row in &self.rows {
            let of_model = || ModelUsage::none(&row.graph, &row.node, &row.model);
            let total = models.entry(row.model.to_string()).or_insert_with(of_model);
            total.calls += row.calls;
            total.input_tokens += row.input_tokens;
            total.output_tokens += row.output_tokens;
            total.is_estimated |= row.is_estimated;
            total.cost_cents = sum(total.cost_cents, row.cost_cents);
        }
        models.into_values().collect()
    }

    /// Returns the number of responses.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| row.calls).sum()
    }

    /// Returns the number of input tokens.
    #[must_use]
    pub fn input_tokens(&self) -> u64 {
        self.rows.iter().map(|row| row.input_tokens).sum()
    }

    /// Returns the number of output tokens.
    #[must_use]
    pub fn output_tokens(&self) -> u64 {
        self.rows.iter().map(|row| row.output_tokens).sum()
    }

    /// Returns the cost of all models with a price, in cents; `None` if no model has a price.
    /// [`models_without_price`](Self::models_without_price) returns the models that are not included.
    #[must_use]
    pub fn cost_cents(&self) -> Option<f64> {
        self.rows.iter().fold(None, |cents, row| sum(cents, row.cost_cents))
    }

    /// Returns the models without a price.
    #[must_use]
    pub fn models_without_price(&self) -> Vec<ModelInfo> {
        self.by_model().into_iter().filter(|row| row.cost_cents.is_none()).map(|row| row.model).collect()
    }
}

/// One line per model: calls, tokens, cents.
impl fmt::Display for RunUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.by_model() {
            let ModelUsage { model, calls, input_tokens, output_tokens, .. } = &row;
            write!(f, "{model}: {calls} calls, {input_tokens} input tokens, {output_tokens} output tokens")?;
            match row.cost_cents {
                Some(cents) => writeln!(f, ", {cents:.4} cents")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// Adds the values that are known.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (value, None) | (None, value) => value,
    }
}
