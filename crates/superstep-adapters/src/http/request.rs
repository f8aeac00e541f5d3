//! HTTP requests of stores: sends one request once and returns the result. Also contains the backoff between retries.
//!
//! The adapters interpret responses and decide about retries. Requests are never logged: they may contain a token or
//! a value.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, Url, redirect};
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::time::timeout;

/// Timeout of the TCP and TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Text of a timeout.
const NO_RESPONSE_MESSAGE: &str = "request timed out";
/// First and longest delay before a retry.
const BACKOFF_RANGE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The HTTP clients: one for remote hosts, which uses the proxies of the environment, and one for this machine.
pub(crate) struct HttpClients {
    pub(crate) proxied: Client,
    pub(crate) direct: Client,
}

/// Result of sending a request.
pub(crate) enum SendResult {
    /// A response.
    Response(HttpResponse),
    /// No response: the request may or may not have been received.
    NoResponse(String),
}

/// An HTTP response.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the requested retry delay.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.header("retry-after")?.trim().parse().ok()?))
    }
}

impl HttpClients {
    /// Creates both clients.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be initialized.
    pub(crate) fn new() -> Result<Self> {
        // A redirect would send the credentials to another address.
        let builder = || {
            crate::http::client::builder()
                .map(|builder| builder.connect_timeout(CONNECT_TIMEOUT).redirect(redirect::Policy::none()))
        };
        let client_error = |error: reqwest::Error| {
            Error::new(ErrorCode::StoreUnavailable, format!("failed to create the HTTP client: {}", reason(&error)))
                .with_retryable(false)
        };
        let proxied = builder()?.build().map_err(client_error)?;
        Ok(Self { proxied, direct: builder()?.no_proxy().build().map_err(client_error)? })
    }
}

/// Sends a request. The timeout applies to the headers and to each pause within the body; the total duration of the
/// body is not limited because its length is unknown.
pub(crate) async fn send(request: RequestBuilder, read_timeout: Duration) -> SendResult {
    let mut response = match timeout(read_timeout, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return SendResult::NoResponse(reason(&error)),
        Err(_) => return SendResult::NoResponse(NO_RESPONSE_MESSAGE.to_owned()),
    };
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    loop {
        match timeout(read_timeout, response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None)) => return SendResult::Response(HttpResponse { status, headers, body }),
            Ok(Err(error)) => return SendResult::NoResponse(reason(&error)),
            Err(_) => return SendResult::NoResponse(NO_RESPONSE_MESSAGE.to_owned()),
        }
    }
}

/// Returns the text of the deepest cause, without the URL, which the caller adds.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return NO_RESPONSE_MESSAGE.to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Returns true if a URL is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Returns true if a status is transient.
pub(crate) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

/// Returns the beginning of a foreign text without control characters.
pub(crate) fn truncate(text: &str) -> String {
    text.chars().take(300).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Marks an error after which the outcome of earlier attempts is unknown.
pub(crate) fn outcome_unknown(error: Error) -> Error {
    error
        .with_retryable(true)
        .with_help("the last write may or may not be committed; earlier writes are; fix the cause, then try again")
}

/// Returns a random token.
pub(crate) fn token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorCode::StoreUnavailable, format!("failed to generate random bytes: {error}"))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Exponential backoff with a time limit.
pub(crate) struct Backoff {
    started: Instant,
    retry_timeout: Duration,
    next_delay: Duration,
}

impl Backoff {
    pub(crate) fn new(retry_timeout: Duration) -> Self {
        Self { started: Instant::now(), retry_timeout, next_delay: BACKOFF_RANGE.0 }
    }

    /// Waits for the requested time or the next delay; returns false if the time limit would be exceeded.
    pub(crate) async fn wait(&mut self, retry_after: Option<Duration>) -> bool {
        // Jitter: clients that were rejected together do not retry together.
        let mut random = [0; 1];
        let jitter = getrandom::fill(&mut random).map_or(128, |()| u32::from(random[0]));
        let delay = retry_after.unwrap_or(self.next_delay / 2 + self.next_delay * jitter / 512);
        self.next_delay = (self.next_delay * 2).min(BACKOFF_RANGE.1);
        if self.started.elapsed().saturating_add(delay) > self.retry_timeout {
            return false;
        }
        tokio::time::sleep(delay).await;
        true
    }
}
