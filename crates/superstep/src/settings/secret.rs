//! Text that must not be seen, and the references that lead to it.
//!
//! A secret stands in the environment, in the secrets file or in a file of its own; `superstep.toml` and flags only
//! refer to it. Nothing here puts the text of a secret into a message.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use superstep_core::fault::Fault;
use superstep_core::suggest::did_you_mean;

/// What is shown instead of a secret.
const MASK: &str = "***";

/// Text that prints as `***`, however it is printed.
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
    /// Takes the text out of sight.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text, for the one call that needs it.
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

/// Text of a setting that may hold a secret: in the clear when it stood in the file, hidden when it was referred to or
/// came from the environment.
#[derive(Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Guarded {
    /// A literal of the file or of a flag.
    Plain(String),
    /// Something nobody should see.
    Hidden(Secret),
}

impl Guarded {
    /// The text, for the one call that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Hidden(secret) => secret.expose(),
        }
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Hidden(secret) => secret.fmt(f),
        }
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => write!(f, "{text:?}"),
            Self::Hidden(secret) => secret.fmt(f),
        }
    }
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// An environment variable.
    Variable(String),
    /// A file of its own.
    File(String),
    /// A name in the secrets file.
    Named(String),
}

impl Reference {
    /// Reads `env:NAME`, `file:PATH` or `secret:NAME`; nothing when the text is no reference.
    pub(crate) fn read(text: &str) -> Option<Result<Self, Fault>> {
        let (scheme, name) = text.split_once(':')?;
        // The name is not repeated when it is refused: somebody may have pasted the secret itself behind the colon.
        let named = |make: fn(String) -> Self| match is_name(name) {
            true => Ok(make(name.to_owned())),
            false => Err(Fault::new(format!("`{scheme}:` is not followed by a name")).help(HOW)),
        };
        match scheme {
            "env" => Some(named(Self::Variable)),
            "secret" => Some(named(Self::Named)),
            "file" if name.is_empty() => Some(Err(Fault::new("`file:` is not followed by a path").help(HOW))),
            "file" => Some(Ok(Self::File(name.to_owned()))),
            _ => None,
        }
    }
}

/// How to refer to a secret.
pub(crate) const HOW: &str = "refer to it: `env:NAME`, `file:PATH`, or `secret:NAME` for a line of the secrets file";

/// Letters, digits, `_` and `-`: what both an environment variable and a bare TOML key may be called.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a variable or a query parameter of that name usually holds a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    const ENDINGS: [&str; 7] = ["key", "token", "secret", "password", "passwd", "credentials", "authorization"];
    let name = name.to_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Reads a file that a setting names.
pub(crate) type ReadFile = fn(&str) -> std::io::Result<String>;

/// The places where secrets are.
#[derive(Default)]
pub(crate) struct Vault {
    /// The whole environment.
    pub(crate) environment: BTreeMap<String, Secret>,
    /// The lines of the secrets file, if there is one.
    pub(crate) named: Option<BTreeMap<String, Secret>>,
    /// How to read a file; nothing where no file may be read.
    pub(crate) read_file: Option<ReadFile>,
}

impl Vault {
    /// Follows a reference.
    pub(crate) fn open(&self, reference: &Reference) -> Result<Secret, Fault> {
        let secret = match reference {
            Reference::Variable(name) => self.variable(name)?,
            Reference::Named(name) => self.line(name)?,
            Reference::File(path) => self.file(path)?,
        };
        match secret.expose().is_empty() {
            true => Err(Fault::new(format!("{} is empty", reference.place()))),
            false => Ok(secret),
        }
    }

    fn variable(&self, name: &str) -> Result<Secret, Fault> {
        self.environment.get(name).cloned().ok_or_else(|| {
            let near = did_you_mean(name, self.environment.keys().map(String::as_str));
            let help = near.unwrap_or_else(|| format!("set `{name}`, or refer to another place"));
            Fault::new(format!("environment variable `{name}` is not set")).help(help)
        })
    }

    fn line(&self, name: &str) -> Result<Secret, Fault> {
        let Some(named) = &self.named else {
            return Err(Fault::new(format!("`secret:{name}` needs a secrets file")).help("set `secrets_file`"));
        };
        named.get(name).cloned().ok_or_else(|| {
            let near = did_you_mean(name, named.keys().map(String::as_str));
            let help = near.unwrap_or_else(|| format!("add a line `{name} = \"...\"` to it"));
            Fault::new(format!("the secrets file has no `{name}`")).help(help)
        })
    }

    fn file(&self, path: &str) -> Result<Secret, Fault> {
        let Some(read_file) = self.read_file else {
            return Err(Fault::new(format!("`file:{path}` cannot be followed where files are not read")));
        };
        match read_file(path) {
            Ok(text) => Ok(Secret::new(text.trim_end_matches(['\r', '\n']))),
            Err(error) => Err(Fault::new(format!("file `{path}` cannot be read: {}", error.kind()))),
        }
    }
}

impl Reference {
    fn place(&self) -> String {
        match self {
            Self::Variable(name) => format!("environment variable `{name}`"),
            Self::Named(name) => format!("`{name}` of the secrets file"),
            Self::File(path) => format!("file `{path}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> Vault {
        let environment = [("TOKEN", "MARKER-1"), ("EMPTY", "")];
        Vault {
            environment: environment.map(|(name, text)| (name.to_owned(), Secret::new(text))).into(),
            named: Some([("groq".to_owned(), Secret::new("MARKER-2"))].into()),
            read_file: Some(|path| match path {
                "run/key" => Ok("MARKER-3\n".to_owned()),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }),
        }
    }

    /// R-FWK-54: a secret comes from the environment, the secrets file or a file of its own.
    #[test]
    fn a_reference_leads_to_the_text_or_to_a_fault_that_names_the_place() {
        let rows = [
            ("env:TOKEN", Ok("MARKER-1")),
            ("secret:groq", Ok("MARKER-2")),
            ("file:run/key", Ok("MARKER-3")),
            ("env:TOKN", Err("environment variable `TOKN` is not set")),
            ("env:EMPTY", Err("environment variable `EMPTY` is empty")),
            ("secret:grok", Err("the secrets file has no `grok`")),
            ("file:run/keys", Err("file `run/keys` cannot be read: entity not found")),
        ];
        for (text, expected) in rows {
            let reference = Reference::read(text).unwrap().unwrap();
            let found = vault().open(&reference);
            let found = found.as_ref().map(Secret::expose).map_err(|fault| fault.message.as_str());
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(
            vault().open(&Reference::Variable("TOKN".into())).unwrap_err().help.unwrap(),
            "did you mean `TOKEN`?"
        );
    }

    /// R-FWK-54: nothing of a secret is echoed, not even when it was pasted behind the colon.
    #[test]
    fn a_refused_reference_does_not_repeat_what_follows_the_colon() {
        for text in ["env:", "env:sk.MARKER", "secret:MARKER+/=", "file:"] {
            let fault = Reference::read(text).unwrap().unwrap_err();
            assert!(!format!("{fault:?}").contains("MARKER"), "{fault:?}");
        }
        assert!(Reference::read("sk-MARKER").is_none());
        assert!(Reference::read("https://host").is_none());
    }

    /// R-FWK-54: a secret is never echoed.
    #[test]
    fn a_secret_prints_as_three_stars_in_every_way() {
        let secret = Secret::new("MARKER");
        let hidden = Guarded::Hidden(secret.clone());
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
            assert!(looks_secret(name), "{name}");
        }
        for name in ["LANG", "KEYBOARD", "api-version", "TOKENIZER"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
