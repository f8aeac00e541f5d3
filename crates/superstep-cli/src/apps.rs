//! The applications inside this binary: one list, and nothing else knows them.

use superstep_server::{App, Models, WEIGHTS};

use crate::models::{askable, is_remote, usual_weights};
use crate::setup::Setup;

/// Every application.
///
/// # Errors
/// When one cannot be made of the settings.
pub(crate) fn apps(setup: &Setup) -> superstep::Result<Vec<App>> {
    let models = models(setup);
    Ok(vec![
        superstep_debate::app(setup.debates.clone(), models.clone())?,
        superstep_suggestions::app(setup.suggestions.clone(), models.clone())?,
        superstep_assistant::app(setup.assistant.clone(), models.clone())?,
        superstep_scheduler::app(setup.scheduler()?, models)?,
    ])
}

/// The models of the settings. What the server does not know, or may not be asked now, is brought along; so
/// are weights, where this build runs some.
pub(crate) fn models(setup: &Setup) -> Models {
    let brought = setup.settings.models.iter().filter(|(_, set)| setup.is_offline || !is_remote(set));
    let set = Models::from_settings(&setup.settings);
    // A request, or what is stored of a run, may name a service that no setting does.
    let set = if setup.is_offline { set.offline() } else { set };
    let models = brought.fold(set, |models, (name, set)| match askable(setup, name, set) {
        Ok(model) => models.with(name, model),
        Err(error) => models.missing(name, error),
    });
    match usual_weights(setup) {
        Some(Ok(weights)) => models.with(WEIGHTS, weights),
        Some(Err(error)) => models.missing(WEIGHTS, error),
        None => models,
    }
}
