//! Who sees and who may change an event, and where they are.

use superstep::Result;

use crate::calendar::series::Which;
use crate::calendar::{Board, Change, Event, Role, Visibility};
use crate::models::EventStatus;
use crate::zone::Zone;

/// What an event is called for somebody who may not see what it is.
pub(crate) const BUSY: &str = "busy";

/// Who looks: a member, or the whole family at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Viewer<'a> {
    Member(&'a str),
    Family,
}

impl Viewer<'_> {
    /// Whether they see what an event is, and not only that there is one.
    pub(super) fn sees(self, board: &Board, event: &Event) -> bool {
        let calendar = board.calendars.get(&event.calendar);
        if calendar.is_none_or(|calendar| calendar.visibility == Visibility::Family) {
            return true;
        }
        let Self::Member(member) = self else { return false };
        let is_owner = event.owner == member || calendar.is_some_and(|one| one.owner.as_deref() == Some(member));
        is_owner || event.participants.iter().any(|participant| participant.member == member)
    }

    /// Whether they are told what an event is: what somebody else only thinks of is nobody's business yet.
    pub(super) fn is_told(self, board: &Board, event: &Event) -> bool {
        let is_own = matches!(self, Self::Member(member) if event.owner == member);
        (event.status == EventStatus::Confirmed || is_own) && self.sees(board, event)
    }

    /// What an event is called for them.
    pub(super) fn title(self, board: &Board, event: &Event) -> String {
        if self.is_told(board, event) { event.title.clone() } else { BUSY.to_owned() }
    }

    /// The zone of their clocks; that of the family for all of it, and for who says nothing else or is gone.
    pub(super) fn zone(self, board: &Board) -> Result<Zone> {
        let member = match self {
            Self::Member(member) => board.members.get(member),
            Self::Family => None,
        };
        Zone::named(member.and_then(|member| member.zone.as_deref()).unwrap_or(&board.family.zone))
    }
}

/// Whether a member sees what an event is, and not only that there is one.
pub(crate) fn sees(board: &Board, member: &str, event: &Event) -> bool {
    Viewer::Member(member).sees(board, event)
}

/// What an event is called for a member.
pub(crate) fn title_for(board: &Board, member: &str, event: &Event) -> String {
    Viewer::Member(member).title(board, event)
}

/// The zone in which times are told to a member.
///
/// # Errors
/// When there is no zone of that name.
pub(crate) fn zone_of(board: &Board, member: &str) -> Result<Zone> {
    Viewer::Member(member).zone(board)
}

/// Whether a member may change an event: parents all that they see, others their own.
pub(crate) fn may_change(board: &Board, member: &str, event: &Event) -> bool {
    let known = board.members.get(member);
    known.is_some_and(|known| known.role == Role::Parent || event.owner == known.id) && sees(board, member, event)
}

/// Whether a member may change an event, or those of its series that are meant. Who may change the one that stands for an
/// instance may not for that change the others.
pub(crate) fn may_change_which(board: &Board, member: &str, event: &Event, which: Which) -> bool {
    let others = event.exception_of.as_ref().filter(|_| !matches!(which, Which::This(_)));
    let series = others.and_then(|of| board.events.get(&of.series));
    may_change(board, member, event) && series.is_none_or(|series| may_change(board, member, series))
}

/// The board with only what a member sees, to read their words on: what they do not see cannot be meant.
pub(crate) fn seen_by(board: &Board, member: &str) -> Board {
    let mut seen = board.clone();
    for event in board.events.values().filter(|event| !sees(board, member, event)) {
        seen.apply(Change::RemoveEvent(event.id.clone()));
        // What was moved where they do not see it is not back at its old time.
        let Some(of) = &event.exception_of else { continue };
        let Some(series) = seen.events.get(&of.series).filter(|series| series.status <= event.status) else { continue };
        let mut series = series.as_ref().clone();
        if let Some(recurrence) = &mut series.recurrence {
            recurrence.left_out.push(of.start);
            seen.apply(Change::Event(Box::new(series)));
        }
    }
    seen
}
