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
            Some(model) => provider(name, model).map_err(|error| not_here(&error))?,
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
            is_configured: provider(name, model).and_then(|provider| provider.check()).is_ok(),
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

/// What Azure's interface is asked for.
const AZURE_VERSION: &str = "2024-10-21";

/// The provider that the settings describe under a name.
///
/// # Errors
/// When it is none that is asked over the network, or nobody says where it is.
pub fn provider(name: &str, set: &Model) -> Result<Provider> {
    let model = set.model.clone().unwrap_or_default();
    let provider = match (set.provider.as_str(), &set.base_url) {
        ("anthropic", None) => Provider::anthropic(model),
        ("anthropic", Some(url)) => Provider::anthropic(model).base_url(url.expose()),
        ("google", None) => Provider::google(model),
        ("google", Some(url)) => Provider::google(model).base_url(url.expose()),
        ("openai", None) => Provider::openai(model),
        // At another address the key of OpenAI has no business, so it is not looked for.
        ("openai", Some(url)) => Provider::compatible(url.expose(), model),
        ("azure", Some(url)) => Provider::azure(url.expose(), model, AZURE_VERSION),
        ("azure", None) => {
            return Err(Error::new(Code::ConfigInvalid, format!("nobody says where model `{name}` is"))
                .help(format!("set `models.{name}.base_url` to the endpoint of the resource")));
        }
        (other, _) => {
            let message = format!("this program cannot ask model `{name}` of `{other}`");
            return Err(Error::new(Code::ModelUnavailable, message).help("choose another `provider`"));
        }
    };
    Ok(set.api_key.iter().fold(provider, |provider, key| provider.key(key.expose())))
}

#[cfg(test)]
mod tests {
    use superstep::settings::Sources;

    use super::*;

    /// R-DEB-34, R-FWK-69: the key of a service is not looked for at another address, and a place that is missing is said.
    #[test]
    fn a_key_stays_at_its_own_address() {
        let file = "[models.own]\nprovider = 'openai'\nmodel = 'x'\nbase_url = 'http://127.0.0.1:1/v1/'\n\
                    [models.lost]\nprovider = 'azure'\nmodel = 'x'";
        let settings = Settings::parse(&Sources::new().toml("superstep.toml", file)).expect("settings");
        let own = provider("own", &settings.models["own"]).expect("a provider");
        assert!(own.check().is_ok(), "it asks for no key");
        assert_eq!(provider("lost", &settings.models["lost"]).unwrap_err().code(), Code::ConfigInvalid);
    }
}
