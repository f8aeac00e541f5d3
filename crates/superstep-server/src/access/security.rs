//! Security checks in front of all routes: the host check against DNS rebinding, the origin check for requests that
//! change something, CORS, and the headers of every response.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use superstep::ErrorCode;
use superstep::core::error::panic_message;

use crate::api::problem::Problem;
use crate::config::ServerConfig;

/// Content Security Policy of the pages.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Host and origin rules of the server.
#[derive(Clone)]
pub(crate) struct SecurityPolicy(Arc<SecurityRules>);

struct SecurityRules {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// True if other machines can reach the server. Then an IP address is accepted as host: a request sent to an IP
    /// address did not come through a DNS name that an attacker controls.
    allows_ip_hosts: bool,
}

impl SecurityPolicy {
    pub(crate) fn new(config: &ServerConfig, is_loopback: bool) -> Self {
        let names = std::iter::once(config.host.as_str()).chain(config.allowed_hosts.iter().map(String::as_str));
        let hosts = names.map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()).collect();
        let origins = config.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Self(Arc::new(SecurityRules { hosts, origins: origins.collect(), allows_ip_hosts: !is_loopback }))
    }

    fn check(&self, request: &Request) -> Result<(), Problem> {
        let host = host(request).ok_or_else(|| policy_problem(400, "the request has no host"))?;
        if !self.is_allowed_host(host_name(&host)) {
            let problem = policy_problem(403, format!("host `{}` is not allowed", host_name(&host)));
            return Err(problem.with_hint("use `localhost`, or add the name to `server.allowed_hosts`"));
        }
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if is_safe || self.is_allowed_request_origin(request.headers(), &host) {
            return Ok(());
        }
        let problem = policy_problem(403, "the origin of the request is not allowed");
        Err(problem.with_hint("add the origin to `server.allowed_origins`"))
    }

    fn is_allowed_host(&self, name: &str) -> bool {
        let address = name.parse::<IpAddr>().ok();
        name == "localhost"
            || address.is_some_and(|address| address.is_loopback() || self.0.allows_ip_hosts)
            || self.0.hosts.iter().any(|allowed| allowed == name)
    }

    /// Returns true if the origin of a request is allowed. Programs send no origin; browsers do, and mark
    /// cross-site requests without one in `Sec-Fetch-Site`.
    fn is_allowed_request_origin(&self, headers: &HeaderMap, host: &str) -> bool {
        match lowercase_header(headers, &header::ORIGIN) {
            Some(origin) => {
                self.is_configured_origin(&origin)
                    || origin.split_once("://").is_some_and(|(_, origin_host)| origin_host == host)
            }
            None => !matches!(
                lowercase_header(headers, &HeaderName::from_static("sec-fetch-site")).as_deref(),
                Some("cross-site" | "same-site")
            ),
        }
    }

    fn is_configured_origin(&self, origin: &str) -> bool {
        self.0.origins.iter().any(|allowed| allowed == origin)
    }

    /// Returns the origin of a request if CORS allows it.
    fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = lowercase_header(headers, &header::ORIGIN)?;
        self.is_configured_origin(&origin).then(|| headers.get(header::ORIGIN).cloned()).flatten()
    }
}

/// Checks host and origin of every request, and adds security headers to every response.
pub(crate) async fn security_middleware(
    State(policy): State<SecurityPolicy>,
    request: Request,
    next: Next,
) -> Response {
    let origin = policy.allowed_origin(request.headers());
    let is_preflight = request.method() == Method::OPTIONS && origin.is_some();
    let mut response = match policy.check(&request) {
        Err(problem) => problem.into_response(),
        Ok(()) if is_preflight => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => catch_panic(next.run(request)).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        add_cors_headers(headers, origin);
    }
    response
}

/// Runs a handler; a panic becomes an internal error, because it is a bug of the server.
async fn catch_panic(response: impl Future<Output = Response>) -> Response {
    match AssertUnwindSafe(response).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => Problem::from(superstep::Error::internal(panic_message(&*panic))).into_response(),
    }
}

fn add_cors_headers(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let cors_headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, last-event-id, accept"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "location, content-location, retry-after, x-debate-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in cors_headers {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn policy_problem(status: u16, detail: impl Into<String>) -> Problem {
    Problem::new(status, ErrorCode::PolicyRefused, detail)
}

/// Returns the host of a request in lower case, with the port.
fn host(request: &Request) -> Option<String> {
    let host_header = lowercase_header(request.headers(), &header::HOST);
    host_header.or_else(|| request.uri().authority().map(|authority| authority.as_str().to_ascii_lowercase()))
}

/// Returns a host without its port and brackets.
fn host_name(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn lowercase_header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_ascii_lowercase())
}
