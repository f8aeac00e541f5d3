//! Rule-based voices: an optimist, a skeptic and a moderator without a language model.
//!
//! They read the cue and what was said so far, and nothing else: the same debate with the same seed is the same again, on
//! every machine and after every restart. They never pass themselves off as a language model; the kind is `rules`.

mod citation;
mod history;
mod moderator;
mod pace;
mod stock;
mod topic;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::model::{Answer, Dice, Model, ModelInfo, ModelKind, Pieces, Reply, Request, Rules, SharedModel};
use superstep::{Error, Result, SystemClock};

use crate::evidence::Evidence;
use crate::prompt::{Cue, Role};
use history::History;
use pace::Paced;

/// The voices as a model, as fast as they are.
///
/// ```
/// use superstep::model::Request;
/// use superstep_debate::prompt::{Cue, Role};
/// use superstep_debate::voices::voices;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let topic = "Should AI be regulated?".to_owned();
/// let cue = Cue { role: Role::Optimist, round: 1, rounds: 3, topic, notes: Vec::new() };
/// let answer = voices(7, None).complete(Request::new([cue.message()])).await?;
/// assert!(answer.message.text().contains("regulating AI"));
/// # Ok(()) }
/// ```
#[must_use]
pub fn voices(seed: u64, evidence: Option<Arc<Evidence>>) -> SharedModel {
    let voices = Voices::new(seed);
    match evidence {
        Some(evidence) => voices.evidence(evidence).model(),
        None => voices.model(),
    }
}

/// How the voices speak.
#[must_use = "voices do not speak until they are a model"]
pub struct Voices {
    seed: u64,
    evidence: Option<Arc<Evidence>>,
    pace: Option<Duration>,
    clock: Arc<dyn Clock>,
}

impl Voices {
    /// Voices that choose their words by this seed, unless a request brings its own.
    pub fn new(seed: u64) -> Self {
        Self { seed, evidence: None, pace: None, clock: Arc::new(SystemClock) }
    }

    /// What they may quote.
    pub fn evidence(mut self, evidence: Arc<Evidence>) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// How long they wait before each further word, where somebody listens; without it they do not wait.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }

    /// The clock they wait on.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// As a model; `local/rules`, of the kind `rules`.
    #[must_use]
    pub fn model(self) -> SharedModel {
        let Self { seed, evidence, pace, clock } = self;
        let speakers = Speakers { seed, evidence };
        match pace {
            Some(pace) => Paced { speakers, pace, clock }.into(),
            None => speakers.into(),
        }
    }
}

/// The voices, as fast as they are.
struct Speakers {
    seed: u64,
    evidence: Option<Arc<Evidence>>,
}

impl Model for Speakers {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "rules", ModelKind::Rules)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let said = self.said(request).await?.unwrap_or_default();
        let is_cue = |request: &Request| Cue::read(request).is_some();
        Rules::new("rules").rule(is_cue, Reply::text(said)).answer(request, out).await
    }
}

impl Speakers {
    /// What is said; nothing to what is no cue.
    async fn said(&self, request: &Request) -> Result<Option<String>> {
        let seed = request.seed.unwrap_or(self.seed);
        let Some(evidence) = self.evidence.clone() else { return Ok(speak(request, seed, None)) };
        let request = request.clone();
        // What they may quote is read from a disk, and a thread that drives debates must not wait for that.
        let said = tokio::task::spawn_blocking(move || speak(&request, seed, Some(&evidence))).await;
        said.map_err(|error| Error::internal(format!("the voices failed: {error}")))
    }
}

fn speak(request: &Request, seed: u64, evidence: Option<&Evidence>) -> Option<String> {
    let cue = Cue::read(request)?;
    let history = History::read(request);
    Some(match cue.role {
        Role::Moderator => moderator::sum_up(&cue, &history, &mut dice(seed, &cue)),
        Role::Optimist | Role::Skeptic => turn::turn(&cue, &history, seed, evidence),
    })
}

/// Chance for one turn. It hangs on the seed and on what is debated, not on ids of messages, which differ between threads.
fn dice(seed: u64, cue: &Cue) -> Dice {
    dice_of(seed, &[&cue.topic, cue.role.name(), &cue.round.to_string()])
}

fn dice_of(seed: u64, words: &[&str]) -> Dice {
    // FNV-1a: small, and the same everywhere.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.iter().flat_map(|word| word.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Dice::new(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
