//! The MCP server: its tools, resources and prompts, and the notification of clients about changes.
//!
//! `handler` handles the session of one client, `transports` contains the transports, `call_tool` calls a tool for a
//! client.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::Peer;
use serde_json::{Map, Value};
use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::message::{ContentPart, Message};
use superstep_core::port::SharedTool;
use superstep_core::types::FieldType;

use super::catalog::{Prompt, Resource};

mod call_tool;
mod handler;
mod transports;

pub use handler::SessionHandler;
pub use transports::HttpService;

/// Default number of entries per page of a list.
const DEFAULT_PAGE_SIZE: usize = 100;
/// Timeout of the notification of one client.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;
type ResourceFn = Arc<dyn Fn() -> BoxedFuture<Vec<ContentPart>> + Send + Sync>;
type PromptFn = Arc<dyn Fn(Map<String, Value>) -> BoxedFuture<Vec<Message>> + Send + Sync>;

/// An MCP server. Clones are cheap and share their content; any number of clients can be connected at the same time.
#[derive(Clone)]
pub struct McpServer(Arc<ServerShared>);

struct ServerShared {
    name: String,
    version: String,
    catalog: Mutex<ServerCatalog>,
    /// Connected clients.
    clients: Mutex<Vec<Peer<RoleServer>>>,
}

/// Tools, resources, prompts and settings of a server.
#[derive(Default)]
struct ServerCatalog {
    instructions: Option<String>,
    tools: Vec<OfferedTool>,
    resources: Vec<(Resource, ResourceFn)>,
    prompts: Vec<(Prompt, PromptFn)>,
    /// Accepted hosts over HTTP; `None` means the names of this machine.
    hosts: Option<Vec<String>>,
    page_size: usize,
    /// Configuration errors, returned when the server starts to serve.
    diagnostics: Vec<Diagnostic>,
}

/// A tool with the schema of its arguments.
#[derive(Clone)]
struct OfferedTool {
    tool: SharedTool,
    arguments: Arc<FieldType>,
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "McpServer({} {})", self.0.name, self.0.version)
    }
}

impl McpServer {
    /// Creates a server without content.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let catalog = Mutex::new(ServerCatalog { page_size: DEFAULT_PAGE_SIZE, ..ServerCatalog::default() });
        Self(Arc::new(ServerShared { name: name.into(), version: version.into(), catalog, clients: Mutex::default() }))
    }

    /// Sets instructions for the models of clients: the purpose of the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.catalog().instructions = Some(instructions.into());
        self
    }

    /// Adds tools, which may include a compiled graph as a tool.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        for tool in tools {
            let mut catalog = self.catalog();
            if let Err(diagnostic) = catalog.add(tool.into()) {
                catalog.diagnostics.push(diagnostic);
            }
        }
        self
    }

    /// Adds a resource of texts and base64 files; `read` is called for each request.
    #[must_use]
    pub fn resource<F, M>(self, resource: Resource, read: F) -> Self
    where
        F: Fn() -> M + Send + Sync + 'static,
        M: Future<Output = Result<Vec<ContentPart>>> + Send + 'static,
    {
        self.catalog().resources.push((resource, Arc::new(move || Box::pin(read()))));
        self
    }

    /// Adds a prompt; `fill` creates its messages from the arguments of a request.
    #[must_use]
    pub fn prompt<F, M>(self, prompt: Prompt, fill: F) -> Self
    where
        F: Fn(Map<String, Value>) -> M + Send + Sync + 'static,
        M: Future<Output = Result<Vec<Message>>> + Send + 'static,
    {
        self.catalog().prompts.push((prompt, Arc::new(move |args| Box::pin(fill(args)))));
        self
    }

    /// Sets the accepted hosts over HTTP, as `host` or `host:port`. Default: the names of this machine. Requests for
    /// other hosts or from pages of other origins are rejected.
    #[must_use]
    pub fn allowed_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.catalog().hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the number of entries per page of a list. Default: 100.
    #[must_use]
    pub fn page_size(self, entries: usize) -> Self {
        self.catalog().page_size = entries.max(1);
        self
    }

    /// Adds a tool and notifies the connected clients.
    ///
    /// # Errors
    /// Returns an error if a tool of this name exists or its schema is invalid.
    pub async fn add_tool(&self, tool: impl Into<SharedTool>) -> Result<()> {
        self.catalog().add(tool.into()).map_err(|diagnostic| invalid_tools_error(&self.0.name, vec![diagnostic]))?;
        self.notify_tools_changed().await;
        Ok(())
    }

    /// Removes a tool and notifies the connected clients; returns `false` if no tool has this name.
    pub async fn remove_tool(&self, name: &str) -> bool {
        let removed = {
            let tools = &mut self.catalog().tools;
            let before = tools.len();
            tools.retain(|offer| offer.tool.spec().name != name);
            tools.len() < before
        };
        if removed {
            self.notify_tools_changed().await;
        }
        removed
    }

    /// Notifies the connected clients that the list of tools has changed.
    pub async fn notify_tools_changed(&self) {
        let clients = {
            let mut clients = self.clients();
            clients.retain(|client| !client.is_transport_closed());
            clients.clone()
        };
        for client in clients {
            // A client that does not read the notification sees the change with its next request.
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, client.notify_tool_list_changed()).await;
        }
    }

    /// Returns the name of the server.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns an error if the configuration is invalid.
    fn check(&self) -> Result<()> {
        let diagnostics = self.catalog().diagnostics.clone();
        if diagnostics.is_empty() { Ok(()) } else { Err(invalid_tools_error(&self.0.name, diagnostics)) }
    }

    fn catalog(&self) -> MutexGuard<'_, ServerCatalog> {
        self.0.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Peer<RoleServer>>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCatalog {
    fn add(&mut self, tool: SharedTool) -> Result<(), Diagnostic> {
        let name = tool.spec().name.clone();
        let diagnostic = |message: String| Diagnostic { pointer: String::new(), message, help: None };
        if self.tools.iter().any(|offer| offer.tool.spec().name == name) {
            return Err(diagnostic(format!("duplicate tool `{name}`")));
        }
        if !tool.spec().input_schema.is_object() {
            return Err(diagnostic(format!("the input schema of the tool `{name}` is not a JSON object")));
        }
        let arguments = FieldType::schema(Value::clone(&tool.spec().input_schema))
            .map_err(|error| diagnostic(format!("invalid input schema of the tool `{name}`: {}", error.message)))?;
        self.tools.push(OfferedTool { tool, arguments: Arc::new(arguments) });
        Ok(())
    }
}

fn invalid_tools_error(name: &str, diagnostics: Vec<Diagnostic>) -> Error {
    Error::with_diagnostics(
        ErrorCode::ConfigInvalid,
        format!("the MCP server `{name}` cannot serve its tools"),
        diagnostics,
    )
}
