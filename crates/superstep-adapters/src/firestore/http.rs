//! Requests over HTTP: the only file that knows the client. Sends one request once and says what came of it.
//!
//! What an answer means, and whether to ask again, is decided elsewhere. Nothing of a request is ever printed: it may
//! hold a token or a value.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, redirect};
use superstep_core::error::{Code, Error, Result};
use tokio::time::timeout;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// What is told of a server from which nothing comes.
const SILENT: &str = "no answer in time";

/// The clients: one for the world, which goes through a proxy where the environment names one, and one for what is near.
pub(super) struct Web {
    world: Client,
    near: Client,
}

/// What came of a request.
pub(super) enum Sent {
    /// An answer.
    Answer(Answer),
    /// None: nobody knows whether the request was heard.
    Lost(String),
}

/// What a server answered.
pub(super) struct Answer {
    pub(super) status: u16,
    /// How long the server asks to wait before another try.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// A body, and what is in it.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Json(&'a str),
    Form(&'a str),
}

impl Web {
    /// # Errors
    /// When there is no TLS to be had.
    pub(super) fn new() -> Result<Self> {
        // A redirect would take the token along to another address.
        let builder =
            || crate::web::builder().map(|builder| builder.connect_timeout(CONNECT).redirect(redirect::Policy::none()));
        let failed = |error: reqwest::Error| {
            Error::new(Code::StoreUnavailable, format!("no client for HTTP: {}", reason(&error))).retryable(false)
        };
        let world = builder()?.build().map_err(failed)?;
        Ok(Self { world, near: builder()?.no_proxy().build().map_err(failed)? })
    }

    /// Sends a body.
    pub(super) async fn post(&self, url: &str, content: Content<'_>, token: Option<&str>, limit: Duration) -> Sent {
        let (kind, body) = match content {
            Content::Json(body) => ("application/json", body),
            Content::Form(body) => ("application/x-www-form-urlencoded", body),
        };
        let mut request = self.client(url).post(url).header("content-type", kind).body(body.to_owned());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        send(request, limit).await
    }

    /// Asks the machine about itself.
    pub(super) async fn get_metadata(&self, url: &str, limit: Duration) -> Sent {
        send(self.near.get(url).header("metadata-flavor", "Google"), limit).await
    }

    /// What is not encrypted is near, or it is refused before anything is sent; see [`is_safe`].
    fn client(&self, url: &str) -> &Client {
        if url.starts_with("https://") { &self.world } else { &self.near }
    }
}

/// Sends a request. An answer may begin within the limit, and may take as long as it likes while no pause in it is longer:
/// how long one is nobody knows before.
async fn send(request: RequestBuilder, limit: Duration) -> Sent {
    let mut response = match timeout(limit, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Sent::Lost(reason(&error)),
        Err(_) => return Sent::Lost(SILENT.to_owned()),
    };
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let mut body = Vec::new();
    loop {
        match timeout(limit, response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Sent::Lost(reason(&error)),
            Err(_) => return Sent::Lost(SILENT.to_owned()),
        }
    }
    Sent::Answer(Answer { status, retry_after: retry_after.map(Duration::from_secs), body })
}

/// What went wrong, down to the cause; without the address, which whoever tells it knows.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return SILENT.to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Whether a token may be sent to an address: it is encrypted, or does not leave the machine.
pub(super) fn is_safe(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-38: a token goes over an encrypted connection, or stays on this machine.
    #[test]
    fn tokens_are_not_sent_in_the_clear() {
        for (url, safe) in [
            ("https://firestore.googleapis.com", true),
            ("http://127.0.0.1:8787", true),
            ("http://localhost:1/token", true),
            ("http://[::1]:1", true),
            ("http://firestore.googleapis.com", false),
            ("http://127.0.0.1.example.org", false),
            ("ftp://127.0.0.1", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_safe(url), safe, "{url}");
        }
    }
}
