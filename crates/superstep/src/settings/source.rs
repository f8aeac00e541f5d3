//! Where settings come from: the texts that are given, and the name of the place each value stood at.
//!
//! Holds texts only. What they mean is read in `layers`; which files they are is decided in `load`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::secret::{ReadFile, Secret, Vault};

/// Everything that settings are read from.
///
/// Not printable: the environment and the secrets are in it.
#[derive(Clone, Default)]
#[must_use]
pub struct Sources<'a> {
    pub(crate) file: Option<(&'a str, &'a str)>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) unreadable: Vec<String>,
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) secrets: Option<&'a str>,
    pub(crate) files: Option<ReadFile>,
}

impl<'a> Sources<'a> {
    /// Nothing: every setting has its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of `superstep.toml`, and the name to call it by; relative paths in it start from its folder.
    pub fn toml(mut self, name: &'a str, text: &'a str) -> Self {
        self.file = Some((name, text));
        self
    }

    /// The whole environment: `SUPERSTEP_*` are settings, the rest can be referred to as `env:NAME`.
    pub fn environment<N: Into<String>, T: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, text)| (name.into(), text.into())));
        self
    }

    /// Dotted keys with their text, as in `--set limits.recursion_limit=50`; the last of equal ones counts.
    pub fn flags<N: Into<String>, T: Into<String>>(mut self, flags: impl IntoIterator<Item = (N, T)>) -> Self {
        self.flags.extend(flags.into_iter().map(|(key, text)| (key.into(), text.into())));
        self
    }

    /// The text of the secrets file, instead of the file that `secrets_file` names.
    pub fn secrets(mut self, text: &'a str) -> Self {
        self.secrets = Some(text);
        self
    }

    /// How to read the files that settings name: `secrets_file` and `file:PATH`. Without it they are refused.
    pub fn files(mut self, read: fn(&str) -> std::io::Result<String>) -> Self {
        self.files = Some(read);
        self
    }

    /// Where references lead, but for the secrets file.
    pub(crate) fn vault(&self) -> Vault {
        let hide = |(name, text): (&String, &String)| (name.clone(), Secret::new(text.as_str()));
        Vault { environment: self.environment.iter().map(hide).collect(), named: None, read_file: self.files }
    }
}

/// Where a value came from.
///
/// ```
/// use superstep::settings::Origin;
/// assert_eq!(Origin::Flag("server.port".into()).to_string(), "flag `server.port`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// It stands in a file.
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
    },
    /// It stands in the environment, under this name.
    Variable(String),
    /// It was given as a flag, for this key.
    Flag(String),
}

impl Origin {
    /// The place of a byte in a text.
    pub(crate) fn in_file(path: &str, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self::File {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::Variable(name) => write!(f, "environment variable `{name}`"),
            Self::Flag(key) => write!(f, "flag `{key}`"),
        }
    }
}

/// One setting, as it holds and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explained {
    /// The dotted key.
    pub key: String,
    /// The value as it may be shown: `***` for a secret, `none` for what is not set.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
}
