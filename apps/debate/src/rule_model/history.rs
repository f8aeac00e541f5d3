//! Earlier messages by agent: the only memory of the rule model.

use superstep::core::message;
use superstep::models::ChatRequest;

use crate::prompt::DebateAgent;

/// Earlier messages of a debate.
pub(super) struct History {
    turns: Vec<(Option<DebateAgent>, String)>,
}

impl History {
    /// Reads the messages of a request, without its turn prompt.
    pub(super) fn from_request(request: &ChatRequest) -> Self {
        let before = request.messages.len().saturating_sub(1);
        let agent_messages =
            request.messages[..before].iter().filter(|message| message.role == message::Role::Assistant);
        let turns = agent_messages.map(|message| {
            let role = DebateAgent::ALL.into_iter().find(|role| message.name.as_deref() == Some(role.name()));
            (role, message.text().into_owned())
        });
        Self { turns: turns.collect() }
    }

    /// Returns the messages of an agent, in order.
    pub(super) fn turns_of(&self, role: DebateAgent) -> impl DoubleEndedIterator<Item = &str> {
        self.turns.iter().filter(move |(speaker, _)| *speaker == Some(role)).map(|(_, text)| text.as_str())
    }

    /// Returns the last message of another agent, to which the turn responds.
    pub(super) fn last_turn_of_others(&self, role: DebateAgent) -> Option<&str> {
        self.turns.iter().rev().find(|(speaker, _)| *speaker != Some(role)).map(|(_, text)| text.as_str())
    }

    /// Returns true if any agent has used these words.
    pub(super) fn contains_text(&self, words: &str) -> bool {
        self.turns.iter().any(|(_, text)| text.contains(words))
    }
}

/// Returns the opponent of an agent.
pub(super) fn opponent(role: DebateAgent) -> DebateAgent {
    if role == DebateAgent::Optimist { DebateAgent::Skeptic } else { DebateAgent::Optimist }
}
