//! Scheduler application of the server: its graph, routes, page, and the calendar store that all requests share.
//!
//! The store is opened on first use, and the family is created in it then, so that a program that only lists its
//! graphs creates no files. Proposals that were not confirmed within a day are expired on the first request, and at
//! most once an hour afterwards.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::models::{ModelKind, SharedModel};
use superstep::{Result, SystemClock};
use superstep_server::{App, ModelRegistry, Problem, RateLimit, RunRequest, serve_graph_with_annotations};

mod family_file;

use crate::agents::scan;
use crate::calendar::CalendarSnapshot;
use crate::context::{SchedulerContext, clock_time};
use crate::http::{ConversationOptions, annotate_request, routes};
use crate::orchestrator::state_graph;
use crate::parser::LABEL;
use crate::sample;
use crate::store::{CalendarStore, StoreLocation};

/// Interval between two clean-ups of expired proposals, in microseconds: one hour.
const CLEANUP_INTERVAL_MICROS: i64 = 3_600 * 1_000_000;

/// Example requests for the sample family.
const SAMPLE_REQUESTS: [&str; 6] = [
    "Schedule soccer practice for Emma Saturday at 2pm with the car",
    "When is everyone free this weekend?",
    "Piano every Tuesday at 6pm for Emma",
    "Move swimming to 5pm",
    "Is the car free tomorrow at 10am?",
    "Dinner with the neighbours on Sunday at 6pm",
];

/// Configuration of the scheduler application.
#[derive(Clone)]
pub struct SchedulerSettings {
    /// Location of the calendar store.
    pub location: StoreLocation,
    /// Initial family with its calendar; written to the store if the store has no family with this id.
    pub initial_family: Arc<CalendarSnapshot>,
    /// Example requests that the page suggests.
    pub examples: Vec<String>,
    /// Rate limit per client address.
    pub rate_limit: RateLimit,
    /// Longest wait for a locked or unreachable database.
    pub store_timeout: Duration,
    /// Clock of requests, runs and the calendar store.
    pub clock: Arc<dyn Clock>,
}

impl SchedulerSettings {
    /// Creates settings for a family in a store. Defaults: 600 requests per hour, 8 at once, and a database timeout
    /// of 5 seconds; the system clock.
    pub fn new(location: StoreLocation, family: impl Into<Arc<CalendarSnapshot>>) -> Self {
        Self {
            location,
            initial_family: family.into(),
            examples: Vec::new(),
            rate_limit: RateLimit { max_requests: 600, window: Duration::from_secs(3600), max_concurrent: 8 },
            store_timeout: Duration::from_secs(5),
            clock: Arc::new(SystemClock),
        }
    }

    /// Creates settings for the sample family, with example requests.
    pub fn sample(location: StoreLocation) -> Self {
        Self { examples: SAMPLE_REQUESTS.map(str::to_owned).to_vec(), ..Self::new(location, sample::family()) }
    }

    /// Creates settings for a family from a JSON file with `family`, `members` and, optionally, `calendars`,
    /// `resources` and `rules`.
    ///
    /// # Errors
    /// `ConfigInvalid` if the file cannot be read or does not fit the schema. The message names the location in the
    /// file.
    pub fn from_family_file(location: StoreLocation, file: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(location, family_file::load(file.as_ref())?))
    }
}

/// Creates the scheduler application.
///
/// # Errors
/// Returns an error if the graph is invalid.
pub fn app(settings: SchedulerSettings, models: ModelRegistry) -> Result<App> {
    let app_state = SchedulerAppState::new(settings, models);
    let shared_state = app_state.clone();
    let graph = serve_graph_with_annotations(
        state_graph().compile()?,
        move |request| shared_state.run_context(request),
        annotate_request,
    );
    Ok(App::new("scheduler", "Scheduler").graph(graph).routes(routes(app_state)).page("scheduler.html"))
}

/// Model names in requests that select the rule-based parser without a language model.
const LOCAL_MODELS: [&str; 2] = ["local", "local/rules"];

/// Returns the label of a model on the page.
fn label(model: &SharedModel) -> String {
    let info = model.info();
    match info.kind {
        ModelKind::Rules => format!("{}, no language model", info.name),
        ModelKind::Weights => format!("{}, a language model in this process", info.name),
        ModelKind::Remote => format!("{}, a language model of {}", info.name, info.provider),
    }
}

/// State shared by all HTTP handlers.
#[derive(Clone)]
pub(crate) struct SchedulerAppState(Arc<Inner>);

struct Inner {
    calendars: CalendarStore,
    models: ModelRegistry,
    family: String,
    examples: Vec<String>,
    rate_limit: RateLimit,
    clock: Arc<dyn Clock>,
    /// Time of the last clean-up of expired proposals, in Unix microseconds.
    last_cleanup: Mutex<Option<i64>>,
}

impl SchedulerAppState {
    fn new(settings: SchedulerSettings, models: ModelRegistry) -> Self {
        let SchedulerSettings { location, initial_family, examples, rate_limit, store_timeout, clock } = settings;
        let family = initial_family.family.id.clone();
        let options = CalendarStore::options().timeout(store_timeout).shared_clock(clock.clone());
        let calendars = options.scan(scan::scan_conflicts).family(initial_family).open_lazy(location);
        let last_cleanup = Mutex::default();
        Self(Arc::new(Inner { calendars, models, family, examples, rate_limit, clock, last_cleanup }))
    }

    /// Builds the context of a run. A query run gets a read-only calendar store.
    ///
    /// # Errors
    /// Returns a problem if the requested model is unknown or not configured.
    fn run_context(&self, request: &RunRequest) -> Result<SchedulerContext, Problem> {
        let options = ConversationOptions::from_json(&request.context);
        let calendars = match options.is_query {
            true => self.0.calendars.read_only(),
            false => self.0.calendars.clone(),
        };
        let context = SchedulerContext::new(calendars, self.family()).with_clock(self.0.clock.clone());
        Ok(match options.model.as_deref().filter(|name| !LOCAL_MODELS.contains(name)) {
            Some(name) => context.with_model(self.0.models.get(name, &LOCAL_MODELS)?),
            None => context,
        })
    }

    /// Lists the parsers and models that a request can select.
    pub(crate) fn models(&self) -> Vec<Value> {
        let rule_parser = json!({
            "name": LOCAL_MODELS[0], "kind": ModelKind::Rules, "label": LABEL, "configured": true, "hint": null,
        });
        let summaries = self.0.models.summaries().into_iter();
        let others = summaries.map(|summary| match self.0.models.get(&summary.name, &LOCAL_MODELS) {
            Ok(model) => {
                let (kind, label) = (model.info().kind, label(&model));
                json!({ "name": summary.name, "kind": kind, "label": label, "configured": true, "hint": null })
            }
            Err(problem) => json!({
                "name": summary.name, "kind": null, "label": problem.detail(), "configured": false,
                "hint": problem.hint(),
            }),
        });
        std::iter::once(rule_parser).chain(others).collect()
    }

    /// Returns the calendar store.
    pub(crate) fn calendars(&self) -> &CalendarStore {
        &self.0.calendars
    }

    /// Returns the id of the family.
    pub(crate) fn family(&self) -> &str {
        &self.0.family
    }

    pub(crate) fn examples(&self) -> &[String] {
        &self.0.examples
    }

    pub(crate) fn rate_limit(&self) -> RateLimit {
        self.0.rate_limit
    }

    /// Returns the rate limit for resume requests: only concurrency counts, because the original request was
    /// counted.
    pub(crate) fn concurrency_limit(&self) -> RateLimit {
        RateLimit { max_requests: usize::MAX, ..self.rate_limit() }
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Result<Time> {
        clock_time(self.0.clock.now())
    }

    /// Reads the current calendar snapshot, after a clean-up of expired proposals if one is due.
    pub(crate) async fn snapshot(&self) -> Result<Arc<CalendarSnapshot>> {
        let now = self.now()?;
        if self.is_cleanup_due(now.as_unix_micros()) {
            // A failed clean-up is retried in an hour. A store that cannot be read is reported by the read below.
            let _ = self.0.calendars.expire_proposals(now).await;
        }
        self.0.calendars.snapshot(&self.0.family).await
    }

    fn is_cleanup_due(&self, now: i64) -> bool {
        let mut last_cleanup = self.0.last_cleanup.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last_cleanup.is_none_or(|last| now - last >= CLEANUP_INTERVAL_MICROS);
        if is_due {
            *last_cleanup = Some(now);
        }
        is_due
    }
}
