//! Language models of providers over HTTP: OpenAI, Groq, Azure OpenAI, Anthropic, Google, Ollama, and every server that
//! speaks as OpenAI does.
//!
//! Where a service is and how it wants its key is in `service`, what is asked in `ask` and `parts`; an answer comes in
//! pieces (`pieces`) or at once (`whole`) and is put together in `gathered`; what goes wrong is told apart in `trouble`
//! from what the provider says (`said`). Nothing is tried again here: whoever calls knows whether to.
//!
//! Each provider's JSON is written and read by the library `genai`, which stays behind this door.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Proxy, redirect};
use superstep_core::error::{Code, Error, Result};
use superstep_core::model::{Answer, ModelInfo, ModelKind, Request, Trouble};
use superstep_core::port::{Model, Pieces};
use superstep_core::suggest::known_names;

mod ask;
mod call;
mod gathered;
mod parts;
mod pieces;
mod said;
mod service;
mod trouble;
mod whole;

use call::Call;
use service::{Service, address, is_here};

/// A model of a provider.
///
/// The key is taken from the environment when the model is asked, unless it is given: `OPENAI_API_KEY`, `GROQ_API_KEY`,
/// `AZURE_OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `GOOGLE_API_KEY`. It is never printed and stands in
/// no error.
///
/// ```no_run
/// use std::time::Duration;
/// use superstep_adapters::models::Provider;
/// use superstep_core::port::SharedModel;
///
/// # async fn ask() -> superstep_core::error::Result<()> {
/// let groq = Provider::groq("llama-3.1-8b-instant").idle_timeout(Duration::from_secs(20));
/// let model = SharedModel::from(groq);
/// let answer = model.complete("What is a superstep?").await?;
/// println!("{} says: {}", answer.model, answer.message.text());
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Provider {
    service: Service,
    name: Arc<str>,
    base: String,
    key: Key,
    headers: Vec<(String, String)>,
    times: Times,
    proxy: Option<String>,
    client: OnceLock<genai::Client>,
}

/// Where a key is.
#[derive(Clone)]
enum Key {
    Given(String),
    /// In the first of these variables of the environment that is set.
    In(Vec<String>),
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
struct Times {
    connect: Duration,
    total: Duration,
    idle: Duration,
}

/// What Azure speaks unless told: its newest stable version of this interface.
const AZURE_VERSION: &str = "2024-10-21";

impl Provider {
    fn new(service: Service, base: impl Into<String>, name: impl Into<Arc<str>>) -> Self {
        let key = Key::In(service.key_variables().iter().map(|&variable| variable.to_owned()).collect());
        let times =
            Times { connect: Duration::from_secs(10), total: Duration::from_secs(600), idle: Duration::from_secs(60) };
        let (base, name) = (base.into(), name.into());
        Self { service, name, base, key, headers: Vec::new(), times, proxy: None, client: OnceLock::new() }
    }

    fn at_home(service: Service, name: impl Into<Arc<str>>) -> Self {
        let base = service.base();
        Self::new(service, base, name)
    }

    /// A model of OpenAI, through chat completions.
    pub fn openai(model: impl Into<Arc<str>>) -> Self {
        Self::at_home(Service::OpenAi, model)
    }

    /// A model of Groq.
    pub fn groq(model: impl Into<Arc<str>>) -> Self {
        Self::at_home(Service::Groq, model)
    }

    /// A deployment in Azure OpenAI, at an endpoint such as `https://resource.openai.azure.com`.
    pub fn azure(endpoint: impl Into<String>, deployment: impl Into<Arc<str>>, api_version: impl Into<String>) -> Self {
        Self::new(Service::Azure { version: api_version.into() }, endpoint, deployment)
    }

    /// A model of Anthropic.
    pub fn anthropic(model: impl Into<Arc<str>>) -> Self {
        Self::at_home(Service::Anthropic, model)
    }

    /// A model of Google, through the Gemini API.
    pub fn google(model: impl Into<Arc<str>>) -> Self {
        Self::at_home(Service::Google, model)
    }

    /// A model that Ollama runs on this machine. It needs no key.
    pub fn ollama(model: impl Into<Arc<str>>) -> Self {
        Self::at_home(Service::Ollama, model)
    }

    /// A model behind any address that speaks as OpenAI does, such as `http://localhost:8000/v1`. It is asked without a
    /// key unless one is given.
    pub fn compatible(base_url: impl Into<String>, model: impl Into<Arc<str>>) -> Self {
        Self::new(Service::Compatible, base_url, model)
    }

    /// The key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Key::Given(key.into());
        self
    }

    /// The variable of the environment that holds the key.
    pub fn key_from(mut self, variable: impl Into<String>) -> Self {
        self.key = Key::In(vec![variable.into()]);
        self
    }

    /// Another address of the service, such as a gateway's.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        (self.base, self.client) = (url.into(), OnceLock::new());
        self
    }

    /// Adds a line to the head of every request, or replaces one. Its value is as secret as the key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into().to_ascii_lowercase(), value.into()));
        self
    }

    /// How long a connection may take to come about. 10 seconds unless told.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        (self.times.connect, self.client) = (time, OnceLock::new());
        self
    }

    /// How long a whole answer may take. 10 minutes unless told.
    pub fn total_timeout(mut self, time: Duration) -> Self {
        self.times.total = time;
        self
    }

    /// How long nothing may come of an answer that comes in pieces, its first sign included. 60 seconds unless told.
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.times.idle = time;
        self
    }

    /// The proxy for every request, in place of those that the environment names.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        (self.proxy, self.client) = (Some(url.into()), OnceLock::new());
        self
    }

    /// Whether it has the key that it needs to be asked; asks nobody.
    ///
    /// # Errors
    /// When there is none, naming the variables it was looked for in.
    pub fn check(&self) -> Result<()> {
        self.find_key(&self.info()).map(drop)
    }

    /// The key, or nothing for a service that may do without one.
    fn find_key(&self, info: &ModelInfo) -> Result<Option<String>> {
        let variables = match &self.key {
            Key::Given(key) if !key.trim().is_empty() => return Ok(Some(key.clone())),
            Key::Given(_) if self.service.key_variables().is_empty() => return Ok(None),
            Key::Given(_) => return Err(Trouble::NoKey.error(info, "the key that it was given is empty")),
            Key::In(variables) => variables,
        };
        let values = variables.iter().filter_map(|variable| std::env::var(variable).ok());
        let found = values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty());
        if found.is_some() || variables.is_empty() {
            return Ok(found);
        }
        let names = variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
        let error = Trouble::NoKey.error(info, format!("there is no key: {names} is not set"));
        Err(error.help(format!("set {names} in the environment, or give the model a key")))
    }

    fn client(&self) -> Result<&genai::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = self.connect()?;
        Ok(self.client.get_or_init(|| made))
    }

    fn connect(&self) -> Result<genai::Client> {
        // A redirect would take the key along to another address.
        let builder = crate::web::builder()?
            .connect_timeout(self.times.connect)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")));
        let builder = match &self.proxy {
            Some(url) => builder.proxy(Proxy::all(url).map_err(|_| refused("the proxy of a model is not an address"))?),
            None if is_here(&address(&self.base)?) => builder.no_proxy(),
            None => builder,
        };
        let client =
            builder.build().map_err(|_| refused("no client for HTTP can be made of the settings of a model"))?;
        let made = genai::Client::builder().with_reqwest(client).build();
        made.map_err(|_| refused("no client can be made of the settings of a model"))
    }
}

/// The causes are left out: they name addresses, which may hold a password.
fn refused(fact: &str) -> Error {
    Error::new(Code::ConfigInvalid, fact).help("look at its proxy and its base URL")
}

impl Model for Provider {
    fn info(&self) -> ModelInfo {
        ModelInfo::new(self.service.name(), self.name.clone(), ModelKind::Remote)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let call = Call::prepare(self, request, out.wants())?;
        // The futures of the library are large, and whoever calls holds many of these.
        match out.wants() {
            true => Box::pin(pieces::answer(call, out)).await,
            false => Box::pin(whole::answer(call)).await,
        }
    }
}

/// Without what is secret: neither key nor headers, and of the address neither password nor query.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = address(&self.base).ok().map(|url| url.origin().ascii_serialization());
        f.debug_struct("Provider")
            .field("model", &self.info().to_string())
            .field("at", &host.unwrap_or_default())
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// The services that a name can begin with.
const NAMES: [&str; 6] = ["openai", "groq", "azure", "anthropic", "google", "ollama"];

/// The model of a name such as `groq/llama-3.1-8b-instant`, as settings and command lines have it.
///
/// Of Azure the name is that of the deployment; `AZURE_OPENAI_ENDPOINT` says where it is, and `AZURE_OPENAI_API_VERSION`
/// may say which version of the interface to speak.
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
/// When there is no such service, or no name of a model, or Azure's endpoint is not known.
pub fn from_name(name: &str) -> Result<Provider> {
    let Some((service, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) else {
        let message = format!("`{name}` does not name a service and its model");
        return Err(Error::new(Code::ConfigInvalid, message).help("write it as in `groq/llama-3.1-8b-instant`"));
    };
    match service {
        "openai" => Ok(Provider::openai(model)),
        "groq" => Ok(Provider::groq(model)),
        "azure" => azure_from_environment(model),
        "anthropic" => Ok(Provider::anthropic(model)),
        "google" => Ok(Provider::google(model)),
        "ollama" => Ok(Provider::ollama(model)),
        other => {
            let message = format!("`{other}` is not a service that models are asked at");
            Err(Error::new(Code::ConfigInvalid, message).help(known_names(other, &NAMES)))
        }
    }
}

fn azure_from_environment(deployment: &str) -> Result<Provider> {
    let endpoint = std::env::var("AZURE_OPENAI_ENDPOINT").map_err(|_| {
        Error::new(Code::ConfigInvalid, format!("nobody says where `azure/{deployment}` is"))
            .help("set `AZURE_OPENAI_ENDPOINT` to an address such as `https://resource.openai.azure.com`")
    })?;
    let version = std::env::var("AZURE_OPENAI_API_VERSION").unwrap_or_else(|_| AZURE_VERSION.to_owned());
    Ok(Provider::azure(endpoint, deployment, version))
}
