//! Map-reduce over items: a function that splits the input, one task per item, and a function that combines the
//! results.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::port::{BoxFuture, SharedCheckpointer};
use crate::core::state::UncheckedUpdate;
use crate::node;
use crate::{
    Command, CompiledGraph, END, Error, ErrorCode, FromTask, GraphState, Node, NodeBuilder, NodeError, Outcome,
    Overwrite, Result, RunBuilder, RunEnd, START, SendPayload, SendTo, StateGraph, TaskContext, View,
};

/// The state of a map-reduce graph, as JSON. [`MapReduce`] holds the types.
#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "map_reduce")]
pub struct MapReduceState {
    /// Input of the graph.
    pub input: Value,
    /// Results of finished items, each with the index of its item.
    #[state(private)]
    #[reduce(append)]
    results: Vec<(usize, Value)>,
    /// Combined result of all items.
    pub output: Value,
}

/// Builds a graph that splits its input into items, applies `map` to each item in a separate task, and combines the
/// results, which are passed in the order of the items.
///
/// `map` is an async function, or a compiled graph whose input is an item and whose output state is the result. Tasks
/// that have finished do not run again if other tasks fail.
///
/// ```
/// use superstep::agents::map_reduce;
/// use superstep::prelude::*;
///
/// let words = map_reduce(
///     async |text: String, _cx| Ok(text.split(' ').map(str::to_owned).collect()),
///     async |word: String, _cx| Ok(word.len()),
///     async |lengths: Vec<usize>, _cx| Ok(lengths.into_iter().max()),
/// )
/// .map_node(|node| node.max_concurrency(8).retry(RetryPolicy::exponential(3)))
/// .compile()?;
/// let done = words.invoke(&"the longest word wins".to_owned())?.wait_blocking()?;
/// assert_eq!(words.output(&done)?, Some(Some(7)));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn map_reduce<I, T, O, S, SFut, M, Marker, R, RFut>(
    split: S,
    map: M,
    reduce: R,
) -> MapReduceBuilder<I, O, M::Context>
where
    I: DeserializeOwned + std::marker::Send + 'static,
    T: Serialize + std::marker::Send + 'static,
    O: Serialize + 'static,
    S: Fn(I, TaskContext) -> SFut + std::marker::Send + Sync + 'static,
    SFut: Future<Output = Result<Vec<T>, NodeError>> + std::marker::Send + 'static,
    M: Mapper<T, Marker>,
    R: Fn(Vec<M::Output>, TaskContext) -> RFut + std::marker::Send + Sync + 'static,
    RFut: Future<Output = Result<O, NodeError>> + std::marker::Send + 'static,
{
    MapReduceBuilder {
        name: "map_reduce".to_owned(),
        split: erase_types(split),
        map: MapTask(map.into_map_fn()),
        reduce: erase_types(reduce),
        settings: Box::new(|node| node),
        checkpointer: None,
        types: PhantomData,
    }
}

type ErasedFn =
    Arc<dyn Fn(Value, TaskContext) -> BoxFuture<'static, Result<Value, NodeError>> + std::marker::Send + Sync>;

/// Erases the types of a function.
fn erase_types<A, B, F, Fut>(work: F) -> ErasedFn
where
    A: DeserializeOwned,
    B: Serialize,
    F: Fn(A, TaskContext) -> Fut + std::marker::Send + Sync + 'static,
    Fut: Future<Output = Result<B, NodeError>> + std::marker::Send + 'static,
{
    Arc::new(move |input, cx| match serde_json::from_value(input) {
        Ok(input) => {
            let future = work(input, cx);
            Box::pin(async move { Ok(serde_json::to_value(future.await?)?) })
        }
        Err(error) => {
            let error = Error::new(ErrorCode::InputInvalid, format!("the input does not match its type: {error}"));
            Box::pin(std::future::ready(Err(error.into())))
        }
    })
}

/// A function or graph that maps an item `T`: an async function of the item and [`TaskContext`], or a compiled graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot map items of type `{T}`",
    note = "use an async function `async |item: {T}, cx: TaskContext| Ok(..)`, or a compiled graph"
)]
pub trait Mapper<T, Marker> {
    /// Type of the result of an item.
    type Output: DeserializeOwned;
    /// Type of the run context.
    type Context: std::marker::Send + Sync + 'static;

    /// Erases the types.
    #[doc(hidden)]
    fn into_map_fn(self) -> ErasedFn;
}

/// Marker of functions.
pub struct FunctionMarker;
/// Marker of compiled graphs.
pub struct GraphMarker;

impl<T, O, F, Fut> Mapper<T, (FunctionMarker, Fut)> for F
where
    T: DeserializeOwned,
    O: Serialize + DeserializeOwned,
    F: Fn(T, TaskContext) -> Fut + std::marker::Send + Sync + 'static,
    Fut: Future<Output = Result<O, NodeError>> + std::marker::Send + 'static,
{
    type Output = O;
    type Context = ();

    fn into_map_fn(self) -> ErasedFn {
        erase_types(self)
    }
}

impl<T, S, C> Mapper<T, GraphMarker> for CompiledGraph<S, C>
where
    S: GraphState + Serialize + DeserializeOwned,
    C: std::marker::Send + Sync + 'static,
{
    type Output = S;
    type Context = C;

    fn into_map_fn(self) -> ErasedFn {
        Arc::new(move |item, cx| {
            let run = match item {
                Value::Object(fields) => Ok(self.invoke(UncheckedUpdate::Json(fields)).nested_in(&cx)),
                _ => Err(Error::new(
                    ErrorCode::InputInvalid,
                    "the item must be an object of fields, because a \
                     graph maps it",
                )),
            };
            Box::pin(async move {
                let done = run?.await?;
                match done.end {
                    RunEnd::Finished | RunEnd::Truncated => Ok(serde_json::to_value(&*done.state)?),
                    _ => Err(NodeError::new(
                        "the graph of an item was interrupted; only its parent run can \
                             continue it",
                    )
                    .fatal()),
                }
            })
        })
    }
}

/// Builder of a map-reduce graph. Created by [`map_reduce`].
#[must_use = "a map-reduce builder has no effect until `compile` is called"]
pub struct MapReduceBuilder<I, O, C = ()> {
    name: String,
    split: ErasedFn,
    map: MapTask,
    reduce: ErasedFn,
    settings: Box<dyn FnOnce(NodeBuilder<MapTask>) -> NodeBuilder<MapTask> + std::marker::Send>,
    checkpointer: Option<SharedCheckpointer>,
    types: PhantomData<fn(I, C) -> O>,
}

impl<I, O, C: std::marker::Send + Sync + 'static> MapReduceBuilder<I, O, C> {
    /// Sets the name of the graph. Default: `map_reduce`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Configures the node whose tasks process the items: concurrency, retries, timeouts, and the effect of a failure
    /// on the other tasks.
    pub fn map_node(
        mut self,
        settings: impl FnOnce(NodeBuilder<MapTask>) -> NodeBuilder<MapTask> + std::marker::Send + 'static,
    ) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// Sets the default checkpointer of runs.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Builds and compiles the graph.
    ///
    /// # Errors
    /// Returns an error if the name is not valid for a graph.
    pub fn compile(self) -> Result<MapReduce<I, O, C>> {
        let mut graph = StateGraph::<MapReduceState, C>::new(&self.name);
        graph.input_fields(["input"]).output_fields(["output"]);
        let split = Split(self.split);
        let split = graph.add_node("split", node(split).writes(["results"]).goto_targets(["map", "reduce"]));
        let map = (self.settings)(node(self.map).writes(["results"]));
        let map = graph.add_node("map", map);
        let reduce = node(Reduce(self.reduce)).reads(["results"]).writes(["results", "output"]);
        let reduce = graph.add_node("reduce", reduce);
        graph.add_edge(START, split).add_edge(map, reduce).add_edge(reduce, END);
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        Ok(MapReduce { graph: graph.compile()?, types: PhantomData })
    }
}

/// A compiled map-reduce graph with typed input and output.
pub struct MapReduce<I, O, C = ()> {
    graph: CompiledGraph<MapReduceState, C>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Serialize, O: DeserializeOwned, C: std::marker::Send + Sync + 'static> MapReduce<I, O, C> {
    /// Returns the builder of a run.
    ///
    /// # Errors
    /// Returns an error if the input does not serialize to JSON.
    pub fn invoke(&self, input: &I) -> Result<RunBuilder<MapReduceState, C>> {
        let invalid_input =
            |error| Error::new(ErrorCode::InputInvalid, format!("failed to serialize the input as JSON: {error}"));
        Ok(self.graph.invoke(MapReduceState::input().input(serde_json::to_value(input).map_err(invalid_input)?)))
    }

    /// Returns the compiled graph, for resuming, history, diagrams and everything else.
    #[must_use]
    pub fn graph(&self) -> &CompiledGraph<MapReduceState, C> {
        &self.graph
    }

    /// Returns the combined result, or `None` if the run is not finished.
    ///
    /// # Errors
    /// Returns an error if the result does not deserialize as `O`.
    pub fn output(&self, outcome: &Outcome<MapReduceState>) -> Result<Option<O>> {
        if !outcome.is_finished() {
            return Ok(None);
        }
        let value = outcome.state.output.clone();
        serde_json::from_value(value).map(Some).map_err(|error| Error::new(ErrorCode::OutputInvalid, error.to_string()))
    }
}

struct Split(ErasedFn);

impl<C> Node<MapReduceState, C> for Split {
    type Output = Command<MapReduceState>;

    async fn run(&self, cx: TaskContext) -> Result<Command<MapReduceState>, NodeError> {
        let state: View<MapReduceState> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let items: Vec<Value> = serde_json::from_value((self.0)(state.input.clone(), cx).await?)?;
        // Results of an earlier run on the same thread are replaced.
        let command = Command::new().update(MapReduceState::update().results(Overwrite(Vec::new())));
        if items.is_empty() {
            return Ok(command.and_goto("reduce"));
        }
        Ok(items.into_iter().enumerate().fold(command, |command, item| command.send(SendTo::new("map", item))))
    }
}

/// The node that processes one item. Configured by [`MapReduceBuilder::map_node`].
pub struct MapTask(ErasedFn);

impl<C> Node<MapReduceState, C> for MapTask {
    type Output = MapReduceStateUpdate;

    async fn run(&self, cx: TaskContext) -> Result<MapReduceStateUpdate, NodeError> {
        let SendPayload((index, item)): SendPayload<(usize, Value)> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let result = (self.0)(item, cx).await?;
        Ok(MapReduceState::update().results((index, result)))
    }
}

struct Reduce(ErasedFn);

impl<C> Node<MapReduceState, C> for Reduce {
    type Output = MapReduceStateUpdate;

    async fn run(&self, cx: TaskContext) -> Result<MapReduceStateUpdate, NodeError> {
        let state: View<MapReduceState> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let mut results = state.results.clone();
        results.sort_by_key(|(index, _)| *index);
        let results = results.into_iter().map(|(_, result)| result).collect();
        let output = (self.0)(results, cx).await?;
        Ok(MapReduceState::update().results(Overwrite(Vec::new())).output(output))
    }
}
