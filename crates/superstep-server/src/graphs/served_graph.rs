//! A compiled graph behind [`ServedGraph`]: the only module of the server that knows its state and context types.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::core::diagram::Diagram;
use superstep::core::error::Diagnostic;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::core::validation_error::ValidationError;
use superstep::{
    AsNode, CompiledGraph, Error, ErrorCode, EventsQuery, GraphState, HistoryQuery, JournalEvent, MultitaskStrategy,
    RunBuilder, ThreadStatus, Threads,
};

use crate::api::problem::{Problem, ProblemField};
use crate::config::Storage;
use crate::graphs::registry::{GraphFuture, RunHandle, RunInput, RunOptions, RunRequest, ServedGraph, ThreadState};
use crate::graphs::thread_state::thread_state;

/// Wraps a compiled graph for the server. `context` creates the run context from the request.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_server::serve_graph;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Count { #[reduce(add)] n: u64 }
///
/// let mut graph = StateGraph::<Count>::new("count");
/// let one = graph.add_node("one", || Count::update().n(1u64));
/// graph.add_edge(START, one);
/// graph.add_edge(one, END);
/// let count = serve_graph(graph.compile()?, |_| Ok(()));
/// assert_eq!(count.name(), "count");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn serve_graph<S: GraphState, C: Send + Sync + 'static>(
    graph: CompiledGraph<S, C>,
    context: impl Fn(&RunRequest) -> Result<C, Problem> + Send + Sync + 'static,
) -> Arc<dyn ServedGraph> {
    serve_graph_with_annotations(graph, context, |request| request)
}

/// Wraps a compiled graph as [`serve_graph`] does, for an application that annotates its threads: `annotate` adds
/// values that the client omitted, such as a title, to a request that starts a thread.
pub fn serve_graph_with_annotations<S: GraphState, C: Send + Sync + 'static>(
    graph: CompiledGraph<S, C>,
    context: impl Fn(&RunRequest) -> Result<C, Problem> + Send + Sync + 'static,
    annotate: impl Fn(RunRequest) -> RunRequest + Send + Sync + 'static,
) -> Arc<dyn ServedGraph> {
    Arc::new(TypedServedGraph { graph, context: Arc::new(context), annotate: Arc::new(annotate), storage: None })
}

type ContextFn<C> = Arc<dyn Fn(&RunRequest) -> Result<C, Problem> + Send + Sync>;
type AnnotateFn = Arc<dyn Fn(RunRequest) -> RunRequest + Send + Sync>;

struct TypedServedGraph<S, C> {
    graph: CompiledGraph<S, C>,
    context: ContextFn<C>,
    annotate: AnnotateFn,
    storage: Option<Storage>,
}

impl<S: GraphState, C: Send + Sync + 'static> TypedServedGraph<S, C> {
    fn threads(&self) -> Threads<S, C> {
        let threads = self.graph.threads();
        match &self.storage {
            Some(storage) => threads.checkpointer(storage.checkpointer.clone()),
            None => threads,
        }
    }

    fn build_run(&self, request: &RunRequest) -> RunBuilder<S, C> {
        match &request.input {
            RunInput::Input(input) => self.graph.invoke(input.clone()).thread(&request.thread),
            RunInput::Resume(values) => self.graph.resume_with(&request.thread, values.clone()),
            RunInput::Continue => self.graph.continue_thread(&request.thread),
        }
    }
}

impl<S: GraphState, C: Send + Sync + 'static> ServedGraph for TypedServedGraph<S, C> {
    fn name(&self) -> &str {
        self.graph.name()
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
        let (graph, context, annotate) = (self.graph.clone(), self.context.clone(), self.annotate.clone());
        Arc::new(Self { graph, context, annotate, storage: Some(storage.clone()) })
    }

    fn annotate(&self, request: RunRequest) -> RunRequest {
        (self.annotate)(request)
    }

    fn validate<'a>(&'a self, request: &'a RunRequest) -> GraphFuture<'a, ()> {
        Box::pin(async move {
            if !request.thread.is_valid() {
                let detail = format!("`{}` is not a valid thread id", request.thread);
                return Err(Problem::invalid(detail, []).with_hint("use 1 to 128 letters, digits and `_ . : -`"));
            }
            match &request.input {
                RunInput::Input(Value::Object(input)) => {
                    let is_new = self.threads().status(&request.thread).await?.is_none();
                    self.check_input(input, is_new)
                }
                RunInput::Input(other) => {
                    let message = format!("expected an object, found {}", json_type(other));
                    Err(Problem::invalid("the input is invalid", [ProblemField::from(ValidationError::new(message))]))
                }
                RunInput::Resume(_) | RunInput::Continue => Ok(()),
            }
        })
    }

    fn start(&self, request: &RunRequest, options: RunOptions) -> Result<RunHandle, Problem> {
        let context = (self.context)(request)?;
        // `Reject` also for a recovered run: another run on the thread may already have processed the same input.
        let mut run =
            self.build_run(request).run_id(request.run).context(context).multitask_strategy(MultitaskStrategy::Reject);
        run = run.control(options.control).metrics(&options.metrics);
        for (key, value) in &request.metadata {
            run = run.metadata(key.clone(), value.clone());
        }
        if let Some(timeout) = options.timeout {
            run = run.timeout(timeout);
        }
        if let Some(storage) = &self.storage {
            run = run.checkpointer(storage.checkpointer.clone()).store(storage.store.clone());
        }
        Ok(RunHandle::new(run.journal_events().stream_events().as_journaled()))
    }

    fn state<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ThreadState> {
        Box::pin(async move { thread_state(self.graph.schema(), &self.threads().get_state(thread).await?) })
    }

    fn history<'a>(&'a self, thread: &'a ThreadId, query: &'a HistoryQuery) -> GraphFuture<'a, Vec<ThreadState>> {
        Box::pin(async move {
            let states = self.threads().get_state_history(thread, query).await?;
            states.iter().map(|state| thread_state(self.graph.schema(), state)).collect()
        })
    }

    fn events<'a>(&'a self, thread: &'a ThreadId, query: &'a EventsQuery) -> GraphFuture<'a, Vec<JournalEvent>> {
        Box::pin(async move { Ok(self.threads().events(thread, query).await?) })
    }

    fn status<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, Option<ThreadStatus>> {
        Box::pin(async move { Ok(self.threads().status(thread).await?) })
    }

    fn update<'a>(
        &'a self,
        thread: &'a ThreadId,
        values: Value,
        as_node: Option<String>,
    ) -> GraphFuture<'a, CheckpointId> {
        Box::pin(async move {
            let as_node = as_node.map_or(AsNode::None, |node| AsNode::from(node.as_str()));
            Ok(self.threads().update_state(thread, values).as_node(as_node).await?)
        })
    }

    fn delete<'a>(&'a self, thread: &'a ThreadId) -> GraphFuture<'a, ()> {
        Box::pin(async move { Ok(self.threads().delete(thread).await?) })
    }
}

impl<S: GraphState, C: Send + Sync + 'static> TypedServedGraph<S, C> {
    /// Collects all validation errors of an input; the engine validates again when the run starts.
    fn check_input(&self, input: &Map<String, Value>, is_new: bool) -> Result<(), Problem> {
        let (schema, input_schema) = (self.graph.schema(), self.graph.input_schema());
        let is_input = |name: &str| input_schema["properties"].get(name).is_some();
        let mut diagnostics = schema.update_from_json(input.clone(), &mut Vec::new()).err().unwrap_or_default();
        for name in input.keys().filter(|name| schema.find(name).is_some() && !is_input(name)) {
            let message = format!("field `{name}` is not part of the input");
            diagnostics.push(Diagnostic { pointer: format!("/{name}"), message, help: None });
        }
        for (_, field) in schema.iter().filter(|(_, field)| is_new && field.flags.required && is_input(&field.name)) {
            if !input.contains_key(&*field.name) {
                let message = format!("required field `{}` is missing", field.name);
                diagnostics.push(Diagnostic { pointer: format!("/{}", field.name), message, help: None });
            }
        }
        if diagnostics.is_empty() {
            return Ok(());
        }
        let error = Error::with_diagnostics(ErrorCode::InputInvalid, "the input is invalid", diagnostics);
        Err(error.with_help("nothing was run; correct the input and run again").into())
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
