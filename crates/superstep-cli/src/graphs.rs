//! The graphs that can be run by name: those of the settings, and those of the applications in this binary.
//!
//! A graph is created only when it is needed, so that a broken graph file does not prevent other graphs from
//! running.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use superstep::core::suggest::did_you_mean_or_list;
use superstep::files::{Components, GraphFile};
use superstep::settings::GraphSource;
use superstep::{Error, ErrorCode};
use superstep_server::{App, ServedGraph, serve_graph};

mod renamed;

use crate::apps::apps;
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::models::model;

/// Returns the graph of this name.
pub(crate) fn find(config: &CliConfig, name: &str) -> Result<Arc<dyn ServedGraph>, CliError> {
    match config.settings.graphs.get(name) {
        Some(source) => Ok(graph_from_settings(config, name, source)?),
        None => graph_from_apps(config, name)?.ok_or_else(|| unknown_graph(config, name)),
    }
}

/// Returns true if a name refers to this graph of an application.
pub(crate) fn refers_to(config: &CliConfig, name: &str, graph: &str) -> bool {
    match config.settings.graphs.get(name) {
        Some(GraphSource::Rust(inner)) => inner == graph,
        Some(_) => false,
        None => name == graph,
    }
}

/// Returns the names of all graphs.
pub(crate) fn names(config: &CliConfig) -> Result<Vec<String>, CliError> {
    let apps = apps(config)?;
    let app_graphs = apps.iter().flat_map(|app| &app.graphs).map(|graph| graph.name().to_owned());
    let names: BTreeSet<String> = config.settings.graphs.keys().cloned().chain(app_graphs).collect();
    Ok(names.into_iter().collect())
}

/// Returns the applications to serve: those of this binary, and one for each graph of the settings.
pub(crate) fn served_apps(config: &CliConfig) -> Result<Vec<App>, CliError> {
    let mut served = apps(config)?;
    for (name, source) in &config.settings.graphs {
        // A name in the settings overrides the graph of an application.
        served.iter_mut().for_each(|app| app.graphs.retain(|graph| graph.name() != name));
        served.push(App::new(name, name).graph(graph_from_settings(config, name, source)?));
    }
    Ok(served)
}

/// Opens and validates the graph file of a name; `None` if the graph is not a file.
pub(crate) fn file(config: &CliConfig, name: &str) -> Result<Option<GraphFile>, CliError> {
    match config.settings.graphs.get(name) {
        Some(GraphSource::File { path, .. }) => Ok(Some(GraphFile::open(path)?)),
        Some(_) => Ok(None),
        None if Path::new(name).is_file() => Ok(Some(GraphFile::open(name)?)),
        None => Ok(None),
    }
}

/// Builds the components that graph files refer to by name.
pub(crate) fn components(config: &CliConfig) -> Components {
    let models = config.settings.models.iter();
    models.fold(Components::new(), |components, (name, settings)| components.model(name, model(config, name, settings)))
}

fn graph_from_settings(
    config: &CliConfig,
    name: &str,
    source: &GraphSource,
) -> superstep::Result<Arc<dyn ServedGraph>> {
    match source {
        GraphSource::File { path, .. } => {
            let graph = GraphFile::open(path)?.build(&components(config))?;
            Ok(renamed::rename(name, serve_graph(graph, |_| Ok(()))))
        }
        GraphSource::Rust(inner) => {
            let registered = graph_from_apps(config, inner)?;
            let graph = registered.ok_or_else(|| {
                let message =
                    format!("`graphs.{name}.path` is `rust:{inner}`, but this program does not contain that graph");
                Error::new(ErrorCode::ConfigInvalid, message)
                    .with_help("use a graph file, or build a program that contains the graph")
            })?;
            Ok(renamed::rename(name, graph))
        }
        _ => Err(Error::internal("unsupported graph source")),
    }
}

fn graph_from_apps(config: &CliConfig, name: &str) -> superstep::Result<Option<Arc<dyn ServedGraph>>> {
    let graphs = apps(config)?.into_iter().flat_map(|app| app.graphs);
    Ok(graphs.into_iter().find(|graph| graph.name() == name))
}

fn unknown_graph(config: &CliConfig, name: &str) -> CliError {
    let registered = names(config).unwrap_or_default();
    let registered: Vec<&str> = registered.iter().map(String::as_str).collect();
    let failure = CliError::new(ErrorCode::NotFound, format!("graph `{name}` not found"));
    match registered.is_empty() {
        true => failure.help(format!("add its file to superstep.toml: graphs.{name}.path = \"{name}.toml\"")),
        false => failure.help(did_you_mean_or_list(name, &registered)),
    }
}
