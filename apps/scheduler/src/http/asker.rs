//! Who asks, and the calendar as it is for them.

use std::sync::Arc;

use superstep::core::time::Time;
use superstep::{Code, Result};
use superstep_server::Problem;

use crate::agents;
pub(super) use crate::agents::may_change;
use crate::app::Office;
use crate::calendar::{Board, Event, Member, Role};
use crate::zone::Zone;

/// A member of the family who asks something now.
pub(super) struct Asker {
    pub(super) board: Arc<Board>,
    pub(super) member: Arc<Member>,
    /// Where they are.
    pub(super) zone: Zone,
    pub(super) now: Time,
}

impl Asker {
    /// The member of this id.
    ///
    /// # Errors
    /// 403 for somebody whom the family does not know, 503 when the calendar cannot be reached.
    pub(super) async fn new(office: &Office, user: &str) -> Result<Self, Problem> {
        let board = office.board().await?;
        let unknown = || {
            let problem = Problem::new(403, Code::PolicyRefused, format!("nobody of the family is called `{user}`"));
            problem.hint("`GET /api/scheduler/settings` lists who is")
        };
        let member = board.members.get(user).cloned().ok_or_else(unknown)?;
        let zone = agents::zone_of(&board, user)?;
        Ok(Self { board, member, zone, now: office.now()? })
    }

    /// Lets parents pass.
    ///
    /// # Errors
    /// 403 for others.
    pub(super) fn must_be_parent(&self) -> Result<(), Problem> {
        if self.member.role == Role::Parent {
            return Ok(());
        }
        let fact = format!("{} may not change the family", self.member.name);
        Err(Problem::new(403, Code::PolicyRefused, fact).hint("a parent may"))
    }

    /// Whether they see what an event is.
    pub(super) fn sees(&self, event: &Event) -> bool {
        agents::sees(&self.board, &self.member.id, event)
    }

    /// Whether they may change an event: they must see what it is.
    pub(super) fn may_change(&self, event: &Event) -> bool {
        may_change(&self.board, &self.member.id, event)
    }

    /// A time as their clocks show it.
    pub(super) fn written(&self, time: Time) -> Time {
        // Beyond the years that can be written there is nothing to plan.
        self.zone.written(time).unwrap_or(time)
    }
}
