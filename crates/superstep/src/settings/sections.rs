//! Typed sections of the settings, built from the merged values.
//!
//! Single values are validated before; this module validates their combination. Building continues after a problem,
//! so that all problems are listed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::durability::Durability;
use serde::{Serialize, Serializer};
use superstep_core::validation_error::ValidationError;

use super::layers::Layers;
use super::secret::{MaybeSecret, Secret};
use super::source::SettingOrigin;
use super::value::{SettingValue, format_duration};

/// Source of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GraphSource {
    /// A graph in Rust, registered under this name.
    Rust(String),
    /// A graph file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        kind: GraphFileFormat,
    },
}

/// Format of a graph file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GraphFileFormat {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// A model and its connection.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Provider, for example `openai`, `local/rules` or `rust:NAME`.
    pub provider: String,
    /// Name of the model at the provider.
    pub model: Option<String>,
    /// Base URL of the provider. Default: the provider's public URL.
    pub base_url: Option<MaybeSecret>,
    /// API key of the provider.
    pub api_key: Option<Secret>,
}

/// Storage and durability of threads.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct StorageSettings {
    /// Checkpointer.
    pub checkpointer: CheckpointerSettings,
    /// Durability of commits.
    pub durability: Durability,
}

/// Checkpointer of threads.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckpointerSettings {
    /// Memory of this process.
    Memory,
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A Postgres database with this URL.
    Postgres(Secret),
}

/// Connection to an MCP server: a program, or a URL.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpServerSettings {
    /// A program that communicates over its standard input and output.
    Command {
        /// The program and its arguments; never empty.
        argv: Vec<String>,
        /// Environment variables of the program.
        env: BTreeMap<String, MaybeSecret>,
    },
    /// URL of a server that is accessed over HTTP.
    Url(MaybeSecret),
}

/// Limits of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitSettings {
    /// Maximum number of supersteps of a run.
    pub recursion_limit: u32,
    /// Maximum number of concurrent tasks of a superstep.
    pub max_concurrency: Option<u32>,
    /// Timeout of a run.
    #[serde(serialize_with = "as_text")]
    pub run_timeout: Option<Duration>,
    /// Timeout of a node that sets none itself.
    #[serde(serialize_with = "as_text")]
    pub node_timeout: Option<Duration>,
}

fn as_text<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(format_duration).serialize(serializer)
}

/// Providers that require a model name.
const REMOTE_PROVIDERS: [&str; 4] = ["anthropic", "azure", "google", "openai"];

impl Layers {
    /// Builds the section `graphs`.
    pub(crate) fn graphs(&mut self) -> BTreeMap<String, GraphSource> {
        self.each("graphs", |layers, at| {
            let path = layers.required(&format!("{at}.path"))?;
            let kind = layers.text(&format!("{at}.kind"));
            if let Some(name) = path.strip_prefix("rust:") {
                let error = ValidationError::new("a graph built in Rust has no file format").with_help("remove `kind`");
                kind.is_some().then(|| layers.reject_at(&format!("{at}.kind"), error));
                return Some(GraphSource::Rust(name.to_owned()));
            }
            let extension =
                Path::new(&path).extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
            match kind.or(extension).as_deref() {
                Some("toml") => Some(GraphSource::File { path: path.into(), kind: GraphFileFormat::Toml }),
                Some("json") => Some(GraphSource::File { path: path.into(), kind: GraphFileFormat::Json }),
                _ if layers.is_rejected(&format!("{at}.kind")) => None,
                _ => {
                    let error = ValidationError::new(
                        "the file extension does not determine the format of the \
                         graph file",
                    );
                    layers.reject_at(&format!("{at}.path"), error.with_help("set `kind` to `toml` or `json`"));
                    None
                }
            }
        })
    }

    /// Builds the section `models`.
    pub(crate) fn models(&mut self) -> BTreeMap<String, ModelSettings> {
        self.each("models", |layers, at| {
            let provider = layers.required(&format!("{at}.provider"));
            let is_remote = provider.as_deref().is_some_and(|provider| REMOTE_PROVIDERS.contains(&provider));
            let name = format!("{at}.model");
            let model = if is_remote { layers.required(&name) } else { layers.text(&name) };
            let base_url = layers.maybe_secret(&format!("{at}.base_url"));
            Some(ModelSettings {
                provider: provider?,
                model,
                base_url,
                api_key: layers.secret(&format!("{at}.api_key")),
            })
        })
    }

    /// Builds the section `storage`.
    pub(crate) fn storage(&mut self) -> Option<StorageSettings> {
        let durability = match self.text("storage.durability").as_deref() {
            Some("async") => Durability::Async,
            Some("exit") => Durability::Exit,
            _ => Durability::Sync,
        };
        let checkpointer = self.text("storage.checkpointer")?;
        let checkpointer = match checkpointer.strip_prefix("sqlite:") {
            Some(path) => CheckpointerSettings::Sqlite(path.into()),
            None if checkpointer == "postgres" => {
                self.require("storage.url");
                return self
                    .secret("storage.url")
                    .map(CheckpointerSettings::Postgres)
                    .map(|checkpointer| StorageSettings { checkpointer, durability });
            }
            None => CheckpointerSettings::Memory,
        };
        if self.entries.contains_key("storage.url") {
            let error = ValidationError::new("`storage.url` requires the checkpointer `postgres`");
            self.reject_at(
                "storage.url",
                error.with_help("set `storage.checkpointer` to `postgres`, or remove `storage.url`"),
            );
        }
        Some(StorageSettings { checkpointer, durability })
    }

    /// Builds the section `mcp_servers`.
    pub(crate) fn mcp_servers(&mut self) -> BTreeMap<String, McpServerSettings> {
        self.each("mcp_servers", |layers, at| {
            let (command, url) = (format!("{at}.command"), format!("{at}.url"));
            let env = layers.environment_of(&format!("{at}.env."));
            match (layers.entries.contains_key(&command), layers.entries.contains_key(&url)) {
                (true, true) => {
                    let error = ValidationError::new("an MCP server has either `command` or `url`, not both")
                        .with_help("remove one of them");
                    layers.reject_at(&url, error);
                    None
                }
                (true, false) => match layers.value(&command)? {
                    SettingValue::Words(argv) => Some(McpServerSettings::Command { argv: argv.clone(), env }),
                    _ => None,
                },
                (false, true) if env.is_empty() => layers.maybe_secret(&url).map(McpServerSettings::Url),
                (false, true) => {
                    layers.reject_at(&url, ValidationError::new("`env` requires `command`"));
                    None
                }
                (false, false) if layers.is_unparsable => None,
                (false, false) => {
                    let error = ValidationError::new(format!("`{at}` has neither `command` nor `url`"))
                        .with_help("set one of them");
                    layers.reject(at, &layers.origin_of(at), error);
                    None
                }
            }
        })
    }

    /// Builds the section `limits`.
    pub(crate) fn limits(&self) -> Option<LimitSettings> {
        Some(LimitSettings {
            recursion_limit: self.count("limits.recursion_limit")?,
            max_concurrency: self.count("limits.max_concurrency"),
            run_timeout: self.duration("limits.run_timeout"),
            node_timeout: self.duration("limits.node_timeout"),
        })
    }

    fn each<T>(&mut self, section: &str, build: impl Fn(&mut Self, &str) -> Option<T>) -> BTreeMap<String, T> {
        let names = self.names(section).into_iter();
        names.filter_map(|name| build(self, &format!("{section}.{name}")).map(|section| (name, section))).collect()
    }

    fn environment_of(&self, prefix: &str) -> BTreeMap<String, MaybeSecret> {
        let names = self.entries.keys().filter_map(|path| path.strip_prefix(prefix));
        names.filter_map(|name| Some((name.to_owned(), self.maybe_secret(&format!("{prefix}{name}"))?))).collect()
    }

    fn required(&mut self, path: &str) -> Option<String> {
        self.require(path);
        self.text(path)
    }

    fn require(&mut self, path: &str) {
        if !self.entries.contains_key(path) && !self.is_unparsable {
            let parent = path.rsplit_once('.').map_or(path, |(parent, _)| parent);
            self.reject(path, &self.origin_of(parent), ValidationError::new(format!("`{path}` is missing")));
        }
    }

    fn reject_at(&mut self, path: &str, error: ValidationError) {
        let origin = self.entries.get(path).map_or(SettingOrigin::Default, |entry| entry.origin.clone());
        self.reject(path, &origin, error);
    }

    /// Returns the origin of a table, or of its first value.
    fn origin_of(&self, table: &str) -> SettingOrigin {
        let first_entry = || self.entries.iter().find(|(path, _)| path.starts_with(&format!("{table}.")));
        let origin = self.tables.get(table).or_else(|| first_entry().map(|(_, entry)| &entry.origin));
        origin.cloned().unwrap_or(SettingOrigin::Default)
    }

    fn is_rejected(&self, path: &str) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.value.is_none())
    }

    pub(super) fn value(&self, path: &str) -> Option<&SettingValue> {
        self.entries.get(path)?.value.as_ref()
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path)? {
            SettingValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn count(&self, path: &str) -> Option<u32> {
        match self.value(path)? {
            SettingValue::Count(count) => Some(*count),
            _ => None,
        }
    }

    pub(super) fn duration(&self, path: &str) -> Option<Duration> {
        match self.value(path)? {
            SettingValue::Duration(duration) => Some(*duration),
            _ => None,
        }
    }

    fn maybe_secret(&self, path: &str) -> Option<MaybeSecret> {
        match self.value(path)? {
            SettingValue::Guarded(guarded) => Some(guarded.clone()),
            _ => None,
        }
    }

    fn secret(&self, path: &str) -> Option<Secret> {
        self.maybe_secret(path).map(|guarded| Secret::new(guarded.expose()))
    }
}
