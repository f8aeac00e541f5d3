//! What can go wrong with Firestore, in words a person can act on, and what may help.

use std::time::Duration;

use serde::Deserialize;
use superstep_core::error::{Code, Error};

use crate::remote::{Answer, passes, shortened};

/// What the server says when it does not do something.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The word of its kind, such as `ABORTED`.
    word: String,
    message: String,
}

/// What may help against a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The same again, after a while.
    Again,
    /// Another token.
    Token,
    /// Nothing.
    None,
}

impl Refusal {
    pub(super) fn new(answer: &Answer) -> Self {
        #[derive(Deserialize, Default)]
        struct Body {
            error: Said,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Said {
            status: String,
            message: String,
        }
        // What is told piece by piece comes as a list, also when it is only a refusal. That is tried first: a list would
        // also pass for the fields of one.
        let body = serde_json::from_slice::<Vec<Body>>(&answer.body).ok().and_then(|mut list| list.pop());
        let body = body.or_else(|| serde_json::from_slice(&answer.body).ok());
        let said = body.unwrap_or_default().error;
        Self { status: answer.status, word: said.status, message: shortened(&said.message) }
    }

    pub(super) fn remedy(&self) -> Remedy {
        match (self.status, self.word.as_str()) {
            (401, _) => Remedy::Token,
            (_, "ABORTED") => Remedy::Again,
            (status, _) if passes(status) => Remedy::Again,
            _ => Remedy::None,
        }
    }

    /// Whether it may be that what a write asked for was not so. Firestore says that of a missing document as of a missing
    /// database, so whoever hears it looks at the document.
    pub(super) fn is_precondition(&self) -> bool {
        matches!(self.word.as_str(), "ALREADY_EXISTS" | "FAILED_PRECONDITION" | "NOT_FOUND")
    }

    /// In short, for the error of another.
    pub(super) fn text(&self) -> String {
        [format!("HTTP {}", self.status), self.word.clone(), self.message.clone()]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The error a caller gets when nothing helps.
    pub(super) fn into_error(self, place: &str) -> Error {
        let (fact, help) = match self.status {
            401 => ("does not take our token", "use a key of a service account in the project of the database"),
            403 => (
                "does not let us in",
                "give the account the role `roles/datastore.user` in the project, and see that the Firestore API is on",
            ),
            404 => ("is not there", "check project and database; make it with `gcloud firestore databases create`"),
            _ => ("refused a request", "see what it says; when it is not about your project, please report it"),
        };
        let message = format!("Firestore at {place} {fact}: {}", self.text());
        Error::new(Code::StoreUnavailable, message).help(format!("nothing of this was saved; {help}")).retryable(false)
    }
}

/// The server gave no answer, or none but that it cannot, for as long as we wait.
pub(super) fn unreachable(place: &str, patience: Duration, why: &str) -> Error {
    let message = format!("Firestore at {place} could not be reached for {patience:?}: {why}");
    Error::new(Code::StoreUnavailable, message)
        .help("this may or may not be saved, everything told before it is; see that the way to the server is open, then try again")
}

/// Others changed the same key again and again.
pub(super) fn contended(key: &str, patience: Duration) -> Error {
    let message = format!("others changed `{key}` in Firestore again and again for {patience:?}");
    Error::new(Code::StoreUnavailable, message).help("nothing of this was saved; try again")
}

/// What is stored is not whole.
pub(super) fn corrupt(key: &str, what: &str) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("the value under `{key}` in Firestore {what}"))
        .help("something else wrote to these collections; other keys are not affected")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        Refusal::new(&Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() })
    }

    /// R-FWK-38: which refusals pass, which ask for another token, and which are about a precondition.
    #[test]
    fn refusals_have_their_remedies() {
        let said = |word: &str| format!(r#"{{"error":{{"code":1,"status":"{word}","message":"m"}}}}"#);
        for (status, word, remedy, is_precondition) in [
            (409, "ABORTED", Remedy::Again, false),
            (409, "ALREADY_EXISTS", Remedy::None, true),
            (400, "FAILED_PRECONDITION", Remedy::None, true),
            (404, "NOT_FOUND", Remedy::None, true),
            (429, "RESOURCE_EXHAUSTED", Remedy::Again, false),
            (503, "UNAVAILABLE", Remedy::Again, false),
            (504, "DEADLINE_EXCEEDED", Remedy::Again, false),
            (401, "UNAUTHENTICATED", Remedy::Token, false),
            (403, "PERMISSION_DENIED", Remedy::None, false),
            (400, "INVALID_ARGUMENT", Remedy::None, false),
        ] {
            for body in [said(word), format!("[{}]", said(word))] {
                let refusal = refusal(status, &body);
                assert_eq!((refusal.remedy(), refusal.is_precondition()), (remedy, is_precondition), "{word}");
                assert_eq!(refusal.text(), format!("HTTP {status}, {word}, m"));
            }
        }
        assert_eq!(refusal(502, "<html>").text(), "HTTP 502");
    }
}
