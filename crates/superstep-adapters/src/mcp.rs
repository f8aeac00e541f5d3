//! Tools, resources and prompts over MCP, the Model Context Protocol, as a client and as a server.
//!
//! A [`McpClient`] connects to a server in the same process ([`connect_in_process`]), to a program that it starts
//! ([`McpClient::stdio`]) or to a server over HTTP ([`McpClient::http`]), and exposes the tools of the server as tools
//! of this library. A [`McpServer`] offers tools to clients in the same process, over standard input and output, or
//! over HTTP. Output of a server is never trusted: it is text for a model, limited in size, and a list of tools can be
//! [pinned](McpClient::pin_tools).
//!
//! ```
//! use serde_json::{Map, json};
//! use superstep_adapters::mcp::{McpServer, connect_in_process};
//! use superstep_core::port::{ToolInvocation, Tool};
//! use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
//!
//! struct Greet;
//!
//! impl Tool for Greet {
//!     fn spec(&self) -> ToolSpec {
//!         let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
//!         ToolSpec::new("greet", "Greets a person.").with_input_schema(schema).read_only()
//!     }
//!
//!     async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
//!         Ok(format!("Hello, {}!", call.args["name"].as_str().unwrap_or_default()).into())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep_core::error::Result<()> {
//! let server = McpServer::new("greeter", "1.0").tools([Greet]);
//! let client = connect_in_process(&server).await?;
//! let tools = client.tools().await?;
//! let args = Map::from_iter([("name".to_owned(), json!("Ada"))]);
//! let output = tools[0].call(ToolInvocation::new("1", args)).await.unwrap();
//! assert_eq!(output.content.unwrap().text(), "Hello, Ada!");
//! # Ok(())
//! # }
//! ```

mod address_policy;
mod catalog;
mod child_process;
mod client;
mod connection;
mod content;
mod diagnostics;
mod error;
mod http_endpoint;
mod notifications;
mod server;
mod stdio_transport;
mod tool;

pub use address_policy::is_public;
pub use catalog::{Prompt, PromptArgument, Resource};
pub use child_process::StdioServerCommand;
pub use client::{McpClient, McpToolSource};
pub use http_endpoint::HttpEndpoint;
pub use server::{HttpService, McpServer, SessionHandler};

use superstep_core::error::Result;

/// Connects a client to a server in the same process, without a socket. Each call creates a connection of its own;
/// the server may have any number of them and serve HTTP at the same time.
///
/// # Errors
/// Returns an error if the server cannot serve its tools, for example because two of them have the same name.
pub async fn connect_in_process(server: &McpServer) -> Result<McpClient> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = server.serve_in_process(far)?;
    let (read, write) = tokio::io::split(near);
    let pipe = stdio_transport::StdioTransport::new(read, write, diagnostics::ServerDiagnostics::for_task(serving));
    connection::Connection::stdio(server.name(), connection::DEFAULT_TIMEOUT, pipe).await.map(McpClient::new)
}
