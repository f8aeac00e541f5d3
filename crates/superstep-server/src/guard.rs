//! Who may ask at all: the host check against DNS rebinding, the origin check for what changes something, CORS, and the
//! headers that every answer has.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use superstep::Code;
use superstep::core::error::panic_text;

use crate::config::Config;
use crate::problem::Problem;

/// What a page of ours may load, and who may show it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Whom the server answers.
#[derive(Clone)]
pub(crate) struct Guard(Arc<Rules>);

struct Rules {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Others can reach the server; who asks by a number was not sent by a name that somebody else controls.
    takes_numbers: bool,
}

impl Guard {
    pub(crate) fn new(config: &Config, is_loopback: bool) -> Self {
        let own = std::iter::once(config.host.as_str()).chain(config.allowed_hosts.iter().map(String::as_str));
        let hosts = own.map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()).collect();
        let origins = config.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Self(Arc::new(Rules { hosts, origins: origins.collect(), takes_numbers: !is_loopback }))
    }

    fn check(&self, request: &Request) -> Result<(), Problem> {
        let host = host(request).ok_or_else(|| refused(400, "the request has no host"))?;
        if !self.knows_host(name(&host)) {
            let problem = refused(403, format!("this server is not called `{}`", name(&host)));
            return Err(problem.hint("ask by `localhost`, or add the name to `server.allowed_hosts`"));
        }
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if is_safe || self.takes_origin(request.headers(), &host) {
            return Ok(());
        }
        let problem = refused(403, "a page of another origin may not change anything here");
        Err(problem.hint("add its origin to `server.allowed_origins`"))
    }

    fn knows_host(&self, name: &str) -> bool {
        let number = name.parse::<IpAddr>().ok();
        name == "localhost"
            || number.is_some_and(|number| number.is_loopback() || self.0.takes_numbers)
            || self.0.hosts.iter().any(|known| known == name)
    }

    /// Programs send no origin; browsers do, and say where a request without one came from.
    fn takes_origin(&self, headers: &HeaderMap, host: &str) -> bool {
        match text(headers, &header::ORIGIN) {
            Some(origin) => self.is_allowed(&origin) || origin.split_once("://").is_some_and(|(_, at)| at == host),
            None => !matches!(
                text(headers, &HeaderName::from_static("sec-fetch-site")).as_deref(),
                Some("cross-site" | "same-site")
            ),
        }
    }

    fn is_allowed(&self, origin: &str) -> bool {
        self.0.origins.iter().any(|known| known == origin)
    }

    /// The origin of a request, where its pages may ask us.
    fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = text(headers, &header::ORIGIN)?;
        self.is_allowed(&origin).then(|| headers.get(header::ORIGIN).cloned()).flatten()
    }
}

/// Stands around everything that is served.
pub(crate) async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let origin = guard.allowed_origin(request.headers());
    let is_preflight = request.method() == Method::OPTIONS && origin.is_some();
    let mut response = match guard.check(&request) {
        Err(problem) => problem.into_response(),
        Ok(()) if is_preflight => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => answered(next.run(request)).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        open_to(headers, origin);
    }
    response
}

/// A handler that panics is our bug, and answers as one.
async fn answered(response: impl Future<Output = Response>) -> Response {
    match AssertUnwindSafe(response).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => Problem::from(superstep::Error::internal(panic_text(&*panic))).into_response(),
    }
}

fn open_to(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let rows = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, last-event-id, accept"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "location, content-location, retry-after, x-debate-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in rows {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn refused(status: u16, detail: impl Into<String>) -> Problem {
    Problem::new(status, Code::PolicyRefused, detail)
}

/// What the request was sent to, in small letters, with the port.
fn host(request: &Request) -> Option<String> {
    let given = text(request.headers(), &header::HOST);
    given.or_else(|| request.uri().authority().map(|authority| authority.as_str().to_ascii_lowercase()))
}

/// A host without its port and brackets.
fn name(host: &str) -> &str {
    if let Some((inside, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return inside;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_ascii_lowercase())
}
