//! Errors of MCP servers, with the name of the server and its diagnostics.
//!
//! No error here is a model error: an unreachable server is a failed tool, a server without a response is a timeout.

use std::io::ErrorKind;
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use superstep_core::error::{Error, ErrorCode};

use super::diagnostics::sanitize_terminal_text;

/// Maximum number of characters of foreign text in an error.
const MAX_QUOTED_CHARS: usize = 1000;

/// Returns the error of a server.
pub(super) fn server_error(server: &str, reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::ToolFailed, format!("the MCP server `{server}` {reason}")).with_retryable(false)
}

/// Returns the error of a request without a response in time.
pub(super) fn timeout_error(server: &str, method: &str, waited: Duration, tail: &str) -> Error {
    let seconds = waited.as_secs_f64();
    Error::new(
        ErrorCode::Timeout,
        format!("the MCP server `{server}` did not respond to `{method}` within {seconds} s{tail}"),
    )
}

/// Returns the error of a child process that has ended, which only the application can start again.
pub(super) fn disconnected_error(server: &str, tail: &str) -> Error {
    server_error(server, format_args!("is disconnected{tail}"))
        .with_help("connect again; the client does not restart a program")
}

/// Returns the error of a response with an unexpected form.
pub(super) fn invalid_response_error(server: &str, method: &str) -> Error {
    server_error(server, format_args!("sent an invalid response to `{method}`"))
}

/// Converts the error of a request; `tail` has the diagnostics of the server.
pub(super) fn from_service_error(server: &str, error: &ServiceError, tail: &str) -> Error {
    match error {
        ServiceError::McpError(error_data) => {
            server_error(server, format_args!("returned an error: {}", truncate(&error_data.message)))
        }
        ServiceError::TransportClosed => disconnected_error(server, tail),
        ServiceError::TransportSend(error) => {
            server_error(server, format_args!("did not complete the request: {}{tail}", transport_message(error)))
        }
        error => server_error(server, format_args!("did not complete the request: {}{tail}", reasons(error))),
    }
}

/// Converts the error of the initialization.
pub(super) fn from_initialize_error(server: &str, error: &ClientInitializeError, tail: &str) -> Error {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            server_error(server, format_args!("ended before it responded{tail}"))
        }
        ClientInitializeError::JsonRpcError(error_data) => {
            server_error(server, format_args!("returned an error: {}", truncate(&error_data.message)))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            invalid_response_error(server, "initialize")
        }
        // The server ended before the request was written, instead of before its response.
        ClientInitializeError::TransportError { error, .. } if is_broken_pipe(error) => {
            server_error(server, format_args!("ended before it responded{tail}"))
        }
        ClientInitializeError::TransportError { error, .. } => {
            server_error(server, format_args!("cannot be reached: {}{tail}", transport_message(error)))
        }
        error => server_error(server, format_args!("cannot be reached: {}{tail}", reasons(error))),
    }
}

fn is_broken_pipe(error: &DynamicTransportError) -> bool {
    error.error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Describes a transport error without the type names of the library; HTTP errors do not include their cause in their
/// text.
fn transport_message(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => reasons(error),
        _ => reasons(&*error.error),
    }
}

/// Joins the texts of an error and its causes in one line.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let cause_text = error.to_string();
        // The text of many errors includes their cause.
        if !text.contains(&cause_text) {
            text += &format!(": {cause_text}");
        }
        cause = error.source();
    }
    truncate(&without_queries(&text))
}

/// Removes the query of every URL in a text, because it may contain a secret.
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

fn truncate(text: &str) -> String {
    let end = text.char_indices().nth(MAX_QUOTED_CHARS).map_or(text.len(), |(end, _)| end);
    sanitize_terminal_text(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-84: errors contain no query strings.
    #[test]
    fn query_strings_are_removed_from_errors() {
        let text = "error for url (http://a.example/mcp?key=hush): refused? yes";
        assert_eq!(without_queries(text), "error for url (http://a.example/mcp): refused? yes");
    }
}
