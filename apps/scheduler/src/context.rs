//! Run context of the scheduler: the calendar store, the family, and the optional language model.

use std::sync::Arc;

use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::models::SharedModel;
use superstep::{Error, ErrorCode, Result, TaskContext};

use crate::calendar::{CalendarSnapshot, Member};
use crate::store::CalendarStore;

/// Run context of a request in the calendar of one family.
#[derive(Clone)]
pub struct SchedulerContext {
    /// Store of all calendars.
    pub store: CalendarStore,
    /// Id of the family.
    pub family_id: String,
    /// Language model that parses requests in addition to the rules.
    pub model: Option<SharedModel>,
    /// Clock of the nodes. Default: the clock of the run.
    pub clock: Option<Arc<dyn Clock>>,
}

impl SchedulerContext {
    /// Creates the context of a family, with the rule-based parser only.
    #[must_use]
    pub fn new(store: CalendarStore, family: impl Into<String>) -> Self {
        Self { store, family_id: family.into(), model: None, clock: None }
    }

    /// Adds a language model to the parser.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Replaces the clock of the run.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Returns the current time. A node that runs again gets a later time.
    pub(crate) fn now(&self, cx: &TaskContext) -> Result<Time> {
        clock_time(self.clock.as_ref().map_or_else(|| cx.now(), |clock| clock.now()))
    }

    /// Reads the current calendar snapshot of the family.
    pub(crate) async fn snapshot(&self) -> Result<Arc<CalendarSnapshot>> {
        self.store.snapshot(&self.family_id).await
    }
}

/// Returns the member with an id.
///
/// # Errors
/// `PolicyRefused` if the family has no member with this id.
pub(crate) fn require_member<'a>(snapshot: &'a CalendarSnapshot, id: &str) -> Result<&'a Arc<Member>> {
    let unknown = || Error::new(ErrorCode::PolicyRefused, format!("unknown family member `{id}`"));
    snapshot.members.get(id).ok_or_else(unknown)
}

/// Converts the time of a clock.
pub(crate) fn clock_time(micros: i64) -> Result<Time> {
    Time::from_unix_micros(micros).map_err(|error| Error::internal(error.to_string()))
}

/// Omits the clock, which has no text form.
impl std::fmt::Debug for SchedulerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { store, family_id, model, clock: _ } = self;
        let mut context = f.debug_struct("SchedulerContext");
        context.field("store", store).field("family_id", family_id).field("model", model).finish_non_exhaustive()
    }
}
