//! Rules that answer where no language model does: `local/rules`.
//!
//! They never pass themselves off as anything else: every answer is of the kind `rules`.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::model::{Answer, ModelInfo, ModelKind, Request};
use superstep_core::port::{Model, Pieces};

use super::{Dice, Reply};

type Matches = Arc<dyn Fn(&Request) -> bool + Send + Sync>;
type Answers = Arc<dyn Fn(&Request, &mut Dice) -> Reply + Send + Sync>;

/// Rules behind the same door as language models: the first that matches answers.
///
/// The same request gets the same answer, however often and in whatever order it is asked: chance comes from the seed
/// (of the request, or of the rules) and from what is asked.
///
/// ```
/// use serde_json::json;
/// use superstep::model::{ModelExt, Reply, Rules, after_tool, says};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let rules = Rules::new("weather")
///     .rule(after_tool("weather"), "That is how it looks.")
///     .rule(says("weather"), Reply::call("weather", json!({ "city": "Paris" })))
///     .rule_with(says("hello"), |_, dice| dice.pick(&["Hello!", "Good day."]).copied().unwrap_or("Hi.").into())
///     .otherwise("I know rules about the weather only.");
///
/// let answer = rules.complete("How is the weather?").await?;
/// assert_eq!(answer.message.tool_calls[0].name, "weather");
/// assert_eq!(answer.model.to_string(), "local/weather (rules)");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Rules {
    name: Arc<str>,
    seed: u64,
    rules: Vec<(Matches, Answers)>,
}

impl Rules {
    /// No rules yet, under the name `local/<name>`.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), seed: 0, rules: Vec::new() }
    }

    /// One function for every request, under the name `local/rules`.
    ///
    /// ```
    /// use superstep::model::{Reply, Rules};
    ///
    /// let dice = Rules::with(|_request, dice| Reply::text(format!("You rolled a {}.", dice.below(6) + 1))).seed(7);
    /// # let _ = dice;
    /// ```
    pub fn with(answer: impl Fn(&Request, &mut Dice) -> Reply + Send + Sync + 'static) -> Self {
        Self::new("rules").rule_with(|_| true, answer)
    }

    /// Where chance begins, for requests that do not say so themselves.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A request that matches gets this answer, unless an earlier rule matches.
    #[must_use]
    pub fn rule(self, matches: impl Fn(&Request) -> bool + Send + Sync + 'static, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.rule_with(matches, move |_, _| reply.clone())
    }

    /// A request that matches gets the answer of a function, unless an earlier rule matches.
    #[must_use]
    pub fn rule_with(
        mut self,
        matches: impl Fn(&Request) -> bool + Send + Sync + 'static,
        answer: impl Fn(&Request, &mut Dice) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.rules.push((Arc::new(matches), Arc::new(answer)));
        self
    }

    /// Everything else gets this answer.
    #[must_use]
    pub fn otherwise(self, reply: impl Into<Reply>) -> Self {
        self.rule(|_| true, reply)
    }

    /// The dice for a request: the same for the same question, not those of any other.
    fn dice(&self, request: &Request) -> Dice {
        let question = request.fingerprint(&self.info());
        Dice::new(request.seed.unwrap_or(self.seed) ^ (question as u64) ^ ((question >> 64) as u64))
    }
}

impl Model for Rules {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", self.name.clone(), ModelKind::Rules)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let Some((_, answer)) = self.rules.iter().find(|(matches, _)| matches(request)) else {
            let fact = format!("rules `local/{}`: none of {} rules matches the request", self.name, self.rules.len());
            return Err(Error::new(Code::ConfigInvalid, fact).help("end the rules with `otherwise`"));
        };
        let reply = answer(request, &mut self.dice(request));
        reply.give(request, self.info(), out).await
    }
}
