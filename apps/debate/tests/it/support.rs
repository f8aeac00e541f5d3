//! What the tests share: a hall with a speaker who says whose turn it is, and a look at what was saved.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::core::message::Usage;
use superstep::core::port::{Clock, SharedCheckpointer};
use superstep::core::time::Time;
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, Trouble};
use superstep::testing::ManualClock;
use superstep::{Compiled, HistoryQuery, Message, Result, Retry, Snapshot};
use superstep_debate::prompt::Cue;
use superstep_debate::{Debate, DebateUpdate, Hall, draw};
use tokio::sync::Semaphore;

pub(crate) const TOPIC: &str = "Should AI be regulated?";

/// Says whose turn it is, with a claim in every turn, and keeps what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Speaker(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    cues: Vec<Cue>,
    troubles: Vec<(String, Trouble)>,
    gate: Option<Arc<Semaphore>>,
}

impl Speaker {
    /// Fails once when this turn, such as `skeptic 2`, is asked for.
    pub(crate) fn failing(self, turn: &str, trouble: Trouble) -> Self {
        self.0.lock().unwrap().troubles.push((turn.to_owned(), trouble));
        self
    }

    /// Speaks only once for each permit, from now on.
    pub(crate) fn gated(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.0.lock().unwrap().gate = Some(gate.clone());
        gate
    }

    /// The turns it was asked for, in order.
    pub(crate) fn turns(&self) -> Vec<String> {
        self.0.lock().unwrap().cues.iter().map(turn).collect()
    }

    /// What it was asked last.
    pub(crate) fn last_cue(&self) -> Cue {
        self.0.lock().unwrap().cues.last().unwrap().clone()
    }
}

fn turn(cue: &Cue) -> String {
    format!("{} {}", cue.role.name(), cue.round)
}

/// What a speaker says in a turn.
pub(crate) fn said(role: &str, round: u32) -> String {
    format!("The {role} speaks. In round {round} the {role} counts {round} reasons.")
}

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Remote)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let cue = Cue::read(request).expect("a cue");
        let trouble = {
            let mut heard = self.0.lock().unwrap();
            heard.cues.push(cue.clone());
            let place = heard.troubles.iter().position(|(of, _)| *of == turn(&cue));
            place.map(|place| heard.troubles.remove(place).1)
        };
        if let Some(trouble) = trouble {
            return Err(trouble.error(&self.info(), "as the test asked"));
        }
        let gate = self.0.lock().unwrap().gate.clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let text = said(cue.role.name(), cue.round);
        out.text(&text).await;
        Ok(Answer::new(Message::assistant(text), self.info()).with_usage(Usage::new(10, 5)))
    }
}

/// A time before all others in tests.
pub(crate) fn morning() -> Time {
    Time::parse("2026-03-01T09:30:00Z").unwrap()
}

/// A clock that shows the morning.
pub(crate) fn clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(morning().as_unix_micros().try_into().unwrap()));
    assert_eq!(clock.now(), morning().as_unix_micros());
    clock
}

/// The graph on a store, with one attempt for each turn.
pub(crate) fn debates(store: impl Into<SharedCheckpointer>) -> Compiled<Debate, Hall> {
    let mut graph = draw(Retry::exponential(1));
    graph.checkpointer(store);
    graph.compile().unwrap()
}

pub(crate) fn opening(rounds: u32) -> DebateUpdate {
    Debate::open(TOPIC, rounds, morning()).unwrap()
}

/// The saved states of a debate, oldest first.
pub(crate) async fn history(graph: &Compiled<Debate, Hall>, thread: &str) -> Vec<Snapshot<Debate>> {
    let mut all = graph.threads().history(thread, &HistoryQuery::default()).await.unwrap();
    all.reverse();
    all
}

/// Who was due after each checkpoint, oldest first.
pub(crate) async fn due(graph: &Compiled<Debate, Hall>, thread: &str) -> Vec<String> {
    history(graph, thread).await.iter().map(|saved| saved.next.join("+")).collect()
}

/// Who spoke, in order.
pub(crate) fn speakers(debate: &Debate) -> Vec<&str> {
    debate.messages.iter().map(|message| message.name.as_deref().unwrap_or("user")).collect()
}

/// A folder that is gone after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-debate-{name}-{}", std::process::id()));
        // The number of a process comes again, and one that died left its folder.
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
