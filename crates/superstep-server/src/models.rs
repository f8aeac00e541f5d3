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
    missing: BTreeMap<String, Error>,
    set: BTreeMap<String, Model>,
    is_offline: bool,
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

    /// Adds one that the program would have, and says why it has not.
    #[must_use]
    pub fn missing(mut self, name: impl Into<String>, why: Error) -> Self {
        Arc::make_mut(&mut self.0).missing.insert(name.into(), why);
        self
    }

    /// Refuses every service that is not brought: nothing is asked over the network.
    #[must_use]
    pub fn offline(mut self) -> Self {
        Arc::make_mut(&mut self.0).is_offline = true;
        self
    }

    /// The model of a name; `own` are names that the caller knows, for its hint.
    ///
    /// # Errors
    /// 422 when nobody knows the name, 503 when its key is missing or it cannot be asked here, or not now.
    pub fn get(&self, name: &str, own: &[&str]) -> Result<SharedModel, Problem> {
        if let Some(model) = self.0.brought.get(name) {
            return Ok(model.clone());
        }
        if let Some(why) = self.0.missing.get(name) {
            // Why may name a file of this machine: that is for the log.
            let fact = format!("model `{name}` cannot be asked on this server");
            return Err(refusal(why, &fact).internal(format!("{why:?}")));
        }
        let provider = match self.0.set.get(name) {
            Some(model) => provider(name, model).map_err(|error| not_here(&error))?,
            None if name == WEIGHTS => return Err(not_here(&no_weights(name))),
            None => providers::from_name(name).map_err(|_| self.unknown(name, own))?,
        };
        if self.0.is_offline {
            return Err(not_here(&over_network(name)));
        }
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
        let missing = self.0.missing.keys().map(|name| ModelNote {
            name: name.clone(),
            provider: self.0.set.get(name).map_or_else(|| name.clone(), |set| set.provider.clone()),
            model: None,
            is_configured: false,
        });
        let is_told = |name: &String| self.0.brought.contains_key(name) || self.0.missing.contains_key(name);
        let set = self.0.set.iter().filter(|(name, _)| !is_told(name));
        let set = set.map(|(name, model)| ModelNote {
            name: name.clone(),
            provider: model.provider.clone(),
            model: model.model.clone().filter(|_| model.provider != WEIGHTS),
            is_configured: !self.0.is_offline && provider(name, model).and_then(|provider| provider.check()).is_ok(),
        });
        brought.chain(missing).chain(set).collect()
    }

    fn unknown(&self, name: &str, own: &[&str]) -> Problem {
        let (brought, set) = (self.0.brought.keys(), self.0.set.keys());
        let set = set.filter(|name| !self.0.brought.contains_key(*name));
        let known: Vec<&str> = own.iter().copied().chain(brought.chain(set).map(String::as_str)).collect();
        let problem = Problem::invalid(format!("no model `{name}`"), []);
        problem.hint(format!("{}, or name a service as in `groq/llama-3.1-8b-instant`", known_names(name, &known)))
    }
}

/// What is said about a model that is asked over the network where nothing may be.
fn over_network(name: &str) -> Error {
    let message = format!("model `{name}` is asked over the network, and `--offline` forbids it");
    Error::new(Code::PolicyRefused, message).help("choose a model that needs no network")
}

fn not_here(error: &Error) -> Problem {
    refusal(error, error.message())
}

/// Nothing that another request could change.
fn refusal(error: &Error, fact: &str) -> Problem {
    Problem::new(503, error.code(), fact).lasting().hint(error.advice().unwrap_or("choose another model"))
}

/// The provider of models that run in the process. A program brings them; the server itself has none.
pub const WEIGHTS: &str = "local/weights";

fn no_weights(name: &str) -> Error {
    let message =
        format!("model `{name}` runs in the process, out of a file of weights, and this program cannot do that");
    Error::new(Code::ConfigInvalid, message).help("choose another model, or use a program that runs weights")
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
        (WEIGHTS, _) => return Err(no_weights(name)),
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

    /// R-DEB-54: weights are brought by the program; where it brings none, or has no file for them, that is what is said.
    #[test]
    fn weights_that_are_not_there_are_said_to_be_missing() {
        let settings = Sources::new().toml("superstep.toml", "[models.own]\nprovider = 'local/weights'");
        let models = Models::from_settings(&Settings::parse(&settings).expect("settings"));
        for name in [WEIGHTS, "own"] {
            let problem = models.get(name, &[]).expect_err("a problem");
            assert!(problem.detail().contains("this program cannot do that"), "{name}");
        }
        let missing = Error::new(Code::ConfigInvalid, "no file at /home/somebody").help("get one");
        let models = models.missing(WEIGHTS, missing.clone()).missing("own", missing);
        let problem = models.get(WEIGHTS, &[]).expect_err("a problem");
        assert_eq!((problem.status(), problem.advice()), (503, Some("get one")));
        assert_eq!(problem.detail(), "model `local/weights` cannot be asked on this server");
        assert!(!serde_json::to_string(&problem).expect("a body").contains("somebody"));
        assert!(models.notes().iter().all(|note| note.provider == WEIGHTS));
        let notes: Vec<(String, bool)> = models.notes().into_iter().map(|it| (it.name, it.is_configured)).collect();
        assert_eq!(notes, [(WEIGHTS.to_owned(), false), ("own".to_owned(), false)]);
    }

    /// R-CLI-17: offline, a service is refused however it is named, and whether or not there is a key for it; what the
    /// program brings is asked.
    #[test]
    fn offline_every_service_is_refused_however_it_is_named() {
        let file = "[models.own]\nprovider = 'openai'\nmodel = 'x'\nbase_url = 'http://127.0.0.1:1/v1/'";
        let settings = Settings::parse(&Sources::new().toml("superstep.toml", file)).expect("settings");
        let rules = superstep::model::Rules::new("rules");
        let models = Models::from_settings(&settings).with("rules", rules).offline();
        for name in ["groq/llama-3.1-8b-instant", "openai/gpt-5", "ollama/llama3", "own"] {
            let problem = models.get(name, &[]).err().unwrap_or_else(|| panic!("{name} is asked"));
            assert_eq!((problem.status(), problem.code()), (503, Code::PolicyRefused.to_string().as_str()), "{name}");
            assert!(!problem.is_retryable() && problem.detail().contains("--offline"), "{name}");
        }
        assert_eq!(models.get("no such name", &[]).err().map(|problem| problem.status()), Some(422));
        assert!(models.get("rules", &[]).is_ok());
        assert!(models.notes().iter().all(|note| note.name == "rules" || !note.is_configured));
    }
}
