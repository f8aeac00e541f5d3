//! Run context of the scheduler: the calendar store, the family, and the optional language model.

use std::sync::Arc;

use superstep::core::time::Time;
use superstep::models::SharedModel;
use superstep::{Error, ErrorCode, Result, TaskContext};

use crate::calendar::{CalendarSnapshot, Member};
use crate::store::CalendarStore;

/// Run context of a request in the calendar of one family.
#[derive(Debug, Clone)]
pub struct SchedulerContext {
    /// Store of all calendars.
    pub store: CalendarStore,
    /// Id of the family.
    pub family_id: String,
    /// Language model that parses requests in addition to the rules.
    pub model: Option<SharedModel>,
}

impl SchedulerContext {
    /// Creates the context of a family, with the rule-based parser only.
    #[must_use]
    pub fn new(store: CalendarStore, family: impl Into<String>) -> Self {
        Self { store, family_id: family.into(), model: None }
    }

    /// Adds a language model to the parser.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
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

/// Returns the current time of the run clock. A node that runs again gets a later time.
pub(crate) fn now(cx: &TaskContext) -> Result<Time> {
    Time::from_unix_micros(cx.now()).map_err(|fault| Error::internal(fault.to_string()))
}
