//! Sources of settings, and the origin of each value.
//!
//! Contains texts only. `layers` parses them; `load` chooses the files.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::secret::{ReadFileFn, Secret, SecretSources};

/// All texts from which settings are parsed.
///
/// Does not implement `Debug`, because it contains the environment and secrets.
#[derive(Clone, Default)]
#[must_use]
pub struct SettingsSources<'a> {
    pub(crate) file: Option<(&'a str, &'a str)>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) unreadable: Vec<String>,
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) secrets: Option<&'a str>,
    pub(crate) files: Option<ReadFileFn>,
}

impl<'a> SettingsSources<'a> {
    /// Creates empty sources: every setting has its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the text of `superstep.toml`, with the file name for messages; relative paths start from the folder of
    /// the file.
    pub fn toml(mut self, name: &'a str, text: &'a str) -> Self {
        self.file = Some((name, text));
        self
    }

    /// Sets the complete environment: `SUPERSTEP_*` variables are settings, all others can be referenced as
    /// `env:NAME`.
    pub fn environment<N: Into<String>, T: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, text)| (name.into(), text.into())));
        self
    }

    /// Adds dotted keys with their values, as in `--set limits.recursion_limit=50`; later values override earlier
    /// ones.
    pub fn flags<N: Into<String>, T: Into<String>>(mut self, flags: impl IntoIterator<Item = (N, T)>) -> Self {
        self.flags.extend(flags.into_iter().map(|(key, text)| (key.into(), text.into())));
        self
    }

    /// Sets the text of the secrets file, in place of the file that `secrets_file` names.
    pub fn secrets(mut self, text: &'a str) -> Self {
        self.secrets = Some(text);
        self
    }

    /// Sets the function that reads referenced files: `secrets_file` and `file:PATH`. Without it, these references
    /// are errors.
    pub fn files(mut self, read: fn(&str) -> std::io::Result<String>) -> Self {
        self.files = Some(read);
        self
    }

    /// Returns the sources of secrets, without the secrets file.
    pub(crate) fn secret_sources(&self) -> SecretSources {
        let hide = |(name, text): (&String, &String)| (name.clone(), Secret::new(text.as_str()));
        SecretSources { environment: self.environment.iter().map(hide).collect(), named: None, read_file: self.files }
    }
}

/// Origin of a value.
///
/// ```
/// use superstep::settings::SettingOrigin;
/// assert_eq!(SettingOrigin::Flag("server.port".into()).to_string(), "flag `server.port`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SettingOrigin {
    /// The default.
    Default,
    /// A file.
    File {
        /// Path of the file.
        path: String,
        /// Line, starting at 1.
        line: usize,
        /// Column in characters, starting at 1.
        column: usize,
    },
    /// An environment variable with this name.
    Variable(String),
    /// A command-line flag for this key.
    Flag(String),
}

impl SettingOrigin {
    /// Returns the origin for a byte offset of a text.
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

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::Variable(name) => write!(f, "environment variable `{name}`"),
            Self::Flag(key) => write!(f, "flag `{key}`"),
        }
    }
}

/// An effective setting with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExplainedSetting {
    /// Dotted key.
    pub key: String,
    /// The value for display: `***` for a secret, `none` for a setting without a value.
    pub value: String,
    /// Origin of the value.
    pub origin: SettingOrigin,
}
