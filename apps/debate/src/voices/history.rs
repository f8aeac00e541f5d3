//! What was said so far, by whom: all that a voice remembers.

use superstep::core::message;
use superstep::model::Request;

use crate::prompt::Role;

/// What was said so far.
pub(super) struct History {
    turns: Vec<(Option<Role>, String)>,
}

impl History {
    /// Reads a request without its cue.
    pub(super) fn read(request: &Request) -> Self {
        let before = request.messages.len().saturating_sub(1);
        let spoken = request.messages[..before].iter().filter(|message| message.role == message::Role::Assistant);
        let turns = spoken.map(|message| {
            let role = Role::ALL.into_iter().find(|role| message.name.as_deref() == Some(role.name()));
            (role, message.text().into_owned())
        });
        Self { turns: turns.collect() }
    }

    /// What this one said, turn by turn.
    pub(super) fn of(&self, role: Role) -> impl DoubleEndedIterator<Item = &str> {
        self.turns.iter().filter(move |(who, _)| *who == Some(role)).map(|(_, text)| text.as_str())
    }

    /// What is to be answered: the last turn that is not one's own.
    pub(super) fn last_but(&self, role: Role) -> Option<&str> {
        self.turns.iter().rev().find(|(who, _)| *who != Some(role)).map(|(_, text)| text.as_str())
    }

    /// Whether these words were said by anybody.
    pub(super) fn has_said(&self, words: &str) -> bool {
        self.turns.iter().any(|(_, text)| text.contains(words))
    }
}

/// The one who speaks against this one.
pub(super) fn opponent(role: Role) -> Role {
    if role == Role::Optimist { Role::Skeptic } else { Role::Optimist }
}
