//! Tokens: fetched by whoever comes first, shared, and renewed shortly before they end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use superstep_core::error::{Code, Error, Result};
use tokio::sync::Mutex;

use super::credentials::Credentials;
use super::http::{Content, get_metadata, post};
use crate::remote::{Answer, Pauses, Sent, Web, passes, shortened};

/// How long before its end a token is not used any more.
const MARGIN: Duration = Duration::from_secs(60);
/// What the emulator takes for the token of somebody who may do everything.
const OWNER: &str = "owner";
/// How long a machine is asked that has never given a token: most have no metadata server at all.
const STRANGER: Duration = Duration::from_secs(5);

/// The token of a store.
pub(super) struct Tokens {
    pub(super) credentials: Credentials,
    held: Mutex<Option<Token>>,
    /// Whether there ever was one.
    known: AtomicBool,
}

struct Token {
    text: String,
    until: Instant,
}

/// What those who give tokens answer.
#[derive(Deserialize)]
struct Given {
    access_token: String,
    expires_in: u64,
}

impl Tokens {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials, held: Mutex::default(), known: AtomicBool::new(false) }
    }

    /// A token that is good.
    pub(super) async fn get(&self, web: &Web, patience: Duration) -> Result<String> {
        if matches!(self.credentials, Credentials::Emulator(_)) {
            return Ok(OWNER.to_owned());
        }
        // Held while it is fetched, so that many who come at once fetch one.
        let mut held = self.held.lock().await;
        if let Some(token) = held.as_ref().filter(|token| token.until > Instant::now()) {
            return Ok(token.text.clone());
        }
        let asked = Instant::now();
        let given = self.fetch(web, patience).await?;
        self.known.store(true, Ordering::Relaxed);
        // More than a day is no promise that anybody keeps.
        let lasts = Duration::from_secs(given.expires_in.min(86_400));
        let token = held.insert(Token { text: given.access_token, until: asked + lasts - MARGIN.min(lasts / 10) });
        Ok(token.text.clone())
    }

    /// Lets go of a token that was refused, unless another has been fetched since.
    pub(super) async fn refused(&self, text: &str) {
        self.held.lock().await.take_if(|token| token.text == text);
    }

    async fn fetch(&self, web: &Web, patience: Duration) -> Result<Given> {
        let is_stranger =
            matches!(self.credentials, Credentials::Machine { .. }) && !self.known.load(Ordering::Relaxed);
        let patience = if is_stranger { patience.min(STRANGER) } else { patience };
        let mut pauses = Pauses::new(patience);
        loop {
            let (why, wait) = match self.ask(web, patience / 3).await? {
                Sent::Answer(answer) if answer.status == 200 => {
                    // The text of the error would repeat a piece of the answer.
                    return serde_json::from_slice(&answer.body).map_err(|_| self.failed("the answer has no token"));
                }
                Sent::Answer(answer) if !passes(answer.status) => return Err(self.failed(&said(&answer))),
                Sent::Answer(answer) => (said(&answer), answer.retry_after()),
                Sent::Lost(why) => (why, None),
            };
            if !pauses.wait(wait).await {
                return Err(self.failed(&why).retryable(!is_stranger));
            }
        }
    }

    async fn ask(&self, web: &Web, limit: Duration) -> Result<Sent> {
        match &self.credentials {
            Credentials::Account(account) => {
                let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
                let form = format!("grant_type={grant}&assertion={}", account.claim()?);
                Ok(post(web, &account.token_uri, Content::Form(&form), None, limit).await)
            }
            Credentials::Machine { host, .. } => {
                let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
                Ok(get_metadata(web, &url, limit).await)
            }
            Credentials::Emulator(_) => Err(Error::internal("an emulator needs no token")),
        }
    }

    fn failed(&self, why: &str) -> Error {
        let (message, help) = match &self.credentials {
            Credentials::Account(account) => (
                format!("no token for `{}` from {}: {why}", account.email, account.token_uri),
                "nothing of this was saved; see that the key is not revoked and that the clock of this machine is right",
            ),
            Credentials::Machine { host, sought } => (
                format!("no credentials for Firestore: {sought}, and the metadata server at `{host}` gave none: {why}"),
                "nothing of this was saved; on a machine outside Google Cloud name a key file in \
                 GOOGLE_APPLICATION_CREDENTIALS, or an emulator in FIRESTORE_EMULATOR_HOST",
            ),
            Credentials::Emulator(host) => (format!("the emulator at {host}: {why}"), "see that it runs"),
        };
        Error::new(Code::StoreUnavailable, message).help(help).retryable(false)
    }
}

/// What the giver of tokens said, which never repeats what it was sent.
fn said(answer: &Answer) -> String {
    #[derive(Deserialize, Default)]
    struct Said {
        error: Option<String>,
        error_description: Option<String>,
    }
    let said: Said = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words = [Some(format!("HTTP {}", answer.status)), said.error, said.error_description];
    shortened(&words.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;

    use superstep_core::testing::block_on;

    use super::*;
    use crate::room::Room;

    /// Answers one request after the other on this machine, and says where and what it was asked.
    fn machine(answers: Vec<&'static str>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let serve = move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut text = vec![0; 4096];
                let length = stream.read(&mut text).unwrap();
                asked.push(String::from_utf8_lossy(&text[..length]).to_lowercase());
                let length = answer.split_once("\r\n\r\n").unwrap().1.len();
                let head = format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {length}", &answer[..3]);
                stream.write_all(format!("{head}{}", &answer[3..]).as_bytes()).unwrap();
            }
            asked
        };
        (host, std::thread::spawn(serve))
    }

    fn get(tokens: &Arc<Tokens>) -> Result<String> {
        let (tokens, web) = (tokens.clone(), Web::new()?);
        let room = Room::new("Firestore")?;
        block_on(room.ask(async move { tokens.get(&web, Duration::from_secs(3)).await }))
    }

    fn at(host: &str) -> Arc<Tokens> {
        Arc::new(Tokens::new(Credentials::Machine { host: host.to_owned(), sought: "nothing is set".to_owned() }))
    }

    /// R-FWK-38: ambient credentials are those of the metadata server; a token is fetched once, again after a failure that
    /// passes, and anew when it was refused.
    #[test]
    fn the_machine_is_asked_for_a_token() {
        let first = "200\r\n\r\n{\"access_token\":\"one\",\"expires_in\":3600,\"token_type\":\"Bearer\"}";
        let second = "200\r\n\r\n{\"access_token\":\"two\",\"expires_in\":0,\"token_type\":\"Bearer\"}";
        let (host, asked) = machine(vec!["503\r\n\r\n", first, second, second]);
        let tokens = at(&host);
        assert_eq!((get(&tokens).unwrap(), get(&tokens).unwrap()), ("one".to_owned(), "one".to_owned()));
        block_on(tokens.refused("another"));
        assert_eq!(get(&tokens).unwrap(), "one");
        block_on(tokens.refused("one"));
        assert_eq!((get(&tokens).unwrap(), get(&tokens).unwrap()), ("two".to_owned(), "two".to_owned()));
        let asked = asked.join().unwrap();
        assert_eq!(asked.len(), 4);
        for request in asked {
            assert!(
                request.starts_with("get /computemetadata/v1/instance/service-accounts/default/token "),
                "{request}"
            );
            assert!(request.contains("metadata-flavor: google"), "{request}");
        }
    }

    /// R-FWK-38: where there is nothing, it is said where it was looked for.
    #[test]
    fn a_machine_without_credentials_is_told() {
        let (host, asked) = machine(vec!["404\r\n\r\nno such account"]);
        for (host, why) in [(host.as_str(), "HTTP 404"), ("127.0.0.1:1", "refused")] {
            let error = get(&at(host)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("nothing is set, and the metadata server at `127.0.0.1:"), "{text}");
            assert!(text.contains(why) && text.contains("GOOGLE_APPLICATION_CREDENTIALS"), "{text}");
            assert!(!error.is_retryable());
        }
        asked.join().unwrap();
    }
}
