//! What models took in a run: calls, tokens, money. Counted by call and never by superstep.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use superstep_core::message::Usage;
use superstep_core::model::{Answer, ModelInfo};

use crate::context::{Cx, lock};
use crate::model::Prices;

/// What a run has spent so far; shared with the graphs inside.
#[derive(Default)]
pub(crate) struct Spending {
    tokens: AtomicU64,
    prices: Option<Arc<Prices>>,
    rows: Mutex<Vec<ModelUsage>>,
}

impl Spending {
    pub(crate) fn new(prices: Option<Arc<Prices>>) -> Arc<Self> {
        Arc::new(Self { prices, ..Self::default() })
    }

    /// The tokens so far, those of a node's own counting included.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Adds tokens; gives all so far.
    pub(crate) fn add(&self, tokens: u64) -> u64 {
        self.tokens.fetch_add(tokens, Ordering::Relaxed) + tokens
    }

    /// What a call cost, in cents, where that is known.
    pub(crate) fn cost(&self, usage: &Usage, model: &ModelInfo) -> Option<f64> {
        self.prices.as_ref()?.cost(usage, model)
    }

    /// Counts an answer.
    pub(crate) fn count(&self, cx: &Cx, answer: &Answer) {
        let Some(usage) = &answer.message.usage else { return };
        let (graph, node, model) = (&cx.0.shared.program.topology.name, cx.node(), &answer.model);
        let cents = self.cost(usage, model);
        let mut rows = lock(&self.rows);
        let is_this = |row: &ModelUsage| row.graph == *graph && &*row.node == node && row.model == *model;
        let place = rows.iter().position(is_this).unwrap_or(rows.len());
        if place == rows.len() {
            rows.push(ModelUsage::none(graph, node, model));
        }
        let row = &mut rows[place];
        row.calls += 1;
        row.input_tokens += usage.input_tokens;
        row.output_tokens += usage.output_tokens;
        row.is_estimated |= usage.estimated;
        row.cents = sum(row.cents, cents);
    }

    /// What there is to tell.
    pub(crate) fn usage(&self) -> RunUsage {
        RunUsage { rows: lock(&self.rows).clone() }
    }
}

/// What one model took in one node of one graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The graph; of a whole run, the one that was met first.
    pub graph: Arc<str>,
    /// The node; of a whole run, the one that was met first.
    pub node: Arc<str>,
    /// The model that answered.
    pub model: ModelInfo,
    /// How often.
    pub calls: u64,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Some were counted by us and not by the provider.
    pub is_estimated: bool,
    /// What it cost, in cents; nothing where the model has no price.
    pub cents: Option<f64>,
}

impl ModelUsage {
    fn none(graph: &Arc<str>, node: &str, model: &ModelInfo) -> Self {
        let (graph, node, model) = (graph.clone(), node.into(), model.clone());
        Self { graph, node, model, calls: 0, input_tokens: 0, output_tokens: 0, is_estimated: false, cents: None }
    }
}

/// What models took in a run, by node and model.
///
/// ```
/// use superstep::model::{Price, Prices, Scripted, SharedModel};
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Chat { #[reduce(messages)] messages: Messages }
///
/// async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
///     Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
/// }
///
/// let mut graph = Graph::<Chat, SharedModel>::new("chat");
/// let think = graph.node("think", think);
/// graph.edge(START, think).edge(think, END).prices(Prices::new().with("scripted/script", Price::new(3.0, 15.0)));
/// let run = graph.compile()?.run(Chat::input().messages("Hi")).context(Scripted::new(["Hello!"]).into());
/// let usage = run.wait()?.usage().clone();
/// assert_eq!(usage.calls(), 1);
/// assert!(usage.cents().is_some_and(|cents| cents > 0.0));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunUsage {
    rows: Vec<ModelUsage>,
}

impl RunUsage {
    /// By graph, node and model, in the order they were met.
    #[must_use]
    pub fn rows(&self) -> &[ModelUsage] {
        &self.rows
    }

    /// By model, wherever it was asked.
    #[must_use]
    pub fn by_model(&self) -> Vec<ModelUsage> {
        let mut models: BTreeMap<String, ModelUsage> = BTreeMap::new();
        for row in &self.rows {
            let of_model = || ModelUsage::none(&row.graph, &row.node, &row.model);
            let whole = models.entry(row.model.to_string()).or_insert_with(of_model);
            whole.calls += row.calls;
            whole.input_tokens += row.input_tokens;
            whole.output_tokens += row.output_tokens;
            whole.is_estimated |= row.is_estimated;
            whole.cents = sum(whole.cents, row.cents);
        }
        models.into_values().collect()
    }

    /// How often models answered.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| row.calls).sum()
    }

    /// Tokens that models read.
    #[must_use]
    pub fn input_tokens(&self) -> u64 {
        self.rows.iter().map(|row| row.input_tokens).sum()
    }

    /// Tokens that models wrote.
    #[must_use]
    pub fn output_tokens(&self) -> u64 {
        self.rows.iter().map(|row| row.output_tokens).sum()
    }

    /// What the models with a price cost, in cents; nothing where none has one. [`unpriced`](Self::unpriced) says what
    /// is missing in it.
    #[must_use]
    pub fn cents(&self) -> Option<f64> {
        self.rows.iter().fold(None, |cents, row| sum(cents, row.cents))
    }

    /// The models without a price.
    #[must_use]
    pub fn unpriced(&self) -> Vec<ModelInfo> {
        self.by_model().into_iter().filter(|row| row.cents.is_none()).map(|row| row.model).collect()
    }
}

/// One line for each model: calls, tokens, cents.
impl fmt::Display for RunUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.by_model() {
            let ModelUsage { model, calls, input_tokens, output_tokens, .. } = &row;
            write!(f, "{model}: {calls} calls, {input_tokens} tokens in, {output_tokens} out")?;
            match row.cents {
                Some(cents) => writeln!(f, ", {cents:.4} cents")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// The sum of what is known.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (known, None) | (None, known) => known,
    }
}
