//! Errors of S3: their text, their help and whether a retry may succeed.

use std::time::Duration;

use superstep_core::error::{Error, ErrorCode};

use super::object_format::text;
use crate::http::request::{HttpResponse, is_transient_status, truncate};

/// Error response of the server.
#[derive(Debug)]
pub(super) struct ApiError {
    status: u16,
    /// Error code, such as `NoSuchKey`.
    error_code: String,
    message: String,
    /// Region of the bucket, if the request was sent to another one.
    region: Option<String>,
}

/// Action that may make a rejected request succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum S3RetryAction {
    /// Retry after a delay.
    Retry,
    /// Retry with the time of the server, which the response contained.
    Clock,
    /// No retry helps.
    None,
}

impl ApiError {
    pub(super) fn new(response: &HttpResponse) -> Self {
        let body = String::from_utf8_lossy(&response.body);
        // Only these elements: others may repeat credentials.
        let element = |name: &str| text(&body, name).map(|text| truncate(&text));
        let (error_code, message) = (element("Code").unwrap_or_default(), element("Message").unwrap_or_default());
        let region = response.header("x-amz-bucket-region").map(truncate).or_else(|| element("Region"));
        Self { status: response.status, error_code, message, region }
    }

    pub(super) fn retry_action(&self) -> S3RetryAction {
        match (self.status, self.error_code.as_str()) {
            (403, "RequestTimeTooSkewed") => S3RetryAction::Clock,
            (_, "RequestTimeout") | (409, _) => S3RetryAction::Retry,
            (status, _) if is_transient_status(status) => S3RetryAction::Retry,
            _ => S3RetryAction::None,
        }
    }

    /// Returns true if the object does not exist in an existing bucket.
    pub(super) fn is_missing(&self) -> bool {
        self.error_code == "NoSuchKey"
    }

    /// Returns true if a precondition failed; a missing object counts for a put that replaces one.
    pub(super) fn is_precondition(&self) -> bool {
        self.status == 412 || self.is_missing()
    }

    /// Returns a short description for use inside another error.
    pub(super) fn text(&self) -> String {
        [format!("HTTP {}", self.status), self.error_code.clone(), self.message.clone()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Converts a permanent rejection to the error that the caller of the port sees.
    pub(super) fn into_error(self, address: &str) -> Error {
        let region = self.region.as_ref().map(|region| format!("set the region to `{region}`"));
        let (reason, help) = match (self.status, self.error_code.as_str(), region) {
            (301 | 307, _, help) | (400, "AuthorizationHeaderMalformed", help) => {
                ("is in another region", help.unwrap_or_else(|| "set the region of the bucket".to_owned()))
            }
            (_, "InvalidAccessKeyId", _) => {
                ("does not know the access key", "check the id of the access key".to_owned())
            }
            (_, "SignatureDoesNotMatch", _) => {
                ("rejected the secret of the access key", "check that it belongs to the id".to_owned())
            }
            (_, "ExpiredToken" | "InvalidToken", _) => {
                ("rejected the session token", "get new credentials, and create a new checkpointer".to_owned())
            }
            (_, "NoSuchBucket", _) => {
                ("has no such bucket", "check the name and the endpoint, or create the bucket".to_owned())
            }
            (403, ..) => (
                "denied access",
                "allow `s3:ListBucket` on the bucket, and `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` in the \
                 folder"
                    .to_owned(),
            ),
            (501, ..) => ("does not support the request", "use a server that supports conditional puts".to_owned()),
            _ => (
                "rejected the request",
                "check the response; if the bucket is configured correctly, please report this".to_owned(),
            ),
        };
        let message = format!("S3 at {address} {reason}: {}", self.text());
        Error::new(ErrorCode::StoreUnavailable, message)
            .with_help(format!("nothing was saved; {help}"))
            .with_retryable(false)
    }
}

/// Returns the error for a server that did not respond, or only with transient errors, within the retry timeout.
pub(super) fn unreachable(address: &str, timeout: Duration, reason: &str) -> Error {
    let message = format!("S3 at {address} could not be reached for {timeout:?}: {reason}");
    Error::new(ErrorCode::StoreUnavailable, message).with_help(
        "this write may or may not be saved; all earlier acknowledged writes are saved; check the connection to the \
         server, then try again",
    )
}

/// Returns the error of a response that is not part of the S3 API.
pub(super) fn unexpected_response(address: &str) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("S3 at {address} returned an unexpected response body"))
        .with_help("this write may or may not be saved; check that the address belongs to a server with the S3 API")
        .with_retryable(true)
}

/// Returns the error for a key that other processes kept changing until the retry timeout.
pub(super) fn contention_error(key: &str, timeout: Duration) -> Error {
    let message = format!("other processes kept changing `{key}` in S3 for {timeout:?}");
    Error::new(ErrorCode::StoreUnavailable, message).with_help("nothing was saved; try again")
}

/// Returns the error of a server that ignores conditions, with which every concurrent put would succeed.
pub(super) fn conditional_writes_unsupported(address: &str, condition: &str) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("S3 at {address} ignores `{condition}`"))
        .with_help("use a server that supports conditional puts, such as Amazon S3, Cloudflare R2 or a current MinIO")
        .with_retryable(false)
}

/// Returns the error of an object in another format.
pub(super) fn corrupt(key: &str) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("the object of `{key}` in S3 has an unknown format"))
        .with_help("another program wrote to this folder; other keys are not affected")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn api_error(status: u16, body: &str) -> ApiError {
        ApiError::new(&HttpResponse { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() })
    }

    /// R-FWK-40: each error response is classified as transient, as a clock error, or as a failed precondition.
    #[test]
    fn api_errors_map_to_retry_actions() {
        for (status, code, retry_action, is_precondition) in [
            (412, "PreconditionFailed", S3RetryAction::None, true),
            (404, "NoSuchKey", S3RetryAction::None, true),
            (404, "NoSuchBucket", S3RetryAction::None, false),
            (409, "ConditionalRequestConflict", S3RetryAction::Retry, false),
            (503, "SlowDown", S3RetryAction::Retry, false),
            (500, "InternalError", S3RetryAction::Retry, false),
            (400, "RequestTimeout", S3RetryAction::Retry, false),
            (403, "RequestTimeTooSkewed", S3RetryAction::Clock, false),
            (403, "AccessDenied", S3RetryAction::None, false),
        ] {
            let body = format!(
                "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m &amp; m</Message><Key>k</Key></Error>"
            );
            let error = api_error(status, &body);
            assert_eq!((error.retry_action(), error.is_precondition()), (retry_action, is_precondition), "{code}");
            assert_eq!(error.text(), format!("HTTP {status}, {code}, m & m"));
        }
        assert_eq!(api_error(502, "<html>").text(), "HTTP 502");
    }

    /// R-FWK-40: the error for a bucket in another region names that region.
    #[test]
    fn the_error_names_the_region_of_the_bucket() {
        let body = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";
        let error = api_error(400, body).into_error("here");
        assert!(error.to_string().contains("the region to `eu-west-1`"), "{error}");
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-bucket-region", "eu-west-2".parse().unwrap());
        let error = ApiError::new(&HttpResponse { status: 301, headers, body: Vec::new() }).into_error("here");
        assert!(error.to_string().contains("the region to `eu-west-2`") && !error.is_retryable(), "{error}");
    }
}
