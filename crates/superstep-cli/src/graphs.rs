//! The graphs that can be run by name: those of the settings, and those of the applications in this binary.
//!
//! A graph is made only when it is needed, so that a file that is broken keeps no other graph from running.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use superstep::core::suggest::known_names;
use superstep::file::{GraphFile, Parts};
use superstep::settings::GraphSource;
use superstep::{Code, Error};
use superstep_server::{App, Served, served};

mod named;

use crate::apps::apps;
use crate::failure::Failure;
use crate::models::model;
use crate::setup::Setup;

/// The graph of this name.
pub(crate) fn find(setup: &Setup, name: &str) -> Result<Arc<dyn Served>, Failure> {
    match setup.settings.graphs.get(name) {
        Some(source) => Ok(of_settings(setup, name, source)?),
        None => of_apps(setup, name)?.ok_or_else(|| unknown(setup, name)),
    }
}

/// Whether a name stands for this graph of an application.
pub(crate) fn stands_for(setup: &Setup, name: &str, graph: &str) -> bool {
    match setup.settings.graphs.get(name) {
        Some(GraphSource::Rust(inner)) => inner == graph,
        Some(_) => false,
        None => name == graph,
    }
}

/// The names of all graphs.
pub(crate) fn names(setup: &Setup) -> Result<Vec<String>, Failure> {
    let apps = apps(setup)?;
    let of_apps = apps.iter().flat_map(|app| &app.graphs).map(|graph| graph.name().to_owned());
    let names: BTreeSet<String> = setup.settings.graphs.keys().cloned().chain(of_apps).collect();
    Ok(names.into_iter().collect())
}

/// Everything that is served: the applications, and one more with the graphs of the settings.
pub(crate) fn all(setup: &Setup) -> Result<Vec<App>, Failure> {
    let mut all = apps(setup)?;
    for (name, source) in &setup.settings.graphs {
        // A name of the settings stands for what the settings say.
        all.iter_mut().for_each(|app| app.graphs.retain(|graph| graph.name() != name));
        all.push(App::new(name, name).graph(of_settings(setup, name, source)?));
    }
    Ok(all)
}

/// A graph file, read and checked.
pub(crate) fn file(setup: &Setup, name: &str) -> Result<Option<GraphFile>, Failure> {
    match setup.settings.graphs.get(name) {
        Some(GraphSource::File { path, .. }) => Ok(Some(GraphFile::open(path)?)),
        Some(_) => Ok(None),
        None if Path::new(name).is_file() => Ok(Some(GraphFile::open(name)?)),
        None => Ok(None),
    }
}

/// What graph files call by name.
pub(crate) fn parts(setup: &Setup) -> Parts {
    let models = setup.settings.models.iter();
    models.fold(Parts::new(), |parts, (name, set)| parts.model(name, model(setup, name, set)))
}

fn of_settings(setup: &Setup, name: &str, source: &GraphSource) -> superstep::Result<Arc<dyn Served>> {
    match source {
        GraphSource::File { path, .. } => {
            let graph = GraphFile::open(path)?.build(&parts(setup))?;
            Ok(named::named(name, served(graph, |_| Ok(()))))
        }
        GraphSource::Rust(inner) => {
            let found = of_apps(setup, inner)?;
            let graph = found.ok_or_else(|| {
                let message = format!("`graphs.{name}.path` is `rust:{inner}`, and this program has no such graph");
                Error::new(Code::ConfigInvalid, message).help("name a graph file, or build a program of your own")
            })?;
            Ok(named::named(name, graph))
        }
        _ => Err(Error::internal("a kind of graph that the command line does not know")),
    }
}

fn of_apps(setup: &Setup, name: &str) -> superstep::Result<Option<Arc<dyn Served>>> {
    let graphs = apps(setup)?.into_iter().flat_map(|app| app.graphs);
    Ok(graphs.into_iter().find(|graph| graph.name() == name))
}

fn unknown(setup: &Setup, name: &str) -> Failure {
    let known = names(setup).unwrap_or_default();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let failure = Failure::new(Code::NotFound, format!("no graph `{name}`"));
    match known.is_empty() {
        true => failure.help(format!("name its file in superstep.toml: graphs.{name}.path = \"{name}.toml\"")),
        false => failure.help(known_names(name, &known)),
    }
}
