//! The client: what can be asked of a server, in our own words.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, PromptMessage, ReadResourceRequest, ReadResourceRequestParams,
    ServerResult,
};
use serde_json::{Map, Value};
use superstep_core::error::{Code, Error, Result};
use superstep_core::message::{Message, Part, Role};
use superstep_core::port::{Progress, SharedTool};

use super::catalog::{Prompt, Resource};
use super::connection::Connection;
use super::program::Program;
use super::remote::Remote;
use super::{content, tool, trouble};

/// The longest list that is read to its end.
const LONGEST: usize = 10_000;

/// A client of one server. Cheap to clone; any number of runs may use one at once, and each may have one of its own.
#[derive(Clone)]
pub struct Client {
    connection: Arc<Connection>,
    pin: Option<Arc<Pin>>,
}

/// The list of tools that somebody has approved.
struct Pin {
    mark: String,
    /// The list that was last found to be it.
    verified: AtomicU64,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({})", self.connection.server())
    }
}

impl Client {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, pin: None }
    }

    /// A client of a program, which speaks over its standard input and output. `command` belongs into a configuration,
    /// never into a text that a model or a stranger wrote.
    ///
    /// ```no_run
    /// # use superstep_adapters::mcp::Client;
    /// # async fn connect() -> superstep_core::error::Result<()> {
    /// let client = Client::spawn("mcp-server-time", ["--local-timezone", "Europe/Paris"], [("TZ", "UTC")]).connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn<A: Into<String>, K: Into<String>, V: Into<String>>(
        command: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Program {
        let args = args.into_iter().map(Into::into).collect();
        let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Program::new(command.into(), args, env)
    }

    /// A client of a server on the web, over streamable HTTP. The address must be `https` and public, or of this machine,
    /// unless its host is allowed.
    ///
    /// ```no_run
    /// # use superstep_adapters::mcp::Client;
    /// # async fn connect(token: String) -> superstep_core::error::Result<()> {
    /// let client = Client::http("https://tools.example.com/mcp").bearer(token).connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn http(address: impl Into<String>) -> Remote {
        Remote::new(address.into())
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The tools the server has now, each as a tool of ours.
    ///
    /// # Errors
    /// When the server cannot be asked, and with [`Client::pinned`] when the list is not the approved one.
    pub async fn tools(&self) -> Result<Vec<SharedTool>> {
        tool::shared(self, self.listed().await?)
    }

    /// The mark of the list of tools the server has now, for [`Client::pinned`].
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn tools_hash(&self) -> Result<String> {
        Ok(tool::mark(&self.list().await?))
    }

    /// The same client, for one list of tools only: the one with this mark, which somebody has looked at. With any other,
    /// listing and calling fail until the new list is approved.
    #[must_use]
    pub fn pinned(mut self, hash: impl Into<String>) -> Self {
        self.pin = Some(Arc::new(Pin { mark: hash.into(), verified: AtomicU64::new(u64::MAX) }));
        self
    }

    /// The tools as they are whenever they are asked for, without a request where nothing has changed.
    #[must_use]
    pub fn tool_source(&self) -> ToolSource {
        ToolSource { client: self.clone(), known: Arc::default() }
    }

    /// What the server lets others read.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        if self.connection.capabilities().await?.resources.is_none() {
            return Ok(Vec::new());
        }
        let ask = |page| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page));
        let read = |answer| match answer {
            ServerResult::ListResourcesResult(list) => Some((list.resources, list.next_cursor)),
            _ => None,
        };
        Ok(self.pages(ask, read).await?.into_iter().map(Resource::read).collect())
    }

    /// What is in a resource: texts, and files in base64.
    ///
    /// # Errors
    /// When the server cannot be asked or does not have it.
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<Vec<Part>> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let answer = self.connection.ask(request, &Progress::default()).await?;
        let ServerResult::ReadResourceResult(read) = answer else { return Err(self.nonsense("resources/read")) };
        let values = read.contents.into_iter().map(|contents| serde_json::to_value(contents).unwrap_or_default());
        Ok(values.map(|value| content::resource(&value).unwrap_or(Part::Other(value))).collect())
    }

    /// The prompts of the server.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn prompts(&self) -> Result<Vec<Prompt>> {
        if self.connection.capabilities().await?.prompts.is_none() {
            return Ok(Vec::new());
        }
        let ask = |page| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page));
        let read = |answer| match answer {
            ServerResult::ListPromptsResult(list) => Some((list.prompts, list.next_cursor)),
            _ => None,
        };
        Ok(self.pages(ask, read).await?.into_iter().map(Prompt::read).collect())
    }

    /// The messages a prompt makes with these arguments.
    ///
    /// # Errors
    /// When the server cannot be asked, does not have it, or misses an argument.
    pub async fn prompt(&self, name: impl Into<String>, args: Map<String, Value>) -> Result<Vec<Message>> {
        let params = GetPromptRequestParams::new(name).with_arguments(args);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.connection.ask(request, &Progress::default()).await? {
            ServerResult::GetPromptResult(prompt) => Ok(prompt.messages.into_iter().map(message).collect()),
            _ => Err(self.nonsense("prompts/get")),
        }
    }

    /// Makes sure that a pinned list is still the approved one. Asks only when it may have changed.
    pub(super) async fn verify(&self) -> Result<()> {
        match &self.pin {
            Some(pin) if pin.verified.load(Ordering::Acquire) != self.generation() => self.listed().await.map(drop),
            _ => Ok(()),
        }
    }

    /// The list, if it may be used.
    async fn listed(&self) -> Result<Vec<rmcp::model::Tool>> {
        let generation = self.generation();
        let listed = self.list().await?;
        if let Some(pin) = &self.pin {
            let found = tool::mark(&listed);
            if found != pin.mark {
                let server = self.connection.server();
                let fact = format!("the tools of the MCP server `{server}` are not the approved ones");
                let help = format!("look at them, and pin `{found}` to approve them");
                return Err(Error::new(Code::PolicyRefused, fact).help(help));
            }
            pin.verified.store(generation, Ordering::Release);
        }
        Ok(listed)
    }

    async fn list(&self) -> Result<Vec<rmcp::model::Tool>> {
        if self.connection.capabilities().await?.tools.is_none() {
            return Ok(Vec::new());
        }
        let ask = |page| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
        let read = |answer| match answer {
            ServerResult::ListToolsResult(list) => Some((list.tools, list.next_cursor)),
            _ => None,
        };
        self.pages(ask, read).await
    }

    /// All pages of a list.
    async fn pages<T>(
        &self,
        ask: impl Fn(PaginatedRequestParams) -> ClientRequest,
        read: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<Vec<T>> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..LONGEST {
            let request = ask(PaginatedRequestParams::default().with_cursor(cursor.clone()));
            let method = request.method().to_owned();
            let answer = self.connection.ask(request, &Progress::default()).await?;
            let (page, next) = read(answer).ok_or_else(|| self.nonsense(&method))?;
            all.extend(page);
            if next.is_none() {
                return Ok(all);
            }
            // The same place again would never end.
            if all.len() > LONGEST || next == cursor {
                break;
            }
            cursor = next;
        }
        let what = format!("has a list without an end, or of more than {LONGEST}");
        Err(trouble::failed(self.connection.server(), what))
    }

    fn generation(&self) -> u64 {
        self.connection.watch().generation()
    }

    fn nonsense(&self, method: &str) -> Error {
        trouble::nonsense(self.connection.server(), method)
    }
}

fn message(message: PromptMessage) -> Message {
    let role = match message.role {
        rmcp::model::Role::Assistant => Role::Assistant,
        rmcp::model::Role::User => Role::User,
    };
    Message::new(role, content::read(vec![serde_json::to_value(message.content).unwrap_or_default()]))
}

/// The tools of a server, as they are whenever they are asked for. A tool that the server gets later is there the next
/// time, without a change to whoever asks.
#[derive(Debug, Clone)]
pub struct ToolSource {
    client: Client,
    known: Arc<Mutex<Option<Known>>>,
}

/// A list of tools, and which one it is.
#[derive(Debug, Clone)]
struct Known {
    generation: u64,
    tools: Vec<SharedTool>,
}

impl ToolSource {
    /// The tools of now. Asks the server only if it has said that they have changed, or never says so.
    ///
    /// # Errors
    /// As for [`Client::tools`].
    pub async fn tools(&self) -> Result<Vec<SharedTool>> {
        let capabilities = self.client.connection.capabilities().await?;
        let says_so = capabilities.tools.and_then(|tools| tools.list_changed).unwrap_or_default();
        let generation = self.client.generation();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| says_so && known.generation == generation) {
            return Ok(known.tools);
        }
        let tools = self.client.tools().await?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Known { generation, tools: tools.clone() });
        Ok(tools)
    }
}
