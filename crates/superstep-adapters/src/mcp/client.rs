//! The MCP client: requests to a server and their results in the types of this library.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, PromptMessage, ReadResourceRequest, ReadResourceRequestParams,
    ServerResult,
};
use serde_json::{Map, Value};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::message::{ContentPart, Message, Role};
use superstep_core::port::{SharedTool, ToolProgress};

use super::catalog::{Prompt, Resource};
use super::child_process::StdioServerCommand;
use super::connection::Connection;
use super::http_endpoint::HttpEndpoint;
use super::{content, error, tool};

/// Maximum number of entries, and of pages, that are read of a list.
const MAX_LIST_ENTRIES: usize = 10_000;

/// A client of one MCP server. Clones are cheap and share one connection, which any number of runs may use
/// concurrently.
#[derive(Clone)]
pub struct McpClient {
    connection: Arc<Connection>,
    pin: Option<Arc<PinnedTools>>,
}

/// The approved list of tools.
struct PinnedTools {
    tools_hash: String,
    /// Generation of the tool list that was last verified.
    verified: AtomicU64,
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "McpClient({})", self.connection.server())
    }
}

impl McpClient {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, pin: None }
    }

    /// Configures a client of a program that serves MCP over standard input and output. `command` has to come from
    /// the configuration, never from a model or an untrusted user.
    ///
    /// ```no_run
    /// # use superstep_adapters::mcp::McpClient;
    /// # async fn connect() -> superstep_core::error::Result<()> {
    /// let client = McpClient::stdio("mcp-server-time", ["--local-timezone", "Europe/Paris"], [("TZ", "UTC")]).connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdio<A: Into<String>, K: Into<String>, V: Into<String>>(
        command: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> StdioServerCommand {
        let args = args.into_iter().map(Into::into).collect();
        let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        StdioServerCommand::new(command.into(), args, env)
    }

    /// Configures a client of a server over streamable HTTP. The address must be `https` and public, or of this
    /// machine, unless its host is allowed.
    ///
    /// ```no_run
    /// # use superstep_adapters::mcp::McpClient;
    /// # async fn connect(token: String) -> superstep_core::error::Result<()> {
    /// let client = McpClient::http("https://tools.example.com/mcp").bearer(token).connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn http(address: impl Into<String>) -> HttpEndpoint {
        HttpEndpoint::new(address.into())
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Requests the current tools of the server.
    ///
    /// # Errors
    /// Returns an error if the request fails, and with [`McpClient::pin_tools`] if the list is not the approved one.
    pub async fn tools(&self) -> Result<Vec<SharedTool>> {
        tool::shared(self, self.verified_tools().await?)
    }

    /// Returns the hash of the current list of tools, for [`McpClient::pin_tools`].
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn tools_hash(&self) -> Result<String> {
        Ok(tool::tools_hash(&self.list().await?))
    }

    /// Restricts the client to the approved list of tools with this hash. With any other list, listing and calling
    /// tools fail until the new list is approved.
    #[must_use]
    pub fn pin_tools(mut self, hash: impl Into<String>) -> Self {
        self.pin = Some(Arc::new(PinnedTools { tools_hash: hash.into(), verified: AtomicU64::new(u64::MAX) }));
        self
    }

    /// Returns a source of the current tools, which sends a request only if they may have changed.
    #[must_use]
    pub fn tool_source(&self) -> McpToolSource {
        McpToolSource { client: self.clone(), cache: Arc::default() }
    }

    /// Requests the resources of the server.
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        if self.connection.capabilities().await?.resources.is_none() {
            return Ok(Vec::new());
        }
        let to_request = |page| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page));
        let read = |response| match response {
            ServerResult::ListResourcesResult(list) => Some((list.resources, list.next_cursor)),
            _ => None,
        };
        Ok(self.pages(to_request, read).await?.into_iter().map(Resource::from_rmcp).collect())
    }

    /// Reads a resource: texts, and files in base64.
    ///
    /// # Errors
    /// Returns an error if the request fails or the resource does not exist.
    pub async fn read_resource(&self, uri: impl Into<String>) -> Result<Vec<ContentPart>> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let response = self.connection.request(request, &ToolProgress::default()).await?;
        let ServerResult::ReadResourceResult(read) = response else {
            return Err(self.unexpected_response("resources/read"));
        };
        let values = read.contents.into_iter().map(|contents| serde_json::to_value(contents).unwrap_or_default());
        Ok(values.map(|value| content::resource(&value).unwrap_or(ContentPart::Other(value))).collect())
    }

    /// Requests the prompts of the server.
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn prompts(&self) -> Result<Vec<Prompt>> {
        if self.connection.capabilities().await?.prompts.is_none() {
            return Ok(Vec::new());
        }
        let to_request = |page| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page));
        let read = |response| match response {
            ServerResult::ListPromptsResult(list) => Some((list.prompts, list.next_cursor)),
            _ => None,
        };
        Ok(self.pages(to_request, read).await?.into_iter().map(Prompt::from_rmcp).collect())
    }

    /// Requests the messages of a prompt with these arguments.
    ///
    /// # Errors
    /// Returns an error if the request fails, the prompt does not exist, or an argument is missing.
    pub async fn prompt(&self, name: impl Into<String>, args: Map<String, Value>) -> Result<Vec<Message>> {
        let params = GetPromptRequestParams::new(name).with_arguments(args);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.connection.request(request, &ToolProgress::default()).await? {
            ServerResult::GetPromptResult(prompt) => Ok(prompt.messages.into_iter().map(message).collect()),
            _ => Err(self.unexpected_response("prompts/get")),
        }
    }

    /// Checks that the pinned list is still the approved one. Sends a request only if the list may have changed.
    pub(super) async fn verify(&self) -> Result<()> {
        match &self.pin {
            Some(pin) if pin.verified.load(Ordering::Acquire) != self.generation() => {
                self.verified_tools().await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Requests the tools and checks them against the pinned list.
    async fn verified_tools(&self) -> Result<Vec<rmcp::model::Tool>> {
        let generation = self.generation();
        let listed = self.list().await?;
        if let Some(pin) = &self.pin {
            let hash = tool::tools_hash(&listed);
            if hash != pin.tools_hash {
                let server = self.connection.server();
                let message = format!("the tools of the MCP server `{server}` differ from the pinned list");
                let help = format!("review the tools, then pin `{hash}` to approve them");
                return Err(Error::new(ErrorCode::PolicyRefused, message).with_help(help));
            }
            pin.verified.store(generation, Ordering::Release);
        }
        Ok(listed)
    }

    async fn list(&self) -> Result<Vec<rmcp::model::Tool>> {
        if self.connection.capabilities().await?.tools.is_none() {
            return Ok(Vec::new());
        }
        let to_request = |page| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
        let read = |response| match response {
            ServerResult::ListToolsResult(list) => Some((list.tools, list.next_cursor)),
            _ => None,
        };
        self.pages(to_request, read).await
    }

    /// Requests all pages of a list.
    async fn pages<T>(
        &self,
        to_request: impl Fn(PaginatedRequestParams) -> ClientRequest,
        read: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<Vec<T>> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_LIST_ENTRIES {
            let request = to_request(PaginatedRequestParams::default().with_cursor(cursor.clone()));
            let method = request.method().to_owned();
            let response = self.connection.request(request, &ToolProgress::default()).await?;
            let (page, next) = read(response).ok_or_else(|| self.unexpected_response(&method))?;
            all.extend(page);
            if next.is_none() {
                return Ok(all);
            }
            // A repeated cursor would cause an endless loop.
            if all.len() > MAX_LIST_ENTRIES || next == cursor {
                break;
            }
            cursor = next;
        }
        let reason = format!("returned an endless list, or more than {MAX_LIST_ENTRIES} entries");
        Err(error::server_error(self.connection.server(), reason))
    }

    fn generation(&self) -> u64 {
        self.connection.notifications().generation()
    }

    fn unexpected_response(&self, method: &str) -> Error {
        error::invalid_response_error(self.connection.server(), method)
    }
}

fn message(message: PromptMessage) -> Message {
    let role = match message.role {
        rmcp::model::Role::Assistant => Role::Assistant,
        rmcp::model::Role::User => Role::User,
    };
    Message::new(role, content::read(vec![serde_json::to_value(message.content).unwrap_or_default()]))
}

/// A source of the current tools of a server. A tool that the server adds later is part of the next result.
#[derive(Debug, Clone)]
pub struct McpToolSource {
    client: McpClient,
    cache: Arc<Mutex<Option<CachedTools>>>,
}

/// A list of tools with its generation.
#[derive(Debug, Clone)]
struct CachedTools {
    generation: u64,
    tools: Vec<SharedTool>,
}

impl McpToolSource {
    /// Returns the current tools. Sends a request only if the server has announced a change, or never announces
    /// changes.
    ///
    /// # Errors
    /// Returns the errors of [`McpClient::tools`].
    pub async fn tools(&self) -> Result<Vec<SharedTool>> {
        let capabilities = self.client.connection.capabilities().await?;
        let announces_changes = capabilities.tools.and_then(|tools| tools.list_changed).unwrap_or_default();
        let generation = self.client.generation();
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(cached) = cached.filter(|cached| announces_changes && cached.generation == generation) {
            return Ok(cached.tools);
        }
        let tools = self.client.tools().await?;
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(CachedTools { generation, tools: tools.clone() });
        Ok(tools)
    }
}
