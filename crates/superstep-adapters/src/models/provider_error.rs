//! Error bodies of providers: parses their usual JSON forms and classifies the error.

use std::time::Duration;

use serde_json::Value;
use superstep_core::model::ModelErrorKind;

/// An error that a provider reported.
#[derive(Debug, Default)]
pub(super) struct ProviderError {
    /// Message of the provider.
    pub(super) message: String,
    /// All codes and the message in lower case, which the classification searches.
    search_text: String,
    /// Status inside the body, which is used for errors in the middle of a response.
    status: Option<u16>,
    /// Time to wait before a retry.
    pub(super) retry_delay: Option<Duration>,
}

/// Texts that report a request longer than the context window.
const CONTEXT_LENGTH_MESSAGES: [&str; 9] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "input token count",
    "maximum number of tokens",
];

/// Texts that report a content filter.
const CONTENT_FILTER_MESSAGES: [&str; 6] = [
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleaipolicyviolation",
    "prohibited_content",
    "usage polic",
];

/// Texts that report an unknown model.
const MODEL_NOT_FOUND_MESSAGES: [&str; 5] =
    ["model_not_found", "model_decommissioned", "deploymentnotfound", "unknown model", "invalid model name"];

/// Texts that report an invalid key.
const AUTH_MESSAGES: [&str; 5] =
    ["invalid_api_key", "api_key_invalid", "api key not valid", "authentication_error", "permission_error"];

/// Texts that report a rate limit.
const RATE_LIMIT_MESSAGES: [&str; 3] = ["rate_limit", "resource_exhausted", "too many requests"];

/// Texts that report an exhausted account, for which waiting does not help.
const QUOTA_MESSAGES: [&str; 2] = ["insufficient_quota", "credit balance"];

impl ProviderError {
    /// Parses a body.
    pub(super) fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) if body.trim_start().starts_with('<') => Self::plain("an HTML page"),
            Err(_) => Self::plain(body.trim()),
        }
    }

    fn plain(text: &str) -> Self {
        Self { message: text.to_owned(), search_text: text.to_lowercase(), ..Self::default() }
    }

    /// Parses a value: its `error` field, or the value itself.
    pub(super) fn from_value(value: &Value) -> Self {
        let body = value.get(0).unwrap_or(value);
        let error = body.get("error").unwrap_or(body);
        let texts = [error.as_str(), text(error, "message"), text(body, "message"), text(body, "detail")];
        let message = texts.into_iter().flatten().next().unwrap_or_default().to_owned();
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let inner = error.get("innererror").unwrap_or(&Value::Null);
        let mut search_texts: Vec<&str> = vec![&message];
        search_texts.extend(["code", "type", "status"].iter().filter_map(|key| text(error, key)));
        search_texts.extend(text(inner, "code"));
        search_texts.extend(details.iter().filter_map(|detail| text(detail, "reason")));
        let retry_delay =
            details.iter().filter_map(|detail| text(detail, "retryDelay")?.strip_suffix('s')).find_map(seconds);
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Self { search_text: search_texts.join("\n").to_lowercase(), message, status, retry_delay }
    }

    /// Classifies the error; `status` is `None` if the response started successfully.
    pub(super) fn kind(&self, status: Option<u16>) -> ModelErrorKind {
        match status.or(self.status) {
            Some(401 | 403) => ModelErrorKind::InvalidApiKey,
            Some(404) => ModelErrorKind::ModelNotFound,
            Some(408) => ModelErrorKind::Timeout,
            Some(429) => ModelErrorKind::RateLimited,
            Some(500..) => ModelErrorKind::Overloaded,
            Some(413) if !self.contains_any(&RATE_LIMIT_MESSAGES) => ModelErrorKind::ContextLengthExceeded,
            Some(_) => self.kind_by_message().unwrap_or(ModelErrorKind::BadRequest),
            None => self.kind_by_message().unwrap_or(ModelErrorKind::Overloaded),
        }
    }

    fn kind_by_message(&self) -> Option<ModelErrorKind> {
        let rows: [(&[&str], ModelErrorKind); 6] = [
            (&CONTEXT_LENGTH_MESSAGES, ModelErrorKind::ContextLengthExceeded),
            (&CONTENT_FILTER_MESSAGES, ModelErrorKind::ContentFiltered),
            (&AUTH_MESSAGES, ModelErrorKind::InvalidApiKey),
            (&MODEL_NOT_FOUND_MESSAGES, ModelErrorKind::ModelNotFound),
            (&RATE_LIMIT_MESSAGES, ModelErrorKind::RateLimited),
            (&["invalid_request", "invalid_argument"], ModelErrorKind::BadRequest),
        ];
        rows.into_iter().find(|(words, _)| self.contains_any(words)).map(|(_, kind)| kind)
    }

    /// Returns true if waiting helps against a rate limit.
    pub(super) fn has_quota(&self) -> bool {
        !self.contains_any(&QUOTA_MESSAGES)
    }

    fn contains_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.search_text.contains(word))
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Parses a number of seconds with an optional fraction.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-71: real error bodies of providers are classified correctly.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of error bodies")]
    fn provider_error_bodies_are_classified() {
        use ModelErrorKind::{
            BadRequest, ContentFiltered, ContextLengthExceeded, InvalidApiKey, ModelNotFound, Overloaded, RateLimited,
        };
        let rows = [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                ContextLengthExceeded,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                ContextLengthExceeded,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
                ContextLengthExceeded,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                ContextLengthExceeded,
            ),
            (
                413,
                r#"{"error":{"message":"Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM)","type":"tokens","code":"rate_limit_exceeded"}}"#,
                RateLimited,
            ),
            (
                400,
                r#"{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                ContentFiltered,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                InvalidApiKey,
            ),
            (403, "{}", InvalidApiKey),
            (
                404,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#,
                ModelNotFound,
            ),
            (
                400,
                r#"{"error":{"message":"The model `x` has been decommissioned","code":"model_decommissioned"}}"#,
                ModelNotFound,
            ),
            (
                400,
                r#"{"error":{"message":"Unrecognized request argument supplied: foo","type":"invalid_request_error"}}"#,
                BadRequest,
            ),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
            (502, "<html><body>Bad Gateway</body></html>", Overloaded),
        ];
        for (status, body, expected) in rows {
            assert_eq!(ProviderError::read(body).kind(Some(status)), expected, "{body}");
        }
    }

    /// R-FWK-71: an error in the middle of a response has no status and is classified by its text.
    #[test]
    fn errors_inside_a_response_are_classified() {
        let rows = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ModelErrorKind::Overloaded,
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
                ModelErrorKind::RateLimited,
            ),
            (r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#, ModelErrorKind::RateLimited),
            (r#"{"message":"The server had an error","type":"server_error"}"#, ModelErrorKind::Overloaded),
        ];
        for (body, expected) in rows {
            assert_eq!(ProviderError::read(body).kind(None), expected, "{body}");
        }
    }

    #[test]
    fn a_list_of_one_a_bare_text_and_a_retry_delay_are_read() {
        let listed = ProviderError::read(r#"[{"error":{"message":"no","details":[{"retryDelay":"37.5s"}]}}]"#);
        assert_eq!((listed.message.as_str(), listed.retry_delay), ("no", Some(Duration::from_millis(37_500))));
        assert_eq!(ProviderError::read(r#"{"error":"model not loaded"}"#).message, "model not loaded");
        assert_eq!(ProviderError::read("<!DOCTYPE html><html>…").message, "an HTML page");
        assert_eq!(ProviderError::read("upstream is gone\n").message, "upstream is gone");
        assert!(!ProviderError::read(r#"{"error":{"code":"insufficient_quota"}}"#).has_quota());
    }
}
