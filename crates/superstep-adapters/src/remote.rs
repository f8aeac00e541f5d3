//! Stores that are spoken to over HTTP: the only file that knows the client. Sends one request once and says what came of
//! it; how long to wait before another try is here too.
//!
//! What an answer means, and whether to ask again, is for the doors to decide. Nothing of a request is ever printed: it may
//! hold a token or a value.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, Url, redirect};
use superstep_core::error::{Code, Error, Result};
use tokio::time::timeout;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// What is told of a server from which nothing comes.
const SILENT: &str = "no answer in time";
/// The first and the longest pause before another try.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The clients: one for the world, which goes through a proxy where the environment names one, and one for what is near.
pub(crate) struct Web {
    pub(crate) world: Client,
    pub(crate) near: Client,
}

/// What came of a request.
pub(crate) enum Sent {
    /// An answer.
    Answer(Answer),
    /// None: nobody knows whether the request was heard.
    Lost(String),
}

/// What a server answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// What stands behind a name in the head.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the server asks to wait before another try.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.header("retry-after")?.trim().parse().ok()?))
    }
}

impl Web {
    /// # Errors
    /// When there is no TLS to be had.
    pub(crate) fn new() -> Result<Self> {
        // A redirect would take what says who we are along to another address.
        let builder =
            || crate::web::builder().map(|builder| builder.connect_timeout(CONNECT).redirect(redirect::Policy::none()));
        let failed = |error: reqwest::Error| {
            Error::new(Code::StoreUnavailable, format!("no client for HTTP: {}", reason(&error))).retryable(false)
        };
        let world = builder()?.build().map_err(failed)?;
        Ok(Self { world, near: builder()?.no_proxy().build().map_err(failed)? })
    }
}

/// Sends a request. An answer may begin within the limit, and may take as long as it likes while no pause in it is longer:
/// how long one is nobody knows before.
pub(crate) async fn send(request: RequestBuilder, limit: Duration) -> Sent {
    let mut response = match timeout(limit, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Sent::Lost(reason(&error)),
        Err(_) => return Sent::Lost(SILENT.to_owned()),
    };
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    loop {
        match timeout(limit, response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None)) => return Sent::Answer(Answer { status, headers, body }),
            Ok(Err(error)) => return Sent::Lost(reason(&error)),
            Err(_) => return Sent::Lost(SILENT.to_owned()),
        }
    }
}

/// What went wrong, down to the cause; without the address, which whoever tells it knows.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return SILENT.to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Whether an address is on this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Whether what an answer of this status says may be over in a moment.
pub(crate) fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

/// The beginning of a text of somebody else.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(300).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// An error after which nobody knows whether something was done before it.
pub(crate) fn unsure(error: Error) -> Error {
    error
        .retryable(true)
        .help("this may or may not be saved, everything told before it is; see to the cause, then try again")
}

/// A token that nobody else has.
pub(crate) fn token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(Code::StoreUnavailable, format!("no randomness to be had: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Longer and longer pauses between tries, for as long as there is patience.
pub(crate) struct Pauses {
    begun: Instant,
    patience: Duration,
    next: Duration,
}

impl Pauses {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { begun: Instant::now(), patience, next: PAUSES.0 }
    }

    /// Waits, as long as the server asked for or a while; false when there is no patience left for it.
    pub(crate) async fn wait(&mut self, asked: Option<Duration>) -> bool {
        // Those who were refused together do not come back together.
        let mut chance = [0; 1];
        let share = getrandom::fill(&mut chance).map_or(128, |()| u32::from(chance[0]));
        let pause = asked.unwrap_or(self.next / 2 + self.next * share / 512);
        self.next = (self.next * 2).min(PAUSES.1);
        if self.begun.elapsed().saturating_add(pause) > self.patience {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }
}
