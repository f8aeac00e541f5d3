//! S3 as a service that is asked until it answers: signatures, tries, and its clock.
//!
//! What is asked is somebody else's business. An answer that was lost makes it ask the same again.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use superstep_core::error::{Error, Result};

use super::address::Address;
use super::clock::{Clock, ours};
use super::form::Page;
use super::sign::{Request, Signer};
use super::trouble::{Refusal, Remedy, strange, unreachable};
use crate::remote::{Answer, Pauses, Sent, Web, send, unsure};

/// A second more for so many bytes of a request: also a slow way is a way.
const BYTES_A_SECOND: usize = 256 * 1024;

/// A folder of a bucket, and all it takes to ask for it.
pub(super) struct Service {
    pub(super) address: Address,
    pub(super) patience: Duration,
    pub(super) signer: Signer,
    pub(super) web: Web,
    pub(super) clock: Clock,
}

/// Why there is no answer.
pub(super) enum Failed {
    /// The server said no, and perhaps an earlier try, of which nothing was heard, was done.
    Refused(Refusal, bool),
    Error(Error),
}

/// What must be so for a put to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fence {
    None,
    /// There is no such object.
    Absent,
    /// The object still has this ETag.
    Unchanged(String),
}

impl Service {
    /// An object, or its first bytes; `None` when there is none.
    pub(super) async fn get(&self, name: &str, first: Option<usize>) -> Result<Option<Answer>> {
        let mut request = self.request("GET", self.address.path(name));
        request.headers.extend(first.map(|first| ("range", format!("bytes=0-{}", first - 1))));
        match self.ask(&request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Failed::Refused(refusal, _)) if refusal.is_missing() => Ok(None),
            Err(failed) => Err(self.tell(failed)),
        }
    }

    /// Puts an object; false when the fence did not hold, perhaps because an earlier try, whose answer was lost, was done.
    pub(super) async fn put(&self, name: &str, fence: &Fence, object: Vec<u8>) -> Result<bool> {
        let mut request = Request { body: object, ..self.request("PUT", self.address.path(name)) };
        request.headers.extend(match fence {
            Fence::None => None,
            Fence::Absent => Some(("if-none-match", "*".to_owned())),
            Fence::Unchanged(tag) => Some(("if-match", tag.clone())),
        });
        match self.ask(&request).await {
            Ok(_) => Ok(true),
            Err(Failed::Refused(refusal, _)) if *fence != Fence::None && refusal.is_precondition() => Ok(false),
            Err(failed) => Err(self.tell(failed)),
        }
    }

    /// Removes an object, or finds that there is none.
    pub(super) async fn delete(&self, name: &str) -> Result<()> {
        match self.ask(&self.request("DELETE", self.address.path(name))).await {
            Ok(_) => Ok(()),
            Err(Failed::Refused(refusal, _)) if refusal.is_missing() => Ok(()),
            Err(failed) => Err(self.tell(failed)),
        }
    }

    /// A page of the objects whose names have a beginning: the first of those after a name, or the one that a page named.
    pub(super) async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        next: Option<String>,
        most: usize,
    ) -> Result<Page> {
        let mut request = self.request("GET", self.address.bucket());
        request.query =
            vec![("list-type", "2".to_owned()), ("max-keys", most.to_string()), ("prefix", prefix.to_owned())];
        request.query.extend(match next {
            Some(next) => Some(("continuation-token", next)),
            None => after.map(|after| ("start-after", after.to_owned())),
        });
        let answer = self.ask(&request).await.map_err(|failed| self.tell(failed))?;
        Page::read(&answer.body).ok_or_else(|| strange(&self.address.spoken()))
    }

    fn request(&self, method: &'static str, path: String) -> Request {
        Request { method, path, query: Vec::new(), headers: Vec::new(), body: Vec::new() }
    }

    /// Asks until there is an answer.
    async fn ask(&self, request: &Request) -> Result<Answer, Failed> {
        let extra = Duration::from_secs((request.body.len() / BYTES_A_SECOND) as u64);
        let mut pauses = Pauses::new(self.patience + extra);
        let (mut had_clock_set, mut is_unsure) = (false, false);
        loop {
            let (why, wait) = match self.send(request, self.patience / 3 + extra).await {
                Sent::Answer(answer) if (200..300).contains(&answer.status) => return Ok(answer),
                Sent::Answer(answer) => {
                    let refusal = Refusal::new(&answer);
                    match refusal.remedy() {
                        Remedy::Again => (refusal.text(), answer.retry_after()),
                        Remedy::Clock if !had_clock_set => {
                            had_clock_set = true;
                            continue;
                        }
                        Remedy::Clock | Remedy::None => return Err(Failed::Refused(refusal, is_unsure)),
                    }
                }
                Sent::Lost(why) => (why, None),
            };
            is_unsure = true;
            if !pauses.wait(wait).await {
                return Err(Failed::Error(unreachable(&self.address.spoken(), self.patience, &why)));
            }
        }
    }

    /// Signs a request and sends it once.
    async fn send(&self, request: &Request, limit: Duration) -> Sent {
        let at = Timestamp::from_millisecond(self.clock.now()).unwrap_or_default();
        let query = request.query();
        let question = if query.is_empty() { "" } else { "?" };
        let url = self.address.url(&format!("{}{question}{query}", request.path));
        let method = match request.method {
            "PUT" => Method::PUT,
            "DELETE" => Method::DELETE,
            _ => Method::GET,
        };
        let client = if self.address.is_near { &self.web.near } else { &self.web.world };
        let mut sending = client.request(method, url);
        // The client writes the host itself, and the same.
        for (name, value) in self.signer.head(request, at).into_iter().filter(|(name, _)| *name != "host") {
            sending = sending.header(name, value);
        }
        if request.method == "PUT" {
            sending = sending.body(request.body.clone());
        }
        let sent = ours();
        let came = send(sending, limit).await;
        if let Sent::Answer(answer) = &came
            && let Some(date) = answer.header("date")
        {
            self.clock.saw(sent, date);
        }
        came
    }

    /// The error a caller gets.
    pub(super) fn tell(&self, failed: Failed) -> Error {
        match failed {
            Failed::Refused(refusal, true) => unsure(refusal.into_error(&self.address.spoken())),
            Failed::Refused(refusal, false) => refusal.into_error(&self.address.spoken()),
            Failed::Error(error) => error,
        }
    }
}
