//! A compiled graph: what can be asked of it.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::drawing::Drawing;
use superstep_core::machine::{Answers, Resume};
use superstep_core::schema::Schema;
use superstep_core::state::{Draft, IntoDraft, State};
use superstep_core::types::FieldType;

use crate::call::{Input, Run};
use crate::lanes::Lanes;
use crate::output::Command;
use crate::program::Program;
use crate::threads::Threads;

/// A graph that is ready to run. Cheap to clone.
pub struct Compiled<S, C = ()> {
    pub(crate) program: Arc<Program>,
    pub(crate) lanes: Arc<Lanes>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S, C> Clone for Compiled<S, C> {
    fn clone(&self) -> Self {
        Self { program: self.program.clone(), lanes: self.lanes.clone(), types: PhantomData }
    }
}

impl<S: State, C: Send + Sync + 'static> Compiled<S, C> {
    pub(crate) fn new(program: Program) -> Self {
        Self { program: Arc::new(program), lanes: Arc::default(), types: PhantomData }
    }

    /// Runs the graph with an input; on a thread that has begun, the input goes on top of its state.
    pub fn run(&self, input: impl IntoDraft) -> Run<S, C> {
        Run::new(self, Input::Values(input.into_draft()))
    }

    /// Goes on where a thread stands: after a failure, a breakpoint, a crash.
    pub fn go_on(&self, thread: impl Into<superstep_core::id::ThreadId>) -> Run<S, C> {
        Run::new(self, Input::GoOn).thread(thread)
    }

    /// Answers the one open question of a thread and goes on.
    pub fn resume(&self, thread: impl Into<superstep_core::id::ThreadId>, answer: impl serde::Serialize) -> Run<S, C> {
        let answer = serde_json::to_value(answer).map_err(|error| error.to_string());
        let input = match answer {
            Ok(answer) => Input::Resume(Resume::One(answer)),
            Err(error) => Input::Invalid(format!("the answer cannot be written as JSON: {error}")),
        };
        Run::new(self, input).thread(thread)
    }

    /// Answers open questions of a thread by id and goes on; those without an answer stay open.
    pub fn resume_with(&self, thread: impl Into<superstep_core::id::ThreadId>, answers: Answers) -> Run<S, C> {
        Run::new(self, Input::Resume(Resume::ById(answers))).thread(thread)
    }

    /// Applies a command to a thread as it stands and goes on.
    pub fn command(&self, thread: impl Into<superstep_core::id::ThreadId>, command: Command<S>) -> Run<S, C> {
        self.go_on(thread).with(command)
    }

    /// What is saved of threads: states, history, updates, forks, copies.
    #[must_use]
    pub fn threads(&self) -> Threads<S, C> {
        Threads::new(self)
    }

    /// The graph as a drawing: JSON, Mermaid, DOT, text, SVG.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        self.program.topology.drawing()
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.program.topology.name
    }

    /// The schema of the state.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.program.topology.schema
    }

    /// JSON Schema of the input.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        let topology = &self.program.topology;
        let names: Vec<&str> = topology.input.iter().map(|id| &*topology.schema.field(*id).name).collect();
        topology.schema.json_schema(|field| names.contains(&&*field.name))
    }

    /// JSON Schema of the output.
    #[must_use]
    pub fn output_schema(&self) -> Value {
        let topology = &self.program.topology;
        let names: Vec<&str> = topology.output.iter().map(|id| &*topology.schema.field(*id).name).collect();
        topology.schema.json_schema(|field| names.contains(&&*field.name))
    }

    /// JSON Schema of the `configurable` values of a run, where the graph has one.
    #[must_use]
    pub fn configurable_schema(&self) -> Option<Value> {
        self.program.settings.configurable.as_ref().map(FieldType::to_json_schema)
    }

    /// What compile let pass but found worth saying.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.program.topology.warnings
    }

    /// Runs the graph once for each input, several at a time; results are in the order of inputs.
    pub async fn batch(
        &self,
        inputs: impl IntoIterator<Item = impl IntoDraft>,
        at_once: usize,
    ) -> Vec<superstep_core::error::Result<crate::call::Outcome<S>>>
    where
        C: Default,
    {
        let inputs: Vec<Draft> = inputs.into_iter().map(IntoDraft::into_draft).collect();
        crate::executor::in_parallel(
            inputs.into_iter().map(|input| self.run(input).context(C::default()).into_future()),
            at_once,
        )
        .await
    }
}
