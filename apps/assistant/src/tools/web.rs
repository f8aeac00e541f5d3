//! The web, where it is configured: `fetch_url` for pages of allowed hosts, `web_search` for a search engine.
//!
//! Only hosts on the list are spoken to, over encrypted connections to public addresses. A name is looked up by the client
//! that connects, so it cannot mean something public when it is checked and something private when it is used.

mod client;
mod fetch;
mod search;

pub(crate) use client::{LARGEST, body, client, shortened};
pub(super) use fetch::FetchUrl;
pub(super) use search::WebSearch;

/// Which parts of the web may be used.
#[derive(Debug, Clone, Default)]
pub struct WebSettings {
    /// Hosts that pages are fetched from: `example.com`, or `*.example.com` for all below it.
    pub hosts: Vec<String>,
    /// Hosts, as `host` or `host:port`, that may be private and without encryption.
    pub private: Vec<String>,
    /// The address of a SearXNG search engine, such as `https://search.example.com`.
    pub search: Option<String>,
}
