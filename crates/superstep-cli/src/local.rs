//! A desk in this process: graphs run here as they do in the server, with the same records and the same stores.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use superstep::Code;
use superstep::core::id::ThreadId;
use superstep::core::suggest::did_you_mean;
use superstep_server::{Config, Desk, RecordsQuery, Served, ThreadRecord};

use crate::failure::Failure;
use crate::graphs;
use crate::setup::Setup;

/// How long the end waits for stores to be closed.
const CLOSING: Duration = Duration::from_secs(3);

/// Runs something that needs a runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(Code::Internal, format!("the runtime cannot start: {}", error.kind()))
            .help("there may be too many processes on this machine")
    })?;
    let done = runtime.block_on(work);
    // What still runs lets go of the stores, and the last to do so closes them.
    runtime.shutdown_timeout(CLOSING);
    done
}

/// A thread that is known, with its graph.
pub(crate) struct Known {
    pub(crate) record: ThreadRecord,
    pub(crate) desk: Desk,
    pub(crate) served: Arc<dyn Served>,
}

/// Finds a thread and the graph it belongs to.
pub(crate) async fn known(setup: &Setup, config: Config, thread: &str) -> Result<Known, Failure> {
    let record = record(&Desk::open([], config.clone())?, thread).await?;
    let graph = graphs::find(setup, &record.graph)
        .map_err(|failure| failure.help(format!("thread `{thread}` belongs to graph `{}`", record.graph)))?;
    let desk = Desk::open([graph], config)?;
    let served = desk.served(&record.graph)?;
    Ok(Known { record, desk, served })
}

/// What is known of a thread, or which one may have been meant.
pub(crate) async fn record(desk: &Desk, thread: &str) -> Result<ThreadRecord, Failure> {
    if let Some(record) = desk.record(&ThreadId::from(thread)).await? {
        return Ok(record);
    }
    let query = RecordsQuery { limit: Some(200), ..RecordsQuery::default() };
    let records = desk.records(&query).await?;
    let near = did_you_mean(thread, records.iter().map(|record| record.thread.as_str()));
    let help = near.unwrap_or_else(|| "superstep threads".to_owned());
    Err(Failure::new(Code::NotFound, format!("no thread `{thread}`")).help(help))
}
