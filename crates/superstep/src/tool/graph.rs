//! A compiled graph as a tool.

use serde_json::{Map, Value};
use superstep_core::error::Result;
use superstep_core::port::{Invocation, SharedTool, Tool};
use superstep_core::state::{Draft, State};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use crate::call::{Outcome, Status};
use crate::compiled::Compiled;
use crate::context::Cx;
use crate::output::{NodeError, Stopped};

impl<S: State, C: Send + Sync + 'static> Compiled<S, C> {
    /// The graph as a tool: its input are the arguments, its output is the result, as text and as artifact.
    ///
    /// In a [`crate::tool::ToolNode`] it runs as a part of that node: on its thread, with its context, and with
    /// questions that reach whoever answers the run around. Elsewhere it runs by itself, on no thread.
    ///
    /// ```
    /// use superstep::prelude::*;
    ///
    /// #[derive(State, Clone, Serialize, Deserialize)]
    /// struct Count { #[state(required)] n: u64 }
    ///
    /// let mut graph = Graph::<Count>::new("double");
    /// let double = graph.node("double", |count: View<Count>| Count::update().n(count.n * 2));
    /// graph.edge(START, double).edge(double, END);
    /// let tool = graph.compile()?.as_tool("double", "Doubles a number.");
    /// assert_eq!(tool.spec().input_schema["required"], serde_json::json!(["n"]));
    /// # Ok::<(), superstep::Error>(())
    /// ```
    #[must_use]
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> SharedTool {
        let mut spec = ToolSpec::new(name, description).with_input(bare(self.input_schema()));
        spec.output_schema = Some(bare(self.output_schema()).into());
        GraphTool { graph: self.clone(), spec }.into()
    }
}

/// A schema without what a whole document says of itself.
fn bare(mut schema: Value) -> Value {
    if let Value::Object(object) = &mut schema {
        object.remove("$schema");
        object.remove("title");
    }
    schema
}

struct GraphTool<S, C> {
    graph: Compiled<S, C>,
    spec: ToolSpec,
}

impl<S: State, C: Send + Sync + 'static> Tool for GraphTool<S, C> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let host = call.host.as_ref().and_then(|host| host.downcast_ref::<Cx>());
        let done = run(&self.graph, call.args, host).await?;
        match done.status {
            Status::Finished | Status::Truncated => {}
            Status::Paused(nodes) => {
                let nodes = nodes.into_iter().map(Into::into).collect();
                return Err(NodeError::stopped(Stopped::Paused(nodes)).into());
            }
            Status::Drained => return Err(NodeError::stopped(Stopped::Drained).into()),
            Status::Interrupted(_) => return Err(ToolError::new("it asks a person, and nobody is there to answer")),
        }
        let output = done.to_json()?;
        Ok(ToolOutput::new(output.to_string()).with_artifact(output))
    }
}

async fn run<S: State, C: Send + Sync + 'static>(
    graph: &Compiled<S, C>,
    args: Map<String, Value>,
    host: Option<&Cx>,
) -> Result<Outcome<S>> {
    let run = graph.run(Draft::Json(args));
    match host {
        Some(cx) => run.inside(cx).await,
        None => run.await,
    }
}
