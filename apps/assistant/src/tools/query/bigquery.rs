//! BigQuery client for the REST API: estimates the cost of a query, then runs the query.

mod response;

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use superstep::settings::Secret;
use superstep::{Result, ToolError};
use tokio::time::{Instant, timeout_at};

use super::QueryResult;
use super::guard::{QueryGuard, SqlDialect};
use crate::tools::caller::DataAccess;
use crate::tools::error::{forbidden, invalid, not_allowed, timeout, unavailable, unknown};
use crate::tools::web;
use response::JobResponse;

/// Default address of the API.
const DEFAULT_ADDRESS: &str = "https://bigquery.googleapis.com";
/// Default maximum number of bytes that a query may read.
const DEFAULT_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Timeout of a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(9);

/// Configured access to BigQuery.
#[derive(Debug, Clone)]
pub struct BigQuery {
    pub(super) dataset: String,
    datasets: Vec<String>,
    project: String,
    token: Secret,
    address: String,
    max_bytes: u64,
    client: Client,
}

impl BigQuery {
    /// Creates a client for the datasets of a project; the first dataset is the default.
    ///
    /// # Errors
    /// Returns an error if TLS is not available.
    pub fn new(project: impl Into<String>, datasets: Vec<String>, token: Secret) -> Result<Self> {
        let client = web::client()?;
        let (dataset, address) = (datasets.first().cloned().unwrap_or_default(), DEFAULT_ADDRESS.to_owned());
        Ok(Self { dataset, datasets, project: project.into(), token, address, max_bytes: DEFAULT_MAX_BYTES, client })
    }

    /// Sets the address of the API.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into().trim_end_matches('/').to_owned();
        self
    }

    /// Sets the maximum number of bytes that a query may read. Default: 1 GiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Runs a query if the caller has access and the estimated cost is within the limit.
    pub(super) async fn run_query(
        &self,
        access: &DataAccess,
        sql: &str,
        dataset: Option<&str>,
        limit: usize,
    ) -> Result<QueryResult, ToolError> {
        let dataset = dataset.unwrap_or(&self.dataset);
        if !self.datasets.iter().any(|name| name == dataset) {
            let names: Vec<&str> = self.datasets.iter().map(String::as_str).collect();
            let suggestion = superstep::core::suggest::did_you_mean_or_list(dataset, &names);
            return Err(unknown(format_args!("data set `{dataset}` not found; {suggestion}")));
        }
        let qualifiers = self.datasets.iter().chain([&self.project]).map(String::as_str).collect();
        let checked = QueryGuard { dialect: SqlDialect::BigQuery, tables: None, qualifiers, access }.check(sql)?;
        let deadline = Instant::now() + QUERY_TIMEOUT;
        let timeout_error = || timeout(format_args!("BigQuery took longer than {} s", QUERY_TIMEOUT.as_secs()));
        timeout_at(deadline, self.run_without_timeout(&checked.sql, dataset, limit))
            .await
            .map_err(|_| timeout_error())?
    }

    async fn run_without_timeout(&self, sql: &str, dataset: &str, limit: usize) -> Result<QueryResult, ToolError> {
        let cost = self.query(sql, dataset, &json!({"dryRun": true})).await?.bytes();
        if cost > self.max_bytes {
            let limit = self.max_bytes;
            return Err(not_allowed(format_args!(
                "the query would read {cost} bytes, more than {limit}; narrow the query"
            )));
        }
        let options = json!({
            "maxResults": limit, "timeoutMs": 5_000, "maximumBytesBilled": self.max_bytes.to_string(),
            // The call times out then, so the job need not continue.
            "jobTimeoutMs": QUERY_TIMEOUT.as_millis().to_string(),
        });
        let mut response = self.query(sql, dataset, &options).await?;
        while !response.is_complete() {
            // The service waits up to 5 s before it responds, so this loop does not spin.
            let mut path = format!("queries/{}?maxResults={limit}&timeoutMs=5000", response.job()?);
            if let Some(location) = response.location() {
                path.push_str(&format!("&location={location}"));
            }
            response = self.send(self.client.get(self.url(&path))).await?;
        }
        response.rows(limit)
    }

    async fn query(&self, sql: &str, dataset: &str, options: &Value) -> Result<JobResponse, ToolError> {
        let mut body = json!({
            "query": sql,
            "useLegacySql": false,
            "defaultDataset": {"projectId": self.project, "datasetId": dataset},
        });
        if let (Some(body), Some(options)) = (body.as_object_mut(), options.as_object()) {
            body.extend(options.clone());
        }
        self.send(self.client.post(self.url("queries")).json(&body)).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}/bigquery/v2/projects/{}/{path}", self.address, self.project)
    }

    async fn send(&self, request: RequestBuilder) -> Result<JobResponse, ToolError> {
        let request_error = |cause: reqwest::Error| {
            unavailable(format_args!("BigQuery is unavailable: {}", cause.without_url())).retryable()
        };
        let response = request.bearer_auth(self.token.expose()).send().await.map_err(request_error)?;
        let status = response.status();
        let body = web::body(response, web::MAX_BODY_BYTES).await.map_err(|reason| unavailable(reason).retryable())?;
        if body.is_cut {
            return Err(not_allowed("the response of BigQuery is too large; select fewer rows or columns"));
        }
        let body: Value = serde_json::from_slice(&body.bytes).unwrap_or_default();
        if status.is_success() { Ok(JobResponse(body)) } else { Err(response_error(status, &body)) }
    }
}

/// Converts an error response into a `ToolError`.
fn response_error(status: StatusCode, body: &Value) -> ToolError {
    let message = web::shortened(body["error"]["message"].as_str().unwrap_or_default());
    let reason = body["error"]["errors"][0]["reason"].as_str().unwrap_or_default();
    let is_busy = matches!(reason, "rateLimitExceeded" | "quotaExceeded" | "backendError");
    match status.as_u16() {
        400 => invalid(message),
        401 => unavailable("BigQuery does not accept the configured token"),
        403 if !is_busy => forbidden(format_args!("BigQuery denied access: {message}")),
        404 => unknown(message),
        403 | 429 => unavailable(format_args!("BigQuery is overloaded: {message}")).retryable(),
        500.. => unavailable(format_args!("BigQuery failed ({status}): {message}")).retryable(),
        _ => unavailable(format_args!("BigQuery returned {status}: {message}")),
    }
}
