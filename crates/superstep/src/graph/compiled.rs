//! The compiled graph: runs, threads, schemas, diagram.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::diagram::Diagram;
use superstep_core::machine::{Resume, ResumeValues};
use superstep_core::schema::Schema;
use superstep_core::state::{GraphState, IntoUpdate, UncheckedUpdate};
use superstep_core::types::FieldType;

use crate::graph::output::Command;
use crate::graph::program::Program;
use crate::run::builder::{RunBuilder, StartInput};
use crate::run::multitask::ThreadQueues;
use crate::threads::Threads;

/// A graph that is ready to run. Cheap to clone.
pub struct CompiledGraph<S, C = ()> {
    pub(crate) program: Arc<Program>,
    pub(crate) thread_queues: Arc<ThreadQueues>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S, C> Clone for CompiledGraph<S, C> {
    fn clone(&self) -> Self {
        Self { program: self.program.clone(), thread_queues: self.thread_queues.clone(), types: PhantomData }
    }
}

impl<S: GraphState, C: Send + Sync + 'static> CompiledGraph<S, C> {
    pub(crate) fn new(program: Program) -> Self {
        Self { program: Arc::new(program), thread_queues: Arc::default(), types: PhantomData }
    }

    /// Runs the graph with an input. On an existing thread the input is applied to the state of the thread.
    pub fn invoke(&self, input: impl IntoUpdate) -> RunBuilder<S, C> {
        RunBuilder::new(self, StartInput::Values(input.into_update()))
    }

    /// Continues a thread from its last checkpoint: after an error, a breakpoint or a crash.
    pub fn continue_thread(&self, thread: impl Into<superstep_core::id::ThreadId>) -> RunBuilder<S, C> {
        RunBuilder::new(self, StartInput::Continue).thread(thread)
    }

    /// Resumes a thread with the value for its only open interrupt.
    pub fn resume(
        &self,
        thread: impl Into<superstep_core::id::ThreadId>,
        value: impl serde::Serialize,
    ) -> RunBuilder<S, C> {
        let value = serde_json::to_value(value).map_err(|error| error.to_string());
        let input = match value {
            Ok(value) => StartInput::Resume(Resume::Single(value)),
            Err(error) => StartInput::Invalid(format!("failed to serialize the resume value as JSON: {error}")),
        };
        RunBuilder::new(self, input).thread(thread)
    }

    /// Resumes a thread with values for open interrupts by id. Interrupts without a value stay open.
    pub fn resume_with(
        &self,
        thread: impl Into<superstep_core::id::ThreadId>,
        values: ResumeValues,
    ) -> RunBuilder<S, C> {
        RunBuilder::new(self, StartInput::Resume(Resume::ById(values))).thread(thread)
    }

    /// Applies a command to the current state of a thread and continues the thread.
    pub fn command(&self, thread: impl Into<superstep_core::id::ThreadId>, command: Command<S>) -> RunBuilder<S, C> {
        self.continue_thread(thread).command(command)
    }

    /// Returns the API of persisted threads: states, history, updates, forks, copies.
    #[must_use]
    pub fn threads(&self) -> Threads<S, C> {
        Threads::new(self)
    }

    /// Returns the diagram of the graph: JSON, Mermaid, DOT, text, SVG.
    #[must_use]
    pub fn diagram(&self) -> Diagram {
        self.program.topology.diagram()
    }

    /// Returns the name of the graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.program.topology.name
    }

    /// Returns the schema of the state.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.program.topology.schema
    }

    /// Returns the JSON Schema of the input.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        let topology = &self.program.topology;
        let names: Vec<&str> = topology.input.iter().map(|id| &*topology.schema.field(*id).name).collect();
        topology.schema.json_schema(|field| names.contains(&&*field.name))
    }

    /// Returns the JSON Schema of the output.
    #[must_use]
    pub fn output_schema(&self) -> Value {
        let topology = &self.program.topology;
        let names: Vec<&str> = topology.output.iter().map(|id| &*topology.schema.field(*id).name).collect();
        topology.schema.json_schema(|field| names.contains(&&*field.name))
    }

    /// Returns the JSON Schema of the `configurable` values of a run, if the graph has one.
    #[must_use]
    pub fn configurable_schema(&self) -> Option<Value> {
        self.program.settings.configurable.as_ref().map(FieldType::to_json_schema)
    }

    /// Returns the warnings of `compile`.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.program.topology.warnings
    }

    /// Runs the graph once per input, with at most `max_concurrency` concurrent runs. Results are in the order of the
    /// inputs.
    pub async fn batch(
        &self,
        inputs: impl IntoIterator<Item = impl IntoUpdate>,
        max_concurrency: usize,
    ) -> Vec<superstep_core::error::Result<crate::run::builder::Outcome<S>>>
    where
        C: Default,
    {
        let inputs: Vec<UncheckedUpdate> = inputs.into_iter().map(IntoUpdate::into_update).collect();
        crate::engine::executor::join_limited(
            inputs.into_iter().map(|input| self.invoke(input).context(C::default()).into_future()),
            max_concurrency,
        )
        .await
    }
}
