//! Fixtures: a test model that names its turns, a clock, and access to saved states.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::core::message::TokenUsage;
use superstep::core::port::{Clock, SharedCheckpointer};
use superstep::core::time::Time;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelInfo, ModelKind};
use superstep::testing::ManualClock;
use superstep::{CompiledGraph, HistoryQuery, Message, Result, RetryPolicy, StateSnapshot};
use superstep_debate::prompt::TurnPrompt;
use superstep_debate::{DebateContext, DebateState, DebateStateUpdate, state_graph};
use tokio::sync::Semaphore;

pub(crate) const TOPIC: &str = "Should AI be regulated?";

/// A model that names the turn, adds a claim to each, and records its prompts.
#[derive(Clone, Default)]
pub(crate) struct Speaker(Arc<Mutex<SpeakerState>>);

#[derive(Default)]
struct SpeakerState {
    prompts: Vec<TurnPrompt>,
    failures: Vec<(String, ModelErrorKind)>,
    gate: Option<Arc<Semaphore>>,
}

impl Speaker {
    /// Fails once at this turn, such as `skeptic 2`.
    pub(crate) fn failing(self, turn: &str, error_kind: ModelErrorKind) -> Self {
        self.0.lock().unwrap().failures.push((turn.to_owned(), error_kind));
        self
    }

    /// Responds only once for each permit, from now on.
    pub(crate) fn gated(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.0.lock().unwrap().gate = Some(gate.clone());
        gate
    }

    /// Returns the requested turns, in order.
    pub(crate) fn turns(&self) -> Vec<String> {
        self.0.lock().unwrap().prompts.iter().map(turn).collect()
    }

    /// Returns the last turn prompt.
    pub(crate) fn last_prompt(&self) -> TurnPrompt {
        self.0.lock().unwrap().prompts.last().unwrap().clone()
    }
}

fn turn(prompt: &TurnPrompt) -> String {
    format!("{} {}", prompt.role.name(), prompt.round)
}

/// Returns the text of the test model for a turn.
pub(crate) fn reply_text(role: &str, round: u32) -> String {
    format!("The {role} speaks. In round {round} the {role} counts {round} reasons.")
}

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Remote)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let prompt = TurnPrompt::from_request(request).expect("a turn prompt");
        let failure = {
            let mut state = self.0.lock().unwrap();
            state.prompts.push(prompt.clone());
            let index = state.failures.iter().position(|(failing_turn, _)| *failing_turn == turn(&prompt));
            index.map(|index| state.failures.remove(index).1)
        };
        if let Some(failure) = failure {
            return Err(failure.error(&self.info(), "as the test asked"));
        }
        let gate = self.0.lock().unwrap().gate.clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let text = reply_text(prompt.role.name(), prompt.round);
        out.text(&text).await;
        Ok(ChatResponse::new(Message::assistant(text), self.info()).with_usage(TokenUsage::new(10, 5)))
    }
}

/// Returns the start time of all tests.
pub(crate) fn morning() -> Time {
    Time::parse("2026-03-01T09:30:00Z").unwrap()
}

/// Returns a clock at the start time.
pub(crate) fn clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(morning().as_unix_micros().try_into().unwrap()));
    assert_eq!(clock.now(), morning().as_unix_micros());
    clock
}

/// Creates the graph with this checkpointer, with one attempt for each turn.
pub(crate) fn debates(store: impl Into<SharedCheckpointer>) -> CompiledGraph<DebateState, DebateContext> {
    let mut graph = state_graph(RetryPolicy::exponential(1));
    graph.checkpointer(store);
    graph.compile().unwrap()
}

pub(crate) fn opening(rounds: u32) -> DebateStateUpdate {
    DebateState::initial_state(TOPIC, rounds, morning()).unwrap()
}

/// Returns the saved states of a debate, the oldest first.
pub(crate) async fn history(
    graph: &CompiledGraph<DebateState, DebateContext>,
    thread: &str,
) -> Vec<StateSnapshot<DebateState>> {
    let mut snapshots = graph.threads().get_state_history(thread, &HistoryQuery::default()).await.unwrap();
    snapshots.reverse();
    snapshots
}

/// Returns the next nodes after each checkpoint, the oldest first.
pub(crate) async fn next_nodes(graph: &CompiledGraph<DebateState, DebateContext>, thread: &str) -> Vec<String> {
    history(graph, thread).await.iter().map(|saved| saved.next.join("+")).collect()
}

/// Returns the authors of all messages, in order.
pub(crate) fn authors(debate: &DebateState) -> Vec<&str> {
    debate.messages.iter().map(|message| message.name.as_deref().unwrap_or("user")).collect()
}

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-debate-{name}-{}", std::process::id()));
        // Process ids are reused, and a process that died left its folder.
        drop(std::fs::remove_dir_all(&folder));
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
