//! The server: what it offers, and to whom it tells that this has changed.
//!
//! How it speaks to one client is in `speaker`, how clients reach it in `doors`, how a tool is run for one in `run`.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::Peer;
use serde_json::{Map, Value};
use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::message::{Message, Part};
use superstep_core::port::SharedTool;
use superstep_core::types::FieldType;

use super::catalog::{Prompt, Resource};

mod doors;
mod run;
mod speaker;

pub use doors::HttpService;
pub use speaker::Speaker;

/// How many entries of a list are told at once.
const PAGE: usize = 100;
/// How long a client may take to hear that a list has changed.
const TELLING: Duration = Duration::from_secs(1);

type Making<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;
type Reader = Arc<dyn Fn() -> Making<Vec<Part>> + Send + Sync>;
type Filler = Arc<dyn Fn(Map<String, Value>) -> Making<Vec<Message>> + Send + Sync>;

/// A server. Cheap to clone: all clones offer the same, to any number of clients at once.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    name: String,
    version: String,
    offers: Mutex<Offers>,
    /// Who is told of changes.
    clients: Mutex<Vec<Peer<RoleServer>>>,
}

/// What a server has.
#[derive(Default)]
struct Offers {
    instructions: Option<String>,
    tools: Vec<Offer>,
    resources: Vec<(Resource, Reader)>,
    prompts: Vec<(Prompt, Filler)>,
    /// The hosts it goes by on the web; this machine unless told.
    hosts: Option<Vec<String>>,
    page: usize,
    /// What is wrong with all this, told when it is to be served.
    problems: Vec<Problem>,
}

/// A tool, and what its arguments must be.
#[derive(Clone)]
struct Offer {
    tool: SharedTool,
    arguments: Arc<FieldType>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({} {})", self.0.name, self.0.version)
    }
}

impl Server {
    /// A server that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let offers = Mutex::new(Offers { page: PAGE, ..Offers::default() });
        Self(Arc::new(Shared { name: name.into(), version: version.into(), offers, clients: Mutex::default() }))
    }

    /// Says to the clients' models what the server is for.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.offers().instructions = Some(instructions.into());
        self
    }

    /// Offers tools: any of ours, a compiled graph as a tool among them.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        for tool in tools {
            let mut offers = self.offers();
            if let Err(problem) = offers.add(tool.into()) {
                offers.problems.push(problem);
            }
        }
        self
    }

    /// Offers something to read: texts, and files in base64, made anew each time.
    #[must_use]
    pub fn resource<F, M>(self, resource: Resource, read: F) -> Self
    where
        F: Fn() -> M + Send + Sync + 'static,
        M: Future<Output = Result<Vec<Part>>> + Send + 'static,
    {
        self.offers().resources.push((resource, Arc::new(move || Box::pin(read()))));
        self
    }

    /// Offers a prompt, which becomes messages with the arguments it is given.
    #[must_use]
    pub fn prompt<F, M>(self, prompt: Prompt, fill: F) -> Self
    where
        F: Fn(Map<String, Value>) -> M + Send + Sync + 'static,
        M: Future<Output = Result<Vec<Message>>> + Send + 'static,
    {
        self.offers().prompts.push((prompt, Arc::new(move |args| Box::pin(fill(args)))));
        self
    }

    /// Sets the hosts it goes by on the web, `host` or `host:port`, in place of this machine's own names. Requests for any
    /// other host, and from pages of any other origin, are refused.
    #[must_use]
    pub fn allowed_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.offers().hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how many entries of a list are told at once; 100 unless told.
    #[must_use]
    pub fn page_size(self, entries: usize) -> Self {
        self.offers().page = entries.max(1);
        self
    }

    /// Offers one more tool, and tells the clients there are.
    ///
    /// # Errors
    /// When there is a tool of that name, or its schema is none.
    pub async fn add_tool(&self, tool: impl Into<SharedTool>) -> Result<()> {
        self.offers().add(tool.into()).map_err(|problem| refused(&self.0.name, vec![problem]))?;
        self.notify_tools_changed().await;
        Ok(())
    }

    /// Takes a tool back, and tells the clients there are; `false` when there is none of that name.
    pub async fn remove_tool(&self, name: &str) -> bool {
        let had = {
            let tools = &mut self.offers().tools;
            let before = tools.len();
            tools.retain(|offer| offer.tool.spec().name != name);
            tools.len() < before
        };
        if had {
            self.notify_tools_changed().await;
        }
        had
    }

    /// Tells the clients there are that the list of tools is another.
    pub async fn notify_tools_changed(&self) {
        let clients = {
            let mut clients = self.clients();
            clients.retain(|client| !client.is_transport_closed());
            clients.clone()
        };
        for client in clients {
            // One that does not listen sees the change when it asks.
            let _ = tokio::time::timeout(TELLING, client.notify_tool_list_changed()).await;
        }
    }

    /// What it calls itself.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it can serve.
    fn check(&self) -> Result<()> {
        let problems = self.offers().problems.clone();
        if problems.is_empty() { Ok(()) } else { Err(refused(&self.0.name, problems)) }
    }

    fn offers(&self) -> MutexGuard<'_, Offers> {
        self.0.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Peer<RoleServer>>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Offers {
    fn add(&mut self, tool: SharedTool) -> Result<(), Problem> {
        let name = tool.spec().name.clone();
        let wrong = |message: String| Problem { pointer: String::new(), message, help: None };
        if self.tools.iter().any(|offer| offer.tool.spec().name == name) {
            return Err(wrong(format!("there are two tools `{name}`")));
        }
        if !tool.spec().input_schema.is_object() {
            return Err(wrong(format!("the arguments of the tool `{name}` have no JSON Schema that is an object")));
        }
        let arguments = FieldType::schema(Value::clone(&tool.spec().input_schema))
            .map_err(|fault| wrong(format!("the tool `{name}`: {}", fault.message)))?;
        self.tools.push(Offer { tool, arguments: Arc::new(arguments) });
        Ok(())
    }
}

fn refused(name: &str, problems: Vec<Problem>) -> Error {
    Error::listing(Code::ConfigInvalid, format!("the MCP server `{name}` cannot serve its tools"), problems)
}
