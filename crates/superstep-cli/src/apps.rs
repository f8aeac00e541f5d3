//! The applications inside this binary: the only list of them.

use superstep_server::{App, LOCAL_WEIGHTS_PROVIDER, ModelRegistry};

use crate::cli_config::CliConfig;
use crate::models::{default_weights, is_remote, usable_model};

/// Creates every application.
///
/// # Errors
/// Returns an error if an application rejects the settings.
pub(crate) fn apps(setup: &CliConfig) -> superstep::Result<Vec<App>> {
    let models = models(setup);
    Ok(vec![
        superstep_debate::app(setup.debate.clone(), models.clone())?,
        superstep_suggestions::app(setup.suggestions.clone(), models.clone())?,
        superstep_assistant::app(setup.assistant.clone(), models.clone())?,
        superstep_scheduler::app(setup.scheduler()?, models)?,
    ])
}

/// Builds the model registry of the settings. Models that the server cannot create, or must not use at the moment,
/// are added here; so are local weights, if this build supports them.
pub(crate) fn models(setup: &CliConfig) -> ModelRegistry {
    let provided = setup.settings.models.iter().filter(|(_, set)| setup.is_offline || !is_remote(set));
    let set = ModelRegistry::from_settings(&setup.settings);
    // A request, or a persisted run, may name a service that the settings do not contain.
    let set = if setup.is_offline { set.offline() } else { set };
    let models = provided.fold(set, |models, (name, set)| match usable_model(setup, name, set) {
        Ok(model) => models.with_model(name, model),
        Err(error) => models.with_unavailable(name, error),
    });
    match default_weights(setup) {
        Some(Ok(weights)) => models.with_model(LOCAL_WEIGHTS_PROVIDER, weights),
        Some(Err(error)) => models.with_unavailable(LOCAL_WEIGHTS_PROVIDER, error),
        None => models,
    }
}
