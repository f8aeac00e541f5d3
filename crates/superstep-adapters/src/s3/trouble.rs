//! What can go wrong with S3, in words a person can act on, and what may help.

use std::time::Duration;

use superstep_core::error::{Code, Error};

use super::form::text;
use crate::remote::{Answer, passes, shortened};

/// What the server says when it does not do something.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    /// The word of its kind, such as `NoSuchKey`.
    word: String,
    message: String,
    /// The region that has the bucket, when that is what is wrong.
    region: Option<String>,
}

/// What may help against a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The same again, after a while.
    Again,
    /// The time of the server, which it has just told.
    Clock,
    /// Nothing.
    None,
}

impl Refusal {
    pub(super) fn new(answer: &Answer) -> Self {
        let body = String::from_utf8_lossy(&answer.body);
        // Only these: what else the server says may repeat who asked.
        let said = |name: &str| text(&body, name).map(|text| shortened(&text));
        let (word, message) = (said("Code").unwrap_or_default(), said("Message").unwrap_or_default());
        let region = answer.header("x-amz-bucket-region").map(shortened).or_else(|| said("Region"));
        Self { status: answer.status, word, message, region }
    }

    pub(super) fn remedy(&self) -> Remedy {
        match (self.status, self.word.as_str()) {
            (403, "RequestTimeTooSkewed") => Remedy::Clock,
            (_, "RequestTimeout") | (409, _) => Remedy::Again,
            (status, _) if passes(status) => Remedy::Again,
            _ => Remedy::None,
        }
    }

    /// Whether an object is not there, and the bucket is.
    pub(super) fn is_missing(&self) -> bool {
        self.word == "NoSuchKey"
    }

    /// Whether what a put asked for was not so. That an object is not there says it of one that was to be replaced.
    pub(super) fn is_precondition(&self) -> bool {
        self.status == 412 || self.is_missing()
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
        let region = self.region.as_ref().map(|region| format!("say that the region is `{region}`"));
        let (fact, help) = match (self.status, self.word.as_str(), region) {
            (301 | 307, _, help) | (400, "AuthorizationHeaderMalformed", help) => {
                ("is in another region", help.unwrap_or_else(|| "say the region of the bucket".to_owned()))
            }
            (_, "InvalidAccessKeyId", _) => ("does not know the access key", "check the id of the access key".to_owned()),
            (_, "SignatureDoesNotMatch", _) => {
                ("does not take the secret of the access key", "check that it belongs to the id".to_owned())
            }
            (_, "ExpiredToken" | "InvalidToken", _) => {
                ("does not take the token of the session", "get new credentials, and open the store anew".to_owned())
            }
            (_, "NoSuchBucket", _) => ("has no such bucket", "check its name and the endpoint, or make it".to_owned()),
            (403, ..) => (
                "does not let us in",
                "allow `s3:ListBucket` on the bucket, and `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` in the folder"
                    .to_owned(),
            ),
            (501, ..) => ("cannot do what is asked for", "take a server that can put under a condition".to_owned()),
            _ => ("refused a request", "see what it says; when it is not about your bucket, please report it".to_owned()),
        };
        let message = format!("S3 at {place} {fact}: {}", self.text());
        Error::new(Code::StoreUnavailable, message).help(format!("nothing of this was saved; {help}")).retryable(false)
    }
}

/// The server gave no answer, or none but that it cannot, for as long as we wait.
pub(super) fn unreachable(place: &str, patience: Duration, why: &str) -> Error {
    let message = format!("S3 at {place} could not be reached for {patience:?}: {why}");
    Error::new(Code::StoreUnavailable, message)
        .help("this may or may not be saved, everything told before it is; see that the way to the server is open, then try again")
}

/// The server answered with something that S3 does not say.
pub(super) fn strange(place: &str) -> Error {
    Error::new(
        Code::StoreUnavailable,
        format!("S3 at {place} answered with something else than its documentation says"),
    )
    .help("this may or may not be saved; see that the address is that of S3 or a server that speaks its protocol")
    .retryable(true)
}

/// Others changed the same key again and again.
pub(super) fn contended(key: &str, patience: Duration) -> Error {
    let message = format!("others changed `{key}` in S3 again and again for {patience:?}");
    Error::new(Code::StoreUnavailable, message).help("nothing of this was saved; try again")
}

/// The server does not look at a condition, so that nobody would ever lose a race.
pub(super) fn careless(place: &str, condition: &str) -> Error {
    Error::new(Code::StoreUnavailable, format!("S3 at {place} puts objects whatever `{condition}` says"))
        .help("take a server that puts under conditions, as Amazon S3, Cloudflare R2 and a MinIO of today do")
        .retryable(false)
}

/// What is stored is not one of ours.
pub(super) fn corrupt(key: &str) -> Error {
    Error::new(
        Code::CheckpointCorrupt,
        format!("the object of `{key}` in S3 does not begin as this store begins its objects"),
    )
    .help("something else wrote to this folder; other keys are not affected")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        Refusal::new(&Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() })
    }

    /// R-FWK-40: which refusals pass, which are about the time, and which are about a condition.
    #[test]
    fn refusals_have_their_remedies() {
        for (status, word, remedy, is_precondition) in [
            (412, "PreconditionFailed", Remedy::None, true),
            (404, "NoSuchKey", Remedy::None, true),
            (404, "NoSuchBucket", Remedy::None, false),
            (409, "ConditionalRequestConflict", Remedy::Again, false),
            (503, "SlowDown", Remedy::Again, false),
            (500, "InternalError", Remedy::Again, false),
            (400, "RequestTimeout", Remedy::Again, false),
            (403, "RequestTimeTooSkewed", Remedy::Clock, false),
            (403, "AccessDenied", Remedy::None, false),
        ] {
            let body = format!(
                "<?xml version=\"1.0\"?><Error><Code>{word}</Code><Message>m &amp; m</Message><Key>k</Key></Error>"
            );
            let refusal = refusal(status, &body);
            assert_eq!((refusal.remedy(), refusal.is_precondition()), (remedy, is_precondition), "{word}");
            assert_eq!(refusal.text(), format!("HTTP {status}, {word}, m & m"));
        }
        assert_eq!(refusal(502, "<html>").text(), "HTTP 502");
    }

    /// R-FWK-40: a bucket that is elsewhere is told with its region.
    #[test]
    fn another_region_is_named() {
        let said = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";
        let error = refusal(400, said).into_error("here");
        assert!(error.to_string().contains("the region is `eu-west-1`"), "{error}");
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-bucket-region", "eu-west-2".parse().unwrap());
        let error = Refusal::new(&Answer { status: 301, headers, body: Vec::new() }).into_error("here");
        assert!(error.to_string().contains("the region is `eu-west-2`") && !error.is_retryable(), "{error}");
    }
}
