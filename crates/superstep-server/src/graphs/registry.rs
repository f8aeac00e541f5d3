//! Registry of served graphs, and the interface of a graph that hides its state and context types.
//!
//! A graph is wrapped once ([`served`]); the server, the run service and every route then see only [`ServedGraph`]. Runs
//! are not executed here but by the worker.

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

/// A graph as the server uses it, for any state and context type.
pub trait ServedGraph: Send + Sync + 'static {
    /// Name of the graph in requests.
    fn name(&self) -> &str;

    /// Returns the diagram of the graph.
    fn diagram(&self) -> Diagram;

    /// JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// JSON Schema of the output.
    fn output_schema(&self) -> Value;

    /// Returns the same graph with its threads in this storage.
    fn with_storage(&self, stores: &Storage) -> Arc<dyn ServedGraph>;

    /// Returns a request that starts a thread, with the values that the application adds if the client left them
    /// out: a title for lists, options.
    fn annotate(&self, order: RunRequest) -> RunRequest;

    /// Validates a request before anything is persisted.
    ///
    /// # Errors
    /// Returns every validation error of the request.
    fn validate<'a>(&'a self, order: &'a RunRequest) -> GraphFuture<'a, ()>;

    /// Creates a run, which does nothing until its first event is requested.
    ///
    /// # Errors
    /// Returns an error if the request does not fit the graph.
    fn start(&self, order: &RunRequest, terms: RunOptions) -> Result<RunHandle, Problem>;

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
    /// Control that stops the run.
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
        let mut named: BTreeMap<String, Arc<dyn ServedGraph>> = BTreeMap::new();
        for graph in graphs {
            let name = graph.name().to_owned();
            if named.insert(name.clone(), graph).is_some() {
                let message = format!("two graphs are called `{name}`");
                return Err(
                    superstep::Error::new(superstep::ErrorCode::ConfigInvalid, message).with_help("rename one of them")
                );
            }
        }
        Ok(Self(Arc::new(named)))
    }

    /// Returns the graph of this name.
    ///
    /// # Errors
    /// Returns 404 with the names of all graphs, the most similar first.
    pub fn get(&self, name: &str) -> Result<Arc<dyn ServedGraph>, Problem> {
        self.0.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            Problem::not_found(format!("no graph `{name}`")).with_hint(did_you_mean_or_list(name, &names))
        })
    }

    /// Iterates over all graphs, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ServedGraph>> {
        self.0.values()
    }
}
