//! The child that is killed, starved and lied to: it moves one thread, and tells its parent what the library tells it.
//!
//! It does what any program should: it looks at the thread, sends the input when there is none, goes on when something
//! is due. It never looks at the parent's plans.

use std::io::BufRead;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::core::id::{TaskId, derive};
use superstep::core::planted::{Bug, plant};
use superstep::core::port::SharedCheckpointer;
use superstep::{Code, Error, Event, EventKind, Result, Run, RunEvent};

use crate::effects::Effects;
use crate::reader;
use crate::store::Place;
use crate::told::{Told, digest};
use crate::work::{Flow, Part, Work, graph, input};

/// How long to wait for a thread that another has.
const BUSY: Duration = Duration::from_millis(20);

/// What a victim is told to do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Order {
    /// The threads to move, one after the other.
    pub(crate) threads: Vec<String>,
    pub(crate) laps: u64,
    pub(crate) weight: u64,
    /// Where effects are written.
    pub(crate) effects: Option<PathBuf>,
    /// Which life of the victim this is.
    pub(crate) life: u32,
    /// After a failure: tell what can be read, wait for a line, go on with the same store.
    pub(crate) is_patient: bool,
    /// Ask again while another has the thread.
    pub(crate) waits: bool,
    /// Keep events.
    pub(crate) keeps: bool,
    /// A bug of the engine to live with, by name.
    pub(crate) planted: Option<String>,
}

/// Lives. True when every thread came to its end.
///
/// # Errors
/// When the victim cannot even begin: that is the parent's mistake, not a finding.
pub(crate) async fn live(place: &Place, order: &Order) -> Result<bool, String> {
    Told::Born { pid: std::process::id() }.tell();
    plant(planted(order)?);
    let effects = effects(order, order.life)?;
    let flow = graph().map_err(|error| error.to_string())?;
    let store = match place.open().await {
        Ok(store) => store,
        Err(error) => {
            Told::failed(&error).tell();
            return Ok(false);
        }
    };
    Told::Opened.tell();
    let mut victim = Victim { flow, store, effects, order };
    for thread in &order.threads {
        let mut life = order.life;
        while let Err(error) = victim.advance(thread).await {
            // Who died before it may still count as alive; a store that frees its threads at once is never asked twice.
            if error.code() == Code::ThreadBusy && order.waits {
                tokio::time::sleep(BUSY).await;
                continue;
            }
            Told::failed(&error).tell();
            if !order.is_patient {
                return Ok(false);
            }
            victim.wait(thread).await?;
            // What it does from now on is another life, as if it had been started anew.
            life += 1;
            victim.effects = self::effects(order, life)?;
        }
    }
    Ok(true)
}

fn effects(order: &Order, life: u32) -> Result<Effects, String> {
    order.effects.as_ref().map_or_else(|| Ok(Effects::none()), |path| Effects::open(path, life))
}

fn planted(order: &Order) -> Result<Option<Bug>, String> {
    let Some(name) = &order.planted else { return Ok(None) };
    let bug = Bug::ALL.iter().find(|bug| bug.name() == name);
    bug.map(|bug| Some(*bug)).ok_or_else(|| format!("no bug `{name}`"))
}

struct Victim<'a> {
    flow: Flow,
    store: SharedCheckpointer,
    effects: Effects,
    order: &'a Order,
}

impl Victim<'_> {
    /// Brings a thread to its end, from wherever it stands.
    async fn advance(&self, thread: &str) -> Result<()> {
        let threads = self.flow.threads().checkpointer(self.store.clone());
        let run = match threads.state(thread).await {
            Ok(snapshot) if snapshot.next.is_empty() => {
                Told::Ended { digest: digest(&*snapshot.state) }.tell();
                return Ok(());
            }
            Ok(_) => self.flow.go_on(thread),
            Err(error) if error.code() == Code::NotFound => {
                self.flow.run(input(self.order.laps, self.order.weight)).thread(thread)
            }
            Err(error) => return Err(error),
        };
        self.perform(thread, run).await
    }

    async fn perform(&self, thread: &str, run: Run<Work, Effects>) -> Result<()> {
        let run = run.checkpointer(self.store.clone()).context(self.effects.clone()).recursion_limit(10_000);
        let run = if self.order.keeps { run.keep_events() } else { run };
        let mut stream = run.stream();
        while let Some(event) = stream.next().await {
            if let Some(told) = telling(thread, &event) {
                told.tell();
            }
        }
        let outcome = stream.finish().await?;
        if !outcome.is_finished() {
            return Err(Error::internal(format!("a run without questions ended with {:?}", outcome.status)));
        }
        Told::Ended { digest: digest(&*outcome.state) }.tell();
        Ok(())
    }

    /// Tells what can still be read, and waits for a line of the parent.
    async fn wait(&self, thread: &str) -> Result<(), String> {
        reader::tell_thread(&self.store, thread, false).await;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
        if read == 0 { Err("the parent has gone".to_owned()) } else { Ok(()) }
    }
}

/// What an event lets the parent count on.
fn telling(thread: &str, event: &RunEvent) -> Option<Told> {
    let path = event.namespace().as_str().to_owned();
    let EventKind::Machine(event) = &event.kind else { return None };
    match event {
        Event::TaskDone { task, node, step, .. } => {
            let key = key_of(thread, *task).to_string();
            Some(Told::Done { path, step: *step, node: node.to_string(), key })
        }
        Event::Values { step, state, .. } => {
            let work = state.state.downcast_ref::<Work>().map(digest);
            let digest = work.or_else(|| state.state.downcast_ref::<Part>().map(digest))?;
            Some(Told::Values { path, step: *step, digest })
        }
        Event::Checkpoint { id, step, .. } => Some(Told::Checkpoint { path, step: *step, id: id.to_string() }),
        _ => None,
    }
}

/// The key that the node of a task is given.
pub(crate) fn key_of(thread: &str, task: TaskId) -> TaskId {
    TaskId::from_bits(derive(&[thread.as_bytes(), &task.bits().to_le_bytes()]))
}
