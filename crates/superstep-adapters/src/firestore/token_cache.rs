//! A shared access token: the first caller fetches it, and it is renewed shortly before it expires.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::sync::Mutex;

use super::credentials::Credentials;
use super::http::{RequestBody, get_metadata, post};
use crate::http::request::{Backoff, HttpClients, HttpResponse, SendResult, is_transient_status, truncate};

/// Time before its expiry from which a token is no longer used.
const EXPIRY_MARGIN: Duration = Duration::from_secs(60);
/// Token with full access that the emulator accepts.
const EMULATOR_TOKEN: &str = "owner";
/// Timeout of the metadata server until it has issued a token once: most machines have no metadata server.
const METADATA_PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Cache of the access token of one store.
pub(super) struct TokenCache {
    pub(super) credentials: Credentials,
    cached: Mutex<Option<CachedToken>>,
    /// True if a token has ever been fetched.
    has_succeeded: AtomicBool,
}

struct CachedToken {
    text: String,
    valid_until: Instant,
}

/// Response of a token issuer.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

impl TokenCache {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials, cached: Mutex::default(), has_succeeded: AtomicBool::new(false) }
    }

    /// Returns a valid token, fetching one if necessary.
    pub(super) async fn get(&self, web: &HttpClients, retry_timeout: Duration) -> Result<String> {
        if matches!(self.credentials, Credentials::Emulator(_)) {
            return Ok(EMULATOR_TOKEN.to_owned());
        }
        // The lock is held during the fetch, so that concurrent callers share one request.
        let mut cached = self.cached.lock().await;
        if let Some(token) = cached.as_ref().filter(|token| token.valid_until > Instant::now()) {
            return Ok(token.text.clone());
        }
        let requested_at = Instant::now();
        let response = self.fetch(web, retry_timeout).await?;
        self.has_succeeded.store(true, Ordering::Relaxed);
        // Do not trust a lifetime of more than a day.
        let lifetime = Duration::from_secs(response.expires_in.min(86_400));
        let token = cached.insert(CachedToken {
            text: response.access_token,
            valid_until: requested_at + lifetime - EXPIRY_MARGIN.min(lifetime / 10),
        });
        Ok(token.text.clone())
    }

    /// Drops a token that the service rejected, unless another one has been fetched since.
    pub(super) async fn invalidate(&self, text: &str) {
        self.cached.lock().await.take_if(|token| token.text == text);
    }

    async fn fetch(&self, web: &HttpClients, retry_timeout: Duration) -> Result<TokenResponse> {
        let is_unconfirmed =
            matches!(self.credentials, Credentials::Machine { .. }) && !self.has_succeeded.load(Ordering::Relaxed);
        let retry_timeout = if is_unconfirmed { retry_timeout.min(METADATA_PROBE_TIMEOUT) } else { retry_timeout };
        let mut backoff = Backoff::new(retry_timeout);
        loop {
            let (reason, wait) = match self.request_token(web, retry_timeout / 3).await? {
                SendResult::Response(response) if response.status == 200 => {
                    // The error of serde would quote a part of the response.
                    return serde_json::from_slice(&response.body)
                        .map_err(|_| self.token_error("the response has no token"));
                }
                SendResult::Response(response) if !is_transient_status(response.status) => {
                    return Err(self.token_error(&error_text(&response)));
                }
                SendResult::Response(response) => (error_text(&response), response.retry_after()),
                SendResult::NoResponse(reason) => (reason, None),
            };
            if !backoff.wait(wait).await {
                return Err(self.token_error(&reason).with_retryable(!is_unconfirmed));
            }
        }
    }

    async fn request_token(&self, web: &HttpClients, timeout: Duration) -> Result<SendResult> {
        match &self.credentials {
            Credentials::Account(account) => {
                let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
                let form = format!("grant_type={grant}&assertion={}", account.signed_jwt()?);
                Ok(post(web, &account.token_uri, RequestBody::Form(&form), None, timeout).await)
            }
            Credentials::Machine { host, .. } => {
                let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
                Ok(get_metadata(web, &url, timeout).await)
            }
            Credentials::Emulator(_) => Err(Error::internal("an emulator needs no token")),
        }
    }

    fn token_error(&self, reason: &str) -> Error {
        let (message, help) = match &self.credentials {
            Credentials::Account(account) => (
                format!("no token for `{}` from {}: {reason}", account.email, account.token_uri),
                "nothing was saved; check that the key is not revoked and that the clock of this machine is correct",
            ),
            Credentials::Machine { host, checked_sources } => (
                format!(
                    "no credentials for Firestore: {checked_sources}, and the metadata server at `{host}` returned \
                     none: {reason}"
                ),
                "nothing was saved; outside Google Cloud, set GOOGLE_APPLICATION_CREDENTIALS to a key file, or \
                 FIRESTORE_EMULATOR_HOST to an emulator",
            ),
            Credentials::Emulator(host) => (format!("the emulator at {host}: {reason}"), "check that it is running"),
        };
        Error::new(ErrorCode::StoreUnavailable, message).with_help(help).with_retryable(false)
    }
}

/// Returns the error text of a token issuer. Issuers do not repeat the content of the request.
fn error_text(response: &HttpResponse) -> String {
    #[derive(Deserialize, Default)]
    struct TokenErrorBody {
        error: Option<String>,
        error_description: Option<String>,
    }
    let body: TokenErrorBody = serde_json::from_slice(&response.body).unwrap_or_default();
    let words = [Some(format!("HTTP {}", response.status)), body.error, body.error_description];
    truncate(&words.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;

    use superstep_core::testing::block_on;

    use super::*;
    use crate::http::io_thread::IoThread;

    /// Serves one response per request on a local port; returns the address and, when joined, the received requests.
    fn metadata_server(responses: Vec<&'static str>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let serve = move || {
            let mut requests = Vec::new();
            for response in responses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut text = vec![0; 4096];
                let length = stream.read(&mut text).unwrap();
                requests.push(String::from_utf8_lossy(&text[..length]).to_lowercase());
                let length = response.split_once("\r\n\r\n").unwrap().1.len();
                let status_line =
                    format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {length}", &response[..3]);
                stream.write_all(format!("{status_line}{}", &response[3..]).as_bytes()).unwrap();
            }
            requests
        };
        (host, std::thread::spawn(serve))
    }

    fn get(tokens: &Arc<TokenCache>) -> Result<String> {
        let (tokens, web) = (tokens.clone(), HttpClients::new()?);
        let io_thread = IoThread::new("Firestore")?;
        block_on(io_thread.read(async move { tokens.get(&web, Duration::from_secs(3)).await }))
    }

    fn token_cache(host: &str) -> Arc<TokenCache> {
        Arc::new(TokenCache::new(Credentials::Machine {
            host: host.to_owned(),
            checked_sources: "nothing is set".to_owned(),
        }))
    }

    /// R-FWK-38: ambient credentials come from the metadata server. A token is fetched once; it is fetched
    /// again after a transient error or a rejection.
    #[test]
    fn the_metadata_server_is_queried_for_a_token() {
        let first = "200\r\n\r\n{\"access_token\":\"one\",\"expires_in\":3600,\"token_type\":\"Bearer\"}";
        let second = "200\r\n\r\n{\"access_token\":\"two\",\"expires_in\":0,\"token_type\":\"Bearer\"}";
        let (host, requests) = metadata_server(vec!["503\r\n\r\n", first, second, second]);
        let tokens = token_cache(&host);
        assert_eq!((get(&tokens).unwrap(), get(&tokens).unwrap()), ("one".to_owned(), "one".to_owned()));
        block_on(tokens.invalidate("another"));
        assert_eq!(get(&tokens).unwrap(), "one");
        block_on(tokens.invalidate("one"));
        assert_eq!((get(&tokens).unwrap(), get(&tokens).unwrap()), ("two".to_owned(), "two".to_owned()));
        let requests = requests.join().unwrap();
        assert_eq!(requests.len(), 4);
        for request in requests {
            assert!(
                request.starts_with("get /computemetadata/v1/instance/service-accounts/default/token "),
                "{request}"
            );
            assert!(request.contains("metadata-flavor: google"), "{request}");
        }
    }

    /// R-FWK-38: without credentials, the error names the sources that were checked.
    #[test]
    fn a_machine_without_credentials_is_reported() {
        let (host, requests) = metadata_server(vec!["404\r\n\r\nno such account"]);
        for (host, expected) in [(host.as_str(), "HTTP 404"), ("127.0.0.1:1", "refused")] {
            let error = get(&token_cache(host)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("nothing is set, and the metadata server at `127.0.0.1:"), "{text}");
            assert!(text.contains(expected) && text.contains("GOOGLE_APPLICATION_CREDENTIALS"), "{text}");
            assert!(!error.is_retryable());
        }
        requests.join().unwrap();
    }
}
