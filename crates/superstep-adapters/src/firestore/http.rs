//! HTTP requests to Firestore and to token issuers: the choice of the client and the headers.

use std::time::Duration;

use reqwest::{Client, Url};

use crate::http::request::{HttpClients, SendResult, is_loopback, send};

/// A request body with its content type.
#[derive(Clone, Copy)]
pub(super) enum RequestBody<'a> {
    Json(&'a str),
    Form(&'a str),
}

/// Sends a POST request, with a bearer token if there is one.
pub(super) async fn post(
    web: &HttpClients,
    url: &str,
    content: RequestBody<'_>,
    token: Option<&str>,
    timeout: Duration,
) -> SendResult {
    let (kind, body) = match content {
        RequestBody::Json(body) => ("application/json", body),
        RequestBody::Form(body) => ("application/x-www-form-urlencoded", body),
    };
    let mut request = client(web, url).post(url).header("content-type", kind).body(body.to_owned());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    send(request, timeout).await
}

/// Requests a path of the metadata server of the machine.
pub(super) async fn get_metadata(web: &HttpClients, url: &str, timeout: Duration) -> SendResult {
    send(web.direct.get(url).header("metadata-flavor", "Google"), timeout).await
}

/// Chooses the client for an address. An unencrypted address is local, or it is rejected before anything is sent; see
/// [`is_safe`].
fn client<'a>(web: &'a HttpClients, url: &str) -> &'a Client {
    if url.starts_with("https://") { &web.proxied } else { &web.direct }
}

/// Returns true if a token may be sent to an address: it uses HTTPS or does not leave the machine.
pub(super) fn is_safe(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-38: a token is sent over HTTPS or stays on this machine.
    #[test]
    fn tokens_require_https_or_a_local_address() {
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
