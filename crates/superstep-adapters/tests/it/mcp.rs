//! MCP, both ends: tools of ours through a server of ours in this program, and what both are built of.
//!
//! Over HTTP in `web`, programs that behave badly in `programs`, servers that others wrote in `others`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use superstep_adapters::mcp::{Client, Server};
use superstep_core::port::{BoxFuture, Invocation, Progress, SharedTool, Tool, Watcher};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

mod others;
mod programs;
mod together;
mod web;

/// A tool that does what its arguments say.
pub(crate) struct Puppet {
    name: &'static str,
    /// Hears when a call begins that will never end, and when such a call is let go.
    life: UnboundedSender<&'static str>,
}

impl Tool for Puppet {
    fn spec(&self) -> ToolSpec {
        let properties = json!({"do": {"type": "string"}, "with": {}});
        let schema =
            json!({"type": "object", "properties": properties, "required": ["do"], "additionalProperties": false});
        ToolSpec::new(self.name, "Does as it is told.").with_input(schema).idempotent().destructive()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let with = call.args.get("with").cloned().unwrap_or_default();
        match call.args["do"].as_str().unwrap() {
            "say" => Ok(with.into()),
            "structure" => Ok(ToolOutput::new("see the structure").with_artifact(with)),
            "complain" => Ok(ToolOutput::error("that did not work")),
            "fail" => Err(ToolError::new("no such street")),
            "panic" => panic!("on purpose"),
            "step" => {
                for news in with.as_array().unwrap() {
                    call.progress.send(news.clone()).await;
                }
                Ok("done".into())
            }
            "hang" => {
                let _life = Life::begin(self.life.clone());
                std::future::pending().await
            }
            other => Err(ToolError::new(format!("cannot `{other}`"))),
        }
    }
}

struct Life(UnboundedSender<&'static str>);

impl Life {
    fn begin(life: UnboundedSender<&'static str>) -> Self {
        life.send("begun").unwrap();
        Self(life)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.send("let go").ok();
    }
}

/// A tool of that name, and the life of its calls.
pub(crate) fn puppet(name: &'static str) -> (SharedTool, UnboundedReceiver<&'static str>) {
    let (life, heard) = unbounded_channel();
    (Puppet { name, life }.into(), heard)
}

/// A server with one puppet.
pub(crate) fn server() -> Server {
    Server::new("theatre", "1.0").tools([puppet("puppet").0])
}

/// A call of a puppet, or of anything else.
pub(crate) fn call(args: Value) -> Invocation {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    Invocation::new("call-1", args)
}

/// What the first tool says to these arguments.
pub(crate) async fn tell(client: &Client, args: Value) -> Result<ToolOutput, ToolError> {
    client.tools().await.unwrap()[0].call(call(args)).await
}

/// The tool of that name.
pub(crate) async fn tool(client: &Client, name: &str) -> SharedTool {
    let tools = client.tools().await.unwrap();
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    tools.into_iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no `{name}` in {names:?}"))
}

/// The names of the tools of now.
pub(crate) async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().iter().map(|tool| tool.spec().name.clone()).collect()
}

/// What a model sees of an output.
pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.as_ref().unwrap().text().into_owned()
}

/// Arguments of one name.
pub(crate) fn argument(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(value))])
}

/// Everything that was said about how far it is.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Value>>>);

impl Heard {
    pub(crate) fn progress(&self) -> Progress {
        Progress::to(Arc::new(self.clone()))
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}

impl Watcher for Heard {
    fn progress(&self, value: Value) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(value);
        Box::pin(async {})
    }
}

/// What comes within half a minute; a test that waits longer has failed.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it comes")
}
