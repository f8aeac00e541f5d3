//! Registry of graphs, and [`ServedGraph`], the interface of a graph without its state and context types.
//!
//! A graph is wrapped once ([`serve_graph`]); the server, the run service and every route then see only
//! [`ServedGraph`]. The worker executes runs, not this module.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep::core::diagram::Diagram;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::port::BoxFuture;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::telemetry::Metrics;
use superstep::{EventsQuery, HistoryQuery, JournalEvent, RunControl, ThreadStatus};

pub use crate::graphs::served_graph::{serve_graph, serve_graph_with_annotations};
pub(crate) use crate::graphs::thread_state::output_values;
pub use crate::graphs::thread_state::{ThreadInterrupt, ThreadState, ThreadTask};
pub use crate::runs::handle::{RunHandle, RunResult};
pub use crate::runs::request::{RunInput, RunRequest, new_run_id, new_thread_id};

use crate::api::problem::Problem;
use crate::config::Storage;

/// Future of an operation on a graph.
pub type GraphFuture<'a, T> = BoxFuture<'a, Result<T, Problem>>;

/// A graph that the server runs, without its state and context types. Created by [`serve_graph`].
pub trait ServedGraph: Send + Sync + 'static {
    /// Returns the name of the graph in requests.
    fn name(&self) -> &str;

    /// Returns the diagram of the graph.
    fn diagram(&self) -> Diagram;

    /// Returns the JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Returns the JSON Schema of the output.
    fn output_schema(&self) -> Value;

    /// Returns the same graph with its threads in this storage.
    fn with_storage(&self, storage: &Storage) -> Arc<dyn ServedGraph>;

    /// Adds values that the client omitted to a request that starts a thread, such as a title.
    fn annotate(&self, request: RunRequest) -> RunRequest;

    /// Validates a request; called before anything is persisted.
    ///
    /// # Errors
    /// Returns every validation error of the request.
    fn validate<'a>(&'a self, request: &'a RunRequest) -> GraphFuture<'a, ()>;

    /// Creates a run. The run starts when its first event is requested.
    ///
    /// # Errors
    /// Returns an error if the request does not fit the graph.
    fn start(&self, request: &RunRequest, options: RunOptions) -> Result<RunHandle, Problem>;

    /// Returns the newest state of a thread.
    fn state<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ThreadState>;

    /// Returns the states of a thread, the newest first.
    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> GraphFuture<'a, Vec<ThreadState>>;

    /// Returns the persisted events of a thread.
    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> GraphFuture<'a, Vec<JournalEvent>>;

    /// Returns the status of a thread; `None` if it does not exist.
    fn status<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, Option<ThreadStatus>>;

    /// Updates the state of a thread from outside a run, optionally as a node.
    fn update<'a>(
        &'a self,
        thread: &'a ThreadId,
        values: Value,
        as_node: Option<String>,
    ) -> GraphFuture<'a, CheckpointId>;

    /// Deletes the checkpoints and events of a thread; its records stay.
    fn delete<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ()>;

    /// Returns true if a run has a checkpoint on a thread.
    fn has_checkpoint_of_run<'a>(&'a self, thread: &'a ThreadId, run: RunId) -> GraphFuture<'a, bool> {
        Box::pin(async move {
            let query = HistoryQuery { run: Some(run), limit: Some(1), ..HistoryQuery::default() };
            self.history(thread, &query).await.map(|checkpoints| !checkpoints.is_empty())
        })
    }
}

/// Options that the server adds to a run.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunOptions {
    /// Control that cancels or drains the run.
    pub control: RunControl,
    /// Metrics that measure the run.
    pub metrics: Metrics,
    /// Maximum duration of the run.
    pub timeout: Option<Duration>,
}

/// Served graphs by name.
#[derive(Clone)]
pub struct GraphRegistry(Arc<BTreeMap<String, Arc<dyn ServedGraph>>>);

impl GraphRegistry {
    /// Creates a registry of these graphs.
    ///
    /// # Errors
    /// Returns an error if two graphs have the same name.
    pub fn new(graphs: impl IntoIterator<Item = Arc<dyn ServedGraph>>) -> Result<Self, superstep::Error> {
        let mut by_name: BTreeMap<String, Arc<dyn ServedGraph>> = BTreeMap::new();
        for graph in graphs {
            let name = graph.name().to_owned();
            if by_name.insert(name.clone(), graph).is_some() {
                let message = format!("duplicate graph `{name}`");
                return Err(
                    superstep::Error::new(superstep::ErrorCode::ConfigInvalid, message).with_help("rename one of them")
                );
            }
        }
        Ok(Self(Arc::new(by_name)))
    }

    /// Returns the graph of this name.
    ///
    /// # Errors
    /// Returns 404 with the names of all graphs, the most similar first.
    pub fn get(&self, name: &str) -> Result<Arc<dyn ServedGraph>, Problem> {
        self.0.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            Problem::not_found(format!("graph `{name}` not found")).with_hint(did_you_mean_or_list(name, &names))
        })
    }

    /// Iterates over all graphs, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ServedGraph>> {
        self.0.values()
    }
}
