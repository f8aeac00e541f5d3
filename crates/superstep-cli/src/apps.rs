//! The applications inside this binary: the only list of them.

use superstep_server::{App, LOCAL_WEIGHTS_PROVIDER, ModelRegistry};

use crate::cli_config::CliConfig;
use crate::models::{default_weights, is_remote, usable_model};

/// Creates every application.
///
/// # Errors
/// Returns an error if an application rejects the settings.
pub(crate) fn apps(config: &CliConfig) -> superstep::Result<Vec<App>> {
    let models = models(config);
    Ok(vec![
        superstep_debate::app(config.debate.clone(), models.clone())?,
        superstep_suggestions::app(config.suggestions.clone(), models.clone())?,
        superstep_assistant::app(config.assistant.clone(), models.clone())?,
        superstep_scheduler::app(config.scheduler_settings()?, models)?,
    ])
}

/// Builds the model registry of the settings. Models that the server cannot create, or must not use at the moment,
/// are added here; so are local weights, if this build supports them.
pub(crate) fn models(config: &CliConfig) -> ModelRegistry {
    let provided = config.settings.models.iter().filter(|(_, settings)| config.is_offline || !is_remote(settings));
    let registry = ModelRegistry::from_settings(&config.settings);
    // A request, or a persisted run, may name a service that the settings do not contain.
    let registry = if config.is_offline { registry.offline() } else { registry };
    let models = provided.fold(registry, |models, (name, settings)| match usable_model(config, name, settings) {
        Ok(model) => models.with_model(name, model),
        Err(error) => models.with_unavailable(name, error),
    });
    match default_weights(config) {
        Some(Ok(weights)) => models.with_model(LOCAL_WEIGHTS_PROVIDER, weights),
        Some(Err(error)) => models.with_unavailable(LOCAL_WEIGHTS_PROVIDER, error),
        None => models,
    }
}
