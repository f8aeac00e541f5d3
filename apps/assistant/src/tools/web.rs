//! Web access, if configured: `fetch_url` for pages of allowed hosts, `web_search` for a search engine.
//!
//! Only listed hosts are contacted, over encrypted connections to public addresses. The HTTP client itself resolves
//! the host name, so a name cannot resolve to a public address for the check and to a private address for the
//! connection.

mod client;
mod fetch;
mod search;

pub(crate) use client::{MAX_BODY_BYTES, body, client, shortened};
pub(super) use fetch::FetchUrl;
pub(super) use search::WebSearch;

/// Settings of the web tools.
#[derive(Debug, Clone, Default)]
pub struct WebSettings {
    /// Allowed hosts: `example.com`, or `*.example.com` for all subdomains.
    pub hosts: Vec<String>,
    /// Hosts that may be private and unencrypted, as `host` or `host:port`.
    pub private: Vec<String>,
    /// Address of a SearXNG search engine, such as `https://search.example.com`.
    pub search: Option<String>,
}
