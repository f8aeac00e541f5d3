//! Errors of Firestore: their text, their help and whether a retry may succeed.

use std::time::Duration;

use serde::Deserialize;
use superstep_core::error::{Error, ErrorCode};

use crate::http::request::{HttpResponse, is_transient_status, truncate};

/// Error response of the server.
#[derive(Debug)]
pub(super) struct ApiError {
    pub(super) status: u16,
    /// Name of the status, such as `ABORTED`.
    status_name: String,
    message: String,
}

/// Action that may make a rejected request succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirestoreRetryAction {
    /// Retry after a delay.
    Retry,
    /// Retry with a new access token.
    RefreshToken,
    /// No retry helps.
    None,
}

impl ApiError {
    pub(super) fn new(response: &HttpResponse) -> Self {
        #[derive(Deserialize, Default)]
        struct ErrorBody {
            error: ErrorDetail,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct ErrorDetail {
            status: String,
            message: String,
        }
        // Streaming methods wrap even a single error in a list. The list is tried first, because serde would also
        // accept a list as the fields of one struct.
        let body = serde_json::from_slice::<Vec<ErrorBody>>(&response.body).ok().and_then(|mut list| list.pop());
        let body = body.or_else(|| serde_json::from_slice(&response.body).ok());
        let detail = body.unwrap_or_default().error;
        Self { status: response.status, status_name: detail.status, message: truncate(&detail.message) }
    }

    pub(super) fn retry_action(&self) -> FirestoreRetryAction {
        match (self.status, self.status_name.as_str()) {
            (401, _) => FirestoreRetryAction::RefreshToken,
            (_, "ABORTED") => FirestoreRetryAction::Retry,
            (status, _) if is_transient_status(status) => FirestoreRetryAction::Retry,
            _ => FirestoreRetryAction::None,
        }
    }

    /// Returns true if a precondition of a write may have failed. Firestore uses the same status for a missing
    /// document and a missing database, so the caller reads the document to find out.
    pub(super) fn is_precondition(&self) -> bool {
        matches!(self.status_name.as_str(), "ALREADY_EXISTS" | "FAILED_PRECONDITION" | "NOT_FOUND")
    }

    /// Returns a short description for use inside another error.
    pub(super) fn text(&self) -> String {
        [format!("HTTP {}", self.status), self.status_name.clone(), self.message.clone()]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Converts a permanent rejection to the error that the caller of the port sees.
    pub(super) fn into_error(self, address: &str) -> Error {
        let (summary, help) = match self.status {
            401 => ("rejected the access token", "use a service account of the project of the database"),
            403 => (
                "denied access",
                "grant the account the role `roles/datastore.user` in the project, and check that the Firestore API is \
                 enabled",
            ),
            404 => (
                "was not found",
                "check the project and the database; create the database with `gcloud firestore databases create`",
            ),
            _ => (
                "rejected the request",
                "check the response; if the project is configured correctly, please report this",
            ),
        };
        let message = format!("Firestore at {address} {summary}: {}", self.text());
        Error::new(ErrorCode::StoreUnavailable, message)
            .with_help(format!("nothing was saved; {help}"))
            .with_retryable(false)
    }
}

/// Returns the error for a server that did not respond, or only with transient errors, within the retry timeout.
pub(super) fn unreachable(address: &str, timeout: Duration, reason: &str) -> Error {
    let message = format!("Firestore at {address} could not be reached for {timeout:?}: {reason}");
    Error::new(ErrorCode::StoreUnavailable, message).with_help(
        "this write may or may not be saved; all earlier acknowledged writes are saved; check the connection to the \
         server, then try again",
    )
}

/// Returns the error for a key that other processes kept changing until the retry timeout.
pub(super) fn contention_error(key: &str, timeout: Duration) -> Error {
    let message = format!("other processes kept changing `{key}` in Firestore for {timeout:?}");
    Error::new(ErrorCode::StoreUnavailable, message).with_help("nothing was saved; try again")
}

/// Returns the error for a stored value that is incomplete or has the wrong type.
pub(super) fn corrupt_value(key: &str, problem: &str) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("the value of `{key}` in Firestore {problem}"))
        .with_help("another program wrote to these collections; other keys are not affected")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn api_error(status: u16, body: &str) -> ApiError {
        ApiError::new(&HttpResponse { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() })
    }

    /// R-FWK-38: each error response is classified as transient, as needing a new token, or as a failed precondition.
    #[test]
    fn api_errors_map_to_retry_actions() {
        let error_body = |name: &str| format!(r#"{{"error":{{"code":1,"status":"{name}","message":"m"}}}}"#);
        for (status, name, retry_action, is_precondition) in [
            (409, "ABORTED", FirestoreRetryAction::Retry, false),
            (409, "ALREADY_EXISTS", FirestoreRetryAction::None, true),
            (400, "FAILED_PRECONDITION", FirestoreRetryAction::None, true),
            (404, "NOT_FOUND", FirestoreRetryAction::None, true),
            (429, "RESOURCE_EXHAUSTED", FirestoreRetryAction::Retry, false),
            (503, "UNAVAILABLE", FirestoreRetryAction::Retry, false),
            (504, "DEADLINE_EXCEEDED", FirestoreRetryAction::Retry, false),
            (401, "UNAUTHENTICATED", FirestoreRetryAction::RefreshToken, false),
            (403, "PERMISSION_DENIED", FirestoreRetryAction::None, false),
            (400, "INVALID_ARGUMENT", FirestoreRetryAction::None, false),
        ] {
            for body in [error_body(name), format!("[{}]", error_body(name))] {
                let error = api_error(status, &body);
                assert_eq!((error.retry_action(), error.is_precondition()), (retry_action, is_precondition), "{name}");
                assert_eq!(error.text(), format!("HTTP {status}, {name}, m"));
            }
        }
        assert_eq!(api_error(502, "<html>").text(), "HTTP 502");
    }
}
