//! MCP client and server in one process, and the shared helpers of the MCP tests.
//!
//! `http` tests HTTP, `stdio` tests misbehaving child processes, `third_party_servers` tests third-party servers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use superstep_adapters::mcp::{McpClient, McpServer};
use superstep_core::port::{BoxFuture, ProgressListener, SharedTool, Tool, ToolInvocation, ToolProgress};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

mod http;
mod in_process;
mod stdio;
mod third_party_servers;

/// A tool that does what its arguments request.
pub(crate) struct ScriptedTool {
    name: &'static str,
    /// Reports the start of a call that never ends, and its cancellation.
    lifecycle: UnboundedSender<&'static str>,
}

impl Tool for ScriptedTool {
    fn spec(&self) -> ToolSpec {
        let properties = json!({"do": {"type": "string"}, "with": {}});
        let schema =
            json!({"type": "object", "properties": properties, "required": ["do"], "additionalProperties": false});
        ToolSpec::new(self.name, "Does as it is told.").with_input_schema(schema).idempotent().destructive()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let with = call.args.get("with").cloned().unwrap_or_default();
        match call.args["do"].as_str().unwrap() {
            "say" => Ok(with.into()),
            "structure" => Ok(ToolOutput::new("see the structure").with_artifact(with)),
            "complain" => Ok(ToolOutput::error("that did not work")),
            "fail" => Err(ToolError::new("no such street")),
            "panic" => panic!("on purpose"),
            "step" => {
                for value in with.as_array().unwrap() {
                    call.progress.send(value.clone()).await;
                }
                Ok("done".into())
            }
            "hang" => {
                let _lifecycle = CallGuard::begin(self.lifecycle.clone());
                std::future::pending().await
            }
            other => Err(ToolError::new(format!("cannot `{other}`"))),
        }
    }
}

struct CallGuard(UnboundedSender<&'static str>);

impl CallGuard {
    fn begin(lifecycle: UnboundedSender<&'static str>) -> Self {
        lifecycle.send("begun").unwrap();
        Self(lifecycle)
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.send("let go").ok();
    }
}

/// Returns a tool with this name and the lifecycle events of its calls.
pub(crate) fn scripted_tool(name: &'static str) -> (SharedTool, UnboundedReceiver<&'static str>) {
    let (lifecycle, events) = unbounded_channel();
    (ScriptedTool { name, lifecycle }.into(), events)
}

/// Returns a server with one scripted tool.
pub(crate) fn server() -> McpServer {
    McpServer::new("theatre", "1.0").tools([scripted_tool("puppet").0])
}

/// Returns a tool call with these arguments.
pub(crate) fn call(args: Value) -> ToolInvocation {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    ToolInvocation::new("call-1", args)
}

/// Calls the first tool of a server with these arguments.
pub(crate) async fn call_first_tool(client: &McpClient, args: Value) -> Result<ToolOutput, ToolError> {
    client.tools().await.unwrap()[0].call(call(args)).await
}

/// Returns the tool with this name.
pub(crate) async fn tool(client: &McpClient, name: &str) -> SharedTool {
    let tools = client.tools().await.unwrap();
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    tools.into_iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no `{name}` in {names:?}"))
}

/// Returns the names of the current tools.
pub(crate) async fn names(client: &McpClient) -> Vec<String> {
    client.tools().await.unwrap().iter().map(|tool| tool.spec().name.clone()).collect()
}

/// Returns the text of an output that a model sees.
pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.as_ref().unwrap().text().into_owned()
}

/// Returns arguments with a single entry.
pub(crate) fn argument(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(value))])
}

/// Recorded progress values.
#[derive(Clone, Default)]
pub(crate) struct RecordedProgress(Arc<Mutex<Vec<Value>>>);

impl RecordedProgress {
    pub(crate) fn progress(&self) -> ToolProgress {
        ToolProgress::new(Arc::new(self.clone()))
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}

impl ProgressListener for RecordedProgress {
    fn on_progress(&self, value: Value) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(value);
        Box::pin(async {})
    }
}

/// Waits for a future for at most half a minute.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("no result within the timeout")
}
