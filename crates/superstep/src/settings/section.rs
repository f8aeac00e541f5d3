//! The typed sections, and how they are built from what was laid over each other.
//!
//! What one value may be was checked before; here is what values mean together. Goes on after a problem, so that all
//! are listed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::durability::Durability;
use serde::{Serialize, Serializer};
use superstep_core::fault::Fault;

use super::layers::Layers;
use super::secret::{Guarded, Secret};
use super::source::Origin;
use super::value::{Value, show_duration};

/// Where a graph comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GraphSource {
    /// Built in Rust and registered under this name.
    Rust(String),
    /// Written in a file.
    File {
        /// The file.
        path: PathBuf,
        /// Its format.
        kind: GraphKind,
    },
}

/// The format of a graph file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GraphKind {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// A model and how to reach it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Model {
    /// Who answers, for example `openai`, `local/rules` or `rust:NAME`.
    pub provider: String,
    /// The name of the model at the provider.
    pub model: Option<String>,
    /// The address of the provider, where it is not the usual one.
    pub base_url: Option<Guarded>,
    /// The key for the provider.
    pub api_key: Option<Secret>,
}

/// Where threads are kept, and when they are safe.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Stores {
    /// Where checkpoints are kept.
    pub checkpoints: Checkpoints,
    /// When a superstep is on disk.
    pub durability: Durability,
}

/// Where checkpoints are kept.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Checkpoints {
    /// Nowhere but in this process.
    Memory,
    /// In a SQLite file.
    Sqlite(PathBuf),
    /// In a Postgres database at this address.
    Postgres(Secret),
}

/// An MCP server.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpServer {
    /// A program that speaks over its standard input and output.
    Command {
        /// The program and its arguments; never empty.
        argv: Vec<String>,
        /// The variables it is given.
        env: BTreeMap<String, Guarded>,
    },
    /// A server reached over HTTP.
    Url(Guarded),
}

/// How much a run may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Most supersteps of one run.
    pub recursion_limit: u32,
    /// Most tasks of one superstep that run at once.
    pub max_concurrency: Option<u32>,
    /// Longest time of one run.
    #[serde(serialize_with = "as_text")]
    pub run_timeout: Option<Duration>,
    /// Longest time of one node, where the node sets none.
    #[serde(serialize_with = "as_text")]
    pub node_timeout: Option<Duration>,
}

fn as_text<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(show_duration).serialize(serializer)
}

/// Providers that need to be told which model.
const REMOTE: [&str; 4] = ["anthropic", "azure", "google", "openai"];

impl Layers {
    /// The section `graphs`.
    pub(crate) fn graphs(&mut self) -> BTreeMap<String, GraphSource> {
        self.each("graphs", |layers, at| {
            let path = layers.required(&format!("{at}.path"))?;
            let kind = layers.text(&format!("{at}.kind"));
            if let Some(name) = path.strip_prefix("rust:") {
                let fault = Fault::new("a graph built in Rust has no file format").help("remove `kind`");
                kind.is_some().then(|| layers.refuse_at(&format!("{at}.kind"), fault));
                return Some(GraphSource::Rust(name.to_owned()));
            }
            let ending = Path::new(&path).extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
            match kind.or(ending).as_deref() {
                Some("toml") => Some(GraphSource::File { path: path.into(), kind: GraphKind::Toml }),
                Some("json") => Some(GraphSource::File { path: path.into(), kind: GraphKind::Json }),
                _ if layers.is_refused(&format!("{at}.kind")) => None,
                _ => {
                    let fault = Fault::new("the format of the graph file is not clear from its name");
                    layers.refuse_at(&format!("{at}.path"), fault.help("set `kind` to `toml` or `json`"));
                    None
                }
            }
        })
    }

    /// The section `models`.
    pub(crate) fn models(&mut self) -> BTreeMap<String, Model> {
        self.each("models", |layers, at| {
            let provider = layers.required(&format!("{at}.provider"));
            let is_remote = provider.as_deref().is_some_and(|provider| REMOTE.contains(&provider));
            let name = format!("{at}.model");
            let model = if is_remote { layers.required(&name) } else { layers.text(&name) };
            let base_url = layers.guarded(&format!("{at}.base_url"));
            Some(Model { provider: provider?, model, base_url, api_key: layers.secret(&format!("{at}.api_key")) })
        })
    }

    /// The section `stores`.
    pub(crate) fn stores(&mut self) -> Option<Stores> {
        let durability = match self.text("stores.durability").as_deref() {
            Some("async") => Durability::Async,
            Some("exit") => Durability::Exit,
            _ => Durability::Sync,
        };
        let checkpoints = self.text("stores.checkpoints")?;
        let checkpoints = match checkpoints.strip_prefix("sqlite:") {
            Some(path) => Checkpoints::Sqlite(path.into()),
            None if checkpoints == "postgres" => {
                self.demand("stores.url");
                return self
                    .secret("stores.url")
                    .map(Checkpoints::Postgres)
                    .map(|checkpoints| Stores { checkpoints, durability });
            }
            None => Checkpoints::Memory,
        };
        if self.entries.contains_key("stores.url") {
            let fault = Fault::new("`stores.url` belongs to `postgres`, which `stores.checkpoints` does not name");
            self.refuse_at("stores.url", fault.help("set `stores.checkpoints` to `postgres`, or remove `stores.url`"));
        }
        Some(Stores { checkpoints, durability })
    }

    /// The section `servers`.
    pub(crate) fn servers(&mut self) -> BTreeMap<String, McpServer> {
        self.each("servers", |layers, at| {
            let (command, url) = (format!("{at}.command"), format!("{at}.url"));
            let env = layers.environment_of(&format!("{at}.env."));
            match (layers.entries.contains_key(&command), layers.entries.contains_key(&url)) {
                (true, true) => {
                    let fault = Fault::new("a server has `command` or `url`, not both").help("remove one of the two");
                    layers.refuse_at(&url, fault);
                    None
                }
                (true, false) => match layers.value(&command)? {
                    Value::Words(argv) => Some(McpServer::Command { argv: argv.clone(), env }),
                    _ => None,
                },
                (false, true) if env.is_empty() => layers.guarded(&url).map(McpServer::Url),
                (false, true) => {
                    layers.refuse_at(&url, Fault::new("`env` belongs to `command`, which is not set"));
                    None
                }
                (false, false) if layers.is_broken => None,
                (false, false) => {
                    let fault =
                        Fault::new(format!("`{at}` has neither `command` nor `url`")).help("set one of the two");
                    layers.refuse(at, &layers.origin_of(at), fault);
                    None
                }
            }
        })
    }

    /// The section `limits`.
    pub(crate) fn limits(&self) -> Option<Limits> {
        Some(Limits {
            recursion_limit: self.count("limits.recursion_limit")?,
            max_concurrency: self.count("limits.max_concurrency"),
            run_timeout: self.duration("limits.run_timeout"),
            node_timeout: self.duration("limits.node_timeout"),
        })
    }

    fn each<T>(&mut self, section: &str, build: impl Fn(&mut Self, &str) -> Option<T>) -> BTreeMap<String, T> {
        let names = self.names(section).into_iter();
        names.filter_map(|name| build(self, &format!("{section}.{name}")).map(|built| (name, built))).collect()
    }

    fn environment_of(&self, prefix: &str) -> BTreeMap<String, Guarded> {
        let inside = self.entries.keys().filter_map(|path| path.strip_prefix(prefix));
        inside.filter_map(|name| Some((name.to_owned(), self.guarded(&format!("{prefix}{name}"))?))).collect()
    }

    fn required(&mut self, path: &str) -> Option<String> {
        self.demand(path);
        self.text(path)
    }

    fn demand(&mut self, path: &str) {
        if !self.entries.contains_key(path) && !self.is_broken {
            let parent = path.rsplit_once('.').map_or(path, |(parent, _)| parent);
            self.refuse(path, &self.origin_of(parent), Fault::new(format!("`{path}` is missing")));
        }
    }

    fn refuse_at(&mut self, path: &str, fault: Fault) {
        let origin = self.entries.get(path).map_or(Origin::Default, |entry| entry.origin.clone());
        self.refuse(path, &origin, fault);
    }

    /// Where a table was opened, or where the first of its values stands.
    fn origin_of(&self, table: &str) -> Origin {
        let inside = || self.entries.iter().find(|(path, _)| path.starts_with(&format!("{table}.")));
        let opened = self.tables.get(table).or_else(|| inside().map(|(_, entry)| &entry.origin));
        opened.cloned().unwrap_or(Origin::Default)
    }

    fn is_refused(&self, path: &str) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.value.is_none())
    }

    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        self.entries.get(path)?.value.as_ref()
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn count(&self, path: &str) -> Option<u32> {
        match self.value(path)? {
            Value::Count(count) => Some(*count),
            _ => None,
        }
    }

    pub(super) fn duration(&self, path: &str) -> Option<Duration> {
        match self.value(path)? {
            Value::Duration(duration) => Some(*duration),
            _ => None,
        }
    }

    fn guarded(&self, path: &str) -> Option<Guarded> {
        match self.value(path)? {
            Value::Guarded(guarded) => Some(guarded.clone()),
            _ => None,
        }
    }

    fn secret(&self, path: &str) -> Option<Secret> {
        self.guarded(path).map(|guarded| Secret::new(guarded.expose()))
    }
}
