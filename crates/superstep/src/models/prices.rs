//! Prices of models, from a table of the application or its user: prices change, so none are built in.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::message::TokenUsage;
use superstep_core::model::{ModelInfo, ModelKind};

/// Price of a model, in dollars per million tokens, as providers publish it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price per million input tokens.
    pub input: f64,
    /// Price per million output tokens.
    pub output: f64,
}

impl Price {
    /// Creates a price.
    #[must_use]
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output }
    }

    /// Returns the cost of these tokens, in cents.
    #[must_use]
    pub fn cents(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 10_000.0
    }
}

/// Prices by `provider/name`.
///
/// ```
/// use superstep::core::message::TokenUsage;
/// use superstep::models::{ModelInfo, ModelKind, Prices};
///
/// let prices = Prices::from_toml(r#"
///     ["openai/gpt-5-mini"]
///     input = 0.25
///     output = 2
/// "#)?;
/// let model = ModelInfo::new("openai", "gpt-5-mini", ModelKind::Remote);
/// assert_eq!(prices.cost(&TokenUsage::new(100_000, 10_000), &model), Some(4.5));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses prices from TOML: a table for each `"provider/name"`, with `input` and `output`.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, if a key is unknown or missing, or if a price is not valid; all
    /// invalid prices are named.
    pub fn from_toml(text: &str) -> Result<Self> {
        let prices: BTreeMap<String, Price> = toml::from_str(text)
            .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("invalid prices: {error}")))?;
        let diagnostics: Vec<Diagnostic> =
            prices.iter().filter_map(|(model, price)| price_error(model, price)).collect();
        match diagnostics.is_empty() {
            true => Ok(Self(prices)),
            false => Err(Error::with_diagnostics(ErrorCode::ConfigInvalid, "the prices are invalid", diagnostics)),
        }
    }

    /// Reads prices from a file; see [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not valid.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("failed to read the prices in `{}`: {error}", path.display()))
        })?;
        Self::from_toml(&text)
    }

    /// Adds the price of a model, named as `provider/name`.
    #[must_use]
    pub fn with_price(mut self, model: impl Into<String>, price: Price) -> Self {
        self.set(model, price);
        self
    }

    /// Sets the price of a model, named as `provider/name`, and returns the previous one.
    pub fn set(&mut self, model: impl Into<String>, price: Price) -> Option<Price> {
        self.0.insert(model.into(), price)
    }

    /// Removes the price of a model and returns it.
    pub fn remove(&mut self, model: &str) -> Option<Price> {
        self.0.remove(model)
    }

    /// Returns the price of a model. Default for models that are not remote: zero.
    #[must_use]
    pub fn get(&self, model: &ModelInfo) -> Option<Price> {
        let price = self.0.get(&format!("{}/{}", model.provider, model.name)).copied();
        price.or_else(|| (model.kind != ModelKind::Remote).then_some(Price { input: 0.0, output: 0.0 }))
    }

    /// Returns the cost of a call in cents, or `None` for a model without a price.
    #[must_use]
    pub fn cost(&self, usage: &TokenUsage, model: &ModelInfo) -> Option<f64> {
        Some(self.get(model)?.cents(usage.input_tokens, usage.output_tokens))
    }

    /// Returns the models with a price, as `provider/name`.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn price_error(model: &str, price: &Price) -> Option<Diagnostic> {
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    let message = match model.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            let is_valid = is_price(price.input) && is_price(price.output);
            (!is_valid).then(|| format!("`{model}`: a price must be a non-negative number"))
        }
        _ => Some(format!("`{model}` is not of the form `provider/name`")),
    };
    message.map(|message| Diagnostic { pointer: String::new(), message, help: None })
}
