//! The services that can be asked: what each is called, where it is, how it speaks and where it wants its key.
//!
//! The whole address and the whole head of a request are made here, because the library behind this door knows neither
//! Azure nor servers without a key, and may cut words off a model's name before it makes an address of it.

use genai::adapter::AdapterKind;
use reqwest::Url;
use superstep_core::error::{Code, Error, Result};

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Service {
    OpenAi,
    Groq,
    Azure { version: String },
    Anthropic,
    Google,
    Ollama,
    Compatible,
}

/// How a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Chat completions, as OpenAI and many others have them.
    OpenAi,
    /// Messages.
    Anthropic,
    /// `generateContent`.
    Google,
}

/// The version of Anthropic's protocol, which it wants to be told.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Service {
    /// What it is called in names and answers.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Groq => "groq",
            Self::Azure { .. } => "azure",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Ollama => "ollama",
            Self::Compatible => "compatible",
        }
    }

    /// Where it is unless told; nothing for those that are wherever the user has them.
    pub(super) fn base(&self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Groq => "https://api.groq.com/openai/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Google => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://localhost:11434/v1",
            Self::Azure { .. } | Self::Compatible => "",
        }
    }

    /// Where its key is unless told; nothing for those that may do without one.
    pub(super) fn key_variables(&self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Groq => &["GROQ_API_KEY"],
            Self::Azure { .. } => &["AZURE_OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Google => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama | Self::Compatible => &[],
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Anthropic => Dialect::Anthropic,
            Self::Google => Dialect::Google,
            _ => Dialect::OpenAi,
        }
    }

    /// What the library calls it. Ollama is asked at the address where it speaks as OpenAI does, because there it takes
    /// schemas, which the library does not send to it otherwise.
    pub(super) fn adapter(&self) -> AdapterKind {
        match self {
            Self::Groq => AdapterKind::Groq,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Google => AdapterKind::Gemini,
            _ => AdapterKind::OpenAI,
        }
    }

    /// The address of a request for an answer.
    ///
    /// # Errors
    /// When the base is not an address.
    pub(super) fn url(&self, base: &str, model: &str, in_pieces: bool) -> Result<Url> {
        let mut url = address(base)?;
        let method = if in_pieces { "streamGenerateContent" } else { "generateContent" };
        let asked = format!("{model}:{method}");
        let path = match self {
            Self::Azure { .. } => vec!["openai", "deployments", model, "chat", "completions"],
            Self::Anthropic => vec!["messages"],
            Self::Google => vec!["models", asked.as_str()],
            _ => vec!["chat", "completions"],
        };
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        match self {
            Self::Azure { version } => drop(url.query_pairs_mut().append_pair("api-version", version)),
            Self::Google if in_pieces => drop(url.query_pairs_mut().append_pair("alt", "sse")),
            _ => {}
        }
        Ok(url)
    }

    /// The lines of the head that every request has.
    pub(super) fn head(&self, key: Option<&str>) -> Vec<(String, String)> {
        let mut head = Vec::new();
        if let Some(key) = key {
            let (name, value) = match self {
                Self::Azure { .. } => ("api-key", key.to_owned()),
                Self::Anthropic => ("x-api-key", key.to_owned()),
                Self::Google => ("x-goog-api-key", key.to_owned()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            head.push((name.to_owned(), value));
        }
        if *self == Self::Anthropic {
            head.push(("anthropic-version".to_owned(), ANTHROPIC_VERSION.to_owned()));
        }
        head
    }
}

/// The base as an address. What is wrong is told without it: an address may hold a password.
pub(super) fn address(base: &str) -> Result<Url> {
    let refused = |why: &str| {
        Error::new(Code::ConfigInvalid, format!("the base URL of a model {why}"))
            .help("write it whole, such as `https://models.example/v1`")
    };
    let url = Url::parse(base).map_err(|error| refused(&format!("is not an address: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(refused(&format!("begins with `{other}:`"))),
    }
}

/// Whether an address is on this machine, where no proxy leads.
pub(super) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-70: the address of each service, with and without a slash at the end, with what was asked for in the base,
    /// and with letters in a name that an address cannot hold.
    #[test]
    fn addresses_are_made_of_base_and_model() {
        let azure = Service::Azure { version: "2024-10-21".to_owned() };
        let rows = [
            (&Service::OpenAi, "https://a.example/v1", "m", "https://a.example/v1/chat/completions"),
            (&Service::Compatible, "http://a.example/v1/?team=x", "m", "http://a.example/v1/chat/completions?team=x"),
            (
                &azure,
                "https://a.example/",
                "my deployment",
                "https://a.example/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
            ),
            (&Service::Anthropic, "https://a.example/v1/", "m", "https://a.example/v1/messages"),
            (
                &Service::Google,
                "https://a.example/v1beta",
                "gemini-2.5-flash",
                "https://a.example/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            ),
            (
                &Service::Google,
                "https://a.example/v1beta",
                "a/b?c",
                "https://a.example/v1beta/models/a%2Fb%3Fc:streamGenerateContent?alt=sse",
            ),
        ];
        for (service, base, model, expected) in rows {
            assert_eq!(service.url(base, model, true).unwrap().as_str(), expected);
        }
        for base in ["", "models.example", "file:///etc", "secret pass://"] {
            let error = Service::OpenAi.url(base, "m", false).unwrap_err();
            assert_eq!((error.code(), error.to_string().contains("secret")), (Code::ConfigInvalid, false), "{base}");
        }
    }
}
