//! The models that requests may name: those a program brings, those of the settings, and those of services whose key is in
//! the environment.
//!
//! A key is never part of a request, and no message here says one.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::core::suggest::known_names;
use superstep::model::SharedModel;
use superstep::providers::{self, Provider};
use superstep::settings::{Model, Settings};
use superstep::{Code, Error, Result};

use crate::config::ModelNote;
use crate::problem::Problem;

/// Models by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Models(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    brought: BTreeMap<String, SharedModel>,
    set: BTreeMap<String, Model>,
}

impl Models {
    /// Those of the settings.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self(Arc::new(Inner { set: settings.models.clone(), ..Inner::default() }))
    }

    /// Adds one that the program has.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: impl Into<SharedModel>) -> Self {
        Arc::make_mut(&mut self.0).brought.insert(name.into(), model.into());
        self
    }

    /// The model of a name; `own` are names that the caller knows, for its hint.
    ///
    /// # Errors
    /// 422 when nobody knows the name, 503 when its key is missing or it cannot be asked here.
    pub fn get(&self, name: &str, own: &[&str]) -> Result<SharedModel, Problem> {
        if let Some(model) = self.0.brought.get(name) {
            return Ok(model.clone());
        }
        let provider = match self.0.set.get(name) {
            Some(model) => from_settings(name, model).map_err(|error| not_here(&error))?,
            None => providers::from_name(name).map_err(|_| self.unknown(name, own))?,
        };
        provider.check().map_err(|error| {
            let help = error.advice().unwrap_or("give it a key").to_owned();
            let own: String = own.first().map(|own| format!("; `{own}` needs none")).unwrap_or_default();
            not_here(&error).hint(help + &own)
        })?;
        Ok(provider.into())
    }

    /// What there is, without anything secret.
    #[must_use]
    pub fn notes(&self) -> Vec<ModelNote> {
        let brought = self.0.brought.iter().map(|(name, model)| ModelNote {
            name: name.clone(),
            provider: model.info().provider.to_string(),
            model: Some(model.info().name.to_string()),
            is_configured: true,
        });
        let set = self.0.set.iter().filter(|(name, _)| !self.0.brought.contains_key(*name));
        let set = set.map(|(name, model)| ModelNote {
            name: name.clone(),
            provider: model.provider.clone(),
            model: model.model.clone(),
            is_configured: from_settings(name, model).and_then(|provider| provider.check()).is_ok(),
        });
        brought.chain(set).collect()
    }

    fn unknown(&self, name: &str, own: &[&str]) -> Problem {
        let known: Vec<&str> =
            own.iter().copied().chain(self.0.brought.keys().chain(self.0.set.keys()).map(String::as_str)).collect();
        let problem = Problem::invalid(format!("no model `{name}`"), []);
        problem.hint(format!("{}, or name a service as in `groq/llama-3.1-8b-instant`", known_names(name, &known)))
    }
}

/// Nothing that another request could change.
fn not_here(error: &Error) -> Problem {
    Problem::new(503, error.code(), error.message()).hint(error.advice().unwrap_or("choose another model"))
}

/// A provider as the settings describe it.
fn from_settings(name: &str, model: &Model) -> Result<Provider> {
    let at = model.model.clone().unwrap_or_default();
    let mut provider = match model.provider.as_str() {
        "openai" => Provider::openai(at),
        "anthropic" => Provider::anthropic(at),
        "google" => Provider::google(at),
        "azure" => {
            let place = model.base_url.as_ref().map(|url| url.expose().to_owned()).unwrap_or_default();
            return Ok(with_key(Provider::azure(place, at, "2024-10-21"), model));
        }
        other => {
            let message = format!("model `{name}` is of `{other}`, which this program does not have");
            return Err(Error::new(Code::ConfigInvalid, message).help("choose another model"));
        }
    };
    if let Some(url) = &model.base_url {
        provider = provider.base_url(url.expose());
    }
    Ok(with_key(provider, model))
}

fn with_key(provider: Provider, model: &Model) -> Provider {
    match &model.api_key {
        Some(key) => provider.key(key.expose()),
        None => provider,
    }
}
