//! What a provider says went wrong: read out of its JSON, whichever of the usual forms that has, and told apart.

use std::time::Duration;

use serde_json::Value;
use superstep_core::model::Trouble;

/// What a provider says went wrong.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// In its words.
    pub(super) message: String,
    /// Every short mark it gave, and its words, in small letters: what is looked for to tell troubles apart.
    marks: String,
    /// The status that it names itself, where it does so inside of an answer.
    status: Option<u16>,
    /// How long it asks to wait.
    pub(super) wait: Option<Duration>,
}

/// What providers say when more was said than the model can read.
const TOO_LONG: [&str; 9] = [
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

/// What they say when they do not answer this.
const REFUSED: [&str; 6] = [
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleaipolicyviolation",
    "prohibited_content",
    "usage polic",
];

/// What they say when there is no such model.
const NO_MODEL: [&str; 5] =
    ["model_not_found", "model_decommissioned", "deploymentnotfound", "unknown model", "invalid model name"];

/// What they say when they do not know the key.
const NO_ENTRY: [&str; 5] =
    ["invalid_api_key", "api_key_invalid", "api key not valid", "authentication_error", "permission_error"];

/// What they say when too much was asked of them in a short time.
const TOO_OFTEN: [&str; 3] = ["rate_limit", "resource_exhausted", "too many requests"];

/// What they say when the account is empty, which waiting does not change.
const NO_QUOTA: [&str; 2] = ["insufficient_quota", "credit balance"];

impl Said {
    /// Reads a body.
    pub(super) fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value),
            Err(_) if body.trim_start().starts_with('<') => Self::plain("a page of HTML"),
            Err(_) => Self::plain(body.trim()),
        }
    }

    fn plain(text: &str) -> Self {
        Self { message: text.to_owned(), marks: text.to_lowercase(), ..Self::default() }
    }

    /// Reads a value: what is under `error` in it, or all of it.
    pub(super) fn of(value: &Value) -> Self {
        let whole = value.get(0).unwrap_or(value);
        let error = whole.get("error").unwrap_or(whole);
        let texts = [error.as_str(), text(error, "message"), text(whole, "message"), text(whole, "detail")];
        let message = texts.into_iter().flatten().next().unwrap_or_default().to_owned();
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let inner = error.get("innererror").unwrap_or(&Value::Null);
        let mut marks: Vec<&str> = vec![&message];
        marks.extend(["code", "type", "status"].iter().filter_map(|key| text(error, key)));
        marks.extend(text(inner, "code"));
        marks.extend(details.iter().filter_map(|detail| text(detail, "reason")));
        let wait = details.iter().filter_map(|detail| text(detail, "retryDelay")?.strip_suffix('s')).find_map(seconds);
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Self { marks: marks.join("\n").to_lowercase(), message, status, wait }
    }

    /// What went wrong, with the status of the answer; none when the answer had begun well.
    pub(super) fn trouble(&self, status: Option<u16>) -> Trouble {
        match status.or(self.status) {
            Some(401 | 403) => Trouble::KeyRefused,
            Some(404) => Trouble::NoSuchModel,
            Some(408) => Trouble::TooSlow,
            Some(429) => Trouble::RateLimited,
            Some(500..) => Trouble::Overloaded,
            Some(413) if !self.has(&TOO_OFTEN) => Trouble::ContextTooLong,
            Some(_) => self.by_words().unwrap_or(Trouble::BadRequest),
            None => self.by_words().unwrap_or(Trouble::Overloaded),
        }
    }

    fn by_words(&self) -> Option<Trouble> {
        let rows: [(&[&str], Trouble); 6] = [
            (&TOO_LONG, Trouble::ContextTooLong),
            (&REFUSED, Trouble::ContentRefused),
            (&NO_ENTRY, Trouble::KeyRefused),
            (&NO_MODEL, Trouble::NoSuchModel),
            (&TOO_OFTEN, Trouble::RateLimited),
            (&["invalid_request", "invalid_argument"], Trouble::BadRequest),
        ];
        rows.into_iter().find(|(words, _)| self.has(words)).map(|(_, trouble)| trouble)
    }

    /// Whether waiting helps against too many requests.
    pub(super) fn has_quota(&self) -> bool {
        !self.has(&NO_QUOTA)
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.marks.contains(word))
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// A number of seconds, with a fraction or without.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-71: what providers really send is told apart.
    #[test]
    fn bodies_of_providers_are_told_apart() {
        use Trouble::{BadRequest, ContentRefused, ContextTooLong, KeyRefused, NoSuchModel, Overloaded, RateLimited};
        let rows = [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
                ContextTooLong,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                ContextTooLong,
            ),
            (
                413,
                r#"{"error":{"message":"Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM)","type":"tokens","code":"rate_limit_exceeded"}}"#,
                RateLimited,
            ),
            (
                400,
                r#"{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                ContentRefused,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                KeyRefused,
            ),
            (403, "{}", KeyRefused),
            (
                404,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#,
                NoSuchModel,
            ),
            (
                400,
                r#"{"error":{"message":"The model `x` has been decommissioned","code":"model_decommissioned"}}"#,
                NoSuchModel,
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
            assert_eq!(Said::read(body).trouble(Some(status)), expected, "{body}");
        }
    }

    /// R-FWK-71: in the middle of an answer there is no status, and the words decide.
    #[test]
    fn troubles_inside_of_an_answer_are_told_apart() {
        let rows = [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Trouble::Overloaded),
            (r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#, Trouble::RateLimited),
            (r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#, Trouble::RateLimited),
            (r#"{"message":"The server had an error","type":"server_error"}"#, Trouble::Overloaded),
        ];
        for (body, expected) in rows {
            assert_eq!(Said::read(body).trouble(None), expected, "{body}");
        }
    }

    #[test]
    fn a_list_of_one_a_bare_text_and_a_wish_to_wait_are_read() {
        let listed = Said::read(r#"[{"error":{"message":"no","details":[{"retryDelay":"37.5s"}]}}]"#);
        assert_eq!((listed.message.as_str(), listed.wait), ("no", Some(Duration::from_millis(37_500))));
        assert_eq!(Said::read(r#"{"error":"model not loaded"}"#).message, "model not loaded");
        assert_eq!(Said::read("<!DOCTYPE html><html>…").message, "a page of HTML");
        assert_eq!(Said::read("upstream is gone\n").message, "upstream is gone");
        assert!(!Said::read(r#"{"error":{"code":"insufficient_quota"}}"#).has_quota());
    }
}
