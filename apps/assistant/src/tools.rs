//! Tools of the assistant: query data, search documents, read files, calculate, tell the time, search memory, and,
//! if configured, web access and external tools.
//!
//! A tool returns JSON. An error has a machine-readable kind (`unknown_table`, `ambiguous`, `forbidden`, `refused`,
//! `unavailable`, `timeout`, `invalid`) and a sentence for people. The user of a call comes with the call, as a
//! [`Caller`], and never from a model.

mod arguments;
mod calculate;
mod caller;
mod clock;
mod documents;
mod error;
mod files;
mod mcp_servers;
mod memory;
pub mod query;
mod web;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use superstep::SystemClock;
use superstep::core::port::Clock;
use superstep::tools::SharedTool;
use superstep::{Error, ErrorCode, Result};
use superstep_documents::Documents;

pub use caller::{Caller, DataAccess};
pub use mcp_servers::{McpServerSettings, McpTransport, connect_servers, tools_of_server};
pub use web::WebSettings;

use crate::data::Dataset;
use query::bigquery::BigQuery;

/// Timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of retries of a failed call.
const MAX_RETRIES: u32 = 2;

/// Dependencies of the tools.
#[derive(Clone)]
pub struct ToolSettings {
    /// Local data.
    pub data: Arc<Dataset>,
    /// Documents for the search.
    pub documents: Option<Arc<Documents>>,
    /// Folders for reading files.
    pub folders: Vec<PathBuf>,
    /// Timeout of a query of the local data; shorter than the timeout of a call, so that the query can report it.
    pub query_timeout: Duration,
    /// BigQuery client, used for all queries that do not name the local data.
    pub bigquery: Option<Arc<BigQuery>>,
    /// Web tools.
    pub web: Option<WebSettings>,
    /// Clock of the `now` tool.
    pub clock: Arc<dyn Clock>,
}

impl ToolSettings {
    /// Creates settings with only this data.
    #[must_use]
    pub fn new(data: Arc<Dataset>) -> Self {
        Self {
            data,
            documents: None,
            folders: Vec::new(),
            query_timeout: Duration::from_secs(8),
            bigquery: None,
            web: None,
            clock: Arc::new(SystemClock),
        }
    }
}

/// Creates the tools for these settings. Unconfigured tools are absent.
///
/// # Errors
/// Returns an error if a setting is invalid, such as a folder that does not exist.
pub fn tools(settings: &ToolSettings) -> Result<Vec<SharedTool>> {
    let ToolSettings { data, bigquery, query_timeout, clock, .. } = settings;
    let mut tools: Vec<SharedTool> = vec![
        query::QueryTool { data: data.clone(), bigquery: bigquery.clone(), timeout: *query_timeout }.into(),
        query::tables::ListTables(data.clone()).into(),
        query::tables::DescribeTable(data.clone()).into(),
        calculate::Calculate.into(),
        clock::Now(clock.clone()).into(),
        memory::SearchMemory.into(),
        memory::DeleteMemory.into(),
    ];
    if let Some(documents) = &settings.documents {
        tools.push(documents::SearchDocs(documents.clone()).into());
    }
    if !settings.folders.is_empty() {
        tools.push(files::ReadFile::new(&settings.folders)?.into());
    }
    if let Some(web) = &settings.web {
        if !(web.hosts.is_empty() && web.private.is_empty()) {
            tools.push(web::FetchUrl::new(web.clone())?.into());
        }
        if let Some(address) = &web.search {
            tools.push(web::WebSearch::new(address)?.into());
        }
    }
    Ok(tools)
}

/// Adds external tools. A tool must not reuse the name of an existing one.
///
/// # Errors
/// Returns an error if two tools have the same name.
pub fn with_external_tools(mut tools: Vec<SharedTool>, external: Vec<SharedTool>) -> Result<Vec<SharedTool>> {
    for tool in external {
        let name = &tool.spec().name;
        if tools.iter().any(|existing| existing.spec().name == *name) {
            return Err(Error::new(ErrorCode::ConfigInvalid, format!("two tools have the name `{name}`")));
        }
        tools.push(tool);
    }
    Ok(tools)
}
