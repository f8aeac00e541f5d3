//! A model for tests: it gives the answers it was given, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use superstep_core::error::{Code, Error, Result};
use superstep_core::model::{Answer, ModelInfo, ModelKind, Request};
use superstep_core::port::{Model, Pieces};

use super::Reply;
use crate::context::lock;

type Matches = Arc<dyn Fn(&Request) -> bool + Send + Sync>;

/// Gives answers in the order of a script; clones go through the same script.
///
/// Cases ([`when`](Self::when)) are looked at first and answer as often as they match; everything else takes the next
/// line of the script. When there is none, the call is refused.
///
/// ```
/// use serde_json::json;
/// use superstep::model::{ModelExt, Reply, Scripted, says};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let model = Scripted::new([Reply::call("weather", json!({ "city": "Paris" }))])
///     .then("It rains.")
///     .when(says("hello"), "Hello!");
///
/// assert_eq!(model.complete("What about Paris?").await?.message.tool_calls[0].name, "weather");
/// assert_eq!(model.complete("Hello, you").await?.message.text(), "Hello!");
/// assert_eq!(model.complete("So?").await?.message.text(), "It rains.");
/// assert_eq!(model.requests().len(), 3);
/// assert!(model.complete("And now?").await.is_err());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Scripted {
    name: Arc<str>,
    play: Arc<Mutex<Play>>,
}

#[derive(Default)]
struct Play {
    script: Vec<Line>,
    next: usize,
    cases: Vec<(Matches, Line)>,
    requests: Vec<Request>,
}

#[derive(Clone)]
enum Line {
    Reply(Box<Reply>),
    With(Arc<dyn Fn(&Request) -> Reply + Send + Sync>),
}

impl Default for Scripted {
    fn default() -> Self {
        Self { name: "script".into(), play: Arc::default() }
    }
}

impl Scripted {
    /// These answers, in this order.
    pub fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        replies.into_iter().fold(Self::default(), Self::then)
    }

    /// The name it goes by, so that several can be told apart: `scripted/<name>`.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// One more answer at the end of the script.
    #[must_use]
    pub fn then(self, reply: impl Into<Reply>) -> Self {
        self.add(Line::Reply(Box::new(reply.into())))
    }

    /// One more answer at the end of the script, made of the request.
    #[must_use]
    pub fn then_with(self, reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.add(Line::With(Arc::new(reply)))
    }

    /// The answer to every request that matches, outside of the script; the first case that matches answers.
    #[must_use]
    pub fn when(self, matches: impl Fn(&Request) -> bool + Send + Sync + 'static, reply: impl Into<Reply>) -> Self {
        lock(&self.play).cases.push((Arc::new(matches), Line::Reply(Box::new(reply.into()))));
        self
    }

    /// What it was asked so far, by all clones.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.play).requests.clone()
    }

    /// How many answers of the script nobody asked for yet.
    #[must_use]
    pub fn left(&self) -> usize {
        let play = lock(&self.play);
        play.script.len() - play.next
    }

    fn add(self, line: Line) -> Self {
        lock(&self.play).script.push(line);
        self
    }

    /// The line for this request; keeps the request.
    fn line(&self, request: &Request) -> Result<Line> {
        // Cases are functions of the program, which may look at this script themselves: no lock while they run.
        let cases = {
            let mut play = lock(&self.play);
            play.requests.push(request.clone());
            play.cases.clone()
        };
        if let Some((_, line)) = cases.into_iter().find(|(matches, _)| matches(request)) {
            return Ok(line);
        }
        let mut play = lock(&self.play);
        let line = play.script.get(play.next).cloned().ok_or_else(|| self.used_up(&play, request))?;
        play.next += 1;
        Ok(line)
    }

    fn used_up(&self, play: &Play, request: &Request) -> Error {
        let last = request.messages.last().map(|message| message.text().chars().take(80).collect::<String>());
        let fact = format!(
            "model `scripted/{}`: the script is used up: answers in it: {}, and request {} (`{}`) wants one more",
            self.name,
            play.script.len(),
            play.requests.len(),
            last.unwrap_or_default(),
        );
        Error::new(Code::ConfigInvalid, fact).help("give the script another answer, or ask less often")
    }
}

impl Model for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("scripted", self.name.clone(), ModelKind::Rules)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let reply = match self.line(request)? {
            Line::Reply(reply) => *reply,
            Line::With(reply) => reply(request),
        };
        reply.give(request, self.info(), out).await
    }
}
