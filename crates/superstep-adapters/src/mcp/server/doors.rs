//! How clients reach a server: in this program, over standard input and output, over HTTP.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use superstep_core::error::{Code, Error, Result};
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::{Server, Speaker};

/// A server as a service of `tower`, for `axum` and others: one for all requests below one path.
pub type HttpService = StreamableHttpService<Speaker, LocalSessionManager>;

/// The names of this machine for itself.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Server {
    /// Serves one client in this program, until either end is let go.
    pub(in crate::mcp) fn over(&self, pipe: DuplexStream) -> Result<JoinHandle<()>> {
        self.check()?;
        let speaker = Speaker(self.clone());
        Ok(tokio::spawn(async move {
            // A client that goes before it has said hello is nobody's business.
            if let Ok(serving) = Box::pin(speaker.serve(pipe)).await {
                let _ = serving.waiting().await;
            }
        }))
    }

    /// Serves whoever started this program, over its standard input and output, until the input ends. Nothing else may
    /// write to the standard output meanwhile.
    ///
    /// # Errors
    /// When the server cannot serve its tools, or the client does not speak the protocol.
    pub async fn serve_stdio(&self) -> Result<()> {
        self.check()?;
        let failed = |why: &dyn std::fmt::Display| {
            Error::new(Code::ToolFailed, format!("the client of `{}` is none: {why}", self.name())).retryable(false)
        };
        let serving = Box::pin(Speaker(self.clone()).serve(rmcp::transport::stdio())).await;
        serving.map_err(|error| failed(&error))?.waiting().await.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// The server as an HTTP service, for clients of this machine or of [`Server::allowed_hosts`]. Who may come beyond
    /// that is for whoever puts it on the web to say.
    ///
    /// # Errors
    /// When the server cannot serve its tools.
    pub fn http_service(&self) -> Result<HttpService> {
        self.check()?;
        let hosts = self.offers().hosts.clone();
        let hosts = hosts.unwrap_or_else(|| HERE.map(str::to_owned).to_vec());
        // With an empty list the library would let everybody in.
        if hosts.is_empty() {
            let fact = format!("the MCP server `{}` is allowed no host, and nobody could reach it", self.name());
            return Err(Error::new(Code::ConfigInvalid, fact));
        }
        let origins: Vec<String> = hosts.iter().flat_map(|host| origins(host)).collect();
        let config = StreamableHttpServerConfig::default();
        let config = config.with_allowed_hosts(hosts).with_allowed_origins(origins).enforce_origin_validation();
        let speaker = Speaker(self.clone());
        Ok(StreamableHttpService::new(move || Ok(speaker.clone()), Arc::new(LocalSessionManager::default()), config))
    }
}

/// The origins that pages of a host have.
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

    /// R-FWK-84: a page is let in by its host, and by its port where one is named.
    #[test]
    fn origins_follow_from_hosts() {
        assert_eq!(origins("a.example"), ["https://a.example:*", "http://a.example:*"]);
        assert_eq!(origins("a.example:81"), ["https://a.example:81", "http://a.example:81"]);
        assert_eq!(origins("::1"), ["https://[::1]:*", "http://[::1]:*"]);
    }

    /// R-FWK-84: with no host at all nobody comes in, not everybody.
    #[test]
    fn an_empty_list_of_hosts_lets_nobody_in() {
        let server = Server::new("a", "1").allowed_hosts([] as [&str; 0]);
        assert!(server.http_service().is_err());
    }
}
