//! How Firestore and what gives tokens for it are asked: which client, which head.

use std::time::Duration;

use reqwest::{Client, Url};

use crate::remote::{Sent, Web, is_here, send};

/// A body, and what is in it.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Json(&'a str),
    Form(&'a str),
}

/// Sends a body.
pub(super) async fn post(web: &Web, url: &str, content: Content<'_>, token: Option<&str>, limit: Duration) -> Sent {
    let (kind, body) = match content {
        Content::Json(body) => ("application/json", body),
        Content::Form(body) => ("application/x-www-form-urlencoded", body),
    };
    let mut request = client(web, url).post(url).header("content-type", kind).body(body.to_owned());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    send(request, limit).await
}

/// Asks the machine about itself.
pub(super) async fn get_metadata(web: &Web, url: &str, limit: Duration) -> Sent {
    send(web.near.get(url).header("metadata-flavor", "Google"), limit).await
}

/// What is not encrypted is near, or it is refused before anything is sent; see [`is_safe`].
fn client<'a>(web: &'a Web, url: &str) -> &'a Client {
    if url.starts_with("https://") { &web.world } else { &web.near }
}

/// Whether a token may be sent to an address: it is encrypted, or does not leave the machine.
pub(super) fn is_safe(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    url.scheme() == "https" || (url.scheme() == "http" && is_here(&url))
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
