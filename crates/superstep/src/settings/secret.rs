//! Secrets and references to them.
//!
//! A secret is stored in the environment, in the secrets file or in a separate file; `superstep.toml` and flags
//! contain references only. No message contains the text of a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use superstep_core::suggest::did_you_mean;
use superstep_core::validation_error::ValidationError;

/// Placeholder that is displayed instead of a secret.
const MASK: &str = "***";

/// Text that is always printed as `***`.
///
/// ```
/// use superstep::settings::Secret;
/// let key = Secret::new("sk-1234");
/// assert_eq!(format!("{key} {key:?}"), "*** ***");
/// assert_eq!(key.expose(), "sk-1234");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the call that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// Text of a setting that may be a secret: plain if it was written in the file, hidden if it was a reference or came
/// from the environment.
#[derive(Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MaybeSecret {
    /// A literal from the file or from a flag.
    Plain(String),
    /// A hidden text.
    Hidden(Secret),
}

impl MaybeSecret {
    /// Returns the text, for the call that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Hidden(secret) => secret.expose(),
        }
    }
}

impl fmt::Display for MaybeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Hidden(secret) => secret.fmt(f),
        }
    }
}

impl fmt::Debug for MaybeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => write!(f, "{text:?}"),
            Self::Hidden(secret) => secret.fmt(f),
        }
    }
}

/// Reference to a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretReference {
    /// An environment variable.
    Variable(String),
    /// A separate file.
    File(String),
    /// A name in the secrets file.
    Named(String),
}

impl SecretReference {
    /// Parses `env:NAME`, `file:PATH` or `secret:NAME`. Returns `None` if the text is not a reference.
    pub(crate) fn read(text: &str) -> Option<Result<Self, ValidationError>> {
        let (scheme, name) = text.split_once(':')?;
        // An invalid name is not repeated in the error: the secret itself may have been pasted after the colon.
        let parse_name = |make: fn(String) -> Self| match is_name(name) {
            true => Ok(make(name.to_owned())),
            false => Err(ValidationError::new(format!("`{scheme}:` requires a name")).with_help(REFERENCE_HELP)),
        };
        match scheme {
            "env" => Some(parse_name(Self::Variable)),
            "secret" => Some(parse_name(Self::Named)),
            "file" if name.is_empty() => {
                Some(Err(ValidationError::new("`file:` requires a path").with_help(REFERENCE_HELP)))
            }
            "file" => Some(Ok(Self::File(name.to_owned()))),
            _ => None,
        }
    }
}

/// Help text for secret references.
pub(crate) const REFERENCE_HELP: &str =
    "use a reference: `env:NAME`, `file:PATH`, or `secret:NAME` for a line of the secrets file";

/// Returns true for letters, digits, `_` and `-`: valid in environment variables and in bare TOML keys.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns true if a variable or a query parameter with this name usually holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const ENDINGS: [&str; 7] = ["key", "token", "secret", "password", "passwd", "credentials", "authorization"];
    let name = name.to_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Function that reads a file that a setting references.
pub(crate) type ReadFileFn = fn(&str) -> std::io::Result<String>;

/// Sources of secrets.
#[derive(Default)]
pub(crate) struct SecretSources {
    /// The complete environment.
    pub(crate) environment: BTreeMap<String, Secret>,
    /// Entries of the secrets file, if there is one.
    pub(crate) named: Option<BTreeMap<String, Secret>>,
    /// Function that reads a file; `None` if no file may be read.
    pub(crate) read_file: Option<ReadFileFn>,
}

impl SecretSources {
    /// Resolves a reference.
    pub(crate) fn resolve(&self, reference: &SecretReference) -> Result<Secret, ValidationError> {
        let secret = match reference {
            SecretReference::Variable(name) => self.variable(name)?,
            SecretReference::Named(name) => self.named(name)?,
            SecretReference::File(path) => self.file(path)?,
        };
        match secret.expose().is_empty() {
            true => Err(ValidationError::new(format!("{} is empty", reference.description()))),
            false => Ok(secret),
        }
    }

    fn variable(&self, name: &str) -> Result<Secret, ValidationError> {
        self.environment.get(name).cloned().ok_or_else(|| {
            let suggestion = did_you_mean(name, self.environment.keys().map(String::as_str));
            let help = suggestion.unwrap_or_else(|| format!("set `{name}`, or change the reference"));
            ValidationError::new(format!("environment variable `{name}` is not set")).with_help(help)
        })
    }

    fn named(&self, name: &str) -> Result<Secret, ValidationError> {
        let Some(entries) = &self.named else {
            return Err(ValidationError::new(format!("`secret:{name}` requires a secrets file"))
                .with_help("set `secrets_file`"));
        };
        entries.get(name).cloned().ok_or_else(|| {
            let suggestion = did_you_mean(name, entries.keys().map(String::as_str));
            let help = suggestion.unwrap_or_else(|| format!("add the line `{name} = \"...\"` to it"));
            ValidationError::new(format!("the secrets file has no `{name}`")).with_help(help)
        })
    }

    fn file(&self, path: &str) -> Result<Secret, ValidationError> {
        let Some(read_file) = self.read_file else {
            return Err(ValidationError::new(format!("`file:{path}` cannot be read: file access is disabled")));
        };
        match read_file(path) {
            Ok(text) => Ok(Secret::new(text.trim_end_matches(['\r', '\n']))),
            Err(error) => Err(ValidationError::new(format!("failed to read file `{path}`: {}", error.kind()))),
        }
    }
}

impl SecretReference {
    fn description(&self) -> String {
        match self {
            Self::Variable(name) => format!("environment variable `{name}`"),
            Self::Named(name) => format!("`{name}` in the secrets file"),
            Self::File(path) => format!("file `{path}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_sources() -> SecretSources {
        let environment = [("TOKEN", "MARKER-1"), ("EMPTY", "")];
        SecretSources {
            environment: environment.map(|(name, text)| (name.to_owned(), Secret::new(text))).into(),
            named: Some([("groq".to_owned(), Secret::new("MARKER-2"))].into()),
            read_file: Some(|path| match path {
                "run/key" => Ok("MARKER-3\n".to_owned()),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }),
        }
    }

    /// R-FWK-54: a secret comes from the environment, the secrets file or a separate file.
    #[test]
    fn secret_references_resolve_or_name_the_missing_source() {
        let rows = [
            ("env:TOKEN", Ok("MARKER-1")),
            ("secret:groq", Ok("MARKER-2")),
            ("file:run/key", Ok("MARKER-3")),
            ("env:TOKN", Err("environment variable `TOKN` is not set")),
            ("env:EMPTY", Err("environment variable `EMPTY` is empty")),
            ("secret:grok", Err("the secrets file has no `grok`")),
            ("file:run/keys", Err("failed to read file `run/keys`: entity not found")),
        ];
        for (text, expected) in rows {
            let reference = SecretReference::read(text).unwrap().unwrap();
            let resolved = secret_sources().resolve(&reference);
            let resolved = resolved.as_ref().map(Secret::expose).map_err(|error| error.message.as_str());
            assert_eq!(resolved, expected, "{text}");
        }
        assert_eq!(
            secret_sources().resolve(&SecretReference::Variable("TOKN".into())).unwrap_err().help.unwrap(),
            "did you mean `TOKEN`?"
        );
    }

    /// R-FWK-54: no part of a secret is printed, even if it was pasted after the colon.
    #[test]
    fn a_rejected_reference_does_not_repeat_what_follows_the_colon() {
        for text in ["env:", "env:sk.MARKER", "secret:MARKER+/=", "file:"] {
            let error = SecretReference::read(text).unwrap().unwrap_err();
            assert!(!format!("{error:?}").contains("MARKER"), "{error:?}");
        }
        assert!(SecretReference::read("sk-MARKER").is_none());
        assert!(SecretReference::read("https://host").is_none());
    }

    /// R-FWK-54: a secret is never printed.
    #[test]
    fn a_secret_prints_as_three_stars_in_every_way() {
        let secret = Secret::new("MARKER");
        let hidden = MaybeSecret::Hidden(secret.clone());
        let json = serde_json::to_string(&(&secret, &hidden)).unwrap();
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?} {hidden} {hidden:?} {json}"),
            r#"*** *** *** *** *** ["***","***"]"#
        );
        assert_eq!(secret.expose(), "MARKER");
    }

    #[test]
    fn names_that_usually_hold_secrets_are_known_by_their_ending() {
        for name in ["API_KEY", "GITHUB_TOKEN", "tavilyApiKey", "DB_PASSWORD", "Authorization"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["LANG", "KEYBOARD", "api-version", "TOKENIZER"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
