//! `web_search`: queries a SearXNG search engine.

use reqwest::{Client, Url};
use serde_json::{Value, json};
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{Error, ErrorCode, Result, ToolError, ToolOutput};

use super::client::{MAX_BODY_BYTES, body, client};
use crate::tools::arguments::required;
use crate::tools::error::{forbidden, unavailable};

/// Maximum number of results.
const MAX_RESULTS: usize = 8;

/// The `web_search` tool.
pub(crate) struct WebSearch {
    address: Url,
    client: Client,
}

impl WebSearch {
    /// Creates the tool for a search engine.
    ///
    /// # Errors
    /// Returns an error if the address of the engine is invalid.
    pub(crate) fn new(address: &str) -> Result<Self> {
        let invalid_address = |error| {
            Error::new(ErrorCode::ConfigInvalid, format!("`{address}` is not a valid search engine URL: {error}"))
        };
        let address = Url::parse(&format!("{}/search", address.trim_end_matches('/'))).map_err(invalid_address)?;
        Ok(Self { address, client: client()? })
    }
}

impl Tool for WebSearch {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
            "query": {"type": "string", "description": "Search terms, a few words."},
        }});
        let about = "Searches the web. Returns titles, URLs and excerpts.";
        let spec = ToolSpec::new("web_search", about).with_input_schema(schema).read_only();
        spec.timeout(crate::tools::CALL_TIMEOUT).retries(crate::tools::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let mut address = self.address.clone();
        address.query_pairs_mut().append_pair("q", required(&call, "query")?).append_pair("format", "json");
        let request_error = |error: reqwest::Error| {
            unavailable(format_args!("the search engine is unavailable: {}", error.without_url())).retryable()
        };
        let response = self.client.get(address).send().await.map_err(request_error)?;
        let status = response.status();
        match status.as_u16() {
            200 => {}
            401 | 403 => return Err(forbidden("the search engine denied access")),
            429 | 500.. => return Err(unavailable(format_args!("the search engine returned {status}")).retryable()),
            _ => return Err(unavailable(format_args!("the search engine returned {status}"))),
        }
        let received = body(response, MAX_BODY_BYTES).await.map_err(|reason| unavailable(reason).retryable())?;
        let document: Value = serde_json::from_slice(&received.bytes)
            .map_err(|_| unavailable("the search engine did not return JSON"))?;
        let results = document["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let result = |result: &Value| {
            let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
            json!({"title": text("title"), "url": text("url"), "text": text("content")})
        };
        Ok(json!({"results": results.iter().take(MAX_RESULTS).map(result).collect::<Vec<_>>()}).into())
    }
}
