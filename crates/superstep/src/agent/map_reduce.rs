//! One thing done with many items: split, a task for each item, and one result of all.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::port::{BoxFuture, SharedCheckpointer};
use crate::core::state::Draft;
use crate::{
    Code, Command, Compiled, Cx, END, Error, FromTask, Graph, Node, NodeError, NodeWith, Outcome, Overwrite, Result,
    Run, START, Send, Sent, State, Status, View, node,
};

/// The state of a map-reduce graph, as JSON: [`MapReduce`] knows the types.
#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "map_reduce")]
pub struct MapReduceState {
    /// What was given.
    pub input: Value,
    /// What became of the items so far, each with its place.
    #[state(private)]
    #[reduce(append)]
    results: Vec<(usize, Value)>,
    /// What became of all.
    pub output: Value,
}

/// A graph that splits its input into items, does `map` with each of them in a task of its own, and makes one result of
/// theirs, which are in the order of the items.
///
/// `map` is an async function, or a compiled graph whose input an item is and whose state is the result. Tasks that have
/// ended are not run again, whatever happens to the others.
///
/// ```
/// use superstep::agent::map_reduce;
/// use superstep::prelude::*;
///
/// let words = map_reduce(
///     async |text: String, _cx| Ok(text.split(' ').map(str::to_owned).collect()),
///     async |word: String, _cx| Ok(word.len()),
///     async |lengths: Vec<usize>, _cx| Ok(lengths.into_iter().max()),
/// )
/// .map_node(|node| node.max_concurrency(8).retry(Retry::exponential(3)))
/// .compile()?;
/// let done = words.run(&"the longest word wins".to_owned())?.wait()?;
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
    S: Fn(I, Cx) -> SFut + std::marker::Send + Sync + 'static,
    SFut: Future<Output = Result<Vec<T>, NodeError>> + std::marker::Send + 'static,
    M: Mapper<T, Marker>,
    R: Fn(Vec<M::Output>, Cx) -> RFut + std::marker::Send + Sync + 'static,
    RFut: Future<Output = Result<O, NodeError>> + std::marker::Send + 'static,
{
    MapReduceBuilder {
        name: "map_reduce".to_owned(),
        split: step(split),
        map: MapTask(map.into_work()),
        reduce: step(reduce),
        settings: Box::new(|node| node),
        checkpointer: None,
        types: PhantomData,
    }
}

type Work = Arc<dyn Fn(Value, Cx) -> BoxFuture<'static, Result<Value, NodeError>> + std::marker::Send + Sync>;

/// A function without its types.
fn step<A, B, F, Fut>(work: F) -> Work
where
    A: DeserializeOwned,
    B: Serialize,
    F: Fn(A, Cx) -> Fut + std::marker::Send + Sync + 'static,
    Fut: Future<Output = Result<B, NodeError>> + std::marker::Send + 'static,
{
    Arc::new(move |given, cx| match serde_json::from_value(given) {
        Ok(given) => {
            let future = work(given, cx);
            Box::pin(async move { Ok(serde_json::to_value(future.await?)?) })
        }
        Err(error) => {
            let error = Error::new(Code::InputInvalid, format!("what is given does not fit: {error}"));
            Box::pin(std::future::ready(Err(error.into())))
        }
    })
}

/// What can be done with an item `T`: an async function of it and [`Cx`], or a compiled graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be done with each `{T}`",
    note = "give an async function `async |item: {T}, cx: Cx| Ok(..)`, or a compiled graph"
)]
pub trait Mapper<T, Marker> {
    /// What becomes of an item.
    type Output: DeserializeOwned;
    /// What it takes as context.
    type Context: std::marker::Send + Sync + 'static;

    /// It without its types.
    #[doc(hidden)]
    fn into_work(self) -> Work;
}

/// Marks functions.
pub struct AsStep;
/// Marks compiled graphs.
pub struct AsGraph;

impl<T, O, F, Fut> Mapper<T, (AsStep, Fut)> for F
where
    T: DeserializeOwned,
    O: Serialize + DeserializeOwned,
    F: Fn(T, Cx) -> Fut + std::marker::Send + Sync + 'static,
    Fut: Future<Output = Result<O, NodeError>> + std::marker::Send + 'static,
{
    type Output = O;
    type Context = ();

    fn into_work(self) -> Work {
        step(self)
    }
}

impl<T, S, C> Mapper<T, AsGraph> for Compiled<S, C>
where
    S: State + Serialize + DeserializeOwned,
    C: std::marker::Send + Sync + 'static,
{
    type Output = S;
    type Context = C;

    fn into_work(self) -> Work {
        Arc::new(move |item, cx| {
            let run = match item {
                Value::Object(fields) => Ok(self.run(Draft::Json(fields)).inside(&cx)),
                _ => Err(Error::new(Code::InputInvalid, "a graph takes an object of fields, and an item is none")),
            };
            Box::pin(async move {
                let done = run?.await?;
                match done.status {
                    Status::Finished | Status::Truncated => Ok(serde_json::to_value(&*done.state)?),
                    _ => {
                        Err(NodeError::new("the graph of an item stopped, and only the run around it can go on")
                            .fatal())
                    }
                }
            })
        })
    }
}

/// A map-reduce graph in the making. Made by [`map_reduce`].
#[must_use = "call `compile`"]
pub struct MapReduceBuilder<I, O, C = ()> {
    name: String,
    split: Work,
    map: MapTask,
    reduce: Work,
    settings: Box<dyn FnOnce(NodeWith<MapTask>) -> NodeWith<MapTask> + std::marker::Send>,
    checkpointer: Option<SharedCheckpointer>,
    types: PhantomData<fn(I, C) -> O>,
}

impl<I, O, C: std::marker::Send + Sync + 'static> MapReduceBuilder<I, O, C> {
    /// The name of the graph; `map_reduce` unless told.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Settings of the node that each item is a task of: how many at once, retries, timeouts, what a failure means for
    /// the others.
    pub fn map_node(
        mut self,
        settings: impl FnOnce(NodeWith<MapTask>) -> NodeWith<MapTask> + std::marker::Send + 'static,
    ) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// The graph, ready to run.
    ///
    /// # Errors
    /// When the name is not one a graph can have.
    pub fn compile(self) -> Result<MapReduce<I, O, C>> {
        let mut graph = Graph::<MapReduceState, C>::new(&self.name);
        graph.input(["input"]).output(["output"]);
        let split = Split(self.split);
        let split = graph.node("split", node(split).writes(["results"]).goto(["map", "reduce"]));
        let map = (self.settings)(node(self.map).writes(["results"]));
        let map = graph.node("map", map);
        let reduce = node(Reduce(self.reduce)).reads(["results"]).writes(["results", "output"]);
        let reduce = graph.node("reduce", reduce);
        graph.edge(START, split).edge(map, reduce).edge(reduce, END);
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        Ok(MapReduce { graph: graph.compile()?, types: PhantomData })
    }
}

/// A map-reduce graph, with the types of what goes in and comes out.
pub struct MapReduce<I, O, C = ()> {
    graph: Compiled<MapReduceState, C>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Serialize, O: DeserializeOwned, C: std::marker::Send + Sync + 'static> MapReduce<I, O, C> {
    /// Runs it.
    ///
    /// # Errors
    /// When the input cannot be written as JSON.
    pub fn run(&self, input: &I) -> Result<Run<MapReduceState, C>> {
        let unfit = |error| Error::new(Code::InputInvalid, format!("the input cannot be written as JSON: {error}"));
        Ok(self.graph.run(MapReduceState::input().input(serde_json::to_value(input).map_err(unfit)?)))
    }

    /// The graph behind it: resume, history, drawings and everything else.
    #[must_use]
    pub fn graph(&self) -> &Compiled<MapReduceState, C> {
        &self.graph
    }

    /// What became of all items; `None` while the run waits.
    ///
    /// # Errors
    /// When it does not read as an `O`.
    pub fn output(&self, outcome: &Outcome<MapReduceState>) -> Result<Option<O>> {
        if !outcome.is_finished() {
            return Ok(None);
        }
        let value = outcome.state.output.clone();
        serde_json::from_value(value).map(Some).map_err(|error| Error::new(Code::OutputInvalid, error.to_string()))
    }
}

struct Split(Work);

impl<C> Node<MapReduceState, C> for Split {
    type Output = Command<MapReduceState>;

    async fn run(&self, cx: Cx) -> Result<Command<MapReduceState>, NodeError> {
        let state: View<MapReduceState> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let items: Vec<Value> = serde_json::from_value((self.0)(state.input.clone(), cx).await?)?;
        // A thread may have results of an earlier run.
        let command = Command::new().update(MapReduceState::update().results(Overwrite(Vec::new())));
        if items.is_empty() {
            return Ok(command.and_goto("reduce"));
        }
        Ok(items.into_iter().enumerate().fold(command, |command, item| command.send(Send::new("map", item))))
    }
}

/// What is done with one item, as a node. Settings are given to it by [`MapReduceBuilder::map_node`].
pub struct MapTask(Work);

impl<C> Node<MapReduceState, C> for MapTask {
    type Output = MapReduceStateUpdate;

    async fn run(&self, cx: Cx) -> Result<MapReduceStateUpdate, NodeError> {
        let Sent((place, item)): Sent<(usize, Value)> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let result = (self.0)(item, cx).await?;
        Ok(MapReduceState::update().results((place, result)))
    }
}

struct Reduce(Work);

impl<C> Node<MapReduceState, C> for Reduce {
    type Output = MapReduceStateUpdate;

    async fn run(&self, cx: Cx) -> Result<MapReduceStateUpdate, NodeError> {
        let state: View<MapReduceState> = FromTask::<MapReduceState, C>::from_task(&cx)?;
        let mut results = state.results.clone();
        results.sort_by_key(|(place, _)| *place);
        let results = results.into_iter().map(|(_, result)| result).collect();
        let output = (self.0)(results, cx).await?;
        Ok(MapReduceState::update().results(Overwrite(Vec::new())).output(output))
    }
}
