//! Limits on the tokens and the cost of a model call, a turn and a thread.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Middleware;
use super::model_call_limit::reached;
use crate::agents::call_chain::{ModelRequest, NextModel};
use crate::agents::hooks::{HookContext, HookUpdate, Hooks, JumpTo};
use crate::core::message::Role;
use crate::models::{CallBudget, ChatResponse, ModelExt, ModelInfo, Prices};
use crate::{Error, ErrorCode, Message, Messages, NodeError};

/// Limits the cost of model calls: per call, per turn, per thread. At the limit of a turn or a thread the agent ends
/// with a message that names the limit, or the run fails. The cost of a call is known only after the call, so the
/// last call may exceed the limit.
///
/// Each visit of an agent that is a node of another graph starts with new counts.
///
/// ```
/// use superstep::agents::CostLimit;
/// use superstep::models::{CallBudget, Price, Prices};
///
/// let prices = Prices::new().with_price("openai/gpt-5-mini", Price::new(0.25, 2.0));
/// let spending = CostLimit::new().call(CallBudget::new().tokens(8_000)).turn_tokens(50_000).thread_cents(20.0).prices(prices);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct CostLimit {
    call: Option<CallBudget>,
    turn: CostBound,
    thread: CostBound,
    prices: Arc<Prices>,
    fails: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct CostBound {
    tokens: Option<u64>,
    cents: Option<f64>,
}

impl CostLimit {
    /// Creates a middleware without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the budget of each call.
    pub fn call(mut self, budget: CallBudget) -> Self {
        self.call = Some(budget);
        self
    }

    /// Sets the maximum number of tokens per turn.
    pub fn turn_tokens(mut self, tokens: u64) -> Self {
        self.turn.tokens = Some(tokens);
        self
    }

    /// Sets the maximum number of tokens per thread.
    pub fn thread_tokens(mut self, tokens: u64) -> Self {
        self.thread.tokens = Some(tokens);
        self
    }

    /// Sets the maximum cost per turn, in cents. Requires [`prices`](Self::prices).
    pub fn turn_cents(mut self, cents: f64) -> Self {
        self.turn.cents = Some(cents);
        self
    }

    /// Sets the maximum cost per thread, in cents. Requires [`prices`](Self::prices).
    pub fn thread_cents(mut self, cents: f64) -> Self {
        self.thread.cents = Some(cents);
        self
    }

    /// Sets the prices of models.
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.prices = prices.into();
        self
    }

    /// Makes the run fail at a limit, instead of ending the agent.
    pub fn fail(mut self) -> Self {
        self.fails = true;
        self
    }

    /// Returns the cost so far, including the last response.
    fn counted(&self, hook: &HookContext) -> Result<CostState, NodeError> {
        let mut costs: CostState = hook.middleware_state()?;
        if let Some(message) = costs.uncounted(hook.messages()) {
            let cost = self.cost(message)?;
            costs.in_turn.add(cost);
            costs.on_thread.add(cost);
        }
        costs.is_call_pending = false;
        Ok(costs)
    }

    /// Returns the cost of a response.
    fn cost(&self, message: &Message) -> Result<Cost, NodeError> {
        let usage = message.usage.clone().unwrap_or_default();
        let mut spent = Cost { tokens: usage.total_tokens, cents: 0.0 };
        if self.turn.cents.is_some() || self.thread.cents.is_some() {
            // A message that no model wrote has no cost.
            let Some(model) = message.metadata.get("model") else { return Ok(spent) };
            let model: ModelInfo = serde_json::from_value(model.clone())?;
            spent.cents = self.prices.cost(&usage, &model).ok_or_else(|| {
                let name = format!("{}/{}", model.provider, model.name);
                Error::new(ErrorCode::ConfigInvalid, format!("the agent has a cost limit, but `{name}` has no price"))
                    .with_help("add a price for it, or limit tokens")
            })?;
        }
        Ok(spent)
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Cost {
    tokens: u64,
    cents: f64,
}

impl Cost {
    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cents += more.cents;
    }

    /// Returns a description of the limit that is reached, or `None`.
    fn exceeded_limit(self, limit: CostBound, scope: &str) -> Option<String> {
        if limit.tokens.is_some_and(|max| self.tokens >= max) {
            return Some(format!("the {scope} has used {} tokens and reached its limit", self.tokens));
        }
        let is_over = limit.cents.is_some_and(|max| self.cents >= max);
        is_over.then(|| format!("the {scope} has cost {:.4} cents and reached its limit", self.cents))
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct CostState {
    turn: Option<String>,
    in_turn: Cost,
    on_thread: Cost,
    /// True while the cost of a requested response is not counted yet.
    #[serde(rename = "is_asked")]
    is_call_pending: bool,
    /// Id of the last message before that request.
    #[serde(rename = "asked_after")]
    last_message_before_call: Option<String>,
}

impl CostState {
    fn in_turn_of(self, hook: &HookContext) -> Self {
        let turn = hook.turn().message_id().map(str::to_owned);
        if self.turn == turn { self } else { Self { turn, in_turn: Cost::default(), ..self } }
    }

    /// Returns the response whose cost is not counted yet: the first assistant message after the request.
    fn uncounted<'a>(&self, messages: &'a Messages) -> Option<&'a Message> {
        if !self.is_call_pending {
            return None;
        }
        let is_before =
            |message: &Message| message.id.as_ref().map(|id| id.as_str()) == self.last_message_before_call.as_deref();
        let is_response = |message: &&Message| message.role == Role::Assistant;
        match messages.iter().position(is_before) {
            Some(at) => messages.iter().skip(at + 1).find(is_response),
            // The message was replaced by a summary since then.
            None => messages.iter().rev().find(is_response),
        }
    }
}

impl Middleware for CostLimit {
    fn hooks(&self) -> Hooks {
        let hooks = Hooks::none().before_model().after_model().can_jump_to([JumpTo::End]);
        if self.call.is_some() { hooks.wrap_model_call() } else { hooks }
    }

    async fn before_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        // A hook that jumps may have skipped `after_model`.
        let mut costs = self.counted(&hook)?.in_turn_of(&hook);
        let over = costs
            .in_turn
            .exceeded_limit(self.turn, "turn")
            .or_else(|| costs.on_thread.exceeded_limit(self.thread, "thread"));
        if let Some(fact) = over {
            return reached(&fact, self.fails)?.set_middleware_state(costs);
        }
        costs.is_call_pending = true;
        costs.last_message_before_call =
            hook.messages().last().and_then(|message| Some(message.id.as_ref()?.as_str().to_owned()));
        HookUpdate::none().set_middleware_state(costs)
    }

    async fn after_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        HookUpdate::none().set_middleware_state(self.counted(&hook)?)
    }

    async fn wrap_model_call(&self, mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        if let Some(budget) = self.call {
            request.model = request.model.with_budget(budget).prices(self.prices.clone()).share();
        }
        next.run(request).await
    }
}
