//! Settings of a custom installation, parsed from a TOML file: the paths of data, documents, policy and users, and
//! the external services.
//!
//! Relative paths start at the folder of the file. The file contains no secrets: `env:NAME` and `file:PATH` refer
//! to them. Every error names the key and does not repeat the given value.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use superstep::core::error::Diagnostic;
use superstep::settings::Secret;
use superstep::{Error, ErrorCode, Result};

use super::AssistantSettings;
use crate::tools::query::bigquery::BigQuery;
use crate::tools::{McpServerSettings, McpTransport, WebSettings};

/// Validated settings of an installation, not yet connected to any service.
pub struct ConfigFile {
    settings: AssistantSettings,
    mcp_servers: Vec<(McpServerSettings, Option<Secret>)>,
}

/// Contents of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    folder: Option<PathBuf>,
    data: Option<PathBuf>,
    handbook: Option<PathBuf>,
    policy: Option<PathBuf>,
    profiles: Option<PathBuf>,
    synonyms: Option<PathBuf>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default, rename = "keep_facts")]
    remember_facts: bool,
    bigquery: Option<RawBigQuery>,
    web: Option<RawWeb>,
    #[serde(default)]
    mcp_servers: Vec<RawMcpServer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBigQuery {
    project: String,
    datasets: Vec<String>,
    token: String,
    max_bytes: Option<u64>,
    address: Option<String>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct RawWeb {
    hosts: Vec<String>,
    private: Vec<String>,
    search: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMcpServer {
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    allow: Vec<String>,
    token: Option<String>,
    pin: Option<String>,
    #[serde(default)]
    trusted: bool,
}

impl ConfigFile {
    /// Loads and validates a file; `variable` looks up environment variables.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, has an unknown key or an invalid value, or refers to a path or
    /// a secret that does not exist.
    pub fn load(file: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|error| {
            let message = format!("the assistant configuration `{}` cannot be read: {}", file.display(), error.kind());
            Error::new(ErrorCode::ConfigInvalid, message)
        })?;
        let raw: RawConfig = toml::from_str(&text).map_err(|error| parse_error(file, &text, &error))?;
        let directory = file.parent().unwrap_or(Path::new(""));
        let mut reader = ConfigReader { directory, variable, problems: Vec::new() };
        let loaded = reader.resolve(raw);
        match reader.problems.is_empty() {
            true => loaded,
            false => {
                let message = format!("the assistant configuration `{}` is invalid", file.display());
                Err(Error::with_diagnostics(ErrorCode::ConfigInvalid, message, reader.problems))
            }
        }
    }

    /// Returns the keys of the services that are reached over the network.
    #[must_use]
    pub fn network_keys(&self) -> Vec<&'static str> {
        let AssistantSettings { bigquery, web, .. } = &self.settings;
        let is_remote = |(server, _): &(McpServerSettings, _)| matches!(server.transport, McpTransport::Http { .. });
        let keys = [
            ("bigquery", bigquery.is_some()),
            ("web", web.is_some()),
            ("mcp_servers", self.mcp_servers.iter().any(is_remote)),
        ];
        keys.into_iter().filter(|(_, is_used)| *is_used).map(|(key, _)| key).collect()
    }

    /// Connects to the MCP servers and returns the complete settings.
    ///
    /// # Errors
    /// Returns an error if a server cannot be reached, if its tools differ from the approved ones, or if two tools
    /// have the same name.
    pub async fn connect(self) -> Result<AssistantSettings> {
        let mut settings = self.settings;
        for (server, token) in &self.mcp_servers {
            let connected = settings.connect(std::slice::from_ref(server), |_| token.clone()).await;
            settings = connected.map_err(|error| {
                let message = format!("the MCP server `{}` of `mcp_servers`: {}", server.name, error.message());
                let help = error.help().unwrap_or("correct its entry, or remove it").to_owned();
                Error::new(error.code(), message).with_help(help)
            })?;
        }
        Ok(settings)
    }
}

/// Resolves paths and secrets of the file and collects all errors.
struct ConfigReader<'a, V> {
    directory: &'a Path,
    variable: V,
    problems: Vec<Diagnostic>,
}

impl<V: Fn(&str) -> Option<String>> ConfigReader<'_, V> {
    fn resolve(&mut self, raw: RawConfig) -> Result<ConfigFile> {
        let folder = self.directory.join(raw.folder.unwrap_or_default());
        // An empty path is the current folder, which has no name that an error could show.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let mut settings = AssistantSettings::new(folder);
        settings.policy = raw.policy.map(|path| self.directory.join(path));
        settings.profiles = raw.profiles.map(|path| self.directory.join(path));
        settings.synonyms = raw.synonyms.map(|path| self.directory.join(path));
        settings.data = raw.data.map(|path| self.directory.join(path));
        settings.documents = raw.handbook.map(|path| self.directory.join(path));
        settings.examples = raw.examples;
        settings.remember_facts = raw.remember_facts;
        self.check_paths(&settings);
        settings.bigquery = raw.bigquery.map(|bigquery| self.bigquery(bigquery)).transpose()?.map(Arc::new);
        settings.web = raw.web.map(|RawWeb { hosts, private, search }| WebSettings { hosts, private, search });
        let mut names = BTreeSet::new();
        let mut mcp_servers = Vec::new();
        for (number, server) in raw.mcp_servers.into_iter().enumerate() {
            if !names.insert(server.name.clone()) {
                self.reject(format!("mcp_servers.{number}.name"), "another server has this name", "use a unique name");
            }
            mcp_servers.extend(self.server(number, server));
        }
        Ok(ConfigFile { settings, mcp_servers })
    }

    /// Checks that all required paths and all configured paths exist.
    fn check_paths(&mut self, settings: &AssistantSettings) {
        let required = [("policy", settings.policy()), ("profiles", settings.profiles()), ("data", settings.data())];
        let configured = [("synonyms", settings.synonyms.clone()), ("handbook", settings.documents.clone())];
        let configured = configured.into_iter().filter_map(|(key, path)| Some((key, path?)));
        for (key, path) in required.into_iter().chain(configured).filter(|(_, path)| !path.exists()) {
            let message = format!("`{}` not found", path.display());
            self.reject(key, message, "paths are relative to the folder of the configuration file");
        }
    }

    fn bigquery(&mut self, raw: RawBigQuery) -> Result<BigQuery> {
        if raw.datasets.is_empty() {
            self.reject("bigquery.datasets", "the list is empty", "list the data sets that may be queried");
        }
        let token = self.secret("bigquery.token", &raw.token).unwrap_or_else(|| Secret::new(""));
        let mut bigquery = BigQuery::new(raw.project, raw.datasets, token)?;
        if let Some(bytes) = raw.max_bytes {
            bigquery = bigquery.max_bytes(bytes);
        }
        Ok(match raw.address {
            Some(address) => bigquery.address(address),
            None => bigquery,
        })
    }

    fn server(&mut self, number: usize, raw: RawMcpServer) -> Option<(McpServerSettings, Option<Secret>)> {
        let pointer = format!("mcp_servers.{number}");
        let for_url = [("allow", !raw.allow.is_empty()), ("token", raw.token.is_some())];
        let for_program = [("args", !raw.args.is_empty()), ("env", !raw.env.is_empty())];
        let RawMcpServer { name, command, args, env, url, allow, token, pin, trusted } = raw;
        let transport = match (command, url) {
            (Some(command), None) => {
                self.reject_conflicting_keys(&pointer, "command", for_url);
                McpTransport::Program { command, args, env: self.variables(&pointer, env) }
            }
            (None, Some(url)) => {
                self.reject_conflicting_keys(&pointer, "url", for_program);
                McpTransport::Http { url, allow }
            }
            _ => {
                let help = "set `command` for a program, or `url` for an HTTP server";
                self.reject(pointer, "exactly one transport is required", help);
                return None;
            }
        };
        let token = token.and_then(|token| self.secret(&format!("{pointer}.token"), &token));
        Some((McpServerSettings { name, transport, tool_list_hash: pin, trusted }, token))
    }

    /// Rejects keys that have no effect next to another key, because the user relies on them.
    fn reject_conflicting_keys(&mut self, pointer: &str, transport: &str, keys: [(&str, bool); 2]) {
        for (key, _) in keys.into_iter().filter(|(_, is_set)| *is_set) {
            self.reject(format!("{pointer}.{key}"), format!("it cannot be combined with `{transport}`"), "remove it");
        }
    }

    /// Resolves the environment variables of a server process.
    fn variables(&mut self, pointer: &str, env: BTreeMap<String, String>) -> BTreeMap<String, Secret> {
        let mut variables = BTreeMap::new();
        for (name, reference) in env {
            let value = self.secret(&format!("{pointer}.env.{name}"), &reference);
            variables.extend(value.map(|value| (name, value)));
        }
        variables
    }

    /// Resolves a secret from its reference.
    fn secret(&mut self, key: &str, reference: &str) -> Option<Secret> {
        const HELP: &str = "refer to the secret with `env:NAME` or `file:PATH`";
        let resolved = match reference.split_once(':') {
            Some(("env", name)) => (self.variable)(name).ok_or("the variable is not set"),
            Some(("file", path)) => {
                fs::read_to_string(self.directory.join(path)).map_err(|_| "the file cannot be read")
            }
            _ => Err("secrets are not allowed here"),
        };
        match resolved.map(|text| text.trim_end_matches(['\r', '\n']).to_owned()) {
            Ok(text) if !text.is_empty() => return Some(Secret::new(text)),
            Ok(_) => self.reject(key, "it is empty", HELP),
            Err(message) => self.reject(key, message, HELP),
        }
        None
    }

    fn reject(&mut self, key: impl Into<String>, message: impl Into<String>, help: &str) {
        self.problems.push(Diagnostic { pointer: key.into(), message: message.into(), help: Some(help.to_owned()) });
    }
}

/// Converts a TOML error into an error with line and key.
fn parse_error(file: &Path, text: &str, error: &toml::de::Error) -> Error {
    // The given value may be a secret under a wrong key, so the message contains only the expected type.
    let message = match error.message().split_once(", expected ") {
        Some((actual, expected)) if actual.starts_with("invalid") => format!("expected {expected}"),
        _ => error.message().to_owned(),
    };
    let location = error.span().map(|span| {
        let line = text.get(..span.start).unwrap_or(text).matches('\n').count();
        let key = key_at(&text.lines().take(line + 1).collect::<Vec<_>>());
        format!(" line {}, `{key}`:", line + 1)
    });
    let location = location.unwrap_or_else(|| ":".to_owned());
    let message = format!("the assistant configuration `{}`{location} {message}", file.display());
    Error::new(ErrorCode::ConfigInvalid, message)
}

/// Returns the key of the last of these lines, with the name of its table.
fn key_at(lines: &[&str]) -> String {
    let header = |line: &str| {
        let line = line.trim();
        (line.starts_with('[') && line.ends_with(']')).then(|| line.trim_matches(['[', ']']).trim().to_owned())
    };
    let mut key = None;
    for line in lines.iter().rev() {
        match (header(line), line.split_once('=')) {
            (Some(table), _) => return [Some(table), key].into_iter().flatten().collect::<Vec<_>>().join("."),
            (None, Some((name, _))) => key = key.or_else(|| Some(name.trim().to_owned())),
            (None, None) => {}
        }
    }
    key.unwrap_or_default()
}
