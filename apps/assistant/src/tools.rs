//! What the assistant can do: ask the data, look into documents and files, calculate, tell the time, remember, and, where
//! it is configured, use the web and the tools of others.
//!
//! A tool gives JSON. One that fails says so with a word that programs know (`unknown_table`, `ambiguous`, `forbidden`,
//! `refused`, `unavailable`, `timeout`, `invalid`) and a sentence for people. On whose behalf it runs comes with the call,
//! as a [`Caller`], and never from a model.

mod arguments;
mod calculate;
mod caller;
mod clock;
mod documents;
mod failure;
mod files;
mod memory;
pub mod query;
mod servers;
mod web;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use superstep::SystemClock;
use superstep::core::port::Clock;
use superstep::tool::SharedTool;
use superstep::{Code, Error, Result};
use superstep_documents::Documents;

pub use caller::{Access, Caller};
pub use servers::{ServerSettings, Via, connect_servers, tools_of_server};
pub use web::WebSettings;

use crate::data::Data;
use query::bigquery::BigQuery;

/// How long a call may take.
const TIME: Duration = Duration::from_secs(10);
/// How often a call that failed is made again.
const RETRIES: u32 = 2;

/// What the tools work with.
#[derive(Clone)]
pub struct ToolSettings {
    /// The local data.
    pub data: Arc<Data>,
    /// The documents that are searched.
    pub documents: Option<Arc<Documents>>,
    /// The folders that files are read from.
    pub folders: Vec<PathBuf>,
    /// How long a query of the local data may take; a little less than a call, so that it can say so itself.
    pub query_time: Duration,
    /// BigQuery, which is then asked unless a query names the local data.
    pub bigquery: Option<Arc<BigQuery>>,
    /// The web.
    pub web: Option<WebSettings>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
}

impl ToolSettings {
    /// Tools for this data and nothing else.
    #[must_use]
    pub fn new(data: Arc<Data>) -> Self {
        Self {
            data,
            documents: None,
            folders: Vec::new(),
            query_time: Duration::from_secs(8),
            bigquery: None,
            web: None,
            clock: Arc::new(SystemClock),
        }
    }
}

/// The tools there are with these settings. What is not configured is not there.
///
/// # Errors
/// When a setting makes no sense, such as a folder that does not exist.
pub fn tools(settings: &ToolSettings) -> Result<Vec<SharedTool>> {
    let ToolSettings { data, bigquery, query_time, clock, .. } = settings;
    let mut tools: Vec<SharedTool> = vec![
        query::QueryTool { data: data.clone(), bigquery: bigquery.clone(), time: *query_time }.into(),
        query::tables::ListTables(data.clone()).into(),
        query::tables::DescribeTable(data.clone()).into(),
        calculate::Calculate.into(),
        clock::Now(clock.clone()).into(),
        memory::SearchMemory.into(),
        memory::ForgetMemory.into(),
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

/// Adds tools of others. None takes the name of one that is there already.
///
/// # Errors
/// When two have the same name.
pub fn joined(mut tools: Vec<SharedTool>, more: Vec<SharedTool>) -> Result<Vec<SharedTool>> {
    for tool in more {
        let name = &tool.spec().name;
        if tools.iter().any(|known| known.spec().name == *name) {
            return Err(Error::new(Code::ConfigInvalid, format!("two tools are called `{name}`")));
        }
        tools.push(tool);
    }
    Ok(tools)
}
