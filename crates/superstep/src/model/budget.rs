//! What one call of a model may take: tokens, money, time.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::model::{Answer, ModelInfo, Request, Trouble, estimate_input};
use superstep_core::port::{Clock, Model, Pieces, SharedModel};

use super::Prices;
use crate::clock::SystemClock;

/// What one call may take. What is not set is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use = "a budget limits a model only once it is given to one"]
pub struct Budget {
    tokens: Option<u64>,
    cents: Option<f64>,
    time: Option<Duration>,
}

impl Budget {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most tokens, of what is read and what is written together.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// The most money, in cents. Needs [`Budgeted::prices`].
    pub fn cents(mut self, cents: f64) -> Self {
        self.cents = Some(cents);
        self
    }

    /// The most time.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }
}

/// A model whose calls may take only so much.
///
/// What the model has to read is estimated; when that alone is more than the budget, nothing is sent. What is left is the
/// longest answer that the model may give. An answer that is there is given even when it took more than was estimated: it
/// is paid for already.
///
/// ```
/// use std::time::Duration;
/// use superstep::model::{Budget, ModelExt, Price, Prices, Scripted, Trouble};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let script = Scripted::new(["Noon."]);
/// let model = script.clone().budget(Budget::new().tokens(100).time(Duration::from_secs(20)));
/// model.complete("How late is it?").await?;
/// assert_eq!(script.requests()[0].max_tokens, Some(92));
///
/// let error = model.complete("How late is it? ".repeat(30).as_str()).await.unwrap_err();
/// assert_eq!(Trouble::of(&error), Some(Trouble::OverBudget));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Budgeted {
    model: SharedModel,
    budget: Budget,
    prices: Arc<Prices>,
    clock: Arc<dyn Clock>,
}

impl Budgeted {
    pub(super) fn new(model: impl Into<SharedModel>, budget: Budget) -> Self {
        Self { model: model.into(), budget, prices: Arc::default(), clock: Arc::new(SystemClock) }
    }

    /// What models cost.
    #[must_use]
    pub fn prices(mut self, prices: impl Into<Arc<Prices>>) -> Self {
        self.prices = prices.into();
        self
    }

    /// Where time comes from, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The request with as long an answer as the budget leaves room for.
    fn within<'a>(&self, request: &'a Request) -> Result<Cow<'a, Request>> {
        let input = estimate_input(request);
        let room = [self.room_by_tokens(input)?, self.room_by_money(input)?].into_iter().flatten().min();
        let Some(room) = room else { return Ok(Cow::Borrowed(request)) };
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let mut request = request.clone();
        request.max_tokens = Some(request.max_tokens.map_or(room, |asked| asked.min(room)));
        Ok(Cow::Owned(request))
    }

    fn room_by_tokens(&self, input: u64) -> Result<Option<u64>> {
        let Some(tokens) = self.budget.tokens else { return Ok(None) };
        match tokens.checked_sub(input).filter(|room| *room > 0) {
            Some(room) => Ok(Some(room)),
            None => Err(self.over(format!("about {input} tokens to read, and the call may take {tokens} in all"))),
        }
    }

    fn room_by_money(&self, input: u64) -> Result<Option<u64>> {
        let Some(cents) = self.budget.cents else { return Ok(None) };
        let info = self.model.info();
        let price = self.prices.get(&info).ok_or_else(|| no_price(&info))?;
        let (reading, each) = (price.cents(input, 0), price.cents(0, 1));
        let left = cents - reading;
        if left < each {
            return Err(
                self.over(format!("reading alone costs about {reading:.4} cents, and the call may cost {cents}"))
            );
        }
        // An answer that costs nothing may be of any length.
        Ok((each > 0.0).then(|| (left / each) as u64))
    }

    fn over(&self, fact: String) -> Error {
        Trouble::OverBudget.error(&self.model.info(), fact)
    }
}

fn no_price(model: &ModelInfo) -> Error {
    let name = format!("{}/{}", model.provider, model.name);
    Error::new(Code::ConfigInvalid, format!("model `{name}` has a budget in money and no price"))
        .help(format!("add `[\"{name}\"]` with `input` and `output` to the prices, or set no budget in money"))
}

impl Model for Budgeted {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let request = self.within(request)?;
        let Some(time) = self.budget.time else { return self.model.answer(&request, out).await };
        tokio::select! {
            biased;
            answer = self.model.answer(&request, out) => answer,
            () = self.clock.sleep(time) => {
                Err(Trouble::TooSlow.error(&self.model.info(), format!("no answer within {time:?}")))
            }
        }
    }
}
