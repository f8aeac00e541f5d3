//! An MCP server over streamable HTTP: its address, its headers, and the HTTP client.
//!
//! Sends only the configured headers: a token of an incoming request is never passed on. Redirects are not followed,
//! because they would receive the token.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use superstep_core::error::{Error, ErrorCode, Result};

use super::address_policy;
use super::client::McpClient;
use super::connection::{Connection, DEFAULT_TIMEOUT};

/// Timeout of the TCP and TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Configuration of a server over HTTP; see [`McpClient::http`].
#[must_use]
#[derive(Clone)]
pub struct HttpEndpoint {
    address: String,
    bearer: Option<String>,
    headers: BTreeMap<String, String>,
    allowed_hosts: Vec<String>,
    timeout: Duration,
}

/// Hides the headers, which may contain secrets.
impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").field("server", &self.name()).finish_non_exhaustive()
    }
}

impl HttpEndpoint {
    pub(super) fn new(address: String) -> Self {
        Self { address, bearer: None, headers: BTreeMap::new(), allowed_hosts: Vec::new(), timeout: DEFAULT_TIMEOUT }
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

    /// Allows a host, as `host` or `host:port`, even if its address is private or not encrypted.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Sets the timeout of each request. Default: 60 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Connects to the server. A lost connection is established again with the next request.
    ///
    /// # Errors
    /// Returns an error if the address is not permitted, a header is invalid, or the server does not support the
    /// protocol.
    pub async fn connect(self) -> Result<McpClient> {
        Connection::http(self.timeout, self).await.map(McpClient::new)
    }

    /// Returns the name of the server in errors, which is its host.
    pub(super) fn name(&self) -> String {
        let url = reqwest::Url::parse(&self.address).ok();
        let host = url.as_ref().and_then(|url| url.host_str());
        host.unwrap_or("unknown host").to_owned()
    }

    /// Builds the HTTP transport for the address, after checking the address and the headers.
    ///
    /// # Errors
    /// Returns the errors of [`HttpEndpoint::connect`].
    pub(super) fn transport(&self) -> Result<StreamableHttpClientTransport<reqwest::Client>> {
        let (url, policy) = address_policy::check(&self.address, &self.allowed_hosts)?;
        // No proxy: it would resolve the host name itself, and the address could not be checked. No idle connections:
        // the library does not read responses to their end, and the next request on such a connection would wait for
        // the rest.
        let builder = crate::http::client::builder()?
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT);
        let client = builder.dns_resolver(policy).pool_max_idle_per_host(0).build();
        let client = client.map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("failed to create the HTTP client: {error}"))
        })?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        config.auth_header.clone_from(&self.bearer);
        for (name, value) in &self.headers {
            // The value is not repeated in the error: it may be a secret.
            let invalid_header =
                || Error::new(ErrorCode::ConfigInvalid, format!("invalid name or value of the header `{name}`"));
            let header = HeaderName::try_from(name).map_err(|_| invalid_header())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| invalid_header())?;
            value.set_sensitive(true);
            config.custom_headers.insert(header, value);
        }
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }
}
