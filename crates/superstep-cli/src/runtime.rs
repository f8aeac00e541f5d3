//! A run service in this process: graphs run as they do in the server, with the same records and the same storage.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use superstep::ErrorCode;
use superstep::core::id::ThreadId;
use superstep::core::suggest::did_you_mean;
use superstep_server::{RunService, ServedGraph, ServerConfig, ThreadRecord, ThreadSearch};

use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;

/// Time that the storage gets to close at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a future on a new runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        CliError::new(ErrorCode::Internal, format!("cannot start the async runtime: {}", error.kind()))
            .help("there may be too many processes on this machine")
    })?;
    let result = runtime.block_on(future);
    // The storage closes when the last task drops its handle.
    runtime.shutdown_timeout(CLOSE_TIMEOUT);
    result
}

/// A thread with its record and its graph.
pub(crate) struct ThreadHandle {
    pub(crate) record: ThreadRecord,
    pub(crate) runs: RunService,
    pub(crate) graph: Arc<dyn ServedGraph>,
}

/// Opens a thread and the graph it belongs to.
pub(crate) async fn open_thread(
    config: &CliConfig,
    server_config: ServerConfig,
    thread: &str,
) -> Result<ThreadHandle, CliError> {
    let record = find_thread(&RunService::open([], server_config.clone())?, thread).await?;
    let graph = graphs::find(config, &record.graph)
        .map_err(|failure| failure.help(format!("thread `{thread}` belongs to graph `{}`", record.graph)))?;
    let runs = RunService::open([graph], server_config)?;
    let graph = runs.graph(&record.graph)?;
    Ok(ThreadHandle { record, runs, graph })
}

/// Returns the record of a thread, or an error that suggests a similar id.
pub(crate) async fn find_thread(runs: &RunService, thread: &str) -> Result<ThreadRecord, CliError> {
    if let Some(record) = runs.find_thread(&ThreadId::from(thread)).await? {
        return Ok(record);
    }
    let query = ThreadSearch { limit: Some(200), ..ThreadSearch::default() };
    let records = runs.search_threads(&query).await?;
    let similar = did_you_mean(thread, records.iter().map(|record| record.thread.as_str()));
    let help = similar.unwrap_or_else(|| "superstep threads".to_owned());
    Err(CliError::new(ErrorCode::NotFound, format!("thread `{thread}` not found")).help(help))
}
