//! Tools of MCP servers that the configuration names.
//!
//! What a server says of its tools is not trusted: unless the configuration trusts the server, every tool of it is taken
//! for one that may destroy something. A person is asked first, and a call is never repeated on the server's word.

use std::collections::BTreeMap;

use superstep::Result;
use superstep::mcp::Client;
use superstep::settings::Secret;
use superstep::tool::{Annotations, SharedTool};

/// An MCP server of the configuration.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What it is called here: stands in front of the names of its tools.
    pub name: String,
    /// How it is reached.
    pub via: Via,
    /// The mark of its list of tools that somebody has approved; with another list it is not used.
    pub pin: Option<String>,
    /// What it says of its tools is believed: what only reads, or does not destroy, by its own word needs no approval. The
    /// policy may still ask about a tool.
    pub trusted: bool,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Via {
    /// A program that speaks over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables, which often hold keys.
        env: BTreeMap<String, Secret>,
    },
    /// A server on the web.
    Http {
        /// Its address.
        url: String,
        /// Hosts that may be private and without encryption.
        allow: Vec<String>,
    },
}

/// Connects to the servers, with a token for those that need one, and gives their tools.
///
/// # Errors
/// When a server cannot be reached, or its tools are not those that were approved.
pub async fn connect_servers(
    servers: &[ServerSettings],
    token: impl Fn(&str) -> Option<Secret>,
) -> Result<Vec<SharedTool>> {
    let mut tools = Vec::new();
    for server in servers {
        let client = match &server.via {
            Via::Program { command, args, env } => {
                let env = env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
                Client::spawn(command, args.clone(), env).connect().await?
            }
            Via::Http { url, allow } => {
                let mut remote = Client::http(url);
                for host in allow {
                    remote = remote.allow_host(host);
                }
                if let Some(token) = token(&server.name) {
                    remote = remote.bearer(token.expose());
                }
                remote.connect().await?
            }
        };
        tools.extend(tools_of_server(server, client).await?);
    }
    Ok(tools)
}

/// The tools of a server, each under a name that begins with the server's.
///
/// # Errors
/// When the server does not list them, or lists others than were approved.
pub async fn tools_of_server(server: &ServerSettings, client: Client) -> Result<Vec<SharedTool>> {
    let client = match &server.pin {
        Some(pin) => client.pinned(pin.as_str()),
        None => client,
    };
    let renamed = |tool: SharedTool| {
        let mut spec = (**tool.spec()).clone();
        spec.name = name_of(&server.name, &spec.name);
        spec.timeout = spec.timeout.or(Some(super::TIME));
        if !server.trusted {
            spec.annotations = Annotations { destructive: true, ..Annotations::default() };
        }
        tool.with_spec(spec)
    };
    Ok(client.tools().await?.into_iter().map(renamed).collect())
}

/// A name that fits: letters, digits, `_` and `-`, at most 64.
fn name_of(server: &str, tool: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    format!("{server}_{tool}").chars().map(plain).take(64).collect()
}
