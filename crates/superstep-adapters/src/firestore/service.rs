//! Firestore as a service that is asked until it answers: tokens, tries, and its clock.
//!
//! What is asked is somebody else's business. An answer that was lost makes it ask the same again, so whatever changes
//! something must carry a precondition.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_core::error::{Code, Error, Result};

use super::form::{Committed, Item, Place, batch_get};
use super::http::{Content, post};
use super::token::Tokens;
use super::trouble::{Refusal, Remedy, unreachable};
use crate::remote::{Pauses, Sent, Web, unsure};

/// How old a look at the clock of the server may be.
const CLOCK_GOOD_FOR: Duration = Duration::from_secs(60);
/// A second more for so many bytes of a request: also a slow way is a way.
const BYTES_A_SECOND: usize = 256 * 1024;

/// A database, and all it takes to ask it.
pub(super) struct Service {
    pub(super) place: Place,
    pub(super) patience: Duration,
    /// The beginning of every address.
    pub(super) base: String,
    pub(super) web: Web,
    pub(super) tokens: Tokens,
    pub(super) clock: Clock,
}

/// Why there is no answer.
enum Failed {
    /// The server said no, and perhaps an earlier try, of which nothing was heard, was done.
    Refused(Refusal, bool),
    Error(Error),
}

impl Service {
    /// What a database is called in errors.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.base, self.place.documents().trim_end_matches("/documents"))
    }

    /// Does all of some writes, or nothing; false when a precondition was not met.
    pub(super) async fn commit(&self, writes: Vec<Value>) -> Result<bool> {
        let has_precondition = writes.iter().any(|write| write.get("currentDocument").is_some());
        match self.ask("commit", &json!({ "writes": writes }).to_string()).await {
            Ok((body, sent)) => {
                let committed: Committed = self.read(&body)?;
                self.clock.saw(sent, committed.at());
                Ok(true)
            }
            Err(Failed::Refused(refusal, _)) if has_precondition && refusal.is_precondition() => Ok(false),
            Err(failed) => Err(self.tell(failed)),
        }
    }

    /// The documents with these names, in any order, and when they were looked at. Only some of their fields when these
    /// are named.
    pub(super) async fn batch_get(&self, names: &[String], mask: &[&str]) -> Result<(Vec<Item>, i64)> {
        self.items("batchGet", &batch_get(names, mask)).await
    }

    /// What a query finds, and when it looked.
    pub(super) async fn query(&self, query: &Value) -> Result<(Vec<Item>, i64)> {
        self.items("runQuery", query).await
    }

    async fn items(&self, method: &str, question: &Value) -> Result<(Vec<Item>, i64)> {
        let asked = self.ask(method, &question.to_string()).await;
        let (body, sent) = asked.map_err(|failed| self.tell(failed))?;
        let items: Vec<Item> = self.read(&body)?;
        let now = items.iter().filter_map(Item::read_at).max();
        let now = now.ok_or_else(|| self.strange("no time of reading"))?;
        self.clock.saw(sent, Some(now));
        Ok((items, now))
    }

    /// What time it is for the server, in microseconds since 1970; at least that, and not much more.
    pub(super) async fn now(&self) -> Result<i64> {
        match self.clock.now() {
            Some(now) => Ok(now),
            None => {
                let (_, now) = self.batch_get(&[self.place.nothing()], &["key"]).await?;
                Ok(self.clock.now().unwrap_or(now))
            }
        }
    }

    /// Asks until there is an answer, and says when the question was sent that was answered.
    async fn ask(&self, method: &str, body: &str) -> Result<(Vec<u8>, Instant), Failed> {
        let url = format!("{}/v1/{}:{method}", self.base, self.place.documents());
        let extra = Duration::from_secs((body.len() / BYTES_A_SECOND) as u64);
        let mut pauses = Pauses::new(self.patience + extra);
        let (mut had_new_token, mut is_unsure) = (false, false);
        loop {
            let token = self.tokens.get(&self.web, self.patience).await;
            let token = token.map_err(|error| Failed::Error(if is_unsure { unsure(error) } else { error }))?;
            let sent = Instant::now();
            let (why, wait) =
                match post(&self.web, &url, Content::Json(body), Some(&token), self.patience / 3 + extra).await {
                    Sent::Answer(answer) if answer.status == 200 => return Ok((answer.body, sent)),
                    Sent::Answer(answer) => {
                        let refusal = Refusal::new(&answer);
                        match refusal.remedy() {
                            Remedy::Again => (refusal.text(), answer.retry_after()),
                            Remedy::Token if !had_new_token => {
                                had_new_token = true;
                                self.tokens.refused(&token).await;
                                continue;
                            }
                            Remedy::Token | Remedy::None => return Err(Failed::Refused(refusal, is_unsure)),
                        }
                    }
                    Sent::Lost(why) => (why, None),
                };
            is_unsure = true;
            if !pauses.wait(wait).await {
                return Err(Failed::Error(unreachable(&self.name(), self.patience, &why)));
            }
        }
    }

    fn tell(&self, failed: Failed) -> Error {
        match failed {
            Failed::Refused(refusal, true) => unsure(refusal.into_error(&self.name())),
            Failed::Refused(refusal, false) => refusal.into_error(&self.name()),
            Failed::Error(error) => error,
        }
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T> {
        // The text of the error would repeat a piece of a value.
        serde_json::from_slice(body).map_err(|_| self.strange("something else than its documentation says"))
    }

    fn strange(&self, what: &str) -> Error {
        Error::new(Code::StoreUnavailable, format!("Firestore at {} answered with {what}", self.name()))
            .help("this may or may not be saved; see that the address is that of Firestore or its emulator")
            .retryable(true)
    }
}

/// The clock of the server, as it was seen last. Ours is only asked how long ago that was.
#[derive(Default)]
pub(super) struct Clock(Mutex<Option<(Instant, i64)>>);

impl Clock {
    /// The server looked at its clock after a request was sent, so what is counted from then on is never too little.
    fn saw(&self, sent: Instant, server: Option<i64>) {
        if let Some(server) = server {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((sent, server));
        }
    }

    fn now(&self) -> Option<i64> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, server) = seen.filter(|(at, _)| at.elapsed() < CLOCK_GOOD_FOR)?;
        Some(server + i64::try_from(at.elapsed().as_micros()).unwrap_or(i64::MAX))
    }
}
