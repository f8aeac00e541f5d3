//! Client of the S3 API: signatures, retries and the clock of the server.
//!
//! The content of requests is determined by the callers. A request whose response is lost is sent again.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use superstep_core::error::{Error, Result};

use super::bucket::BucketAddress;
use super::error::{ApiError, S3RetryAction, unexpected_response, unreachable};
use super::object_format::ListPage;
use super::server_clock::{ServerClock, local_now_millis};
use super::sigv4::{Request, Signer};
use crate::http::request::{Backoff, HttpClients, HttpResponse, SendResult, outcome_unknown, send};

/// Request bytes that extend the timeout by one second, so that large requests also work on slow connections.
const MIN_BYTES_PER_SECOND: usize = 256 * 1024;

/// A folder of a bucket with everything needed to send requests to it.
pub(super) struct S3Client {
    pub(super) address: BucketAddress,
    pub(super) retry_timeout: Duration,
    pub(super) signer: Signer,
    pub(super) http_clients: HttpClients,
    pub(super) clock: ServerClock,
}

/// Failure of a request.
pub(super) enum RequestError {
    /// The server rejected the request; true if an earlier attempt without a response may have succeeded.
    Rejected(ApiError, bool),
    Error(Error),
}

/// Precondition of a put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Precondition {
    None,
    /// The object does not exist.
    Absent,
    /// The object has this ETag.
    Unchanged(String),
}

impl S3Client {
    /// Reads an object or its first bytes; `None` if it does not exist.
    pub(super) async fn get(&self, name: &str, first: Option<usize>) -> Result<Option<HttpResponse>> {
        let mut request = self.request("GET", self.address.path(name));
        request.headers.extend(first.map(|first| ("range", format!("bytes=0-{}", first - 1))));
        match self.send_with_retry(&request).await {
            Ok(response) => Ok(Some(response)),
            Err(RequestError::Rejected(rejection, _)) if rejection.is_missing() => Ok(None),
            Err(error) => Err(self.request_error(error)),
        }
    }

    /// Puts an object; returns false if the precondition failed, possibly because an earlier attempt without a
    /// response succeeded.
    pub(super) async fn put(&self, name: &str, precondition: &Precondition, object: Vec<u8>) -> Result<bool> {
        let mut request = Request { body: object, ..self.request("PUT", self.address.path(name)) };
        request.headers.extend(match precondition {
            Precondition::None => None,
            Precondition::Absent => Some(("if-none-match", "*".to_owned())),
            Precondition::Unchanged(etag) => Some(("if-match", etag.clone())),
        });
        match self.send_with_retry(&request).await {
            Ok(_) => Ok(true),
            Err(RequestError::Rejected(rejection, _))
                if *precondition != Precondition::None && rejection.is_precondition() =>
            {
                Ok(false)
            }
            Err(error) => Err(self.request_error(error)),
        }
    }

    /// Deletes an object; succeeds if it does not exist.
    pub(super) async fn delete(&self, name: &str) -> Result<()> {
        match self.send_with_retry(&self.request("DELETE", self.address.path(name))).await {
            Ok(_) => Ok(()),
            Err(RequestError::Rejected(rejection, _)) if rejection.is_missing() => Ok(()),
            Err(error) => Err(self.request_error(error)),
        }
    }

    /// Reads one page of the objects with a prefix, starting after a name or at a continuation token.
    pub(super) async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        next: Option<String>,
        max_keys: usize,
    ) -> Result<ListPage> {
        let mut request = self.request("GET", self.address.bucket());
        request.query =
            vec![("list-type", "2".to_owned()), ("max-keys", max_keys.to_string()), ("prefix", prefix.to_owned())];
        request.query.extend(match next {
            Some(next) => Some(("continuation-token", next)),
            None => after.map(|after| ("start-after", after.to_owned())),
        });
        let response = self.send_with_retry(&request).await.map_err(|error| self.request_error(error))?;
        ListPage::read(&response.body).ok_or_else(|| unexpected_response(&self.address.display_name()))
    }

    fn request(&self, method: &'static str, path: String) -> Request {
        Request { method, path, query: Vec::new(), headers: Vec::new(), body: Vec::new() }
    }

    /// Sends a request until a response arrives.
    async fn send_with_retry(&self, request: &Request) -> Result<HttpResponse, RequestError> {
        let extra_time = Duration::from_secs((request.body.len() / MIN_BYTES_PER_SECOND) as u64);
        let mut backoff = Backoff::new(self.retry_timeout + extra_time);
        let (mut has_corrected_clock, mut may_have_succeeded) = (false, false);
        loop {
            let (reason, wait) = match self.send(request, self.retry_timeout / 3 + extra_time).await {
                SendResult::Response(response) if (200..300).contains(&response.status) => return Ok(response),
                SendResult::Response(response) => {
                    let rejection = ApiError::new(&response);
                    match rejection.retry_action() {
                        S3RetryAction::Retry => (rejection.text(), response.retry_after()),
                        S3RetryAction::Clock if !has_corrected_clock => {
                            has_corrected_clock = true;
                            continue;
                        }
                        S3RetryAction::Clock | S3RetryAction::None => {
                            return Err(RequestError::Rejected(rejection, may_have_succeeded));
                        }
                    }
                }
                SendResult::NoResponse(reason) => (reason, None),
            };
            may_have_succeeded = true;
            if !backoff.wait(wait).await {
                return Err(RequestError::Error(unreachable(
                    &self.address.display_name(),
                    self.retry_timeout,
                    &reason,
                )));
            }
        }
    }

    /// Signs a request and sends it once.
    async fn send(&self, request: &Request, limit: Duration) -> SendResult {
        let at = Timestamp::from_millisecond(self.clock.now()).unwrap_or_default();
        let query = request.query();
        let separator = if query.is_empty() { "" } else { "?" };
        let url = self.address.url(&format!("{}{separator}{query}", request.path));
        let method = match request.method {
            "PUT" => Method::PUT,
            "DELETE" => Method::DELETE,
            _ => Method::GET,
        };
        let client = if self.address.is_loopback { &self.http_clients.direct } else { &self.http_clients.proxied };
        let mut builder = client.request(method, url);
        // The HTTP client sets the same `Host` header itself.
        for (name, value) in self.signer.signed_headers(request, at).into_iter().filter(|(name, _)| *name != "host") {
            builder = builder.header(name, value);
        }
        if request.method == "PUT" {
            builder = builder.body(request.body.clone());
        }
        let sent = local_now_millis();
        let result = send(builder, limit).await;
        if let SendResult::Response(response) = &result
            && let Some(date) = response.header("date")
        {
            self.clock.observe(sent, date);
        }
        result
    }

    /// Converts a failure to the error that the caller of the port sees.
    pub(super) fn request_error(&self, error: RequestError) -> Error {
        match error {
            RequestError::Rejected(rejection, true) => {
                outcome_unknown(rejection.into_error(&self.address.display_name()))
            }
            RequestError::Rejected(rejection, false) => rejection.into_error(&self.address.display_name()),
            RequestError::Error(error) => error,
        }
    }
}
