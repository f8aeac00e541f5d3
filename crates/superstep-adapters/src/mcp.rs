//! Tools, resources and prompts over MCP, the Model Context Protocol: as a client and as a server.
//!
//! A [`Client`] speaks to a server in this program ([`linked`]), to a program it starts ([`Client::spawn`]) or to one on
//! the web ([`Client::http`]), and gives its tools as tools of ours. A [`Server`] offers tools of ours to whoever comes:
//! in this program, over standard input and output, or over HTTP. What a server says is never trusted: it is text for a
//! model, within limits, and a list of tools can be [pinned](Client::pinned).
//!
//! ```
//! use serde_json::{Map, json};
//! use superstep_adapters::mcp::{Server, linked};
//! use superstep_core::port::{Invocation, Tool};
//! use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};
//!
//! struct Greet;
//!
//! impl Tool for Greet {
//!     fn spec(&self) -> ToolSpec {
//!         let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
//!         ToolSpec::new("greet", "Greets somebody.").with_input(schema).read_only()
//!     }
//!
//!     async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
//!         Ok(format!("Hello, {}!", call.args["name"].as_str().unwrap_or_default()).into())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep_core::error::Result<()> {
//! let server = Server::new("greeter", "1.0").tools([Greet]);
//! let client = linked(&server).await?;
//! let tools = client.tools().await?;
//! let args = Map::from_iter([("name".to_owned(), json!("Ada"))]);
//! let output = tools[0].call(Invocation::new("1", args)).await.unwrap();
//! assert_eq!(output.content.unwrap().text(), "Hello, Ada!");
//! # Ok(())
//! # }
//! ```

mod address;
mod catalog;
mod client;
mod connection;
mod content;
mod notes;
mod pipe;
mod program;
mod remote;
mod server;
mod tool;
mod trouble;
mod watch;

pub use address::is_public;
pub use catalog::{Prompt, PromptArgument, Resource};
pub use client::{Client, ToolSource};
pub use program::Program;
pub use remote::Remote;
pub use server::{HttpService, Server, Speaker};

use superstep_core::error::Result;

/// A client of a server in this program, without a socket between them. Each call makes a pair of its own; the server may
/// have any number, and those over HTTP besides.
///
/// # Errors
/// When the server cannot serve, for instance because two of its tools have the same name.
pub async fn linked(server: &Server) -> Result<Client> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = server.over(far)?;
    let (read, write) = tokio::io::split(near);
    let pipe = pipe::Pipe::new(read, write, notes::Notes::of(serving));
    connection::Connection::once(server.name(), connection::PATIENCE, pipe).await.map(Client::new)
}
