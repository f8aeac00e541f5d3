//! Tools of the configured MCP servers.
//!
//! The annotations of a server are not trusted: unless the configuration trusts the server, every tool counts as
//! destructive. Its calls need approval, and they are never retried because of the server's annotations.

use std::collections::BTreeMap;

use superstep::Result;
use superstep::mcp::McpClient;
use superstep::settings::Secret;
use superstep::tools::{SharedTool, ToolAnnotations};

/// A configured MCP server.
#[derive(Debug, Clone)]
pub struct McpServerSettings {
    /// Name in this configuration, the prefix of its tool names.
    pub name: String,
    /// Transport of the server.
    pub transport: McpTransport,
    /// Hash of the approved tool list; a server with another list is rejected.
    pub tool_list_hash: Option<String>,
    /// True if the annotations of the tools are trusted: tools that declare themselves read-only or not destructive
    /// need no approval. The policy may still require approval.
    pub trusted: bool,
}

/// Transport of a server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A program that communicates over standard input and output.
    Program {
        /// Path or name of the program.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables, which often contain keys.
        env: BTreeMap<String, Secret>,
    },
    /// A server over HTTP.
    Http {
        /// URL of the server.
        url: String,
        /// Hosts that may be private and unencrypted.
        allow: Vec<String>,
    },
}

/// Connects to the servers, with a token for those that need one, and returns their tools.
///
/// # Errors
/// Returns an error if a server cannot be reached, or if its tools differ from the approved ones.
pub async fn connect_servers(
    servers: &[McpServerSettings],
    token: impl Fn(&str) -> Option<Secret>,
) -> Result<Vec<SharedTool>> {
    let mut tools = Vec::new();
    for server in servers {
        let client = match &server.transport {
            McpTransport::Program { command, args, env } => {
                let env = env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
                McpClient::stdio(command, args.clone(), env).connect().await?
            }
            McpTransport::Http { url, allow } => {
                let mut builder = McpClient::http(url);
                for host in allow {
                    builder = builder.allow_host(host);
                }
                if let Some(token) = token(&server.name) {
                    builder = builder.bearer(token.expose());
                }
                builder.connect().await?
            }
        };
        tools.extend(tools_of_server(server, client).await?);
    }
    Ok(tools)
}

/// Returns the tools of a server, with the name of the server as prefix.
///
/// # Errors
/// Returns an error if the server does not list its tools, or lists others than the approved ones.
pub async fn tools_of_server(server: &McpServerSettings, client: McpClient) -> Result<Vec<SharedTool>> {
    let client = match &server.tool_list_hash {
        Some(hash) => client.pin_tools(hash.as_str()),
        None => client,
    };
    let adapt = |tool: SharedTool| {
        let mut spec = (**tool.spec()).clone();
        spec.name = tool_name(&server.name, &spec.name);
        spec.timeout = spec.timeout.or(Some(super::CALL_TIMEOUT));
        if !server.trusted {
            spec.annotations = ToolAnnotations { destructive: true, ..ToolAnnotations::default() };
        }
        tool.with_spec(spec)
    };
    Ok(client.tools().await?.into_iter().map(adapt).collect())
}

/// Builds a valid tool name: letters, digits, `_` and `-`, at most 64 characters.
fn tool_name(server: &str, tool: &str) -> String {
    let allowed_character = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    format!("{server}_{tool}").chars().map(allowed_character).take(64).collect()
}
