//! Microsoft Graph: its search, asked with the token of who asks.
//!
//! Files and list items are asked for in one request and mail in another, because Graph does not mix them. One that
//! fails does not lose the other.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde_json::{Value, json};
use superstep::settings::Secret;
use superstep::{Code, Error, Result};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{Asked, SOURCE};
use crate::sources::unavailable::{Unavailable, UnavailableKind};
use crate::types::McpSuggestion;
use crate::words::content;

mod hits;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of an answer is read.
const LARGEST: usize = 4 * 1024 * 1024;
const FILES: &[&str] = &["driveItem", "listItem"];
const MAIL: &[&str] = &["message"];

pub(crate) struct Graph {
    client: Client,
    address: Url,
}

impl Graph {
    pub(super) fn open(base_url: &str) -> Result<Self> {
        let wrong = |why: &str| {
            let fact = format!("the address of Microsoft Graph `{base_url}` {why}");
            Error::new(Code::ConfigInvalid, fact).help("for most it is `https://graph.microsoft.com`")
        };
        let address = Url::parse(&format!("{}/v1.0/search/query", base_url.trim_end_matches('/')));
        let address = address.map_err(|_| wrong("is no address"))?;
        if address.scheme() != "https" && !(address.scheme() == "http" && is_this_machine(&address)) {
            // The token would be readable on the way.
            return Err(wrong("is not encrypted"));
        }
        let client = Client::builder().tls_backend_preconfigured(encryption()?).timeout(PATIENCE);
        let client = client.redirect(redirect::Policy::none()).build();
        Ok(Self { client: client.map_err(|error| wrong(&format!("cannot be asked: {error}")))?, address })
    }

    pub(super) async fn ask(&self, query: &str, token: Option<&Secret>, limit: usize) -> Asked {
        let Some(token) = token else {
            let reason = "nobody is signed in: Microsoft 365 needs the token of who asks".to_owned();
            return Unavailable { source: SOURCE, reason, kind: UnavailableKind::Unauthorized }.into();
        };
        let (files, mail) =
            tokio::join!(self.search(FILES, query, token, limit), self.search(MAIL, query, token, limit));
        let mut asked = Asked::default();
        for (part, found) in [("files", files), ("mail", mail)] {
            match found {
                Ok(found) => asked.found.extend(found),
                Err((kind, reason)) => {
                    asked.failed.push(Unavailable { source: SOURCE, reason: format!("{part}: {reason}"), kind });
                }
            }
        }
        asked
    }

    async fn search(
        &self,
        kinds: &[&str],
        query: &str,
        token: &Secret,
        limit: usize,
    ) -> Result<Vec<McpSuggestion>, Trouble> {
        let body = json!({ "requests": [{
            "entityTypes": kinds, "query": { "queryString": keywords(query) }, "from": 0, "size": limit,
        }] });
        let request = self.client.post(self.address.clone()).bearer_auth(token.expose()).json(&body);
        let answer = request.send().await.map_err(|error| failed(&error))?;
        if !answer.status().is_success() {
            return Err(refused(answer).await);
        }
        let bytes = read(answer).await?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| (UnavailableKind::Failed, "Microsoft Graph gave an answer that is not JSON".to_owned()))?;
        Ok(hits::read(&value, limit))
    }
}

/// A query in Graph's language, of plain words only: what somebody wrote must not become an operator. Graph wants all the
/// words of a query, which no document has when they are those of a whole question; then any of them is enough.
fn keywords(query: &str) -> String {
    const ALL: usize = 4;
    let words = content(query);
    words.join(if words.len() > ALL { " OR " } else { " " })
}

/// What kind of failure, and what a person reads about it.
type Trouble = (UnavailableKind, String);

async fn refused(answer: Response) -> Trouble {
    let status = answer.status();
    let wait = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let later = match wait.as_deref().map(|wait| (wait, wait.parse::<u64>())) {
        Some((_, Ok(seconds))) => format!("try again in {seconds} seconds"),
        Some((date, _)) if date.is_ascii() && date.len() < 40 => format!("try again after {date}"),
        _ => "try again later".to_owned(),
    };
    let code = match read(answer).await.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
        Some(value) => value["error"]["code"].as_str().map(|code| format!(", {code}")).unwrap_or_default(),
        None => String::new(),
    };
    let said = format!("({}{code})", status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED => (
            UnavailableKind::Unauthorized,
            format!("Microsoft Graph does not accept the sign-in {said}; sign in again"),
        ),
        StatusCode::FORBIDDEN => {
            (UnavailableKind::Forbidden, format!("the account may not search there {said}; ask an administrator"))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            (UnavailableKind::TooMany, format!("Microsoft Graph is asked too often {said}; {later}"))
        }
        status if status.is_server_error() => {
            (UnavailableKind::Failed, format!("Microsoft Graph is out of order {said}; {later}"))
        }
        _ => (UnavailableKind::Failed, format!("Microsoft Graph refused the search {said}")),
    }
}

fn failed(error: &reqwest::Error) -> Trouble {
    let what = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
    (UnavailableKind::Failed, format!("Microsoft Graph {what}"))
}

/// The body, as far as it is of a size that can be meant.
async fn read(mut answer: Response) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
        if bytes.len() + chunk.len() > LARGEST {
            return Err((UnavailableKind::Failed, "Microsoft Graph gave an answer that is too large".to_owned()));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn is_this_machine(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn encryption() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Without any, an encrypted connection fails and says so.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Code::ConfigInvalid, format!("no encryption: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
