//! Models that requests may name: models provided by the program, models of the settings, and models of services
//! whose API key is in the environment.
//!
//! An API key is never part of a request, and no message here contains one.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::core::suggest::did_you_mean_or_list;
use superstep::models::SharedModel;
use superstep::providers::{self, ProviderModel};
use superstep::settings::{ModelSettings, Settings};
use superstep::{Error, ErrorCode, Result};

use crate::api::problem::Problem;
use crate::config::ModelSummary;

/// Registry of models by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct ModelRegistry(Arc<RegistryInner>);

#[derive(Clone, Default)]
struct RegistryInner {
    provided: BTreeMap<String, SharedModel>,
    unavailable: BTreeMap<String, Error>,
    configured: BTreeMap<String, ModelSettings>,
    is_offline: bool,
}

impl ModelRegistry {
    /// Creates a registry with the models of the settings.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self(Arc::new(RegistryInner { configured: settings.models.clone(), ..RegistryInner::default() }))
    }

    /// Adds a model provided by the program.
    #[must_use]
    pub fn with_model(mut self, name: impl Into<String>, model: impl Into<SharedModel>) -> Self {
        Arc::make_mut(&mut self.0).provided.insert(name.into(), model.into());
        self
    }

    /// Adds a model that the program cannot provide, with the reason.
    #[must_use]
    pub fn with_unavailable(mut self, name: impl Into<String>, reason: Error) -> Self {
        Arc::make_mut(&mut self.0).unavailable.insert(name.into(), reason);
        self
    }

    /// Rejects every model that needs the network.
    #[must_use]
    pub fn offline(mut self) -> Self {
        Arc::make_mut(&mut self.0).is_offline = true;
        self
    }

    /// Returns the model with this name; the error also suggests `caller_models`.
    ///
    /// # Errors
    /// Returns 422 if the name is unknown, 503 if the API key is missing or the model is not available here or at
    /// the moment.
    pub fn get(&self, name: &str, caller_models: &[&str]) -> Result<SharedModel, Problem> {
        if let Some(model) = self.0.provided.get(name) {
            return Ok(model.clone());
        }
        if let Some(reason) = self.0.unavailable.get(name) {
            // The reason may name a file of this machine, so it goes only to the log.
            let detail = format!("model `{name}` is not available on this server");
            return Err(permanent_problem(reason, &detail).with_internal(format!("{reason:?}")));
        }
        let provider = match self.0.configured.get(name) {
            Some(model) => provider_from_settings(name, model).map_err(|error| unavailable_problem(&error))?,
            None if name == LOCAL_WEIGHTS_PROVIDER => return Err(unavailable_problem(&no_weights(name))),
            None => providers::from_name(name).map_err(|_| self.unknown(name, caller_models))?,
        };
        if self.0.is_offline {
            return Err(unavailable_problem(&offline_error(name)));
        }
        provider.check().map_err(|error| {
            let help = error.help().unwrap_or("configure an API key").to_owned();
            let alternative: String =
                caller_models.first().map(|model| format!("; `{model}` needs no key")).unwrap_or_default();
            unavailable_problem(&error).with_hint(help + &alternative)
        })?;
        Ok(provider.into())
    }

    /// Lists the models, without secrets.
    #[must_use]
    pub fn summaries(&self) -> Vec<ModelSummary> {
        let provided = self.0.provided.iter().map(|(name, model)| ModelSummary {
            name: name.clone(),
            provider: model.info().provider.to_string(),
            model: Some(model.info().name.to_string()),
            is_configured: true,
        });
        let unavailable = self.0.unavailable.keys().map(|name| ModelSummary {
            name: name.clone(),
            provider: self.0.configured.get(name).map_or_else(|| name.clone(), |settings| settings.provider.clone()),
            model: None,
            is_configured: false,
        });
        let is_listed = |name: &String| self.0.provided.contains_key(name) || self.0.unavailable.contains_key(name);
        let configured = self.0.configured.iter().filter(|(name, _)| !is_listed(name));
        let configured = configured.map(|(name, model)| ModelSummary {
            name: name.clone(),
            provider: model.provider.clone(),
            model: model.model.clone().filter(|_| model.provider != LOCAL_WEIGHTS_PROVIDER),
            is_configured: !self.0.is_offline
                && provider_from_settings(name, model).and_then(|provider| provider.check()).is_ok(),
        });
        provided.chain(unavailable).chain(configured).collect()
    }

    fn unknown(&self, name: &str, caller_models: &[&str]) -> Problem {
        let (provided, configured) = (self.0.provided.keys(), self.0.configured.keys());
        let configured = configured.filter(|name| !self.0.provided.contains_key(*name));
        let names: Vec<&str> =
            caller_models.iter().copied().chain(provided.chain(configured).map(String::as_str)).collect();
        let problem = Problem::invalid(format!("unknown model `{name}`"), []);
        problem.with_hint(format!(
            "{}, or name a hosted model such as `groq/llama-3.1-8b-instant`",
            did_you_mean_or_list(name, &names)
        ))
    }
}

/// Returns the error for a model that needs the network in offline mode.
fn offline_error(name: &str) -> Error {
    let message = format!("model `{name}` needs the network, and the model registry is offline");
    Error::new(ErrorCode::PolicyRefused, message).with_help("use a model that needs no network")
}

fn unavailable_problem(error: &Error) -> Problem {
    permanent_problem(error, error.message())
}

/// Returns a problem that a retry cannot solve.
fn permanent_problem(error: &Error, detail: &str) -> Problem {
    Problem::new(503, error.code(), detail).not_retryable().with_hint(error.help().unwrap_or("use another model"))
}

/// Provider name of models that run in the process. The program provides these models; the server contains none.
pub const LOCAL_WEIGHTS_PROVIDER: &str = "local/weights";

fn no_weights(name: &str) -> Error {
    let message = format!("model `{name}` needs local weights, which this program does not support");
    Error::new(ErrorCode::ConfigInvalid, message)
        .with_help("use another model, or a program that supports local weights")
}

/// API version of Azure OpenAI.
const AZURE_VERSION: &str = "2024-10-21";

/// Creates the provider that the settings describe under a name.
///
/// # Errors
/// Returns an error if the provider is not a network service, or has no base URL although it needs one.
pub fn provider_from_settings(name: &str, settings: &ModelSettings) -> Result<ProviderModel> {
    let model = settings.model.clone().unwrap_or_default();
    let provider = match (settings.provider.as_str(), &settings.base_url) {
        ("anthropic", None) => ProviderModel::anthropic(model),
        ("anthropic", Some(url)) => ProviderModel::anthropic(model).base_url(url.expose()),
        ("google", None) => ProviderModel::google(model),
        ("google", Some(url)) => ProviderModel::google(model).base_url(url.expose()),
        ("openai", None) => ProviderModel::openai(model),
        // The OpenAI key must not be sent to another address, so it is not looked up.
        ("openai", Some(url)) => ProviderModel::openai_compatible(url.expose(), model),
        ("azure", Some(url)) => ProviderModel::azure(url.expose(), model, AZURE_VERSION),
        ("azure", None) => {
            return Err(Error::new(ErrorCode::ConfigInvalid, format!("model `{name}` has no base URL"))
                .with_help(format!("set `models.{name}.base_url` to the endpoint of the resource")));
        }
        (LOCAL_WEIGHTS_PROVIDER, _) => return Err(no_weights(name)),
        (other, _) => {
            let message = format!("model `{name}` has the unsupported provider `{other}`");
            return Err(Error::new(ErrorCode::ModelUnavailable, message).with_help("use another `provider`"));
        }
    };
    Ok(settings.api_key.iter().fold(provider, |provider, key| provider.api_key(key.expose())))
}

#[cfg(test)]
mod tests {
    use superstep::settings::SettingsSources;

    use super::*;

    /// R-DEB-34, R-FWK-69: the key of a service is not used for another address, and a missing base URL is an
    /// error.
    #[test]
    fn keys_are_not_sent_to_other_addresses() {
        let file = "[models.own]\nprovider = 'openai'\nmodel = 'x'\nbase_url = 'http://127.0.0.1:1/v1/'\n\
                    [models.lost]\nprovider = 'azure'\nmodel = 'x'";
        let settings = Settings::parse(&SettingsSources::new().toml("superstep.toml", file)).expect("settings");
        let provider = provider_from_settings("own", &settings.models["own"]).expect("a provider");
        assert!(provider.check().is_ok(), "it needs no key");
        assert_eq!(
            provider_from_settings("lost", &settings.models["lost"]).unwrap_err().code(),
            ErrorCode::ConfigInvalid
        );
    }

    /// R-DEB-54: the program provides local weights; the error says so if it has none, or if the file is missing.
    #[test]
    fn missing_weights_are_reported() {
        let settings = SettingsSources::new().toml("superstep.toml", "[models.own]\nprovider = 'local/weights'");
        let models = ModelRegistry::from_settings(&Settings::parse(&settings).expect("settings"));
        for name in [LOCAL_WEIGHTS_PROVIDER, "own"] {
            let problem = models.get(name, &[]).expect_err("a problem");
            assert!(problem.detail().contains("which this program does not support"), "{name}");
        }
        let missing = Error::new(ErrorCode::ConfigInvalid, "no file at /home/somebody").with_help("get one");
        let models = models.with_unavailable(LOCAL_WEIGHTS_PROVIDER, missing.clone()).with_unavailable("own", missing);
        let problem = models.get(LOCAL_WEIGHTS_PROVIDER, &[]).expect_err("a problem");
        assert_eq!((problem.status(), problem.hint()), (503, Some("get one")));
        assert_eq!(problem.detail(), "model `local/weights` is not available on this server");
        assert!(!serde_json::to_string(&problem).expect("a body").contains("somebody"));
        assert!(models.summaries().iter().all(|summary| summary.provider == LOCAL_WEIGHTS_PROVIDER));
        let summaries: Vec<(String, bool)> =
            models.summaries().into_iter().map(|it| (it.name, it.is_configured)).collect();
        assert_eq!(summaries, [(LOCAL_WEIGHTS_PROVIDER.to_owned(), false), ("own".to_owned(), false)]);
    }

    /// R-CLI-17: in offline mode every network service is rejected, under any name and with or without a key;
    /// models provided by the program work.
    #[test]
    fn offline_every_service_is_rejected_under_any_name() {
        let file = "[models.own]\nprovider = 'openai'\nmodel = 'x'\nbase_url = 'http://127.0.0.1:1/v1/'";
        let settings = Settings::parse(&SettingsSources::new().toml("superstep.toml", file)).expect("settings");
        let rules = superstep::models::RuleBasedModel::new("rules");
        let models = ModelRegistry::from_settings(&settings).with_model("rules", rules).offline();
        for name in ["groq/llama-3.1-8b-instant", "openai/gpt-5", "ollama/llama3", "own"] {
            let problem = models.get(name, &[]).err().unwrap_or_else(|| panic!("{name} is available"));
            assert_eq!(
                (problem.status(), problem.code()),
                (503, ErrorCode::PolicyRefused.to_string().as_str()),
                "{name}"
            );
            assert!(!problem.is_retryable() && problem.detail().contains("offline"), "{name}");
        }
        assert_eq!(models.get("no such name", &[]).err().map(|problem| problem.status()), Some(422));
        assert!(models.get("rules", &[]).is_ok());
        assert!(models.summaries().iter().all(|summary| summary.name == "rules" || !summary.is_configured));
    }
}
