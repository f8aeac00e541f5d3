//! The scheduler as an application of the server: its graph, its routes, its page, and the calendar that all requests share.
//!
//! The calendar is opened when somebody first needs it, and a family is made in it then: a program that only lists its
//! graphs makes no files. Proposals that nobody confirmed for a day go when somebody comes first, and once an hour after.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::model::{ModelKind, SharedModel};
use superstep::{Error, Result, SystemClock};
use superstep_server::{App, Limit, Models, Order, Problem, served_noting};

mod household;

use crate::agents::scan;
use crate::calendar::Board;
use crate::graph::draw;
use crate::home::Home;
use crate::http::{Options, noted, routes};
use crate::parser::LABEL;
use crate::sample;
use crate::store::{Calendars, Place};

/// How often old proposals are looked for, in microseconds: once an hour.
const SWEEPS: i64 = 3_600 * 1_000_000;

/// What somebody may say to the sample family.
const SAMPLE_REQUESTS: [&str; 6] = [
    "Schedule soccer practice for Emma Saturday at 2pm with the car",
    "When is everyone free this weekend?",
    "Piano every Tuesday at 6pm for Emma",
    "Move swimming to 5pm",
    "Is the car free tomorrow at 10am?",
    "Dinner with the neighbours on Sunday at 6pm",
];

/// What the scheduler runs with.
#[derive(Clone)]
pub struct Settings {
    /// Where the calendar is kept.
    pub place: Place,
    /// The family; made with all that is on its board where there is none of its id yet.
    pub family: Arc<Board>,
    /// Requests that a page proposes.
    pub examples: Vec<String>,
    /// How many requests an address may make.
    pub limit: Limit,
    /// How long a database that is locked or away is waited for.
    pub patience: Duration,
}

impl Settings {
    /// A family in a place.
    pub fn new(place: Place, family: impl Into<Arc<Board>>) -> Self {
        let limit = Limit { most: 600, within: Duration::from_secs(3600), at_once: 8 };
        let (family, patience) = (family.into(), Duration::from_secs(5));
        Self { place, family, examples: Vec::new(), limit, patience }
    }

    /// The sample family in a place.
    pub fn sample(place: Place) -> Self {
        Self { examples: SAMPLE_REQUESTS.map(str::to_owned).to_vec(), ..Self::new(place, sample::family()) }
    }

    /// A family out of a file: JSON with `family`, `members` and, as far as there are some, `calendars`, `resources` and
    /// `rules`.
    ///
    /// # Errors
    /// `ConfigInvalid` when the file cannot be read, or is of another form; the message names the place in it.
    pub fn of_file(place: Place, file: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(place, household::read(file.as_ref())?))
    }
}

/// The scheduler, for a server.
///
/// # Errors
/// When the drawing is not valid.
pub fn app(settings: Settings, models: Models) -> Result<App> {
    let office = Office::new(settings, models);
    let room = office.clone();
    let graph = served_noting(draw().compile()?, move |order| room.home(order), noted);
    Ok(App::new("scheduler", "Scheduler").graph(graph).routes(routes(office)).page("scheduler.html"))
}

/// The rules alone, as requests name them.
const LOCAL: [&str; 2] = ["local", "local/rules"];

/// What the page says of who reads beside the rules.
fn label(model: &SharedModel) -> String {
    let info = model.info();
    match info.kind {
        ModelKind::Rules => format!("{}, no language model", info.name),
        ModelKind::Weights => format!("{}, a language model in this process", info.name),
        ModelKind::Remote => format!("{}, a language model of {}", info.name, info.provider),
    }
}

/// What all requests have in common.
#[derive(Clone)]
pub(crate) struct Office(Arc<Inner>);

struct Inner {
    calendars: Calendars,
    models: Models,
    family: String,
    examples: Vec<String>,
    limit: Limit,
    /// When old proposals were looked for last, in microseconds.
    swept: Mutex<Option<i64>>,
}

impl Office {
    fn new(settings: Settings, models: Models) -> Self {
        let Settings { place, family, examples, limit, patience } = settings;
        let id = family.family.id.clone();
        let options = Calendars::options().patience(patience).scan(scan::all).family(family);
        let (calendars, swept) = (options.open_later(place), Mutex::default());
        Self(Arc::new(Inner { calendars, models, family: id, examples, limit, swept }))
    }

    /// What a run needs; a question gets a calendar that it cannot change.
    ///
    /// # Errors
    /// When its model is not known, or cannot be asked.
    fn home(&self, order: &Order) -> Result<Home, Problem> {
        let options = Options::read(&order.options);
        let calendars = match options.is_query {
            true => self.0.calendars.looking(),
            false => self.0.calendars.clone(),
        };
        let home = Home::new(calendars, self.family());
        Ok(match options.model.as_deref().filter(|name| !LOCAL.contains(name)) {
            Some(name) => home.with_model(self.0.models.get(name, &LOCAL)?),
            None => home,
        })
    }

    /// Who can be chosen to read what is said.
    pub(crate) fn models(&self) -> Vec<Value> {
        let own = json!({
            "name": LOCAL[0], "kind": ModelKind::Rules, "label": LABEL, "configured": true, "hint": null,
        });
        let others = self.0.models.notes().into_iter().map(|note| match self.0.models.get(&note.name, &LOCAL) {
            Ok(model) => {
                let (kind, label) = (model.info().kind, label(&model));
                json!({ "name": note.name, "kind": kind, "label": label, "configured": true, "hint": null })
            }
            Err(problem) => json!({
                "name": note.name, "kind": null, "label": problem.detail(), "configured": false, "hint": problem.advice(),
            }),
        });
        std::iter::once(own).chain(others).collect()
    }

    /// The calendars.
    pub(crate) fn calendars(&self) -> &Calendars {
        &self.0.calendars
    }

    /// The family, by id.
    pub(crate) fn family(&self) -> &str {
        &self.0.family
    }

    pub(crate) fn examples(&self) -> &[String] {
        &self.0.examples
    }

    pub(crate) fn limit(&self) -> Limit {
        self.0.limit
    }

    /// For an answer: the request was counted when it began.
    pub(crate) fn limit_at_once(&self) -> Limit {
        Limit { most: usize::MAX, ..self.limit() }
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Result<Time> {
        Time::from_unix_micros(SystemClock.now()).map_err(|fault| Error::internal(fault.to_string()))
    }

    /// The calendar as it is now, without proposals that nobody wants any more.
    pub(crate) async fn board(&self) -> Result<Arc<Board>> {
        let now = self.now()?;
        if self.is_due(now.as_unix_micros()) {
            // A calendar that cannot be written now is looked after in an hour; whether it can be read is seen below.
            let _ = self.0.calendars.clean_up(now).await;
        }
        self.0.calendars.board(&self.0.family).await
    }

    fn is_due(&self, now: i64) -> bool {
        let mut swept = self.0.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = swept.is_none_or(|swept| now - swept >= SWEEPS);
        if is_due {
            *swept = Some(now);
        }
        is_due
    }
}
