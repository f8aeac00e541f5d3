//! What models cost, from a table that the program or its user keeps: prices change, so none are built in.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::message::Usage;
use superstep_core::model::{ModelInfo, ModelKind};

/// What a model costs, in dollars for a million tokens, as providers publish it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens that it reads.
    pub input: f64,
    /// For a million tokens that it writes.
    pub output: f64,
}

impl Price {
    /// A price.
    #[must_use]
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output }
    }

    /// What this many tokens cost, in cents.
    #[must_use]
    pub fn cents(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 10_000.0
    }
}

/// Prices by `provider/name`.
///
/// ```
/// use superstep::core::message::Usage;
/// use superstep::model::{ModelInfo, ModelKind, Prices};
///
/// let prices = Prices::from_toml(r#"
///     ["openai/gpt-5-mini"]
///     input = 0.25
///     output = 2
/// "#)?;
/// let model = ModelInfo::new("openai", "gpt-5-mini", ModelKind::Remote);
/// assert_eq!(prices.cost(&Usage::new(100_000, 10_000), &model), Some(4.5));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// No prices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Prices from TOML: a table for each `"provider/name"`, with `input` and `output`.
    ///
    /// # Errors
    /// When it is not TOML, a key is unknown or missing, or a price is no price; every price that is none is named.
    pub fn from_toml(text: &str) -> Result<Self> {
        let prices: BTreeMap<String, Price> = toml::from_str(text)
            .map_err(|error| Error::new(Code::ConfigInvalid, format!("the prices cannot be read: {error}")))?;
        let problems: Vec<Problem> = prices.iter().filter_map(|(model, price)| problem(model, price)).collect();
        match problems.is_empty() {
            true => Ok(Self(prices)),
            false => Err(Error::listing(Code::ConfigInvalid, "the prices are wrong", problems)),
        }
    }

    /// Prices from a file; see [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// When the file cannot be read, or is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::new(Code::ConfigInvalid, format!("the prices in `{}` cannot be read: {error}", path.display()))
        })?;
        Self::from_toml(&text)
    }

    /// Sets the price of a model, named as `provider/name`.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, price: Price) -> Self {
        self.set(model, price);
        self
    }

    /// Sets the price of a model, named as `provider/name`; gives the one it had.
    pub fn set(&mut self, model: impl Into<String>, price: Price) -> Option<Price> {
        self.0.insert(model.into(), price)
    }

    /// Forgets the price of a model; gives the one it had.
    pub fn remove(&mut self, model: &str) -> Option<Price> {
        self.0.remove(model)
    }

    /// The price of a model. What runs in this process costs nothing unless the table says so.
    #[must_use]
    pub fn get(&self, model: &ModelInfo) -> Option<Price> {
        let known = self.0.get(&format!("{}/{}", model.provider, model.name)).copied();
        known.or_else(|| (model.kind != ModelKind::Remote).then_some(Price { input: 0.0, output: 0.0 }))
    }

    /// What a call cost, in cents; nothing is known of a model without a price.
    #[must_use]
    pub fn cost(&self, usage: &Usage, model: &ModelInfo) -> Option<f64> {
        Some(self.get(model)?.cents(usage.input_tokens, usage.output_tokens))
    }

    /// The models that have a price, as `provider/name`.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn problem(model: &str, price: &Price) -> Option<Problem> {
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    let message = match model.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            let is_right = is_price(price.input) && is_price(price.output);
            (!is_right).then(|| format!("`{model}`: a price is a number that is not below 0"))
        }
        _ => Some(format!("`{model}` is not `provider/name`")),
    };
    message.map(|message| Problem { pointer: String::new(), message, help: None })
}
