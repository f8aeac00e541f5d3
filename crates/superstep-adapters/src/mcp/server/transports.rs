//! The transports of a server: in-process, standard input and output, HTTP.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::{McpServer, SessionHandler};

/// An MCP server as a `tower` service, for example for `axum`; one service handles all requests below one path.
pub type HttpService = StreamableHttpService<SessionHandler, LocalSessionManager>;

/// Host names of this machine.
const LOCALHOST_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl McpServer {
    /// Serves one client in this process until one end is dropped.
    pub(crate) fn serve_in_process(&self, pipe: DuplexStream) -> Result<JoinHandle<()>> {
        self.check()?;
        let handler = SessionHandler(self.clone());
        Ok(tokio::spawn(async move {
            // A client that disconnects before the initialization is not an error.
            if let Ok(serving) = Box::pin(handler.serve(pipe)).await {
                let _ = serving.waiting().await;
            }
        }))
    }

    /// Serves the parent process over standard input and output until the input ends. No other code may write to the
    /// standard output meanwhile.
    ///
    /// # Errors
    /// Returns an error if the server cannot serve its tools or the client does not support the protocol.
    pub async fn serve_stdio(&self) -> Result<()> {
        self.check()?;
        let failed = |reason: &dyn std::fmt::Display| {
            Error::new(
                ErrorCode::ToolFailed,
                format!("the MCP server `{}` failed to serve its client: {reason}", self.name()),
            )
            .with_retryable(false)
        };
        let serving = Box::pin(SessionHandler(self.clone()).serve(rmcp::transport::stdio())).await;
        serving.map_err(|error| failed(&error))?.waiting().await.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Returns the server as an HTTP service for clients of this machine or of
    /// [`McpServer::allowed_hosts`](super::McpServer::allowed_hosts). The service performs no authentication; the
    /// application has to add it if needed.
    ///
    /// # Errors
    /// Returns an error if the server cannot serve its tools.
    pub fn http_service(&self) -> Result<HttpService> {
        self.check()?;
        let hosts = self.catalog().hosts.clone();
        let hosts = hosts.unwrap_or_else(|| LOCALHOST_NAMES.map(str::to_owned).to_vec());
        // The library accepts every host if the list is empty.
        if hosts.is_empty() {
            let message = format!("the MCP server `{}` has an empty list of allowed hosts", self.name());
            return Err(Error::new(ErrorCode::ConfigInvalid, message));
        }
        let origins: Vec<String> = hosts.iter().flat_map(|host| origins(host)).collect();
        let config = StreamableHttpServerConfig::default();
        let config = config.with_allowed_hosts(hosts).with_allowed_origins(origins).enforce_origin_validation();
        let handler = SessionHandler(self.clone());
        Ok(StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(LocalSessionManager::default()), config))
    }
}

/// Returns the origins of pages of a host.
fn origins(host: &str) -> [String; 2] {
    let is_bare_v6 = host.parse::<std::net::Ipv6Addr>().is_ok();
    let authority = match host.rsplit_once(':') {
        _ if is_bare_v6 => format!("[{host}]:*"),
        Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
        _ => format!("{host}:*"),
    };
    [format!("https://{authority}"), format!("http://{authority}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-84: a page is accepted by its host, and by its port if one is configured.
    #[test]
    fn origins_follow_from_hosts() {
        assert_eq!(origins("a.example"), ["https://a.example:*", "http://a.example:*"]);
        assert_eq!(origins("a.example:81"), ["https://a.example:81", "http://a.example:81"]);
        assert_eq!(origins("::1"), ["https://[::1]:*", "http://[::1]:*"]);
    }

    /// R-FWK-84: an empty list of hosts accepts no client instead of every client.
    #[test]
    fn an_empty_list_of_hosts_rejects_every_host() {
        let server = McpServer::new("a", "1").allowed_hosts([] as [&str; 0]);
        assert!(server.http_service().is_err());
    }
}
