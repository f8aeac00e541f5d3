//! Member who makes an HTTP request, with the calendar as that member sees it.

use std::sync::Arc;

use superstep::core::time::Time;
use superstep::{ErrorCode, Result};
use superstep_server::Problem;

use crate::agents;
pub(super) use crate::agents::can_modify;
use crate::app::SchedulerAppState;
use crate::calendar::{CalendarSnapshot, Event, Member, MemberRole};
use crate::time_zone::NamedTimeZone;

/// The requesting member, with the calendar and the time of the request.
pub(super) struct Requester {
    pub(super) snapshot: Arc<CalendarSnapshot>,
    pub(super) member: Arc<Member>,
    /// Time zone of the member.
    pub(super) zone: NamedTimeZone,
    pub(super) now: Time,
}

impl Requester {
    /// Looks up the member with an id.
    ///
    /// # Errors
    /// 403 if the family has no such member, 503 if the calendar store is unavailable.
    pub(super) async fn new(app: &SchedulerAppState, user: &str) -> Result<Self, Problem> {
        let snapshot = app.snapshot().await?;
        let unknown = || {
            let problem = Problem::new(403, ErrorCode::PolicyRefused, format!("unknown family member `{user}`"));
            problem.with_hint("see `GET /api/scheduler/settings` for the members")
        };
        let member = snapshot.members.get(user).cloned().ok_or_else(unknown)?;
        let zone = agents::time_zone_of(&snapshot, user)?;
        Ok(Self { snapshot, member, zone, now: app.now()? })
    }

    /// Rejects members who are not parents.
    ///
    /// # Errors
    /// 403 if the member is not a parent.
    pub(super) fn require_parent(&self) -> Result<(), Problem> {
        if self.member.role == MemberRole::Parent {
            return Ok(());
        }
        let detail = format!("{} does not have permission to change the family", self.member.name);
        Err(Problem::new(403, ErrorCode::PolicyRefused, detail).with_hint("only parents can do this"))
    }

    /// Returns true if the member may see the details of an event.
    pub(super) fn can_see_details(&self, event: &Event) -> bool {
        agents::can_see_details(&self.snapshot, &self.member.id, event)
    }

    /// Returns true if the member may change an event, which requires seeing its details.
    pub(super) fn can_modify(&self, event: &Event) -> bool {
        can_modify(&self.snapshot, &self.member.id, event)
    }

    /// Converts a time to the time zone of the member.
    pub(super) fn in_local_time(&self, time: Time) -> Time {
        // Times outside the supported range keep their offset.
        self.zone.with_local_offset(time).unwrap_or(time)
    }
}
