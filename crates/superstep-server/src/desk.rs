//! What routes use: start a run, stop it, watch it, look up what is known. Cheap to clone.
//!
//! The desk decides nothing about HTTP, and what it holds in memory a killed process may lose: orders are in the ledger,
//! states and events in the store.

use std::sync::Arc;
use std::time::Instant;

use superstep::EventsQuery;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::SharedCheckpointer;
use superstep::telemetry::Metrics;
use tokio::sync::oneshot;

mod last_word;
mod look;
mod standing;
mod take_up;

use crate::config::Config;
use crate::hub::{Feed, Heard, Hub, Leaving, Stop};
use crate::ledger::{Ledger, Record, RecordsQuery, ThreadRecord};
use crate::limits::{Gate, Limit, Pass, Visitor};
use crate::problem::Problem;
use crate::registry::{Order, Registry, Served, Terms, What, fresh_run};
use crate::worker::{Job, Place, Worker};
use standing::Turn;

/// What routes use.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    registry: Registry,
    ledger: Ledger,
    hub: Arc<Hub>,
    worker: Worker,
    gate: Gate,
    metrics: Metrics,
    config: Config,
    since: Instant,
}

/// A run that is about to start.
struct Start {
    /// What is written down of it, with what was asked at first.
    record: Record,
    /// What it begins with now.
    what: What,
    begins: Begins,
    pass: Option<Pass>,
}

/// Whether a run begins for the first time.
enum Begins {
    /// With what was known of the thread before: a refusal restores it.
    First(Option<Box<ThreadRecord>>),
    /// It was taken up after its process died. The thread is held until that is written down, and a refusal restores nothing.
    Again(Turn),
}

type HasBegun = oneshot::Receiver<Result<(), Problem>>;

impl Desk {
    /// A desk over these graphs, with their threads in the stores of the configuration.
    ///
    /// For a program that runs graphs without serving them: nothing listens, and runs of earlier processes are left as
    /// they are.
    ///
    /// # Errors
    /// When two graphs have the same name.
    pub fn open(graphs: impl IntoIterator<Item = Arc<dyn Served>>, mut config: Config) -> superstep::Result<Self> {
        let hub = Arc::new(Hub::new(config.ring));
        // The hub holds what is not stored yet, so it has to hear what is.
        config.stores.checkpoints = Heard { store: config.stores.checkpoints, hub: hub.clone() }.into();
        let graphs = graphs.into_iter().map(|graph| graph.kept_in(&config.stores));
        let registry = Registry::new(graphs.collect::<Vec<_>>())?;
        let (ledger, worker) = (Ledger::new(config.stores.items.clone()), Worker::new(config.max_runs));
        let (gate, metrics, since) = (Gate::default(), Metrics::new(), Instant::now());
        Ok(Self(Arc::new(Inner { registry, ledger, hub, worker, gate, metrics, config, since })))
    }

    /// Starts a run, and waits until it has begun. Without options of its own it has those of the thread's first run. One that
    /// goes on after a run that died before it had saved its input or answers begins with those.
    ///
    /// # Errors
    /// When the order is not valid, the thread runs already, or a limit is reached; there is no run then.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop a run that was started.
    pub async fn start(&self, order: Order) -> Result<(), Problem> {
        self.start_with(order, None, None).await.map(Leaving::stay)
    }

    /// As [`Desk::start`], for somebody who was admitted: the pass is given back when the run has ended. A run that is
    /// refused is not counted.
    ///
    /// # Errors
    /// As [`Desk::start`].
    pub async fn start_admitted(&self, order: Order, pass: Pass) -> Result<(), Problem> {
        self.start_with(order, Some(pass), None).await.map(Leaving::stay)
    }

    /// As [`Desk::start_admitted`], and gives what the run says after a number to a reader whose leaving stops the run.
    ///
    /// # Errors
    /// As [`Desk::start`].
    ///
    /// # Cancel safety
    /// Dropping the future is leaving: a run that was started stops.
    pub async fn start_attended(
        &self,
        order: Order,
        pass: Pass,
        after: Option<u64>,
        stop: Stop,
    ) -> Result<Feed, Problem> {
        let thread = order.thread.clone();
        let leaving = self.start_with(order, Some(pass), Some(stop)).await?;
        Ok(self.watch(&thread, after).await?.leaving(Some(leaving)))
    }

    async fn start_with(&self, mut order: Order, pass: Option<Pass>, stop: Option<Stop>) -> Result<Leaving, Problem> {
        let pass = pass.map(Pass::unless_begun);
        let served = self.served(&order.graph)?;
        served.check(&order).await?;
        let place = self.0.worker.enter(&order.thread, order.run)?;
        // Held from here on: whoever asks may leave before the run has begun.
        let leaving = Leaving::new(place.brake(), stop);
        // Nobody else writes it now.
        let before = self.0.ledger.thread(&order.thread).await?;
        if let Some(before) = before.as_ref().filter(|_| order.options.is_null()) {
            order.options = before.options.clone();
        }
        if let Some(before) = before.as_ref().filter(|_| order.what == What::GoOn) {
            self.begin_as_asked(&served, before, &mut order).await?;
        }
        let older = before.as_ref().filter(|before| before.is_unfinished() && before.run != order.run);
        let older = older.map(|before| before.run);
        let (what, record) = (order.what.clone(), Record::new(order));
        let has_begun = self
            .drive(&served, place, Start { record, what, begins: Begins::First(before.map(Box::new)), pass })
            .await?;
        // A task that was aborted says nothing.
        has_begun.await.unwrap_or_else(|_| Err(Problem::closing()))?;
        if let Some(older) = older {
            self.close_older(older).await;
        }
        Ok(leaving)
    }

    /// Has a run driven, and waits until it is written down.
    async fn drive(&self, served: &Arc<dyn Served>, place: Place, start: Start) -> Result<HasBegun, Problem> {
        let Inner { worker, ledger, hub, metrics, config, .. } = &*self.0;
        let Start { record, what, begins, pass } = start;
        let order = Order { what, ..record.order.clone() };
        let terms = Terms { control: place.control(), metrics: metrics.clone(), timeout: config.run_timeout };
        let running = served.run(&order, terms)?;
        let before = match begins {
            Begins::First(before) => Some(before.map(|before| *before)),
            Begins::Again(turn) => {
                // From here on others leave it to this process.
                ledger.write(&record).await?;
                drop(turn);
                None
            }
        };
        let ((written, is_written), (begun, has_begun)) = (oneshot::channel(), oneshot::channel());
        let (ledger, hub) = (ledger.clone(), hub.clone());
        worker.start(Job { place, running, record, ledger, hub, pass, before, written, begun });
        is_written.await.unwrap_or_else(|_| Err(Problem::closing()))?;
        Ok(has_begun)
    }

    /// Stops the run of a thread; [`Desk::halt`] does more.
    ///
    /// # Errors
    /// 409 when none runs here.
    pub fn stop(&self, thread: &ThreadId, stop: Stop) -> Result<(), Problem> {
        match self.0.worker.stop(thread, stop) {
            true => Ok(()),
            false => Err(Problem::conflict(format!("thread `{thread}` does not run")).on_thread(thread)),
        }
    }

    /// Every event of a thread after a number, once and in order, then live ones until the run ends.
    ///
    /// # Errors
    /// 404 when nothing is known of the thread.
    pub async fn watch(&self, thread: &ThreadId, after: Option<u64>) -> Result<Feed, Problem> {
        let record = self.known(thread).await?;
        let served = self.served(&record.graph)?;
        let line = self.0.hub.line(thread);
        Ok(Feed::new((thread.clone(), after), served, line, self.0.config.pace))
    }

    /// What is known of a thread.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record(&self, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
        self.0.ledger.thread(thread).await
    }

    /// As [`Desk::record`], of a thread that must exist.
    ///
    /// # Errors
    /// 404 when nothing is known of the thread.
    pub async fn known(&self, thread: &ThreadId) -> Result<ThreadRecord, Problem> {
        let record = self.record(thread).await?;
        record.ok_or_else(|| Problem::not_found(format!("no thread `{thread}`")).on_thread(thread))
    }

    /// Removes everything of a thread: its checkpoints, its events, what applications keep of it in the store
    /// ([`belongings`](crate::belongings)), and what is known of it.
    ///
    /// # Errors
    /// 404 when nothing is known of the thread, 409 when it runs.
    pub async fn forget(&self, thread: &ThreadId) -> Result<(), Problem> {
        // No run begins on it meanwhile.
        let _place = self.0.worker.hold(thread, fresh_run())?;
        self.known(thread).await?;
        self.checkpoints().delete_thread(thread).await?;
        self.0.ledger.forget(thread).await?;
        self.0.hub.forget(thread);
        Ok(())
    }

    /// What is known of a run.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run(&self, run: RunId) -> Result<Option<Record>, Problem> {
        self.0.ledger.run(run).await
    }

    /// What is known of threads, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn records(&self, query: &RecordsQuery) -> Result<Vec<ThreadRecord>, Problem> {
        self.0.ledger.threads(query).await
    }

    /// The run that moves a thread here and now.
    #[must_use]
    pub fn running(&self, thread: &ThreadId) -> Option<RunId> {
        self.0.worker.run_of(thread)
    }

    /// Whether the run of a thread was asked to stop and has not done so yet.
    #[must_use]
    pub fn is_stopping(&self, thread: &ThreadId) -> bool {
        let brake = self.0.worker.brake(thread);
        brake.is_some_and(|brake| brake.control().is_draining() || brake.control().is_cancelled())
    }

    /// Whether the server is about to stop.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.0.worker.is_closing()
    }

    /// The graph of this name.
    ///
    /// # Errors
    /// 404 with the names there are.
    pub fn served(&self, graph: &str) -> Result<Arc<dyn Served>, Problem> {
        self.0.registry.get(graph)
    }

    /// Counts one more `what` of an address, or says when there is room again.
    ///
    /// # Errors
    /// 429 with `Retry-After`.
    pub fn admit(&self, what: &str, visitor: Visitor, limit: Limit) -> Result<Pass, Problem> {
        self.0.gate.admit(what, visitor, limit, Instant::now())
    }

    /// The number of the last event that was kept of a thread; 0 when there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn last_event(&self, thread: &ThreadId) -> Result<u64, Problem> {
        Ok(self.checkpoints().last_event(thread).await?)
    }

    /// Whether anything after a number is kept of a thread.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_events_after(&self, thread: &ThreadId, number: u64) -> Result<bool, Problem> {
        let query = EventsQuery { after: Some(number), limit: Some(1), ..EventsQuery::default() };
        Ok(!self.checkpoints().events(thread, &query).await?.is_empty())
    }

    fn checkpoints(&self) -> &SharedCheckpointer {
        &self.0.config.stores.checkpoints
    }

    /// Where runs are measured.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// How the server is set up.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Every graph that is served.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.0.worker
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(crate) fn since(&self) -> Instant {
        self.0.since
    }
}
