//! The HTTP client of all doors, for an exporter that waits for answers on a thread of its own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use superstep_core::error::{Code, Error, Result};
use tokio::runtime::Runtime;

use crate::web;

/// The longest answer that is read; those of collectors are short.
const LONGEST: usize = 64 * 1024;

pub(super) struct WebClient {
    client: reqwest::Client,
    /// The exporter's thread has none, and must not depend on one that the program may stop.
    runtime: Arc<Runtime>,
}

impl WebClient {
    pub(super) fn new() -> Result<Self> {
        let no_runtime = |error| Error::new(Code::ConfigInvalid, format!("the runtime does not start: {error}"));
        let client = web::builder()?
            .build()
            .map_err(|error| Error::new(Code::ConfigInvalid, format!("no HTTP client: {}", error.without_url())))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_runtime)?;
        Ok(Self { client, runtime: Arc::new(runtime) })
    }

    fn send(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, HttpError> {
        let request = request.try_into()?;
        self.runtime.block_on(async {
            let mut answer = self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
            let mut response = Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                *headers = std::mem::take(answer.headers_mut());
            }
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                if body.len() + chunk.len() > LONGEST {
                    return Err("the answer of the collector is too long".into());
                }
                body.extend_from_slice(&chunk);
            }
            Ok(response.body(Bytes::from(body))?)
        })
    }
}

impl HttpClient for WebClient {
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

impl fmt::Debug for WebClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebClient")
    }
}
