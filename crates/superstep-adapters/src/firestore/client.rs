//! Client of the Firestore API: tokens, retries and the clock of the server.
//!
//! The content of requests is built by the callers. A request is sent again if its response is lost, so every write
//! must carry a precondition or be idempotent.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_core::error::{Error, ErrorCode, Result};

use super::documents::{CommitResponse, DocumentPaths, QueryResult, batch_get};
use super::error::{ApiError, FirestoreRetryAction, unreachable};
use super::http::{RequestBody, post};
use super::token_cache::TokenCache;
use crate::http::request::{Backoff, HttpClients, SendResult, outcome_unknown};

/// Maximum age of a cached reading of the server clock.
const CLOCK_MAX_AGE: Duration = Duration::from_secs(60);
/// Request bytes that extend the timeout by one second, so that large requests also work on slow connections.
const BYTES_PER_SECOND: usize = 256 * 1024;

/// A database with everything needed to send requests to it.
pub(super) struct FirestoreClient {
    pub(super) paths: DocumentPaths,
    pub(super) retry_timeout: Duration,
    /// Beginning of every URL.
    pub(super) base: String,
    pub(super) web: HttpClients,
    pub(super) tokens: TokenCache,
    pub(super) clock: ServerClock,
}

/// Failure of a request.
enum RequestError {
    /// The server rejected the request; true if an earlier attempt without a response may have succeeded.
    Rejected(ApiError, bool),
    Error(Error),
}

impl FirestoreClient {
    /// Returns the name of the database in errors.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.base, self.paths.documents().trim_end_matches("/documents"))
    }

    /// Commits all writes or none; returns false if a precondition was not met.
    pub(super) async fn commit(&self, writes: Vec<Value>) -> Result<bool> {
        let has_precondition = writes.iter().any(|write| write.get("currentDocument").is_some());
        match self.send_with_retry("commit", &json!({ "writes": writes }).to_string()).await {
            Ok((body, sent_at)) => {
                let committed: CommitResponse = self.read(&body)?;
                self.clock.observe(sent_at, committed.committed_at());
                Ok(true)
            }
            Err(RequestError::Rejected(rejection, _)) if has_precondition && rejection.is_precondition() => Ok(false),
            Err(failure) => Err(self.request_error(failure)),
        }
    }

    /// Reads documents by name, in any order, with the read time. An empty `mask` means all fields.
    pub(super) async fn batch_get(&self, names: &[String], mask: &[&str]) -> Result<(Vec<QueryResult>, i64)> {
        self.items("batchGet", &batch_get(names, mask)).await
    }

    /// Runs a query and returns its results with the read time.
    pub(super) async fn query(&self, query: &Value) -> Result<(Vec<QueryResult>, i64)> {
        self.items("runQuery", query).await
    }

    async fn items(&self, method: &str, request: &Value) -> Result<(Vec<QueryResult>, i64)> {
        let response = self.send_with_retry(method, &request.to_string()).await;
        let (body, sent_at) = response.map_err(|failure| self.request_error(failure))?;
        let items: Vec<QueryResult> = self.read(&body)?;
        let now = items.iter().filter_map(QueryResult::read_at).max();
        let now = now.ok_or_else(|| self.unexpected_response("no read time"))?;
        self.clock.observe(sent_at, Some(now));
        Ok((items, now))
    }

    /// Returns the time of the server in microseconds since 1970. The result is never earlier than the clock of the
    /// server and at most slightly later.
    pub(super) async fn now(&self) -> Result<i64> {
        match self.clock.now() {
            Some(now) => Ok(now),
            None => {
                let (_, now) = self.batch_get(&[self.paths.absent_document()], &["key"]).await?;
                Ok(self.clock.now().unwrap_or(now))
            }
        }
    }

    /// Sends a request until a response arrives, and returns when the answered attempt was sent.
    async fn send_with_retry(&self, method: &str, body: &str) -> Result<(Vec<u8>, Instant), RequestError> {
        let url = format!("{}/v1/{}:{method}", self.base, self.paths.documents());
        let extra = Duration::from_secs((body.len() / BYTES_PER_SECOND) as u64);
        let mut backoff = Backoff::new(self.retry_timeout + extra);
        let (mut had_new_token, mut may_have_succeeded) = (false, false);
        loop {
            let token = self.tokens.get(&self.web, self.retry_timeout).await;
            let token = token.map_err(|error| {
                RequestError::Error(if may_have_succeeded { outcome_unknown(error) } else { error })
            })?;
            let sent_at = Instant::now();
            let (reason, wait) = match post(
                &self.web,
                &url,
                RequestBody::Json(body),
                Some(&token),
                self.retry_timeout / 3 + extra,
            )
            .await
            {
                SendResult::Response(response) if response.status == 200 => return Ok((response.body, sent_at)),
                SendResult::Response(response) => {
                    let rejection = ApiError::new(&response);
                    match rejection.retry_action() {
                        FirestoreRetryAction::Retry => (rejection.text(), response.retry_after()),
                        FirestoreRetryAction::RefreshToken if !had_new_token => {
                            had_new_token = true;
                            self.tokens.invalidate(&token).await;
                            continue;
                        }
                        FirestoreRetryAction::RefreshToken | FirestoreRetryAction::None => {
                            return Err(RequestError::Rejected(rejection, may_have_succeeded));
                        }
                    }
                }
                SendResult::NoResponse(reason) => (reason, None),
            };
            may_have_succeeded = true;
            if !backoff.wait(wait).await {
                return Err(RequestError::Error(unreachable(&self.name(), self.retry_timeout, &reason)));
            }
        }
    }

    fn request_error(&self, failure: RequestError) -> Error {
        match failure {
            RequestError::Rejected(rejection, true) => outcome_unknown(rejection.into_error(&self.name())),
            RequestError::Rejected(rejection, false) => rejection.into_error(&self.name()),
            RequestError::Error(error) => error,
        }
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T> {
        // The error of serde would quote a part of a value.
        serde_json::from_slice(body).map_err(|_| self.unexpected_response("an unexpected response body"))
    }

    fn unexpected_response(&self, problem: &str) -> Error {
        Error::new(ErrorCode::StoreUnavailable, format!("Firestore at {} returned {problem}", self.name()))
            .with_help(
                "this write may or may not be saved; check that the address belongs to Firestore or its emulator",
            )
            .with_retryable(true)
    }
}

/// The last known time of the server. The local clock only measures the time elapsed since then.
#[derive(Default)]
pub(super) struct ServerClock(Mutex<Option<(Instant, i64)>>);

impl ServerClock {
    /// Stores a reading. The server read its clock after the request was sent, so a time counted from `sent` is never
    /// too early.
    fn observe(&self, sent_at: Instant, server: Option<i64>) {
        if let Some(server) = server {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((sent_at, server));
        }
    }

    fn now(&self) -> Option<i64> {
        let reading = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, server) = reading.filter(|(read_at, _)| read_at.elapsed() < CLOCK_MAX_AGE)?;
        Some(server + i64::try_from(read_at.elapsed().as_micros()).unwrap_or(i64::MAX))
    }
}
