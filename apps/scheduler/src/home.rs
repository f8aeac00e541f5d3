//! What a run needs beside its state: whose calendar it is, where it is kept, and who reads what is said.

use std::sync::Arc;

use superstep::core::time::Time;
use superstep::model::SharedModel;
use superstep::{Code, Cx, Error, Result};

use crate::calendar::{Board, Member};
use crate::store::Calendars;

/// The calendar of one family, for the runs of one request.
#[derive(Debug, Clone)]
pub struct Home {
    /// Where all calendars are.
    pub calendars: Calendars,
    /// Which family.
    pub family: String,
    /// Who reads what is said, beside the rules.
    pub model: Option<SharedModel>,
}

impl Home {
    /// The calendar of a family, with rules that read what is said.
    #[must_use]
    pub fn new(calendars: Calendars, family: impl Into<String>) -> Self {
        Self { calendars, family: family.into(), model: None }
    }

    /// With a language model that reads it as well.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The calendar as it is now.
    pub(crate) async fn board(&self) -> Result<Arc<Board>> {
        self.calendars.board(&self.family).await
    }
}

/// Who asks.
///
/// # Errors
/// `PolicyRefused` when nobody of the family has the id.
pub(crate) fn member<'a>(board: &'a Board, id: &str) -> Result<&'a Arc<Member>> {
    let unknown = || Error::new(Code::PolicyRefused, format!("nobody of the family is called `{id}`"));
    board.members.get(id).ok_or_else(unknown)
}

/// The time at which a node runs; another one when it runs again.
pub(crate) fn now(cx: &Cx) -> Result<Time> {
    Time::from_unix_micros(cx.now()).map_err(|fault| Error::internal(fault.to_string()))
}
