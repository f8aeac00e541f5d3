//! Rule-based models that respond without a language model: `local/rules`.
//!
//! Every response is marked with the model kind `rules`, so that users can tell it from that of a language model.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo, ModelKind};
use superstep_core::port::{ChunkSender, Model};

use super::{ScriptedReply, SeededRng};

type MatchFn = Arc<dyn Fn(&ChatRequest) -> bool + Send + Sync>;
type ReplyFn = Arc<dyn Fn(&ChatRequest, &mut SeededRng) -> ScriptedReply + Send + Sync>;

/// A model made of rules: the first rule that matches responds.
///
/// The same request gets the same response, in any order of requests: random numbers depend on the seed (of the
/// request, or of the model) and on the request only.
///
/// ```
/// use serde_json::json;
/// use superstep::models::{ModelExt, ScriptedReply, RuleBasedModel, last_message_is_tool_result, user_message_contains};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let rules = RuleBasedModel::new("weather")
///     .rule(last_message_is_tool_result("weather"), "That is how it looks.")
///     .rule(user_message_contains("weather"), ScriptedReply::tool_call("weather", json!({ "city": "Paris" })))
///     .rule_with(user_message_contains("hello"), |_, rng| rng.choose(&["Hello!", "Good day."]).copied().unwrap_or("Hi.").into())
///     .default_reply("I know rules about the weather only.");
///
/// let answer = rules.complete("How is the weather?").await?;
/// assert_eq!(answer.message.tool_calls[0].name, "weather");
/// assert_eq!(answer.model.to_string(), "local/weather (rules)");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RuleBasedModel {
    name: Arc<str>,
    seed: u64,
    rules: Vec<(MatchFn, ReplyFn)>,
}

impl RuleBasedModel {
    /// Creates a model without rules, named `local/<name>`.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), seed: 0, rules: Vec::new() }
    }

    /// Creates a model named `local/rules` that calls one function for every request.
    ///
    /// ```
    /// use superstep::models::{ScriptedReply, RuleBasedModel};
    ///
    /// let dice = RuleBasedModel::from_fn(|_request, rng| ScriptedReply::text(format!("You rolled a {}.", rng.below(6) + 1))).seed(7);
    /// # let _ = dice;
    /// ```
    pub fn from_fn(reply: impl Fn(&ChatRequest, &mut SeededRng) -> ScriptedReply + Send + Sync + 'static) -> Self {
        Self::new("rules").rule_with(|_| true, reply)
    }

    /// Sets the seed for requests without one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Adds a rule with a fixed reply. Earlier rules take precedence.
    #[must_use]
    pub fn rule(
        self,
        matches: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        reply: impl Into<ScriptedReply>,
    ) -> Self {
        let reply = reply.into();
        self.rule_with(matches, move |_, _| reply.clone())
    }

    /// Adds a rule with a function that creates the reply. Earlier rules take precedence.
    #[must_use]
    pub fn rule_with(
        mut self,
        matches: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        reply: impl Fn(&ChatRequest, &mut SeededRng) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        self.rules.push((Arc::new(matches), Arc::new(reply)));
        self
    }

    /// Sets the reply for all other requests.
    #[must_use]
    pub fn default_reply(self, reply: impl Into<ScriptedReply>) -> Self {
        self.rule(|_| true, reply)
    }

    /// Returns the random number generator for a request, which depends on the request and the seed only.
    fn rng(&self, request: &ChatRequest) -> SeededRng {
        let fingerprint = request.fingerprint(&self.info());
        SeededRng::new(request.seed.unwrap_or(self.seed) ^ (fingerprint as u64) ^ ((fingerprint >> 64) as u64))
    }
}

impl Model for RuleBasedModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", self.name.clone(), ModelKind::Rules)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let Some((_, reply)) = self.rules.iter().find(|(matches, _)| matches(request)) else {
            let fact = format!("rules `local/{}`: none of {} rules matches the request", self.name, self.rules.len());
            return Err(Error::new(ErrorCode::ConfigInvalid, fact).with_help("add a final rule with `default_reply`"));
        };
        reply(request, &mut self.rng(request)).send(request, self.info(), out).await
    }
}
