//! What a run needs beside its state: whose calendar it is, and where it is kept.

use std::sync::Arc;

use superstep::core::time::Time;
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
}

impl Home {
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

/// The time at which a node runs, the same however often it does.
pub(crate) fn now(cx: &Cx) -> Result<Time> {
    Time::from_unix_micros(cx.now()).map_err(|fault| Error::internal(fault.to_string()))
}
