//! An installation of one's own, out of a file: where its data, documents, policy and users are, and what else it may use.
//!
//! Paths start from the folder of the file. A secret never stands in it: `env:NAME` and `file:PATH` say where it is. Every
//! refusal names the key, and repeats no text that was given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use superstep::core::error::Problem;
use superstep::settings::Secret;
use superstep::{Code, Error, Result};

use super::Settings;
use crate::tools::query::bigquery::BigQuery;
use crate::tools::{ServerSettings, Via, WebSettings};

/// An installation as its file says it: looked at, and not yet connected to anything.
pub struct Installation {
    settings: Settings,
    servers: Vec<(ServerSettings, Option<Secret>)>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    folder: Option<PathBuf>,
    data: Option<PathBuf>,
    handbook: Option<PathBuf>,
    policy: Option<PathBuf>,
    profiles: Option<PathBuf>,
    synonyms: Option<PathBuf>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    keep_facts: bool,
    bigquery: Option<WrittenBigQuery>,
    web: Option<WrittenWeb>,
    #[serde(default)]
    servers: Vec<WrittenServer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBigQuery {
    project: String,
    datasets: Vec<String>,
    token: String,
    max_bytes: Option<u64>,
    address: Option<String>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct WrittenWeb {
    hosts: Vec<String>,
    private: Vec<String>,
    search: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenServer {
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

impl Installation {
    /// Reads a file; `variable` is the environment.
    ///
    /// # Errors
    /// When there is no such file, it has a key that nobody knows or a value that does not fit, or what it names is not there.
    pub fn read(file: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|error| {
            let fact = format!("the settings of the assistant `{}` cannot be read: {}", file.display(), error.kind());
            Error::new(Code::ConfigInvalid, fact)
        })?;
        let written: Written = toml::from_str(&text).map_err(|error| misread(file, &text, &error))?;
        let beside = file.parent().unwrap_or(Path::new(""));
        let mut reader = Reader { beside, variable, problems: Vec::new() };
        let read = reader.installation(written);
        match reader.problems.is_empty() {
            true => read,
            false => {
                let fact = format!("the settings of the assistant in `{}` are not valid", file.display());
                Err(Error::listing(Code::ConfigInvalid, fact, reader.problems))
            }
        }
    }

    /// The keys of what is asked over the network.
    #[must_use]
    pub fn networked(&self) -> Vec<&'static str> {
        let Settings { bigquery, web, .. } = &self.settings;
        let is_remote = |(server, _): &(ServerSettings, _)| matches!(server.via, Via::Http { .. });
        let keys =
            [("bigquery", bigquery.is_some()), ("web", web.is_some()), ("servers", self.servers.iter().any(is_remote))];
        keys.into_iter().filter(|(_, is_used)| *is_used).map(|(key, _)| key).collect()
    }

    /// Connects to its MCP servers, and gives what the assistant runs with.
    ///
    /// # Errors
    /// When a server cannot be reached, its tools are not those that were approved, or two have the same name.
    pub async fn connect(self) -> Result<Settings> {
        let mut settings = self.settings;
        for (server, token) in &self.servers {
            let connected = settings.connect(std::slice::from_ref(server), |_| token.clone()).await;
            settings = connected.map_err(|error| {
                let fact = format!("the MCP server `{}` of `servers`: {}", server.name, error.message());
                let help = error.advice().unwrap_or("correct its entry, or leave it out").to_owned();
                Error::new(error.code(), fact).help(help)
            })?;
        }
        Ok(settings)
    }
}

/// Follows what the file names, and gathers what is wrong.
struct Reader<'a, V> {
    beside: &'a Path,
    variable: V,
    problems: Vec<Problem>,
}

impl<V: Fn(&str) -> Option<String>> Reader<'_, V> {
    fn installation(&mut self, written: Written) -> Result<Installation> {
        let folder = self.beside.join(written.folder.unwrap_or_default());
        // An empty path is the current folder, which has no name that could be told.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let mut settings = Settings::new(folder);
        settings.policy = written.policy.map(|path| self.beside.join(path));
        settings.profiles = written.profiles.map(|path| self.beside.join(path));
        settings.synonyms = written.synonyms.map(|path| self.beside.join(path));
        settings.data = written.data.map(|path| self.beside.join(path));
        settings.handbook = written.handbook.map(|path| self.beside.join(path));
        settings.examples = written.examples;
        settings.keeps_facts = written.keep_facts;
        self.look(&settings);
        settings.bigquery = written.bigquery.map(|bigquery| self.bigquery(bigquery)).transpose()?.map(Arc::new);
        settings.web = written.web.map(|WrittenWeb { hosts, private, search }| WebSettings { hosts, private, search });
        let mut names = BTreeSet::new();
        let mut servers = Vec::new();
        for (number, server) in written.servers.into_iter().enumerate() {
            if !names.insert(server.name.clone()) {
                self.refuse(format!("servers.{number}.name"), "another server has this name", "give each its own");
            }
            servers.extend(self.server(number, server));
        }
        Ok(Installation { settings, servers })
    }

    /// Whether everything is there that is needed, and everything that is named.
    fn look(&mut self, settings: &Settings) {
        let needed = [("policy", settings.policy()), ("profiles", settings.profiles()), ("data", settings.data())];
        let named = [("synonyms", settings.synonyms.clone()), ("handbook", settings.handbook.clone())];
        let named = named.into_iter().filter_map(|(key, path)| Some((key, path?)));
        for (key, path) in needed.into_iter().chain(named).filter(|(_, path)| !path.exists()) {
            let fact = format!("there is no `{}`", path.display());
            self.refuse(key, fact, "paths start from the folder of the file");
        }
    }

    fn bigquery(&mut self, written: WrittenBigQuery) -> Result<BigQuery> {
        if written.datasets.is_empty() {
            self.refuse("bigquery.datasets", "there is none", "name the data sets that may be asked");
        }
        let token = self.secret("bigquery.token", &written.token).unwrap_or_else(|| Secret::new(""));
        let mut bigquery = BigQuery::new(written.project, written.datasets, token)?;
        if let Some(bytes) = written.max_bytes {
            bigquery = bigquery.max_bytes(bytes);
        }
        Ok(match written.address {
            Some(address) => bigquery.address(address),
            None => bigquery,
        })
    }

    fn server(&mut self, number: usize, written: WrittenServer) -> Option<(ServerSettings, Option<Secret>)> {
        let at = format!("servers.{number}");
        let for_url = [("allow", !written.allow.is_empty()), ("token", written.token.is_some())];
        let for_program = [("args", !written.args.is_empty()), ("env", !written.env.is_empty())];
        let WrittenServer { name, command, args, env, url, allow, token, pin, trusted } = written;
        let via = match (command, url) {
            (Some(command), None) => {
                self.refuse_beside(&at, "command", for_url);
                Via::Program { command, args, env: self.variables(&at, env) }
            }
            (None, Some(url)) => {
                self.refuse_beside(&at, "url", for_program);
                Via::Http { url, allow }
            }
            _ => {
                let help = "give `command` for a program, or `url` for a server on the web";
                self.refuse(at, "it has to be reached in one way", help);
                return None;
            }
        };
        let token = token.and_then(|token| self.secret(&format!("{at}.token"), &token));
        Some((ServerSettings { name, via, pin, trusted }, token))
    }

    /// Refuses keys that have no meaning beside another: somebody counts on them.
    fn refuse_beside(&mut self, at: &str, way: &str, keys: [(&str, bool); 2]) {
        for (key, _) in keys.into_iter().filter(|(_, is_given)| *is_given) {
            self.refuse(format!("{at}.{key}"), format!("it does not belong to a server with `{way}`"), "leave it out");
        }
    }

    /// The variables of a program, each from where the file says it is.
    fn variables(&mut self, at: &str, env: BTreeMap<String, String>) -> BTreeMap<String, Secret> {
        let mut variables = BTreeMap::new();
        for (name, reference) in env {
            let value = self.secret(&format!("{at}.env.{name}"), &reference);
            variables.extend(value.map(|value| (name, value)));
        }
        variables
    }

    /// A secret, from where the file says it is.
    fn secret(&mut self, key: &str, reference: &str) -> Option<Secret> {
        const HELP: &str = "refer to it: `env:NAME` or `file:PATH`";
        let found = match reference.split_once(':') {
            Some(("env", name)) => (self.variable)(name).ok_or("the variable is not set"),
            Some(("file", path)) => fs::read_to_string(self.beside.join(path)).map_err(|_| "the file cannot be read"),
            _ => Err("a secret does not stand here"),
        };
        match found.map(|text| text.trim_end_matches(['\r', '\n']).to_owned()) {
            Ok(text) if !text.is_empty() => return Some(Secret::new(text)),
            Ok(_) => self.refuse(key, "it is empty", HELP),
            Err(fact) => self.refuse(key, fact, HELP),
        }
        None
    }

    fn refuse(&mut self, key: impl Into<String>, fact: impl Into<String>, help: &str) {
        self.problems.push(Problem { pointer: key.into(), message: fact.into(), help: Some(help.to_owned()) });
    }
}

/// What is wrong with the text, where, and at which key.
fn misread(file: &Path, text: &str, error: &toml::de::Error) -> Error {
    // What was given may be a secret in the wrong place; what is expected says as much.
    let message = match error.message().split_once(", expected ") {
        Some((given, expected)) if given.starts_with("invalid") => format!("expected {expected}"),
        _ => error.message().to_owned(),
    };
    let place = error.span().map(|span| {
        let line = text.get(..span.start).unwrap_or(text).matches('\n').count();
        let key = key_at(&text.lines().take(line + 1).collect::<Vec<_>>());
        format!(" line {}, `{key}`:", line + 1)
    });
    let place = place.unwrap_or_else(|| ":".to_owned());
    let fact = format!("the settings of the assistant `{}`{place} {message}", file.display());
    Error::new(Code::ConfigInvalid, fact)
}

/// The key that the last of these lines belongs to, with the table it stands in.
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
