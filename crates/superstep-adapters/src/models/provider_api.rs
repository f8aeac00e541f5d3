//! The providers: their names, addresses, API dialects and authentication.
//!
//! The complete URL and all headers of a request are built here: the library supports neither Azure nor servers
//! without a key, and may remove a suffix of the model name before it builds a URL.

use genai::adapter::AdapterKind;
use reqwest::Url;
use superstep_core::error::{Error, ErrorCode, Result};

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProviderApi {
    OpenAi,
    Groq,
    Azure { version: String },
    Anthropic,
    Google,
    Ollama,
    Compatible,
}

/// API dialect of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiDialect {
    /// Chat completions, as of OpenAI and many others.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's `generateContent`.
    Google,
}

/// Value of the `anthropic-version` header, which Anthropic requires.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl ProviderApi {
    /// Returns the name of the provider in model names and responses.
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

    /// Returns the default base URL; empty if the user has to set it.
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

    /// Returns the default environment variables of the key; empty if a key is optional.
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

    pub(super) fn dialect(&self) -> ApiDialect {
        match self {
            Self::Anthropic => ApiDialect::Anthropic,
            Self::Google => ApiDialect::Google,
            _ => ApiDialect::OpenAi,
        }
    }

    /// Returns the adapter of the library. Ollama is used through its OpenAI-compatible API, where it accepts
    /// schemas; the library does not send schemas to its native API.
    pub(super) fn adapter(&self) -> AdapterKind {
        match self {
            Self::Groq => AdapterKind::Groq,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Google => AdapterKind::Gemini,
            _ => AdapterKind::OpenAI,
        }
    }

    /// Returns the URL of a chat request.
    ///
    /// # Errors
    /// Returns an error if the base is not a URL.
    pub(super) fn url(&self, base: &str, model: &str, is_streaming: bool) -> Result<Url> {
        let mut url = address(base)?;
        let method = if is_streaming { "streamGenerateContent" } else { "generateContent" };
        let model_method = format!("{model}:{method}");
        let path = match self {
            Self::Azure { .. } => vec!["openai", "deployments", model, "chat", "completions"],
            Self::Anthropic => vec!["messages"],
            Self::Google => vec!["models", model_method.as_str()],
            _ => vec!["chat", "completions"],
        };
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        match self {
            Self::Azure { version } => drop(url.query_pairs_mut().append_pair("api-version", version)),
            Self::Google if is_streaming => drop(url.query_pairs_mut().append_pair("alt", "sse")),
            _ => {}
        }
        Ok(url)
    }

    /// Returns the headers of every request.
    pub(super) fn default_headers(&self, key: Option<&str>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if let Some(key) = key {
            let (name, value) = match self {
                Self::Azure { .. } => ("api-key", key.to_owned()),
                Self::Anthropic => ("x-api-key", key.to_owned()),
                Self::Google => ("x-goog-api-key", key.to_owned()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            headers.push((name.to_owned(), value));
        }
        if *self == Self::Anthropic {
            headers.push(("anthropic-version".to_owned(), ANTHROPIC_VERSION.to_owned()));
        }
        headers
    }
}

/// Parses the base URL. The error does not contain the URL, which may include a password.
pub(super) fn address(base: &str) -> Result<Url> {
    let url_error = |reason: &str| {
        Error::new(ErrorCode::ConfigInvalid, format!("the base URL of a model {reason}"))
            .with_help("set a complete URL, such as `https://models.example/v1`")
    };
    let url = Url::parse(base).map_err(|error| url_error(&format!("is not a valid URL: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(url_error(&format!("has the scheme `{other}` instead of `http` or `https`"))),
    }
}

/// Returns true if a URL is on this machine, which is accessed without a proxy.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-70: the URL of each provider, with and without a trailing slash, with a query in the base, and with
    /// characters in a name that have to be escaped.
    #[test]
    fn addresses_are_made_of_base_and_model() {
        let azure = ProviderApi::Azure { version: "2024-10-21".to_owned() };
        let rows = [
            (&ProviderApi::OpenAi, "https://a.example/v1", "m", "https://a.example/v1/chat/completions"),
            (
                &ProviderApi::Compatible,
                "http://a.example/v1/?team=x",
                "m",
                "http://a.example/v1/chat/completions?team=x",
            ),
            (
                &azure,
                "https://a.example/",
                "my deployment",
                "https://a.example/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
            ),
            (&ProviderApi::Anthropic, "https://a.example/v1/", "m", "https://a.example/v1/messages"),
            (
                &ProviderApi::Google,
                "https://a.example/v1beta",
                "gemini-2.5-flash",
                "https://a.example/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            ),
            (
                &ProviderApi::Google,
                "https://a.example/v1beta",
                "a/b?c",
                "https://a.example/v1beta/models/a%2Fb%3Fc:streamGenerateContent?alt=sse",
            ),
        ];
        for (service, base, model, expected) in rows {
            assert_eq!(service.url(base, model, true).unwrap().as_str(), expected);
        }
        for base in ["", "models.example", "file:///etc", "secret pass://"] {
            let error = ProviderApi::OpenAi.url(base, "m", false).unwrap_err();
            assert_eq!(
                (error.code(), error.to_string().contains("secret")),
                (ErrorCode::ConfigInvalid, false),
                "{base}"
            );
        }
    }
}
