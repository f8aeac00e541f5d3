//! Who sees and who may change an event.

use crate::calendar::{Board, Event, Role, Visibility};

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

    /// What an event is called for them.
    pub(super) fn title(self, board: &Board, event: &Event) -> String {
        if self.sees(board, event) { event.title.clone() } else { BUSY.to_owned() }
    }
}

/// Whether a member sees what an event is, and not only that there is one.
pub(crate) fn sees(board: &Board, member: &str, event: &Event) -> bool {
    Viewer::Member(member).sees(board, event)
}

/// Whether a member may change an event: parents all, others their own.
pub(crate) fn may_change(board: &Board, member: &str, event: &Event) -> bool {
    let known = board.members.get(member);
    known.is_some_and(|known| known.role == Role::Parent || event.owner == known.id)
}
