//! HTTP client of the exporter, built on the client of all adapters, which waits for responses on the thread of the
//! exporter.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::runtime::Runtime;

use crate::http::client;

/// Maximum size of a response that is read, in bytes; responses of collectors are short.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

pub(super) struct OtlpHttpClient {
    client: reqwest::Client,
    /// Headers set by the program, which override those of the environment.
    headers: HeaderMap,
    /// Timeout of a request including its response.
    timeout: Duration,
    /// Own runtime: the thread of the exporter has none, and the program may stop its own runtime. `None` only during
    /// drop.
    runtime: Option<Runtime>,
}

impl OtlpHttpClient {
    pub(super) fn new(headers: HeaderMap, timeout: Duration) -> Result<Self> {
        let no_runtime = |error| {
            Error::new(ErrorCode::ConfigInvalid, format!("failed to start the runtime of the exporter: {error}"))
        };
        let client = client::builder()?.build().map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("failed to create the HTTP client: {}", error.without_url()))
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_runtime)?;
        Ok(Self { client, headers, timeout, runtime: Some(runtime) })
    }

    fn send(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, HttpError> {
        let Some(runtime) = &self.runtime else { return Err("the exporter is shut down".into()) };
        let mut request: reqwest::Request = request.try_into()?;
        self.headers.iter().for_each(|(name, value)| drop(request.headers_mut().insert(name, value.clone())));
        runtime.block_on(async {
            // A collector that accepts a request and does not respond would block all later spans.
            let in_time = tokio::time::timeout(self.timeout, self.answer(request)).await;
            in_time.unwrap_or_else(|_| Err(format!("the collector did not respond within {:?}", self.timeout).into()))
        })
    }

    async fn answer(&self, request: reqwest::Request) -> std::result::Result<Response<Bytes>, HttpError> {
        let mut answer = self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            *headers = std::mem::take(answer.headers_mut());
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err("the response of the collector is too large".into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(response.body(Bytes::from(body))?)
    }
}

/// Shuts the runtime down without waiting, because dropping a runtime in an async context panics.
impl Drop for OtlpHttpClient {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Converts headers for sending.
///
/// # Errors
/// Returns an error if a header is invalid. The error does not contain its value.
pub(super) fn headers(pairs: &[(String, String)]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let invalid_header =
            |problem| Error::new(ErrorCode::ConfigInvalid, format!("invalid header `{name}`: {problem}"));
        let sent = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid_header("the name contains invalid characters"))?;
        let mut value =
            HeaderValue::from_str(value).map_err(|_| invalid_header("the value contains invalid characters"))?;
        value.set_sensitive(true);
        headers.insert(sent, value);
    }
    Ok(headers)
}

impl HttpClient for OtlpHttpClient {
    fn send_bytes<'this, 'answer>(
        &'this self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'this: 'answer,
        Self: 'answer,
    {
        Box::pin(async move { self.send(request) })
    }
}

impl fmt::Debug for OtlpHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpHttpClient")
    }
}
