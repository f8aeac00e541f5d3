//! What a turn and a thread may cost: tokens and money.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Middleware;
use super::model_calls::reached;
use crate::agent::around::{ModelRequest, NextModel};
use crate::agent::hook::{Effect, Hook, Hooks, Jump};
use crate::core::message::Role;
use crate::model::{Answer, Budget, ModelExt, ModelInfo, Prices};
use crate::{Code, Error, Message, NodeError};

/// Limits what the model may cost: each call, a turn, a thread. At the limit of a turn or a thread the agent ends, with a
/// message that says so, or fails. What is spent is known only after a call, so the last one may go beyond.
///
/// ```
/// use superstep::agent::Spending;
/// use superstep::model::{Budget, Price, Prices};
///
/// let prices = Prices::new().with("openai/gpt-5-mini", Price::new(0.25, 2.0));
/// let spending = Spending::new().call(Budget::new().tokens(8_000)).turn_tokens(50_000).thread_cents(20.0).prices(prices);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "give it to an agent"]
pub struct Spending {
    call: Option<Budget>,
    turn: Limit,
    thread: Limit,
    prices: Arc<Prices>,
    fails: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Limit {
    tokens: Option<u64>,
    cents: Option<f64>,
}

impl Spending {
    /// No limits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What one call may take.
    pub fn call(mut self, budget: Budget) -> Self {
        self.call = Some(budget);
        self
    }

    /// The most tokens of a turn.
    pub fn turn_tokens(mut self, tokens: u64) -> Self {
        self.turn.tokens = Some(tokens);
        self
    }

    /// The most tokens of a thread.
    pub fn thread_tokens(mut self, tokens: u64) -> Self {
        self.thread.tokens = Some(tokens);
        self
    }

    /// The most cents of a turn. Needs [`prices`](Self::prices).
    pub fn turn_cents(mut self, cents: f64) -> Self {
        self.turn.cents = Some(cents);
        self
    }

    /// The most cents of a thread. Needs [`prices`](Self::prices).
    pub fn thread_cents(mut self, cents: f64) -> Self {
        self.thread.cents = Some(cents);
        self
    }

    /// What models cost.
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.prices = prices.into();
        self
    }

    /// The run fails at a limit, in place of an end.
    pub fn fail(mut self) -> Self {
        self.fails = true;
        self
    }

    /// What an answer cost.
    fn cost(&self, message: &Message) -> Result<Spent, NodeError> {
        let usage = message.usage.clone().unwrap_or_default();
        let mut spent = Spent { tokens: usage.total_tokens, cents: 0.0 };
        if self.turn.cents.is_some() || self.thread.cents.is_some() {
            let model = message.metadata.get("model").cloned().unwrap_or_default();
            let model: ModelInfo = serde_json::from_value(model)?;
            spent.cents = self.prices.cost(&usage, &model).ok_or_else(|| {
                let name = format!("{}/{}", model.provider, model.name);
                Error::new(Code::ConfigInvalid, format!("the agent has a limit in money, and `{name}` has no price"))
                    .help("add it to the prices, or limit tokens")
            })?;
        }
        Ok(spent)
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Spent {
    tokens: u64,
    cents: f64,
}

impl Spent {
    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cents += more.cents;
    }

    /// The limit that is reached, in words.
    fn reaches(self, limit: Limit, what: &str) -> Option<String> {
        if limit.tokens.is_some_and(|most| self.tokens >= most) {
            return Some(format!("the {what} took {} tokens, and may take no more", self.tokens));
        }
        let is_over = limit.cents.is_some_and(|most| self.cents >= most);
        is_over.then(|| format!("the {what} cost {:.4} cents, and may cost no more", self.cents))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    turn: Option<String>,
    in_turn: Spent,
    on_thread: Spent,
}

fn kept(hook: &Hook) -> Result<Kept, NodeError> {
    let kept: Kept = hook.kept()?;
    let turn = hook.turn().message().map(str::to_owned);
    Ok(if kept.turn == turn { kept } else { Kept { turn, in_turn: Spent::default(), ..kept } })
}

impl Middleware for Spending {
    fn hooks(&self) -> Hooks {
        let hooks = Hooks::none().before_model().after_model().may_jump([Jump::End]);
        if self.call.is_some() { hooks.wrap_model() } else { hooks }
    }

    async fn before_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let kept = kept(&hook)?;
        let over = kept.in_turn.reaches(self.turn, "turn").or_else(|| kept.on_thread.reaches(self.thread, "thread"));
        over.map_or(Ok(Effect::none()), |fact| reached(&fact, self.fails))
    }

    async fn after_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let mut kept = kept(&hook)?;
        let last = hook.messages().iter().rev().find(|message| message.role == Role::Assistant);
        let Some(message) = last else { return Ok(Effect::none()) };
        let cost = self.cost(message)?;
        kept.in_turn.add(cost);
        kept.on_thread.add(cost);
        Effect::none().keep(kept)
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        if let Some(budget) = self.call {
            request.model = request.model.budget(budget).prices(self.prices.clone()).share();
        }
        next.run(request).await
    }
}
