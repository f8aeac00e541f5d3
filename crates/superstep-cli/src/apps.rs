//! The applications inside this binary: one list, and nothing else knows them.

use superstep_server::{App, Models};

use crate::models::{is_remote, model};
use crate::setup::Setup;

/// Every application.
///
/// # Errors
/// When one cannot be made of the settings.
pub(crate) fn apps(setup: &Setup) -> superstep::Result<Vec<App>> {
    Ok(vec![superstep_debate::app(setup.debates.clone(), models(setup))?])
}

/// The models of the settings. What the server does not know, or may not be asked now, is brought along.
fn models(setup: &Setup) -> Models {
    let brought = setup.settings.models.iter().filter(|(_, set)| setup.is_offline || !is_remote(set));
    let set = Models::from_settings(&setup.settings);
    brought.fold(set, |models, (name, set)| models.with(name, model(setup, name, set)))
}
