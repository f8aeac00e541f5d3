//! A graph under its name in the settings, which replaces the name in its file.

use std::sync::Arc;

use serde_json::Value;
use superstep::core::diagram::Diagram;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::{EventsQuery, HistoryQuery, JournalEvent, ThreadStatus};
use superstep_server::{GraphFuture, Problem, RunHandle, RunOptions, RunRequest, ServedGraph, Storage, ThreadState};

/// Returns a graph under this name.
pub(super) fn rename(name: &str, graph: Arc<dyn ServedGraph>) -> Arc<dyn ServedGraph> {
    match graph.name() == name {
        true => graph,
        false => Arc::new(RenamedGraph { name: name.to_owned(), graph }),
    }
}

struct RenamedGraph {
    name: String,
    graph: Arc<dyn ServedGraph>,
}

impl ServedGraph for RenamedGraph {
    fn name(&self) -> &str {
        &self.name
    }

    fn diagram(&self) -> Diagram {
        self.graph.diagram()
    }

    fn input_schema(&self) -> Value {
        self.graph.input_schema()
    }

    fn output_schema(&self) -> Value {
        self.graph.output_schema()
    }

    fn with_storage(&self, storage: &Storage) -> Arc<dyn ServedGraph> {
        rename(&self.name, self.graph.with_storage(storage))
    }

    fn annotate(&self, request: RunRequest) -> RunRequest {
        self.graph.annotate(request)
    }

    fn validate<'a>(&'a self, request: &'a RunRequest) -> GraphFuture<'a, ()> {
        self.graph.validate(request)
    }

    fn start(&self, request: &RunRequest, options: RunOptions) -> Result<RunHandle, Problem> {
        self.graph.start(request, options)
    }

    fn state<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ThreadState> {
        self.graph.state(thread)
    }

    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> GraphFuture<'a, Vec<ThreadState>> {
        self.graph.history(thread, query)
    }

    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> GraphFuture<'a, Vec<JournalEvent>> {
        self.graph.events(thread, query)
    }

    fn status<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, Option<ThreadStatus>> {
        self.graph.status(thread)
    }

    fn update<'a>(
        &'a self,
        thread: &'a ThreadId,
        values: Value,
        as_node: Option<String>,
    ) -> GraphFuture<'a, CheckpointId> {
        self.graph.update(thread, values, as_node)
    }

    fn delete<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ()> {
        self.graph.delete(thread)
    }
}
