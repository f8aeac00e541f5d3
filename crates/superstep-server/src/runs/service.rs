//! Service that routes use to start, cancel, subscribe to and look up runs. Cheap to clone.
//!
//! Depends on HTTP only through the status of a [`Problem`]. Nothing that this service holds in memory must survive a
//! crash: run requests are in the run repository, states and events in the checkpointer.

use std::sync::Arc;
use std::time::Instant;

use superstep::EventsQuery;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::SharedCheckpointer;
use superstep::telemetry::Metrics;
use tokio::sync::oneshot;

use crate::access::rate_limit::{ClientAddress, RateLimit, RateLimiter, RunPermit};
use crate::api::problem::Problem;
use crate::config::ServerConfig;
use crate::events::broadcast::{CancelMode, CancelOnDrop, EventBroadcaster, NotifyingCheckpointer, Subscription};
use crate::graphs::registry::{GraphRegistry, RunInput, RunOptions, RunRequest, ServedGraph, new_run_id};
use crate::runs::repository::{RunRecord, RunRepository, ThreadRecord, ThreadSearch};
use crate::runs::status::ThreadLease;
use crate::runs::worker::{RunJob, RunSlot, Worker};

/// A service that starts, cancels and looks up runs, shared by all routes.
#[derive(Clone)]
pub struct RunService(pub(crate) Arc<ServiceInner>);

pub(crate) struct ServiceInner {
    pub(crate) registry: GraphRegistry,
    pub(crate) repository: RunRepository,
    pub(crate) broadcaster: Arc<EventBroadcaster>,
    pub(crate) worker: Worker,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) metrics: Metrics,
    pub(crate) config: ServerConfig,
    pub(crate) started_at: Instant,
}

/// A run that is about to start.
pub(crate) struct RunStart {
    /// Record to persist, with the original input.
    pub(crate) record: RunRecord,
    /// Input the run starts with now.
    pub(crate) input: RunInput,
    pub(crate) kind: StartKind,
    pub(crate) permit: Option<RunPermit>,
}

/// Origin of a run start.
pub(crate) enum StartKind {
    /// A new run, with the earlier thread record: restored if the run is rejected.
    First(Option<Box<ThreadRecord>>),
    /// A run recovered after its process died. The thread lease is held until the record is persisted; a rejection
    /// restores nothing.
    Recovered(ThreadLease),
}

type StartedReceiver = oneshot::Receiver<Result<(), Problem>>;

impl RunService {
    /// Opens a service for these graphs, with their threads in the storage of the configuration.
    ///
    /// For programs that run graphs without an HTTP server: no port is opened, and unfinished runs of earlier processes
    /// are not recovered.
    ///
    /// # Errors
    /// Returns an error if two graphs have the same name.
    pub fn open(
        graphs: impl IntoIterator<Item = Arc<dyn ServedGraph>>,
        mut config: ServerConfig,
    ) -> superstep::Result<Self> {
        let broadcaster = Arc::new(EventBroadcaster::new(config.replay_buffer));
        // The broadcaster buffers events until they are persisted, so it must learn of every commit.
        config.storage.checkpointer =
            NotifyingCheckpointer { checkpointer: config.storage.checkpointer, broadcaster: broadcaster.clone() }
                .into();
        let graphs = graphs.into_iter().map(|graph| graph.with_storage(&config.storage));
        let registry = GraphRegistry::new(graphs.collect::<Vec<_>>())?;
        let (repository, worker) =
            (RunRepository::new(config.storage.store.clone()), Worker::new(config.max_concurrent_runs));
        let (rate_limiter, metrics, started_at) = (RateLimiter::default(), Metrics::new(), Instant::now());
        Ok(Self(Arc::new(ServiceInner {
            registry,
            repository,
            broadcaster,
            worker,
            rate_limiter,
            metrics,
            config,
            started_at,
        })))
    }

    /// Starts a run and waits until it has started. A request without context values uses those of the thread's first
    /// run. A request to continue a run whose process died before it persisted its input or resume values starts with
    /// these values.
    ///
    /// # Errors
    /// Returns an error, and starts no run, if the request is invalid, the thread already has a run, or a limit is
    /// reached.
    ///
    /// # Cancel safety
    /// Dropping the future does not cancel a run that was started.
    pub async fn start(&self, request: RunRequest) -> Result<(), Problem> {
        self.start_with(request, None, None).await.map(CancelOnDrop::disarm)
    }

    /// Starts a run as [`RunService::start`] does, with a permit that is released when the run has ended. A run that is
    /// rejected does not count against the rate limit.
    ///
    /// # Errors
    /// Returns the errors of [`RunService::start`].
    pub async fn start_with_permit(&self, request: RunRequest, permit: RunPermit) -> Result<(), Problem> {
        self.start_with(request, Some(permit), None).await.map(CancelOnDrop::disarm)
    }

    /// Starts a run as [`RunService::start_with_permit`] does, and returns its events after a number. Dropping the
    /// subscription cancels the run.
    ///
    /// # Errors
    /// Returns the errors of [`RunService::start`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels a run that was started.
    pub async fn start_and_subscribe(
        &self,
        request: RunRequest,
        permit: RunPermit,
        after: Option<u64>,
        on_drop: CancelMode,
    ) -> Result<Subscription, Problem> {
        let thread = request.thread.clone();
        let cancel_guard = self.start_with(request, Some(permit), Some(on_drop)).await?;
        Ok(self.subscribe(&thread, after).await?.with_cancel_on_drop(Some(cancel_guard)))
    }

    async fn start_with(
        &self,
        mut request: RunRequest,
        permit: Option<RunPermit>,
        on_drop: Option<CancelMode>,
    ) -> Result<CancelOnDrop, Problem> {
        let permit = permit.map(RunPermit::refund_unless_started);
        let graph = self.graph(&request.graph)?;
        graph.validate(&request).await?;
        let slot = self.0.worker.acquire_slot(&request.thread, request.run)?;
        // Created before the first await: the caller may drop the future before the run has started.
        let cancel_guard = CancelOnDrop::new(slot.cancel_handle(), on_drop);
        // The slot keeps other calls of this process from changing the thread record.
        let before = self.0.repository.thread(&request.thread).await?;
        if let Some(before) = before.as_ref().filter(|_| request.context.is_null()) {
            request.context = before.context.clone();
        }
        if let Some(before) = before.as_ref().filter(|_| request.input == RunInput::Continue) {
            self.restore_original_input(&graph, before, &mut request).await?;
        }
        let older = before.as_ref().filter(|before| before.is_unfinished() && before.run != request.run);
        let older = older.map(|before| before.run);
        let (input, record) = (request.input.clone(), RunRecord::new(request));
        let started_rx = self
            .dispatch(&graph, slot, RunStart { record, input, kind: StartKind::First(before.map(Box::new)), permit })
            .await?;
        // The sender of an aborted task is dropped without a message.
        started_rx.await.unwrap_or_else(|_| Err(Problem::shutting_down()))?;
        if let Some(older) = older {
            self.close_superseded_run(older).await;
        }
        Ok(cancel_guard)
    }

    /// Passes a run to the worker, and waits until its record is persisted.
    pub(crate) async fn dispatch(
        &self,
        graph: &Arc<dyn ServedGraph>,
        slot: RunSlot,
        start: RunStart,
    ) -> Result<StartedReceiver, Problem> {
        let ServiceInner { worker, repository, broadcaster, metrics, config, .. } = &*self.0;
        let RunStart { record, input, kind, permit } = start;
        let request = RunRequest { input, ..record.request.clone() };
        let options = RunOptions { control: slot.control(), metrics: metrics.clone(), timeout: config.run_timeout };
        let handle = graph.start(&request, options)?;
        let thread_before = match kind {
            StartKind::First(before) => Some(before.map(|before| *before)),
            StartKind::Recovered(lease) => {
                // The persisted record keeps other processes from recovering the run again.
                repository.save(&record).await?;
                drop(lease);
                None
            }
        };
        let ((saved_tx, saved_rx), (started_tx, started_rx)) = (oneshot::channel(), oneshot::channel());
        let (repository, broadcaster) = (repository.clone(), broadcaster.clone());
        worker.start(RunJob {
            slot,
            handle,
            record,
            repository,
            broadcaster,
            permit,
            thread_before,
            saved_tx,
            started_tx,
        });
        saved_rx.await.unwrap_or_else(|_| Err(Problem::shutting_down()))?;
        Ok(started_rx)
    }

    /// Cancels the run of a thread in this process.
    ///
    /// # Errors
    /// Returns 409 if the thread has no run in this process.
    pub(crate) fn cancel_local(&self, thread: &ThreadId, mode: CancelMode) -> Result<(), Problem> {
        match self.0.worker.cancel(thread, mode) {
            true => Ok(()),
            false => Err(Problem::conflict(format!("thread `{thread}` has no active run")).with_thread(thread)),
        }
    }

    /// Subscribes to a thread: every event after a number, once and in order, then live events until the run ends.
    ///
    /// # Errors
    /// Returns 404 if the thread does not exist.
    pub async fn subscribe(&self, thread: &ThreadId, after: Option<u64>) -> Result<Subscription, Problem> {
        let record = self.get_thread(thread).await?;
        let graph = self.graph(&record.graph)?;
        let broadcast = self.0.broadcaster.get(thread);
        Ok(Subscription::new((thread.clone(), after), graph, broadcast, self.0.config.sse))
    }

    /// Returns the record of a thread, if there is one.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn find_thread(&self, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
        self.0.repository.thread(thread).await
    }

    /// Returns the record of a thread that must exist.
    ///
    /// # Errors
    /// Returns 404 if the thread does not exist.
    pub async fn get_thread(&self, thread: &ThreadId) -> Result<ThreadRecord, Problem> {
        let record = self.find_thread(thread).await?;
        record.ok_or_else(|| Problem::not_found(format!("thread `{thread}` not found")).with_thread(thread))
    }

    /// Deletes a thread: its checkpoints, its events, the data of applications in the store
    /// ([`thread_data_namespace`](crate::thread_data_namespace)), and its records.
    ///
    /// # Errors
    /// Returns 404 if the thread does not exist, 409 if it has a run.
    pub async fn delete_thread(&self, thread: &ThreadId) -> Result<(), Problem> {
        // The slot keeps new runs off the thread during deletion.
        let _slot = self.0.worker.acquire_slot_over_capacity(thread, new_run_id())?;
        self.get_thread(thread).await?;
        self.checkpointer().delete_thread(thread).await?;
        self.0.repository.delete_thread(thread).await?;
        self.0.broadcaster.remove(thread);
        Ok(())
    }

    /// Returns the record of a run, if there is one.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn find_run(&self, run: RunId) -> Result<Option<RunRecord>, Problem> {
        self.0.repository.run(run).await
    }

    /// Searches the thread records, the newest first.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn search_threads(&self, query: &ThreadSearch) -> Result<Vec<ThreadRecord>, Problem> {
        self.0.repository.threads(query).await
    }

    /// Returns the run that this process executes on a thread.
    #[must_use]
    pub fn active_run(&self, thread: &ThreadId) -> Option<RunId> {
        self.0.worker.active_run(thread)
    }

    /// Returns true if the run of a thread is being cancelled or drained and has not ended yet.
    #[must_use]
    pub fn is_cancelling(&self, thread: &ThreadId) -> bool {
        let cancel_handle = self.0.worker.cancel_handle(thread);
        cancel_handle.is_some_and(|handle| handle.control().is_draining() || handle.control().is_cancelled())
    }

    /// Returns true if the server is shutting down.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.0.worker.is_shutting_down()
    }

    /// Returns the graph of this name.
    ///
    /// # Errors
    /// Returns 404 with the names of all graphs.
    pub fn graph(&self, graph: &str) -> Result<Arc<dyn ServedGraph>, Problem> {
        self.0.registry.get(graph)
    }

    /// Counts one more request of this kind against the rate limit of a client address, and returns its permit.
    ///
    /// # Errors
    /// Returns 429 with `Retry-After` if the limit is reached.
    pub fn acquire_permit(&self, kind: &str, client: ClientAddress, limit: RateLimit) -> Result<RunPermit, Problem> {
        self.0.rate_limiter.acquire(kind, client, limit, Instant::now())
    }

    /// Returns the number of the last persisted event of a thread; 0 if there is none.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn last_event_number(&self, thread: &ThreadId) -> Result<u64, Problem> {
        Ok(self.checkpointer().last_event_number(thread).await?)
    }

    /// Returns true if the journal of a thread has an event after a number.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn has_events_after(&self, thread: &ThreadId, number: u64) -> Result<bool, Problem> {
        let query = EventsQuery { after: Some(number), limit: Some(1), ..EventsQuery::default() };
        Ok(!self.checkpointer().events(thread, &query).await?.is_empty())
    }

    pub(crate) fn checkpointer(&self) -> &SharedCheckpointer {
        &self.0.config.storage.checkpointer
    }

    /// Returns the metrics of the runs of this process.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns the configuration of the server.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.0.config
    }

    /// Returns the registry of all graphs that the server runs.
    #[must_use]
    pub fn registry(&self) -> &GraphRegistry {
        &self.0.registry
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.0.worker
    }

    pub(crate) fn broadcaster(&self) -> &EventBroadcaster {
        &self.0.broadcaster
    }

    pub(crate) fn started_at(&self) -> Instant {
        self.0.started_at
    }
}
