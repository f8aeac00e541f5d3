//! Compiled graphs as tools.

use serde_json::{Map, Value};
use superstep_core::error::Result;
use superstep_core::port::{SharedTool, Tool, ToolInvocation};
use superstep_core::state::{GraphState, UncheckedUpdate};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use crate::engine::context::TaskContext;
use crate::graph::compiled::CompiledGraph;
use crate::graph::output::{NodeError, SubgraphStop};
use crate::run::builder::{Outcome, RunEnd};

impl<S: GraphState, C: Send + Sync + 'static> CompiledGraph<S, C> {
    /// Returns the graph as a tool: its input is the arguments, its output is the result, as text and as artifact.
    ///
    /// In a [`crate::tools::ToolNode`] the graph runs as part of that node: on its thread, with its context, and with
    /// interrupts of the root run. Elsewhere the graph runs on its own, without a thread.
    ///
    /// ```
    /// use superstep::prelude::*;
    ///
    /// #[derive(GraphState, Clone, Serialize, Deserialize)]
    /// struct Count { #[state(required)] n: u64 }
    ///
    /// let mut graph = StateGraph::<Count>::new("double");
    /// let double = graph.add_node("double", |count: View<Count>| Count::update().n(count.n * 2));
    /// graph.add_edge(START, double).add_edge(double, END);
    /// let tool = graph.compile()?.as_tool("double", "Doubles a number.");
    /// assert_eq!(tool.spec().input_schema["required"], serde_json::json!(["n"]));
    /// # Ok::<(), superstep::Error>(())
    /// ```
    #[must_use]
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> SharedTool {
        let mut spec = ToolSpec::new(name, description).with_input_schema(bare(self.input_schema()));
        spec.output_schema = Some(bare(self.output_schema()).into());
        GraphTool { graph: self.clone(), spec }.into()
    }
}

/// Removes document-level keys from a schema.
fn bare(mut schema: Value) -> Value {
    if let Value::Object(object) = &mut schema {
        object.remove("$schema");
        object.remove("title");
    }
    schema
}

struct GraphTool<S, C> {
    graph: CompiledGraph<S, C>,
    spec: ToolSpec,
}

impl<S: GraphState, C: Send + Sync + 'static> Tool for GraphTool<S, C> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let cx = call.task_context.as_ref().and_then(|context| context.downcast_ref::<TaskContext>());
        let done = run(&self.graph, call.args, cx).await?;
        match done.end {
            RunEnd::Finished | RunEnd::Truncated => {}
            RunEnd::Paused(nodes) => {
                let nodes = nodes.into_iter().map(Into::into).collect();
                return Err(NodeError::stopped(SubgraphStop::Paused(nodes)).into());
            }
            RunEnd::Drained => return Err(NodeError::stopped(SubgraphStop::Drained).into()),
            RunEnd::Interrupted(_) => {
                return Err(ToolError::new(
                    "the graph was interrupted, and no caller can \
                 resume it",
                ));
            }
        }
        let output = done.to_json()?;
        Ok(ToolOutput::new(output.to_string()).with_artifact(output))
    }
}

async fn run<S: GraphState, C: Send + Sync + 'static>(
    graph: &CompiledGraph<S, C>,
    args: Map<String, Value>,
    cx: Option<&TaskContext>,
) -> Result<Outcome<S>> {
    let run = graph.invoke(UncheckedUpdate::Json(args));
    match cx {
        Some(cx) => run.nested_in(cx).await,
        None => run.await,
    }
}
