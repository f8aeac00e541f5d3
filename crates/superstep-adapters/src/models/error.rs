//! Conversion of the errors of `genai`, of the HTTP client and of providers.
//!
//! All texts go through `ErrorReporter::error`, which removes secrets. Some error texts of `genai` contain the complete
//! request and are not used.

use std::error::Error as StdError;
use std::time::Duration;

use genai::webc::{Error as WebError, StreamTimeout};
use genai::{BoxError, Error as GenaiError};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use superstep_core::error::Error;
use superstep_core::model::{ModelErrorKind, ModelInfo};

use super::provider_error::{ProviderError, seconds};

/// Error reporter of a call.
pub(super) struct ErrorReporter {
    pub(super) info: ModelInfo,
    secrets: Vec<String>,
}

/// Maximum number of characters of a provider's text in an error.
const MAX_MESSAGE_CHARS: usize = 400;

impl ErrorReporter {
    pub(super) fn new(info: ModelInfo, mut secrets: Vec<String>) -> Self {
        // A provider may repeat `Bearer abc` as `abc`.
        let words = |secret: &String| secret.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let parts: Vec<String> =
            secrets.iter().flat_map(words).filter(|word| !word.eq_ignore_ascii_case("bearer")).collect();
        secrets.extend(parts);
        // Replacing shorter strings would make the text unreadable; a string that short is not a secret.
        secrets.retain(|secret| secret.len() >= 6);
        Self { info, secrets }
    }

    /// Creates an error with the text on one line, shortened, and without secrets.
    pub(super) fn error(&self, kind: ModelErrorKind, text: &str) -> Error {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "(secret)");
        }
        if let Some((end, _)) = text.char_indices().nth(MAX_MESSAGE_CHARS) {
            text.truncate(end);
            text.push('…');
        }
        kind.error(&self.info, text)
    }

    /// Returns the error of a call that exceeded its timeout.
    pub(super) fn timeout(&self, total: Duration) -> Error {
        self.error(ModelErrorKind::Timeout, &format!("no complete response within {total:?}"))
    }

    /// Returns the error of a prompt that the provider blocked.
    pub(super) fn blocked(&self, reason: &str) -> Error {
        self.error(ModelErrorKind::ContentFiltered, &format!("the prompt was blocked: {reason}"))
    }

    /// Converts an error of `genai`.
    pub(super) fn genai_error(&self, error: GenaiError) -> Error {
        match error {
            GenaiError::WebModelCall { webc_error, .. } | GenaiError::WebAdapterCall { webc_error, .. } => {
                self.web(webc_error)
            }
            GenaiError::HttpError { status, body, headers, .. } => self.status_error(status, &headers, &body),
            GenaiError::WebStream { error, .. } => self.stream(error),
            GenaiError::ChatResponse { body, .. } => self.provider_error(&ProviderError::from_value(&body), None),
            GenaiError::StreamParse { serde_error, .. } if serde_error.is_eof() => {
                self.error(ModelErrorKind::StreamInterrupted, "the response ended in the middle of an event")
            }
            GenaiError::StreamParse { serde_error, .. } => {
                self.error(ModelErrorKind::InvalidResponse, &format!("an event is not valid JSON: {serde_error}"))
            }
            GenaiError::ChatResponseGeneration { cause, .. } => {
                self.error(ModelErrorKind::InvalidResponse, &format!("unexpected response format: {cause}"))
            }
            GenaiError::NoChatResponse { .. }
            | GenaiError::InvalidJsonResponseElement { .. }
            | GenaiError::JsonValueExt(_)
            | GenaiError::SerdeJson(_) => self.error(ModelErrorKind::InvalidResponse, "unexpected response format"),
            other => self.error(ModelErrorKind::BadRequest, &format!("invalid request: {other}")),
        }
    }

    fn web(&self, error: WebError) -> Error {
        match error {
            WebError::ResponseFailedStatus { status, body, headers } => self.status_error(status, &headers, &body),
            WebError::ResponseFailedNotJson { content_type, body } => {
                let message = ProviderError::read(&body).message;
                let kind = if content_type.is_empty() { "no content type" } else { content_type.as_str() };
                let message = if message.is_empty() { "the body is empty" } else { message.as_str() };
                self.error(
                    ModelErrorKind::InvalidResponse,
                    &format!("expected a JSON response, found {kind}: {message}"),
                )
            }
            WebError::ResponseFailedInvalidJson { body, .. } if body.trim().is_empty() => {
                self.error(ModelErrorKind::InvalidResponse, "the response is empty")
            }
            WebError::ResponseFailedInvalidJson { cause, .. } => {
                self.error(ModelErrorKind::InvalidResponse, &format!("the response is not valid JSON: {cause}"))
            }
            WebError::Reqwest(error) => self.transport(&error),
            WebError::JsonValueExt(_) => self.error(ModelErrorKind::InvalidResponse, "unexpected response format"),
        }
    }

    fn stream(&self, error: BoxError) -> Error {
        let error = match error.downcast::<GenaiError>() {
            Ok(error) => return self.genai_error(*error),
            Err(error) => error,
        };
        if let Some(timeout) = error.downcast_ref::<StreamTimeout>() {
            return self.error(ModelErrorKind::Timeout, &timeout.to_string());
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return self.transport(error);
        }
        // The remaining errors are texts that are not UTF-8.
        self.error(ModelErrorKind::InvalidResponse, &format!("failed to read the response: {error}"))
    }

    fn transport(&self, error: &reqwest::Error) -> Error {
        let reason = cause(error);
        match () {
            () if error.is_builder() => {
                let error = self.error(ModelErrorKind::BadRequest, &format!("invalid request: {reason}"));
                error.with_help("check the API key, the headers and the base URL for line breaks")
            }
            () if error.is_connect() => self.error(ModelErrorKind::Connection, &format!("connection failed: {reason}")),
            () if error.is_timeout() => self.error(ModelErrorKind::Timeout, "request timed out"),
            () => self.error(ModelErrorKind::StreamInterrupted, &format!("connection lost: {reason}")),
        }
    }

    /// Converts a response with an error status.
    fn status_error(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Error {
        let error = self.provider_error(&ProviderError::read(body), Some(status));
        match retry_delay(headers) {
            Some(retry_delay) if error.is_retryable() => error.with_retry_after(retry_delay),
            _ => error,
        }
    }

    /// Converts an error that the provider reported.
    pub(super) fn provider_error(&self, reported: &ProviderError, status: Option<StatusCode>) -> Error {
        let kind = reported.kind(status.map(|status| status.as_u16()));
        let message = if reported.message.is_empty() { "no reason given" } else { &reported.message };
        let error = match status {
            Some(status) => self.error(kind, &format!("{status}: {message}")),
            None => self.error(kind, message),
        };
        match reported.retry_delay {
            _ if !reported.has_quota() => {
                error.with_retryable(false).with_help("add credit to the account; waiting does not restore the quota")
            }
            Some(retry_delay) if error.is_retryable() => error.with_retry_after(retry_delay),
            _ => error,
        }
    }
}

/// Returns the text of the deepest cause. Texts of `reqwest` itself contain URLs and are not used.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match cause.is::<reqwest::Error>() {
        true => "no reason given".to_owned(),
        false => cause.to_string(),
    }
}

/// Returns the requested retry delay: in milliseconds, in seconds, or until a date.
fn retry_delay(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text("retry-after")?;
    seconds(after).or_else(|| {
        let time = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp());
        // Use the clock of the provider if it is sent: the local clock may be wrong.
        let now = text("date").and_then(time).unwrap_or_else(jiff::Timestamp::now);
        Some(Duration::try_from(time(after)?.duration_since(now)).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use superstep_core::model::ModelKind;

    use super::*;

    type HeaderLine = (&'static str, &'static str);

    fn headers(lines: &[HeaderLine]) -> HeaderMap {
        lines.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    /// R-FWK-71: the retry delay of a rate limit is read in each of its common forms.
    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        let date = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")];
        let past = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")];
        let rows: [(&[HeaderLine], Option<u64>); 8] = [
            (&[("retry-after", "7")], Some(7_000)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], Some(250)),
            (&date, Some(60_000)),
            (&past, Some(0)),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ];
        for (lines, expected) in rows {
            assert_eq!(retry_delay(&headers(lines)), expected.map(Duration::from_millis), "{lines:?}");
        }
    }

    /// R-FWK-71: texts of providers in errors contain no key, have one line, and are limited in length.
    #[test]
    fn provider_messages_are_redacted_and_truncated() {
        let info = ModelInfo::new("openai", "m", ModelKind::Remote);
        let report = ErrorReporter::new(info, vec!["sk-secret".to_owned(), "v1".to_owned()]);
        let error = report.error(ModelErrorKind::InvalidApiKey, "key sk-secret\n  is wrong in v1");
        assert_eq!(error.message(), "model `openai/m`: key (secret) is wrong in v1");
        let long = report.error(ModelErrorKind::InvalidResponse, &"é".repeat(10_000));
        assert!(long.message().chars().count() < 450);
    }
}
