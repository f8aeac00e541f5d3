//! `fetch_url`: fetches a page of an allowed host as text.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use serde_json::json;
use superstep::mcp::is_public;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{Result, ToolError, ToolOutput};

use super::WebSettings;
use super::client::{MAX_BODY_BYTES, body, build_client, builder};
use crate::tools::arguments::required;
use crate::tools::error::{invalid, not_allowed, unavailable};

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 3;
/// Maximum size of the returned text in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The `fetch_url` tool.
pub(crate) struct FetchUrl {
    settings: WebSettings,
    client: Client,
}

impl FetchUrl {
    pub(crate) fn new(settings: WebSettings) -> Result<Self> {
        let resolver = Arc::new(PublicResolver(settings.private.clone()));
        let client = build_client(builder().no_proxy().dns_resolver(resolver))?;
        Ok(Self { settings, client })
    }

    async fn get(&self, address: &str) -> Result<(Url, Response), ToolError> {
        let mut url =
            Url::parse(address).map_err(|error| invalid(format_args!("`{address}` is not a valid URL: {error}")))?;
        for _ in 0..=MAX_REDIRECTS {
            self.settings.check(&url).map_err(not_allowed)?;
            let request_error = |error: reqwest::Error| {
                unavailable(format_args!("`{url}` cannot be fetched: {}", root_cause(&error))).retryable()
            };
            let response = self.client.get(url.clone()).send().await.map_err(request_error)?;
            let next = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            match next.filter(|_| response.status().is_redirection()) {
                Some(next) => url = url.join(next).map_err(|_| unavailable("the redirect has no target"))?,
                None => return Ok((url, response)),
            }
        }
        Err(unavailable(format_args!("too many redirects from `{address}`")))
    }
}

impl Tool for FetchUrl {
    fn spec(&self) -> ToolSpec {
        let hosts = self.settings.hosts.join(", ");
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["url"], "properties": {
            "url": {"type": "string", "description": format!("URL of the page; allowed hosts: {hosts}.")},
        }});
        let about = "Fetches a web page as text, from allowed hosts only.";
        let spec = ToolSpec::new("fetch_url", about).with_input_schema(schema).read_only();
        spec.timeout(crate::tools::CALL_TIMEOUT).retries(crate::tools::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let (url, response) = self.get(required(&call, "url")?.trim()).await?;
        let status = response.status();
        if !status.is_success() {
            let failed = unavailable(format_args!("`{url}` returned {status}"));
            return Err(if status.is_server_error() { failed.retryable() } else { failed });
        }
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|content_type| content_type.to_str().ok())
            .unwrap_or("text/plain");
        let content_type = content_type.to_lowercase();
        if !["text/", "json", "xml"].iter().any(|part| content_type.contains(part)) {
            return Err(unavailable(format_args!("`{url}` is not text but {content_type}")));
        }
        let received = body(response, MAX_BODY_BYTES).await.map_err(|reason| unavailable(reason).retryable())?;
        let raw = String::from_utf8_lossy(&received.bytes);
        let (title, mut text) = if content_type.contains("html") {
            let page = superstep_documents::html_to_text(&raw);
            (page.title, page.text)
        } else {
            (String::new(), raw.into_owned())
        };
        let is_cut = received.is_cut || text.len() > MAX_TEXT_BYTES;
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Ok(json!({"url": url.as_str(), "title": title, "text": text, "truncated": is_cut}).into())
    }
}

impl WebSettings {
    /// Checks that pages may be fetched from an address; otherwise returns the reason.
    fn check(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_lowercase();
        let is_private = self.is_private(&host, url.port_or_known_default().unwrap_or_default());
        let is_listed = |entry: &String| match entry.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            None => entry.eq_ignore_ascii_case(&host),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("URLs with a password are not allowed".to_owned());
        }
        if host.is_empty() || !(url.scheme() == "https" || (url.scheme() == "http" && is_private)) {
            return Err("only https is allowed".to_owned());
        }
        if !is_private && !self.hosts.iter().any(is_listed) {
            return Err(format!("`{host}` is not an allowed host; allowed: {}", self.hosts.join(", ")));
        }
        let literal: Option<std::net::IpAddr> = host.parse().ok();
        if literal.is_some_and(|address| !is_private && !is_public(address)) {
            return Err(format!("`{host}` is a private address"));
        }
        Ok(())
    }

    fn is_private(&self, host: &str, port: u16) -> bool {
        self.private.iter().any(|entry| *entry == host || *entry == format!("{host}:{port}"))
    }
}

/// DNS resolver that rejects a host if one of its addresses is private, unless the host may be private.
struct PublicResolver(Vec<String>);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = self.0.iter().any(|entry| entry.split(':').next() == Some(name.as_str()));
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if let Some(private_address) = addresses.iter().find(|address| !is_allowed && !is_public(address.ip())) {
                return Err(
                    format!("`{}` resolves to {}, a private address", name.as_str(), private_address.ip()).into()
                );
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Returns the root cause of an error.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-54: pages come from listed hosts over TLS, and never from private addresses that are not explicitly
    /// allowed.
    #[test]
    fn only_listed_hosts_are_fetched() {
        let hosts = ["example.com", "*.docs.example", "10.0.0.1", "127.0.0.1"].map(str::to_owned).to_vec();
        let settings = WebSettings { hosts, private: vec!["127.0.0.1:8080".to_owned()], search: None };
        for (address, is_fetched) in [
            ("https://example.com/a?b", true),
            ("https://EXAMPLE.com", true),
            ("http://example.com", false),
            ("https://sub.example.com", false),
            ("https://a.docs.example", true),
            ("https://docs.example", false),
            ("https://evildocs.example", false),
            ("https://example.com.evil.test", false),
            ("https://evil.test/#example.com", false),
            ("https://me:word@example.com", false),
            ("https://example.com@evil.test", false),
            ("https://10.0.0.1/", false),
            ("https://127.0.0.1/", false),
            ("http://127.0.0.1:8080/", true),
            ("http://127.0.0.1:8081/", false),
            ("https://[::1]/", false),
            ("https://2130706433/", false),
            ("file:///etc/passwd", false),
            ("gopher://example.com/", false),
        ] {
            let url = Url::parse(address).unwrap();
            assert_eq!(settings.check(&url).is_ok(), is_fetched, "{address}");
        }
    }
}
