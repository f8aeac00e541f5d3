//! A server on the web, over streamable HTTP: where it is, what it is told with every request, how it is reached.
//!
//! Sends what it was given and nothing of whoever calls: a token of a caller is never passed on. Follows no redirect,
//! which would take the token along.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use superstep_core::error::{Code, Error, Result};

use super::address;
use super::client::Client;
use super::connection::{Connection, PATIENCE};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// A server on the web that is to be connected to; see [`Client::http`].
#[must_use]
#[derive(Clone)]
pub struct Remote {
    address: String,
    bearer: Option<String>,
    headers: BTreeMap<String, String>,
    allowed: Vec<String>,
    timeout: Duration,
}

/// Headers may be secrets.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("server", &self.name()).finish_non_exhaustive()
    }
}

impl Remote {
    pub(super) fn new(address: String) -> Self {
        Self { address, bearer: None, headers: BTreeMap::new(), allowed: Vec::new(), timeout: PATIENCE }
    }

    /// Sets the token that is sent as `Authorization: Bearer`.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        self.bearer = Some(token.into());
        self
    }

    /// Adds a header to every request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Allows this host, `host` or `host:port`, although it is private or not encrypted.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed.push(host.into());
        self
    }

    /// Sets how long it may take to answer, each time; 60 seconds unless told.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Connects. A connection that is lost comes back with the next request.
    ///
    /// # Errors
    /// When the address is not allowed, a header is none, or the server does not answer in the protocol.
    pub async fn connect(self) -> Result<Client> {
        Connection::web(self.timeout, self).await.map(Client::new)
    }

    /// What the server is called: its host.
    pub(super) fn name(&self) -> String {
        let url = reqwest::Url::parse(&self.address).ok();
        let host = url.as_ref().and_then(|url| url.host_str());
        host.unwrap_or("of no host").to_owned()
    }

    /// # Errors
    /// As for [`Remote::connect`].
    pub(super) fn transport(&self) -> Result<StreamableHttpClientTransport<reqwest::Client>> {
        let (url, reach) = address::check(&self.address, &self.allowed)?;
        // Behind a proxy nobody could check where a name leads. Connections are not kept: the library leaves answers
        // half-read, and the next request on such a connection waits for the rest.
        let builder = crate::web::builder()?.no_proxy().redirect(redirect::Policy::none()).connect_timeout(CONNECT);
        let client = builder.dns_resolver(reach).pool_max_idle_per_host(0).build();
        let client = client.map_err(|error| Error::new(Code::ConfigInvalid, format!("no client for HTTP: {error}")))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        config.auth_header.clone_from(&self.bearer);
        for (name, value) in &self.headers {
            // The value is not repeated: it may be a secret.
            let wrong = || Error::new(Code::ConfigInvalid, format!("`{name}` is no header, or its value is none"));
            let header = HeaderName::try_from(name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            config.custom_headers.insert(header, value);
        }
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }
}
