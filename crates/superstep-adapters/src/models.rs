//! Language models of providers over HTTP: OpenAI, Groq, Azure OpenAI, Anthropic, Google, Ollama, and every server
//! with an OpenAI-compatible API.
//!
//! `provider_api` defines the address and the authentication of each provider, `request` and `messages` build requests;
//! a response is streamed (`streaming`) or read at once (`non_streaming`) and assembled in `accumulator`; `error`
//! converts errors, using the error bodies of providers (`provider_error`). Nothing is retried here: retries are the
//! decision of the caller.
//!
//! The library `genai` writes and parses the JSON of each provider; its types are not part of the public API.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Proxy, redirect};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelErrorKind, ModelInfo, ModelKind};
use superstep_core::port::{ChunkSender, Model};
use superstep_core::suggest::did_you_mean_or_list;

mod accumulator;
mod call;
mod error;
mod messages;
mod non_streaming;
mod provider_api;
mod provider_error;
mod request;
mod streaming;

use call::PreparedCall;
use provider_api::{ProviderApi, address, is_loopback};

/// A chat model of a provider.
///
/// Without an explicit key, the key is read from the environment for each call: `OPENAI_API_KEY`, `GROQ_API_KEY`,
/// `AZURE_OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `GOOGLE_API_KEY`. The key never appears in debug
/// output or errors.
///
/// ```no_run
/// use std::time::Duration;
/// use superstep_adapters::models::ProviderModel;
/// use superstep_core::port::SharedModel;
///
/// # async fn example() -> superstep_core::error::Result<()> {
/// let groq = ProviderModel::groq("llama-3.1-8b-instant").idle_timeout(Duration::from_secs(20));
/// let model = SharedModel::from(groq);
/// let answer = model.complete("What is a superstep?").await?;
/// println!("{}: {}", answer.model, answer.message.text());
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ProviderModel {
    service: ProviderApi,
    name: Arc<str>,
    base: String,
    api_key: ApiKeySource,
    headers: Vec<(String, String)>,
    timeouts: Timeouts,
    proxy: Option<String>,
    client: OnceLock<genai::Client>,
}

/// Source of the API key.
#[derive(Clone)]
enum ApiKeySource {
    Explicit(String),
    /// The first of these environment variables that is set.
    Environment(Vec<String>),
}

/// Timeouts of a call.
#[derive(Debug, Clone, Copy)]
struct Timeouts {
    connect: Duration,
    total: Duration,
    idle: Duration,
}

/// Default API version of Azure OpenAI: its newest stable version.
const AZURE_VERSION: &str = "2024-10-21";

impl ProviderModel {
    fn new(service: ProviderApi, base: impl Into<String>, name: impl Into<Arc<str>>) -> Self {
        let api_key =
            ApiKeySource::Environment(service.key_variables().iter().map(|&variable| variable.to_owned()).collect());
        let timeouts = Timeouts {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(600),
            idle: Duration::from_secs(60),
        };
        let (base, name) = (base.into(), name.into());
        Self { service, name, base, api_key, headers: Vec::new(), timeouts, proxy: None, client: OnceLock::new() }
    }

    fn with_default_url(service: ProviderApi, name: impl Into<Arc<str>>) -> Self {
        let base = service.base();
        Self::new(service, base, name)
    }

    /// Creates a model of OpenAI, through chat completions.
    pub fn openai(model: impl Into<Arc<str>>) -> Self {
        Self::with_default_url(ProviderApi::OpenAi, model)
    }

    /// Creates a model of Groq.
    pub fn groq(model: impl Into<Arc<str>>) -> Self {
        Self::with_default_url(ProviderApi::Groq, model)
    }

    /// Creates a model of a deployment in Azure OpenAI, at an endpoint such as `https://resource.openai.azure.com`.
    pub fn azure(endpoint: impl Into<String>, deployment: impl Into<Arc<str>>, api_version: impl Into<String>) -> Self {
        Self::new(ProviderApi::Azure { version: api_version.into() }, endpoint, deployment)
    }

    /// Creates a model of Anthropic.
    pub fn anthropic(model: impl Into<Arc<str>>) -> Self {
        Self::with_default_url(ProviderApi::Anthropic, model)
    }

    /// Creates a model of Google, through the Gemini API.
    pub fn google(model: impl Into<Arc<str>>) -> Self {
        Self::with_default_url(ProviderApi::Google, model)
    }

    /// Creates a model of Ollama on this machine, which needs no key.
    pub fn ollama(model: impl Into<Arc<str>>) -> Self {
        Self::with_default_url(ProviderApi::Ollama, model)
    }

    /// Creates a model of any server with an OpenAI-compatible API, such as `http://localhost:8000/v1`. Requests have
    /// no key unless one is set.
    pub fn openai_compatible(base_url: impl Into<String>, model: impl Into<Arc<str>>) -> Self {
        Self::new(ProviderApi::Compatible, base_url, model)
    }

    /// Sets the API key.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = ApiKeySource::Explicit(key.into());
        self
    }

    /// Sets the environment variable that contains the API key.
    pub fn api_key_env(mut self, variable: impl Into<String>) -> Self {
        self.api_key = ApiKeySource::Environment(vec![variable.into()]);
        self
    }

    /// Sets the base URL of the API, for example of a gateway.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        (self.base, self.client) = (url.into(), OnceLock::new());
        self
    }

    /// Adds a header to every request, or replaces one. Its value is treated as a secret like the key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into().to_ascii_lowercase(), value.into()));
        self
    }

    /// Sets the timeout of the TCP and TLS handshake. Default: 10 seconds.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        (self.timeouts.connect, self.client) = (time, OnceLock::new());
        self
    }

    /// Sets the timeout of a complete response. Default: 10 minutes.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeouts.total = time;
        self
    }

    /// Sets the longest time without data in a streamed response, including the time to its headers. Default: 60
    /// seconds.
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.timeouts.idle = time;
        self
    }

    /// Sets the proxy of all requests, which replaces the proxies of the environment.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        (self.proxy, self.client) = (Some(url.into()), OnceLock::new());
        self
    }

    /// Checks that the required API key is present, without sending a request.
    ///
    /// # Errors
    /// Returns an error if there is no key; the error names the environment variables that were checked.
    pub fn check(&self) -> Result<()> {
        self.find_key(&self.info()).map(drop)
    }

    /// Returns the API key, or `None` if the provider may be used without one.
    fn find_key(&self, info: &ModelInfo) -> Result<Option<String>> {
        let variables = match &self.api_key {
            ApiKeySource::Explicit(key) if !key.trim().is_empty() => return Ok(Some(key.clone())),
            ApiKeySource::Explicit(_) if self.service.key_variables().is_empty() => return Ok(None),
            ApiKeySource::Explicit(_) => {
                return Err(ModelErrorKind::MissingApiKey.error(info, "the API key is empty"));
            }
            ApiKeySource::Environment(variables) => variables,
        };
        let values = variables.iter().filter_map(|variable| std::env::var(variable).ok());
        let key = values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty());
        if key.is_some() || variables.is_empty() {
            return Ok(key);
        }
        let names = variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
        let error = ModelErrorKind::MissingApiKey.error(info, format!("no API key: {names} is not set"));
        Err(error.with_help(format!("set {names} in the environment, or set the API key of the model")))
    }

    fn client(&self) -> Result<&genai::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let new_client = self.connect()?;
        Ok(self.client.get_or_init(|| new_client))
    }

    fn connect(&self) -> Result<genai::Client> {
        // A redirect would send the key to another address.
        let builder = crate::http::client::builder()?
            .connect_timeout(self.timeouts.connect)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")));
        let builder = match &self.proxy {
            Some(url) => {
                builder.proxy(Proxy::all(url).map_err(|_| config_error("the proxy of a model is not a valid URL"))?)
            }
            None if is_loopback(&address(&self.base)?) => builder.no_proxy(),
            None => builder,
        };
        let client = builder.build().map_err(|_| config_error("failed to create the HTTP client of a model"))?;
        let genai_client = genai::Client::builder().with_reqwest(client).build();
        genai_client.map_err(|_| config_error("failed to create the client of a model"))
    }
}

/// Returns a configuration error without its cause, which may contain a URL with a password.
fn config_error(message: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, message).with_help("check its proxy and its base URL")
}

impl Model for ProviderModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new(self.service.name(), self.name.clone(), ModelKind::Remote)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let call = PreparedCall::prepare(self, request, out.has_listener())?;
        // The futures of the library are large, and a caller may hold many of them.
        match out.has_listener() {
            true => Box::pin(streaming::generate(call, out)).await,
            false => Box::pin(non_streaming::generate(call)).await,
        }
    }
}

/// Hides all secrets: the key, the headers, and password and query of the URL.
impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = address(&self.base).ok().map(|url| url.origin().ascii_serialization());
        f.debug_struct("ProviderModel")
            .field("model", &self.info().to_string())
            .field("at", &host.unwrap_or_default())
            .field("times", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Provider prefixes of model names.
const PROVIDER_NAMES: [&str; 6] = ["openai", "groq", "azure", "anthropic", "google", "ollama"];

/// Creates the model of a name such as `groq/llama-3.1-8b-instant`, as used in settings and on command lines.
///
/// For Azure, the name is that of the deployment; `AZURE_OPENAI_ENDPOINT` sets its endpoint,
/// `AZURE_OPENAI_API_VERSION` optionally the API version.
///
/// ```
/// use superstep_adapters::models;
/// use superstep_core::port::Model;
///
/// let model = models::from_name("anthropic/claude-sonnet-4-5")?;
/// assert_eq!(model.info().to_string(), "anthropic/claude-sonnet-4-5 (remote)");
/// assert!(models::from_name("antropic/claude").unwrap_err().to_string().contains("did you mean `anthropic`?"));
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the provider is unknown, the name of the model is missing, or the endpoint of Azure is not
/// set.
pub fn from_name(name: &str) -> Result<ProviderModel> {
    from_name_with(name, &|variable| std::env::var(variable).ok())
}

/// Creates the model of a name; reads environment variables with `variable`.
fn from_name_with(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<ProviderModel> {
    let Some((service, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) else {
        let message = format!("`{name}` does not have the form `provider/model`");
        return Err(
            Error::new(ErrorCode::ConfigInvalid, message).with_help("use a name such as `groq/llama-3.1-8b-instant`")
        );
    };
    match service {
        "openai" => Ok(ProviderModel::openai(model)),
        "groq" => Ok(ProviderModel::groq(model)),
        "azure" => azure_from_environment(model, variable),
        "anthropic" => Ok(ProviderModel::anthropic(model)),
        "google" => Ok(ProviderModel::google(model)),
        "ollama" => Ok(ProviderModel::ollama(model)),
        other => {
            let message = format!("unknown provider `{other}`");
            Err(Error::new(ErrorCode::ConfigInvalid, message).with_help(did_you_mean_or_list(other, &PROVIDER_NAMES)))
        }
    }
}

fn azure_from_environment(deployment: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<ProviderModel> {
    let endpoint = variable("AZURE_OPENAI_ENDPOINT").ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, format!("the endpoint of `azure/{deployment}` is not set"))
            .with_help("set `AZURE_OPENAI_ENDPOINT` to an address such as `https://resource.openai.azure.com`")
    })?;
    let version = variable("AZURE_OPENAI_API_VERSION").unwrap_or_else(|| AZURE_VERSION.to_owned());
    Ok(ProviderModel::azure(endpoint, deployment, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-70: the endpoint of Azure is read from the environment, and the error names the variable.
    #[test]
    fn the_azure_endpoint_is_read_from_the_environment() {
        let error = from_name_with("azure/support-bot", &|_| None).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.to_string().contains("`AZURE_OPENAI_ENDPOINT`"), "{error}");
        let endpoint =
            |name: &str| (name == "AZURE_OPENAI_ENDPOINT").then(|| "https://resource.openai.azure.com".to_owned());
        let model = from_name_with("azure/support-bot", &endpoint).unwrap();
        assert_eq!(model.info().to_string(), "azure/support-bot (remote)");
    }
}
