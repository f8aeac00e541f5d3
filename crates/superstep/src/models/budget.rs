//! Budgets for single model calls: tokens, cost, time.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, ModelInfo, estimate_input};
use superstep_core::port::{ChunkSender, Clock, Model, SharedModel};

use super::Prices;
use crate::engine::environment::SystemClock;

/// Budget of a model call. Fields that are not set are unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use = "a budget has no effect until it is added to a model"]
pub struct CallBudget {
    tokens: Option<u64>,
    cents: Option<f64>,
    time: Option<Duration>,
}

impl CallBudget {
    /// Creates a budget without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of tokens, input and output together.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sets the maximum cost in cents. Requires [`BudgetedModel::prices`].
    pub fn cents(mut self, cents: f64) -> Self {
        self.cents = Some(cents);
        self
    }

    /// Sets the maximum duration.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }
}

/// A model with a budget for each call.
///
/// The input tokens are estimated; if the estimate exceeds the budget, nothing is sent. The remaining budget limits
/// the length of the response. A response that used more than estimated is still returned, because its cost has
/// already occurred.
///
/// ```
/// use std::time::Duration;
/// use superstep::models::{CallBudget, ModelExt, Price, Prices, ScriptedModel, ModelErrorKind};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let script = ScriptedModel::new(["Noon."]);
/// let model = script.clone().with_budget(CallBudget::new().tokens(100).time(Duration::from_secs(20)));
/// model.complete("How late is it?").await?;
/// assert_eq!(script.requests()[0].max_tokens, Some(92));
///
/// let error = model.complete("How late is it? ".repeat(30).as_str()).await.unwrap_err();
/// assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::BudgetExceeded));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct BudgetedModel {
    model: SharedModel,
    budget: CallBudget,
    prices: Arc<Prices>,
    clock: Arc<dyn Clock>,
}

impl BudgetedModel {
    pub(super) fn new(model: impl Into<SharedModel>, budget: CallBudget) -> Self {
        Self { model: model.into(), budget, prices: Arc::default(), clock: Arc::new(SystemClock) }
    }

    /// Sets the prices of models.
    #[must_use]
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.prices = prices.into();
        self
    }

    /// Sets the clock of the time limit. Tests inject one.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the request with its response length limited by the budget.
    fn limit_request<'a>(&self, request: &'a ChatRequest) -> Result<Cow<'a, ChatRequest>> {
        let input = estimate_input(request);
        let max_output =
            [self.max_output_by_tokens(input)?, self.max_output_by_cost(input)?].into_iter().flatten().min();
        let Some(max_output) = max_output else { return Ok(Cow::Borrowed(request)) };
        let max_output = u32::try_from(max_output).unwrap_or(u32::MAX);
        let mut request = request.clone();
        request.max_tokens = Some(request.max_tokens.map_or(max_output, |requested| requested.min(max_output)));
        Ok(Cow::Owned(request))
    }

    fn max_output_by_tokens(&self, input: u64) -> Result<Option<u64>> {
        let Some(tokens) = self.budget.tokens else { return Ok(None) };
        match tokens.checked_sub(input).filter(|remaining| *remaining > 0) {
            Some(remaining) => Ok(Some(remaining)),
            None => Err(self.budget_error(format!(
                "the request has about {input} input tokens, but the call is limited \
                 to {tokens} tokens"
            ))),
        }
    }

    fn max_output_by_cost(&self, input: u64) -> Result<Option<u64>> {
        let Some(cents) = self.budget.cents else { return Ok(None) };
        let info = self.model.info();
        let price = self.prices.get(&info).ok_or_else(|| no_price(&info))?;
        let (input_cents, cents_per_token) = (price.cents(input, 0), price.cents(0, 1));
        let remaining = cents - input_cents;
        if remaining < cents_per_token {
            return Err(self.budget_error(format!(
                "the input alone costs about {input_cents:.4} cents, but the call is limited to \
                     {cents} cents"
            )));
        }
        // A response without cost may have any length.
        Ok((cents_per_token > 0.0).then(|| (remaining / cents_per_token) as u64))
    }

    fn budget_error(&self, fact: String) -> Error {
        ModelErrorKind::BudgetExceeded.error(&self.model.info(), fact)
    }
}

fn no_price(model: &ModelInfo) -> Error {
    let name = format!("{}/{}", model.provider, model.name);
    Error::new(ErrorCode::ConfigInvalid, format!("model `{name}` has a cost budget, but no price"))
        .with_help(format!("add `[\"{name}\"]` with `input` and `output` to the prices, or remove the cost budget"))
}

impl Model for BudgetedModel {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let request = self.limit_request(request)?;
        let Some(time) = self.budget.time else { return self.model.generate(&request, out).await };
        tokio::select! {
            biased;
            response = self.model.generate(&request, out) => response,
            () = self.clock.sleep(time) => {
                Err(ModelErrorKind::Timeout.error(&self.model.info(), format!("no response within {time:?}")))
            }
        }
    }
}
