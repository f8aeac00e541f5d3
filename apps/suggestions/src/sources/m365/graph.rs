//! Microsoft Graph search, called with the token of the requester.
//!
//! Files and list items are searched in one request and mail in another, because Graph does not combine them. If one
//! request fails, the results of the other are kept.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde_json::{Value, json};
use superstep::settings::Secret;
use superstep::{Error, ErrorCode, Result};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{M365SearchResult, SOURCE};
use crate::query_expansion::content_words;
use crate::sources::unavailable::{SourceUnavailable, UnavailableReason};
use crate::types::McpSuggestion;

mod hits;

/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
const FILE_ENTITY_TYPES: &[&str] = &["driveItem", "listItem"];
const MAIL_ENTITY_TYPES: &[&str] = &["message"];

pub(crate) struct GraphClient {
    client: Client,
    address: Url,
}

impl GraphClient {
    pub(super) fn open(base_url: &str) -> Result<Self> {
        let config_error = |reason: &str| {
            let message = format!("the Microsoft Graph URL `{base_url}` {reason}");
            Error::new(ErrorCode::ConfigInvalid, message).with_help("the usual URL is `https://graph.microsoft.com`")
        };
        let address = Url::parse(&format!("{}/v1.0/search/query", base_url.trim_end_matches('/')));
        let address = address.map_err(|_| config_error("is not a valid URL"))?;
        if address.scheme() != "https" && !(address.scheme() == "http" && is_loopback(&address)) {
            // Without TLS the token could be read in transit.
            return Err(config_error("does not use https"));
        }
        let client = Client::builder().tls_backend_preconfigured(tls_config()?).timeout(REQUEST_TIMEOUT);
        let client = client.redirect(redirect::Policy::none()).build();
        Ok(Self { client: client.map_err(|error| config_error(&format!("cannot be used: {error}")))?, address })
    }

    pub(super) async fn search_all_kinds(&self, query: &str, token: Option<&Secret>, limit: usize) -> M365SearchResult {
        let Some(token) = token else {
            let reason = "not signed in: Microsoft 365 needs the user's token".to_owned();
            return SourceUnavailable { source: SOURCE, reason, kind: UnavailableReason::Unauthorized }.into();
        };
        let (files, mail) = tokio::join!(
            self.search(FILE_ENTITY_TYPES, query, token, limit),
            self.search(MAIL_ENTITY_TYPES, query, token, limit)
        );
        let mut result = M365SearchResult::default();
        for (part, outcome) in [("files", files), ("mail", mail)] {
            match outcome {
                Ok(suggestions) => result.suggestions.extend(suggestions),
                Err((kind, reason)) => {
                    result.failed.push(SourceUnavailable { source: SOURCE, reason: format!("{part}: {reason}"), kind });
                }
            }
        }
        result
    }

    async fn search(
        &self,
        entity_types: &[&str],
        query: &str,
        token: &Secret,
        limit: usize,
    ) -> Result<Vec<McpSuggestion>, GraphFailure> {
        let body = json!({ "requests": [{
            "entityTypes": entity_types, "query": { "queryString": keywords(query) }, "from": 0, "size": limit,
        }] });
        let request = self.client.post(self.address.clone()).bearer_auth(token.expose()).json(&body);
        let response = request.send().await.map_err(|error| transport_failure(&error))?;
        if !response.status().is_success() {
            return Err(response_failure(response).await);
        }
        let bytes = read_body(response).await?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            (UnavailableReason::Failed, "Microsoft Graph returned a response that is not JSON".to_owned())
        })?;
        Ok(hits::read(&value, limit))
    }
}

/// Converts text into a KQL query of plain words, so that user text cannot contain operators. Graph requires all
/// words of a query, which no document contains for a long question; with more than four words any of them suffices.
fn keywords(query: &str) -> String {
    const MAX_REQUIRED_WORDS: usize = 4;
    let words = content_words(query);
    words.join(if words.len() > MAX_REQUIRED_WORDS { " OR " } else { " " })
}

/// Kind of failure, with the reason for the user.
type GraphFailure = (UnavailableReason, String);

async fn response_failure(response: Response) -> GraphFailure {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let later = match retry_after.as_deref().map(|retry_after| (retry_after, retry_after.parse::<u64>())) {
        Some((_, Ok(seconds))) => format!("try again in {seconds} seconds"),
        Some((date, _)) if date.is_ascii() && date.len() < 40 => format!("try again after {date}"),
        _ => "try again later".to_owned(),
    };
    let code = match read_body(response).await.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
        Some(value) => value["error"]["code"].as_str().map(|code| format!(", {code}")).unwrap_or_default(),
        None => String::new(),
    };
    let status_text = format!("({}{code})", status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED => (
            UnavailableReason::Unauthorized,
            format!("Microsoft Graph rejected the token {status_text}; sign in again"),
        ),
        StatusCode::FORBIDDEN => (
            UnavailableReason::Forbidden,
            format!("the account does not have permission to search {status_text}; ask an administrator"),
        ),
        StatusCode::TOO_MANY_REQUESTS => {
            (UnavailableReason::TooMany, format!("Microsoft Graph rate limit exceeded {status_text}; {later}"))
        }
        status if status.is_server_error() => {
            (UnavailableReason::Failed, format!("Microsoft Graph is unavailable {status_text}; {later}"))
        }
        _ => (UnavailableReason::Failed, format!("Microsoft Graph rejected the search {status_text}")),
    }
}

fn transport_failure(error: &reqwest::Error) -> GraphFailure {
    let reason = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
    (UnavailableReason::Failed, format!("Microsoft Graph {reason}"))
}

/// Reads the response body up to the maximum size.
async fn read_body(mut response: Response) -> Result<Vec<u8>, GraphFailure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| transport_failure(&error))? {
        if bytes.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err((
                UnavailableReason::Failed,
                "Microsoft Graph returned a response that is too large".to_owned(),
            ));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn is_loopback(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn tls_config() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Without root certificates, TLS connections fail with an error message.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("TLS could not be initialized: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
