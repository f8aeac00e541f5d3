//! Graphs without a drawing: one function with durable steps inside.
//!
//! The function is the only node of a graph; what it calls through [`Cx::task`] and [`Cx::once`] is recorded,
//! so that a run that stops (a question, a failure, a crash) goes on without repeating it.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_core::error::{Code, Error, Result};
use superstep_core::graph::{END, START};
use superstep_core::port::{BoxFuture, SharedCheckpointer};
use superstep_core::record::Record;
use superstep_core::schema::{Schema, SchemaBuilder, field};

use crate::cache::{Cache, CachePolicy};
use crate::call::{Input, Outcome, Run};
use crate::compiled::Compiled;
use crate::context::Cx;
use crate::extract::View;
use crate::graph::Graph;
use crate::node::{NodeWith, Policies, node};
use crate::output::NodeError;
use crate::retry::Retry;

/// What an entry point returns when the value to give and the value to keep for the next call differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Final<O, P> {
    /// What the caller gets.
    pub value: O,
    /// What [`Cx::previous`] gives in the next call on the thread.
    pub save: P,
}

/// What an entry point may return: a value that is both given and kept, or a [`Final`].
pub trait IntoFinal {
    /// What the caller gets.
    type Output;
    /// The value to give and the value to keep.
    ///
    /// # Errors
    /// When one cannot be written as JSON.
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

/// A function as a graph of its own. Made by [`entrypoint`].
pub struct Entrypoint<I, O, C = ()> {
    graph: Compiled<Record, C>,
    types: PhantomData<fn(I) -> O>,
}

type Work = Arc<dyn Fn(Value, Cx) -> BoxFuture<'static, Result<(Value, Value), NodeError>> + Send + Sync>;

/// An entry point in the making.
#[must_use = "call `compile`"]
pub struct EntrypointBuilder<I, O> {
    name: String,
    work: Work,
    checkpointer: Option<SharedCheckpointer>,
    cache: Option<Cache>,
    policies: Policies,
    types: PhantomData<fn(I) -> O>,
}

/// Makes a graph of one function, for those who do not want to draw one.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::entrypoint;
///
/// let double = entrypoint("double", async |n: u64, cx: Cx| {
///     let two = cx.task("fetch the factor", async { Ok::<u64, NodeError>(2) }).await?;
///     Ok(n * two)
/// })
/// .compile()?;
/// let done = double.run(&21).wait()?;
/// assert_eq!(double.output(&done)?, Some(42));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn entrypoint<I, F, Fut, R>(name: &str, work: F) -> EntrypointBuilder<I, R::Output>
where
    I: DeserializeOwned + Send + 'static,
    F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
    R: IntoFinal + 'static,
{
    let work: Work = Arc::new(move |input, cx| {
        let input = match serde_json::from_value(input) {
            Ok(input) => input,
            Err(error) => {
                let error = Error::new(Code::InputInvalid, format!("the input does not fit: {error}"));
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
        policies: Policies::default(),
        types: PhantomData,
    }
}

impl<I, O> EntrypointBuilder<I, O> {
    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Tries again when the function fails; what it has recorded is not done again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.policies.retry.get_or_insert_default().push(retry);
        self
    }

    /// Uses the result of an earlier equal call, kept in `cache`.
    pub fn cache(mut self, cache: Cache, policy: CachePolicy) -> Self {
        (self.cache, self.policies.cache) = (Some(cache), Some(policy));
        self
    }

    /// The entry point, ready to run.
    ///
    /// # Errors
    /// When the name is not one a node can have.
    pub fn compile(self) -> Result<Entrypoint<I, O>> {
        self.compile_with::<()>()
    }

    /// The entry point, ready to run with a context of type `C`.
    ///
    /// # Errors
    /// When the name is not one a node can have.
    pub fn compile_with<C: Send + Sync + 'static>(self) -> Result<Entrypoint<I, O, C>> {
        let (name, work) = (self.name, self.work);
        let fields = ["input", "output", "previous"].into_iter().map(field);
        let schema = fields.fold(Schema::builder(&name), SchemaBuilder::field).build()?;
        let mut graph = Graph::<Record, C>::with_schema(&name, schema);
        graph.input(["input"]).output(["output"]);
        let function = move |cx: Cx, state: View<Record>| {
            let future = work(state.get("input").into_owned(), cx);
            async move {
                let (output, previous) = future.await?;
                Ok::<Value, NodeError>(json!({ "output": output, "previous": previous }))
            }
        };
        let node = graph.node(&name, NodeWith { policies: self.policies, ..node(function) });
        graph.edge(START, node).edge(node, END);
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
    /// Calls the function.
    pub fn run(&self, input: &I) -> Run<Record, C> {
        match serde_json::to_value(input) {
            Ok(input) => self.graph.run(json!({ "input": input })),
            Err(error) => {
                Run::new(&self.graph, Input::Invalid(format!("the input cannot be written as JSON: {error}")))
            }
        }
    }

    /// The graph behind it: resume, history and everything else.
    #[must_use]
    pub fn graph(&self) -> &Compiled<Record, C> {
        &self.graph
    }

    /// What the function returned; `None` while it waits for an answer.
    ///
    /// # Errors
    /// When the output does not read as an `O`.
    pub fn output(&self, outcome: &Outcome<Record>) -> Result<Option<O>> {
        if !outcome.is_finished() {
            return Ok(None);
        }
        let value = outcome.state.get("output").into_owned();
        serde_json::from_value(value).map(Some).map_err(|error| Error::new(Code::OutputInvalid, error.to_string()))
    }
}

impl Cx {
    /// What the last call of this entry point on the thread kept.
    ///
    /// # Errors
    /// When it does not read as a `T`.
    pub fn previous<T: DeserializeOwned>(&self) -> Result<Option<T>, NodeError> {
        let Some(state) = self.view().downcast_ref::<Record>() else { return Ok(None) };
        match state.get("previous").into_owned() {
            Value::Null => Ok(None),
            value => Ok(Some(serde_json::from_value(value)?)),
        }
    }
}
