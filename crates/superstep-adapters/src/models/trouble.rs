//! What goes wrong with a call, told in our words: of the library's errors, the client's and the provider's.
//!
//! Whatever is told goes through `Report::tell`, which takes out what is secret. The library's own texts are not told:
//! some hold the whole request.

use std::error::Error as StdError;
use std::time::Duration;

use genai::webc::{Error as WebError, StreamTimeout};
use genai::{BoxError, Error as TheirError};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use superstep_core::error::Error;
use superstep_core::model::{ModelInfo, Trouble};

use super::said::{Said, seconds};

/// Tells what went wrong with a call.
pub(super) struct Report {
    pub(super) info: ModelInfo,
    secrets: Vec<String>,
}

/// The longest text of a provider that is told.
const LONGEST: usize = 400;

impl Report {
    pub(super) fn new(info: ModelInfo, mut secrets: Vec<String>) -> Self {
        // `Bearer abc` is said again as `abc`, too.
        let words = |secret: &String| secret.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let within: Vec<String> =
            secrets.iter().flat_map(words).filter(|word| !word.eq_ignore_ascii_case("bearer")).collect();
        secrets.extend(within);
        // Taking out every `a` would leave nothing to read; what is that short is no secret.
        secrets.retain(|secret| secret.len() >= 6);
        Self { info, secrets }
    }

    /// An error, on one line, not too long and without what is secret.
    pub(super) fn tell(&self, trouble: Trouble, fact: &str) -> Error {
        let mut fact = fact.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in &self.secrets {
            fact = fact.replace(secret.as_str(), "(secret)");
        }
        if let Some((end, _)) = fact.char_indices().nth(LONGEST) {
            fact.truncate(end);
            fact.push('…');
        }
        trouble.error(&self.info, fact)
    }

    /// The call took longer than it may.
    pub(super) fn too_slow(&self, total: Duration) -> Error {
        self.tell(Trouble::TooSlow, &format!("no whole answer within {total:?}"))
    }

    /// The provider does not answer what was asked, and has a word for why.
    pub(super) fn blocked(&self, reason: &str) -> Error {
        self.tell(Trouble::ContentRefused, &format!("what was asked is blocked: {reason}"))
    }

    /// The library failed.
    pub(super) fn failed(&self, error: TheirError) -> Error {
        match error {
            TheirError::WebModelCall { webc_error, .. } | TheirError::WebAdapterCall { webc_error, .. } => {
                self.web(webc_error)
            }
            TheirError::HttpError { status, body, headers, .. } => self.refused(status, &headers, &body),
            TheirError::WebStream { error, .. } => self.stream(error),
            TheirError::ChatResponse { body, .. } => self.said(&Said::of(&body), None),
            TheirError::StreamParse { serde_error, .. } if serde_error.is_eof() => {
                self.tell(Trouble::BrokenOff, "the answer broke off in the middle of an event")
            }
            TheirError::StreamParse { serde_error, .. } => {
                self.tell(Trouble::BadAnswer, &format!("an event is not JSON: {serde_error}"))
            }
            TheirError::ChatResponseGeneration { cause, .. } => {
                self.tell(Trouble::BadAnswer, &format!("the answer has not the form it should: {cause}"))
            }
            TheirError::NoChatResponse { .. }
            | TheirError::InvalidJsonResponseElement { .. }
            | TheirError::JsonValueExt(_)
            | TheirError::SerdeJson(_) => self.tell(Trouble::BadAnswer, "the answer has not the form it should"),
            other => self.tell(Trouble::BadRequest, &format!("the request cannot be made: {other}")),
        }
    }

    fn web(&self, error: WebError) -> Error {
        match error {
            WebError::ResponseFailedStatus { status, body, headers } => self.refused(status, &headers, &body),
            WebError::ResponseFailedNotJson { content_type, body } => {
                let said = Said::read(&body).message;
                let kind = if content_type.is_empty() { "nothing in particular" } else { content_type.as_str() };
                let said = if said.is_empty() { "it is empty" } else { said.as_str() };
                self.tell(Trouble::BadAnswer, &format!("the answer is not JSON but {kind}: {said}"))
            }
            WebError::ResponseFailedInvalidJson { body, .. } if body.trim().is_empty() => {
                self.tell(Trouble::BadAnswer, "the answer is empty")
            }
            WebError::ResponseFailedInvalidJson { cause, .. } => {
                self.tell(Trouble::BadAnswer, &format!("the answer is not JSON: {cause}"))
            }
            WebError::Reqwest(error) => self.transport(&error),
            WebError::JsonValueExt(_) => self.tell(Trouble::BadAnswer, "the answer has not the form it should"),
        }
    }

    fn stream(&self, error: BoxError) -> Error {
        let error = match error.downcast::<TheirError>() {
            Ok(error) => return self.failed(*error),
            Err(error) => error,
        };
        if let Some(timeout) = error.downcast_ref::<StreamTimeout>() {
            return self.tell(Trouble::TooSlow, &timeout.to_string());
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return self.transport(error);
        }
        // What is left are texts that are not UTF-8.
        self.tell(Trouble::BadAnswer, &format!("the answer cannot be read: {error}"))
    }

    fn transport(&self, error: &reqwest::Error) -> Error {
        let why = cause(error);
        match () {
            () if error.is_builder() => {
                let error = self.tell(Trouble::BadRequest, &format!("the request cannot be made: {why}"));
                error.help("look at the key, the headers and the base URL: a line break in one is enough")
            }
            () if error.is_connect() => self.tell(Trouble::NoNetwork, &format!("no connection: {why}")),
            () if error.is_timeout() => self.tell(Trouble::TooSlow, "no answer in time"),
            () => self.tell(Trouble::BrokenOff, &format!("the connection broke off: {why}")),
        }
    }

    /// The provider answered with a status that says no.
    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Error {
        let error = self.said(&Said::read(body), Some(status));
        match wait(headers) {
            Some(wait) if error.is_retryable() => error.retry_after(wait),
            _ => error,
        }
    }

    /// The provider says what went wrong.
    pub(super) fn said(&self, said: &Said, status: Option<StatusCode>) -> Error {
        let trouble = said.trouble(status.map(|status| status.as_u16()));
        let words = if said.message.is_empty() { "it does not say why" } else { &said.message };
        let error = match status {
            Some(status) => self.tell(trouble, &format!("{status}: {words}")),
            None => self.tell(trouble, words),
        };
        match said.wait {
            _ if !said.has_quota() => {
                error.retryable(false).help("the account is empty: waiting does not help, paying does")
            }
            Some(wait) if error.is_retryable() => error.retry_after(wait),
            _ => error,
        }
    }
}

/// The deepest cause, without addresses, which the client writes into its own texts only.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match cause.is::<reqwest::Error>() {
        true => "it does not say why".to_owned(),
        false => cause.to_string(),
    }
}

/// How long the provider asks to wait: in milliseconds, in seconds, or until a time.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text("retry-after")?;
    seconds(after).or_else(|| {
        let time = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp());
        // The provider's own clock, where it tells it: ours may be wrong.
        let now = text("date").and_then(time).unwrap_or_else(jiff::Timestamp::now);
        Some(Duration::try_from(time(after)?.duration_since(now)).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use superstep_core::model::ModelKind;

    use super::*;

    type Line = (&'static str, &'static str);

    fn headers(lines: &[Line]) -> HeaderMap {
        lines.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    /// R-FWK-71: a rate limit says its time in each of the forms that are in use.
    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        let date = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")];
        let past = [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")];
        let rows: [(&[Line], Option<u64>); 8] = [
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
            assert_eq!(wait(&headers(lines)), expected.map(Duration::from_millis), "{lines:?}");
        }
    }

    /// R-FWK-71: what a provider says is told without the key, on one line, and not without end.
    #[test]
    fn texts_of_providers_are_told_without_secrets_and_in_short() {
        let info = ModelInfo::new("openai", "m", ModelKind::Remote);
        let report = Report::new(info, vec!["sk-secret".to_owned(), "v1".to_owned()]);
        let error = report.tell(Trouble::KeyRefused, "key sk-secret\n  is wrong in v1");
        assert_eq!(error.message(), "model `openai/m`: key (secret) is wrong in v1");
        let long = report.tell(Trouble::BadAnswer, &"é".repeat(10_000));
        assert!(long.message().chars().count() < 450);
    }
}
