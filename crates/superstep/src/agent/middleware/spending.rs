//! What a turn and a thread may cost: tokens and money.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Middleware;
use super::model_calls::reached;
use crate::agent::around::{ModelRequest, NextModel};
use crate::agent::hook::{Effect, Hook, Hooks, Jump};
use crate::core::message::Role;
use crate::model::{Answer, Budget, ModelExt, ModelInfo, Prices};
use crate::{Code, Error, Message, Messages, NodeError};

/// Limits what the model may cost: each call, a turn, a thread. At the limit of a turn or a thread the agent ends, with a
/// message that says so, or fails. What is spent is known only after a call, so the last one may go beyond.
///
/// As a node of another graph, an agent begins anew with each visit, and so do these counts.
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

    /// What is spent, with the last answer.
    fn counted(&self, hook: &Hook) -> Result<Kept, NodeError> {
        let mut kept: Kept = hook.kept()?;
        if let Some(message) = kept.uncounted(hook.messages()) {
            let cost = self.cost(message)?;
            kept.in_turn.add(cost);
            kept.on_thread.add(cost);
        }
        kept.is_asked = false;
        Ok(kept)
    }

    /// What an answer cost.
    fn cost(&self, message: &Message) -> Result<Spent, NodeError> {
        let usage = message.usage.clone().unwrap_or_default();
        let mut spent = Spent { tokens: usage.total_tokens, cents: 0.0 };
        if self.turn.cents.is_some() || self.thread.cents.is_some() {
            // Words that no model has said cost nothing.
            let Some(model) = message.metadata.get("model") else { return Ok(spent) };
            let model: ModelInfo = serde_json::from_value(model.clone())?;
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
#[serde(default)]
struct Kept {
    turn: Option<String>,
    in_turn: Spent,
    on_thread: Spent,
    /// The model is asked, and what its answer cost is not counted yet.
    is_asked: bool,
    /// The last message before that.
    asked_after: Option<String>,
}

impl Kept {
    fn in_turn_of(self, hook: &Hook) -> Self {
        let turn = hook.turn().message().map(str::to_owned);
        if self.turn == turn { self } else { Self { turn, in_turn: Spent::default(), ..self } }
    }

    /// The answer that is not counted yet: the first since the model was asked.
    fn uncounted<'a>(&self, messages: &'a Messages) -> Option<&'a Message> {
        if !self.is_asked {
            return None;
        }
        let is_before = |message: &Message| message.id.as_ref().map(|id| id.as_str()) == self.asked_after.as_deref();
        let is_answer = |message: &&Message| message.role == Role::Assistant;
        match messages.iter().position(is_before) {
            Some(at) => messages.iter().skip(at + 1).find(is_answer),
            // It was summed up since.
            None => messages.iter().rev().find(is_answer),
        }
    }
}

impl Middleware for Spending {
    fn hooks(&self) -> Hooks {
        let hooks = Hooks::none().before_model().after_model().may_jump([Jump::End]);
        if self.call.is_some() { hooks.wrap_model() } else { hooks }
    }

    async fn before_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        // Another hook may have led on before what comes after the model.
        let mut kept = self.counted(&hook)?.in_turn_of(&hook);
        let over = kept.in_turn.reaches(self.turn, "turn").or_else(|| kept.on_thread.reaches(self.thread, "thread"));
        if let Some(fact) = over {
            return reached(&fact, self.fails)?.keep(kept);
        }
        kept.is_asked = true;
        kept.asked_after = hook.messages().last().and_then(|message| Some(message.id.as_ref()?.as_str().to_owned()));
        Effect::none().keep(kept)
    }

    async fn after_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        Effect::none().keep(self.counted(&hook)?)
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        if let Some(budget) = self.call {
            request.model = request.model.budget(budget).prices(self.prices.clone()).share();
        }
        next.run(request).await
    }
}
