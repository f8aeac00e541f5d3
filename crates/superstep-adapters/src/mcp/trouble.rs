//! What goes wrong with a server, in words: who, what, and what is known besides.
//!
//! Nothing here is a failure of a model: a server that is away is a tool that failed, one that is silent took too long.

use std::io::ErrorKind;
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use superstep_core::error::{Code, Error};

use super::notes::plain;

/// How much of what somebody else wrote is repeated.
const REPEATED: usize = 1000;

/// A failure of that server.
pub(super) fn failed(server: &str, what: impl std::fmt::Display) -> Error {
    Error::new(Code::ToolFailed, format!("the MCP server `{server}` {what}")).retryable(false)
}

/// It has not answered in time.
pub(super) fn slow(server: &str, method: &str, waited: Duration, tail: &str) -> Error {
    let seconds = waited.as_secs_f64();
    Error::new(Code::Timeout, format!("the MCP server `{server}` has not answered `{method}` within {seconds} s{tail}"))
}

/// It is not there any more, and nobody can bring it back but whoever started it.
pub(super) fn gone(server: &str, tail: &str) -> Error {
    failed(server, format_args!("has gone{tail}")).help("connect again: a program that has ended is not started twice")
}

/// An answer that is none.
pub(super) fn nonsense(server: &str, method: &str) -> Error {
    failed(server, format_args!("answered `{method}` with something that is no answer to it"))
}

/// A request that came to nothing. `tail` is what is known of the server besides.
pub(super) fn of_request(server: &str, error: &ServiceError, tail: &str) -> Error {
    match error {
        ServiceError::McpError(refusal) => failed(server, format_args!("refuses: {}", cut(&refusal.message))),
        ServiceError::TransportClosed => gone(server, tail),
        ServiceError::TransportSend(error) => failed(server, format_args!("cannot be asked: {}{tail}", of_way(error))),
        error => failed(server, format_args!("cannot be asked: {}{tail}", reasons(error))),
    }
}

/// A connection that did not come about.
pub(super) fn of_greeting(server: &str, error: &ClientInitializeError, tail: &str) -> Error {
    match error {
        ClientInitializeError::ConnectionClosed(_) => failed(server, format_args!("ended before it answered{tail}")),
        ClientInitializeError::JsonRpcError(refusal) => {
            failed(server, format_args!("refuses: {}", cut(&refusal.message)))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            nonsense(server, "initialize")
        }
        // It ended before the greeting was written, rather than before it was answered.
        ClientInitializeError::TransportError { error, .. } if is_broken_pipe(error) => {
            failed(server, format_args!("ended before it answered{tail}"))
        }
        ClientInitializeError::TransportError { error, .. } => {
            failed(server, format_args!("cannot be reached: {}{tail}", of_way(error)))
        }
        error => failed(server, format_args!("cannot be reached: {}{tail}", reasons(error))),
    }
}

fn is_broken_pipe(error: &DynamicTransportError) -> bool {
    error.error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// What is wrong between us, without the names of the library's types; those of HTTP do not tell their cause by themselves.
fn of_way(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => reasons(error),
        _ => reasons(&*error.error),
    }
}

/// An error and what caused it, in one line.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Many say what caused them already.
        if !text.contains(&words) {
            text += &format!(": {words}");
        }
        cause = error.source();
    }
    cut(&without_queries(&text))
}

/// An address in a text loses what stands after its `?`: it may be a secret.
fn without_queries(text: &str) -> String {
    let words = text.split(' ').map(|word| match (word.find("://"), word.find('?')) {
        (Some(address), Some(query)) if address < query => {
            let after = word[query..].trim_start_matches(|letter| !matches!(letter, ')' | ','));
            format!("{}{after}", &word[..query])
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    let end = text.char_indices().nth(REPEATED).map_or(text.len(), |(end, _)| end);
    plain(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-84: what an address is asked with is in no error.
    #[test]
    fn queries_are_taken_out_of_a_text() {
        let text = "error for url (http://a.example/mcp?key=hush): refused? yes";
        assert_eq!(without_queries(text), "error for url (http://a.example/mcp): refused? yes");
    }
}
