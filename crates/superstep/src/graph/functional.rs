//! Functional API: a graph of one function with durable steps.
//!
//! The function is the only node of the graph. Results of [`TaskContext::task`] and [`TaskContext::once`] are recorded,
//! so that an interrupted, failed or crashed run continues without repeating them.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::graph::{END, START};
use superstep_core::port::{BoxFuture, SharedCheckpointer};
use superstep_core::schema::{Schema, SchemaBuilder, field};

use crate::engine::context::TaskContext;
use crate::graph::builder::StateGraph;
use crate::graph::cache::{Cache, CachePolicy};
use crate::graph::compiled::CompiledGraph;
use crate::graph::extract::View;
use crate::graph::node::{NodeBuilder, NodePolicies, node};
use crate::graph::output::NodeError;
use crate::graph::retry::RetryPolicy;
use crate::run::builder::{Outcome, RunBuilder, StartInput};

/// Return value of an entry point whose output differs from the value that is saved for the next call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Final<O, P> {
    /// Output for the caller.
    pub value: O,
    /// Value that [`TaskContext::previous`] returns in the next call on the thread.
    pub save: P,
}

/// A return type of an entry point: a value that is both output and saved, or a [`Final`].
pub trait IntoFinal {
    /// Output for the caller.
    type Output;
    /// Converts to the output and the saved value.
    ///
    /// # Errors
    /// Returns an error if one of the values does not serialize to JSON.
    fn into_final(self) -> Result<(Value, Value), NodeError>;
}

impl<O: Serialize> IntoFinal for O {
    type Output = O;
    fn into_final(self) -> Result<(Value, Value), NodeError> {
        let value = serde_json::to_value(self)?;
        Ok((value.clone(), value))
    }
}

impl<O: Serialize, P: Serialize> IntoFinal for Final<O, P> {
    type Output = O;
    fn into_final(self) -> Result<(Value, Value), NodeError> {
        Ok((serde_json::to_value(self.value)?, serde_json::to_value(self.save)?))
    }
}

/// A function as a graph. Created by [`entrypoint`].
pub struct Entrypoint<I, O, C = ()> {
    graph: CompiledGraph<DynamicState, C>,
    types: PhantomData<fn(I) -> O>,
}

type EntrypointFn =
    Arc<dyn Fn(Value, TaskContext) -> BoxFuture<'static, Result<(Value, Value), NodeError>> + Send + Sync>;

/// Builder of an entry point.
#[must_use = "an entrypoint has no effect until `compile` is called"]
pub struct EntrypointBuilder<I, O> {
    name: String,
    work: EntrypointFn,
    checkpointer: Option<SharedCheckpointer>,
    cache: Option<Cache>,
    policies: NodePolicies,
    types: PhantomData<fn(I) -> O>,
}

/// Creates a graph of one function, without explicit nodes and edges.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::entrypoint;
///
/// let double = entrypoint("double", async |n: u64, cx: TaskContext| {
///     let two = cx.task("fetch the factor", async { Ok::<u64, NodeError>(2) }).await?;
///     Ok(n * two)
/// })
/// .compile()?;
/// let done = double.invoke(&21).wait_blocking()?;
/// assert_eq!(double.output(&done)?, Some(42));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn entrypoint<I, F, Fut, R>(name: &str, work: F) -> EntrypointBuilder<I, R::Output>
where
    I: DeserializeOwned + Send + 'static,
    F: Fn(I, TaskContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
    R: IntoFinal + 'static,
{
    let work: EntrypointFn = Arc::new(move |input, cx| {
        let input = match serde_json::from_value(input) {
            Ok(input) => input,
            Err(error) => {
                let error = Error::new(ErrorCode::InputInvalid, format!("the input does not match its type: {error}"));
                return Box::pin(std::future::ready(Err(error.into())));
            }
        };
        let future = work(input, cx);
        Box::pin(async move { future.await?.into_final() })
    });
    EntrypointBuilder {
        name: name.to_owned(),
        work,
        checkpointer: None,
        cache: None,
        policies: NodePolicies::default(),
        types: PhantomData,
    }
}

impl<I, O> EntrypointBuilder<I, O> {
    /// Sets the default checkpointer of runs.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Retries the function if it fails; recorded steps do not run again.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.policies.retry.get_or_insert_default().push(retry);
        self
    }

    /// Reuses the result of an earlier equal call from `cache`.
    pub fn cache(mut self, cache: Cache, policy: CachePolicy) -> Self {
        (self.cache, self.policies.cache) = (Some(cache), Some(policy));
        self
    }

    /// Builds and compiles the graph.
    ///
    /// # Errors
    /// Returns an error if the name is not valid for a node.
    pub fn compile(self) -> Result<Entrypoint<I, O>> {
        self.compile_with_context::<()>()
    }

    /// Builds and compiles the graph with a run context of type `C`.
    ///
    /// # Errors
    /// Returns an error if the name is not valid for a node.
    pub fn compile_with_context<C: Send + Sync + 'static>(self) -> Result<Entrypoint<I, O, C>> {
        let (name, work) = (self.name, self.work);
        let fields = ["input", "output", "previous"].into_iter().map(field);
        let schema = fields.fold(Schema::builder(&name), SchemaBuilder::field).build()?;
        let mut graph = StateGraph::<DynamicState, C>::with_schema(&name, schema);
        graph.input_fields(["input"]).output_fields(["output"]);
        let function = move |cx: TaskContext, state: View<DynamicState>| {
            let future = work(state.get("input").into_owned(), cx);
            async move {
                let (output, previous) = future.await?;
                Ok::<Value, NodeError>(json!({ "output": output, "previous": previous }))
            }
        };
        let node = graph.add_node(&name, NodeBuilder { policies: self.policies, ..node(function) });
        graph.add_edge(START, node).add_edge(node, END);
        if let Some(cache) = self.cache {
            graph.cache(cache);
        }
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        Ok(Entrypoint { graph: graph.compile()?, types: PhantomData })
    }
}

impl<I: Serialize, O: DeserializeOwned, C: Send + Sync + 'static> Entrypoint<I, O, C> {
    /// Returns the builder of a run that calls the function.
    pub fn invoke(&self, input: &I) -> RunBuilder<DynamicState, C> {
        match serde_json::to_value(input) {
            Ok(input) => self.graph.invoke(json!({ "input": input })),
            Err(error) => RunBuilder::new(
                &self.graph,
                StartInput::Invalid(format!("failed to serialize the input as JSON: {error}")),
            ),
        }
    }

    /// Returns the compiled graph, for resuming, history and everything else.
    #[must_use]
    pub fn graph(&self) -> &CompiledGraph<DynamicState, C> {
        &self.graph
    }

    /// Returns the output of the function, or `None` if the run is interrupted.
    ///
    /// # Errors
    /// Returns an error if the output does not deserialize as `O`.
    pub fn output(&self, outcome: &Outcome<DynamicState>) -> Result<Option<O>> {
        if !outcome.is_finished() {
            return Ok(None);
        }
        let value = outcome.state.get("output").into_owned();
        serde_json::from_value(value).map(Some).map_err(|error| Error::new(ErrorCode::OutputInvalid, error.to_string()))
    }
}

impl TaskContext {
    /// Returns the value that the last call of this entry point on the thread saved.
    ///
    /// # Errors
    /// Returns an error if the value does not deserialize as `T`.
    pub fn previous<T: DeserializeOwned>(&self) -> Result<Option<T>, NodeError> {
        let Some(state) = self.view().downcast_ref::<DynamicState>() else { return Ok(None) };
        match state.get("previous").into_owned() {
            Value::Null => Ok(None),
            value => Ok(Some(serde_json::from_value(value)?)),
        }
    }
}
