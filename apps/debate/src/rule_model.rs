//! Rule model: an optimist, a skeptic and a moderator without a language model.
//!
//! It uses only the turn prompt and the messages so far: the same debate with the same seed has the same text, on
//! every machine and after every restart. It never presents itself as a language model; its kind is `rules`.

mod arguments;
mod citation;
mod history;
mod moderator;
mod topic;
mod turn;
mod typing_speed;

use std::sync::Arc;
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, RuleBasedModel, ScriptedReply, SeededRng,
    SharedModel,
};
use superstep::{Error, Result, SystemClock};

use crate::evidence::Evidence;
use crate::prompt::{DebateAgent, TurnPrompt};
use history::History;
use typing_speed::TypingSpeedModel;

/// Creates the rule model, without a typing delay.
///
/// ```
/// use superstep::models::ChatRequest;
/// use superstep_debate::prompt::{TurnPrompt, DebateAgent};
/// use superstep_debate::rule_model::rule_model;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let topic = "Should AI be regulated?".to_owned();
/// let prompt = TurnPrompt { role: DebateAgent::Optimist, round: 1, max_rounds: 3, topic, notes: Vec::new() };
/// let response = rule_model(7, None).complete(ChatRequest::new([prompt.message()])).await?;
/// assert!(response.message.text().contains("regulating AI"));
/// # Ok(()) }
/// ```
#[must_use]
pub fn rule_model(seed: u64, evidence: Option<Arc<Evidence>>) -> SharedModel {
    let builder = RuleModelBuilder::new(seed);
    match evidence {
        Some(evidence) => builder.evidence(evidence).model(),
        None => builder.model(),
    }
}

/// Builder of the rule model.
#[must_use = "a builder does nothing until `model` is called"]
pub struct RuleModelBuilder {
    seed: u64,
    evidence: Option<Arc<Evidence>>,
    typing_delay: Option<Duration>,
    clock: Arc<dyn Clock>,
}

impl RuleModelBuilder {
    /// Creates a builder with a seed, which applies to requests without one.
    pub fn new(seed: u64) -> Self {
        Self { seed, evidence: None, typing_delay: None, clock: Arc::new(SystemClock) }
    }

    /// Sets the documents that may be quoted.
    pub fn evidence(mut self, evidence: Arc<Evidence>) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// Sets the delay before each further word, if the response is streamed. Default: no delay.
    pub fn typing_delay(mut self, typing_delay: Duration) -> Self {
        self.typing_delay = Some(typing_delay);
        self
    }

    /// Sets the clock for the delay.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Builds the model `local/rules`, of the kind `rules`.
    #[must_use]
    pub fn model(self) -> SharedModel {
        let Self { seed, evidence, typing_delay, clock } = self;
        let model = RuleModel { seed, evidence };
        match typing_delay {
            Some(typing_delay) => TypingSpeedModel { inner: model, typing_delay, clock }.into(),
            None => model.into(),
        }
    }
}

/// The rule model without a typing delay.
struct RuleModel {
    seed: u64,
    evidence: Option<Arc<Evidence>>,
}

impl Model for RuleModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "rules", ModelKind::Rules)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let text = self.generate_text(request).await?.unwrap_or_default();
        let is_turn_prompt = |request: &ChatRequest| TurnPrompt::from_request(request).is_some();
        RuleBasedModel::new("rules").rule(is_turn_prompt, ScriptedReply::text(text)).generate(request, out).await
    }
}

impl RuleModel {
    /// Generates the text; `None` for a request without a turn prompt.
    async fn generate_text(&self, request: &ChatRequest) -> Result<Option<String>> {
        let seed = request.seed.unwrap_or(self.seed);
        let Some(evidence) = self.evidence.clone() else { return Ok(generate_sync(request, seed, None)) };
        let request = request.clone();
        // Quotes may be read from files, which must not block the runtime.
        let result = tokio::task::spawn_blocking(move || generate_sync(&request, seed, Some(&evidence))).await;
        result.map_err(|error| Error::internal(format!("the rule model failed: {error}")))
    }
}

fn generate_sync(request: &ChatRequest, seed: u64, evidence: Option<&Evidence>) -> Option<String> {
    let prompt = TurnPrompt::from_request(request)?;
    let history = History::from_request(request);
    Some(match prompt.role {
        DebateAgent::Moderator => moderator::write_summary(&prompt, &history, &mut rng_for_turn(seed, &prompt)),
        DebateAgent::Optimist | DebateAgent::Skeptic => turn::write_turn(&prompt, &history, seed, evidence),
    })
}

/// Returns the random number generator for one turn. Its seed depends on the topic, the agent and the round, not on
/// message ids, which differ between threads.
fn rng_for_turn(seed: u64, prompt: &TurnPrompt) -> SeededRng {
    seeded_rng(seed, &[&prompt.topic, prompt.role.name(), &prompt.round.to_string()])
}

fn seeded_rng(seed: u64, words: &[&str]) -> SeededRng {
    // FNV-1a: small, and the same on every machine.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.iter().flat_map(|word| word.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    SeededRng::new(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
