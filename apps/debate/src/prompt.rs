//! What a node asks a voice: one message that a language model reads as text and that rules read back.

use superstep::Message;
use superstep::core::model::Request;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// For the topic.
    Optimist,
    /// Against it.
    Skeptic,
    /// Sums up.
    Moderator,
}

impl Role {
    /// All of them, in the order in which they speak.
    pub const ALL: [Self; 3] = [Self::Optimist, Self::Skeptic, Self::Moderator];

    /// The name of its node and of its messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimist => "optimist",
            Self::Skeptic => "skeptic",
            Self::Moderator => "moderator",
        }
    }

    const fn task(self) -> &'static str {
        match self {
            Self::Optimist => {
                "Argue for the positive side of the topic, in two or three sentences. Take up what was said last."
            }
            Self::Skeptic => "Challenge the last argument, in two or three sentences.",
            Self::Moderator => {
                "Sum up both sides: the strongest points of each, and where they clashed. Declare no winner."
            }
        }
    }
}

/// What a voice is asked to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// Who speaks.
    pub role: Role,
    /// The round, from 1.
    pub round: u32,
    /// How many there are.
    pub rounds: u32,
    /// What the debate is about; one line.
    pub topic: String,
    /// What else the voice has to know, a line each: verdicts of claims, that a person ended the debate.
    pub notes: Vec<String>,
}

impl Cue {
    /// As the last message of a request.
    #[must_use]
    pub fn message(&self) -> Message {
        let Self { role, round, rounds, topic, notes } = self;
        let notes: String = notes.iter().map(|note| format!("\nNote: {}", one_line(note))).collect();
        let (name, task, topic) = (role.name(), role.task(), one_line(topic));
        Message::user(format!(
            "You are the {name} of a debate, round {round} of {rounds}.\nTopic: {topic}\n{task}{notes}"
        ))
    }

    /// The cue that is the last message of a request.
    #[must_use]
    pub fn read(request: &Request) -> Option<Self> {
        let text = request.messages.last()?.text();
        let mut lines = text.lines();
        let first = lines.next()?.strip_prefix("You are the ")?.strip_suffix('.')?;
        let (name, place) = first.split_once(" of a debate, round ")?;
        let (round, rounds) = place.split_once(" of ")?;
        let role = Role::ALL.into_iter().find(|role| role.name() == name)?;
        let topic = lines.next()?.strip_prefix("Topic: ")?.to_owned();
        let notes = lines.filter_map(|line| line.strip_prefix("Note: ")).map(str::to_owned).collect();
        Some(Self { role, round: round.parse().ok()?, rounds: rounds.parse().ok()?, topic, notes })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-21, R-DEB-22, R-DEB-23: what a node asks is what rules read, whatever the topic.
    #[test]
    fn a_cue_is_read_back() {
        for (role, topic) in [(Role::Optimist, "Should AI be regulated?"), (Role::Moderator, "Note: \"of 3\".")] {
            let notes =
                vec!["the claim \"x\" is false (file.md#a)".to_owned(), "ended by the user after round 1".to_owned()];
            let cue = Cue { role, round: 2, rounds: 3, topic: topic.to_owned(), notes };
            let request = Request::new([Message::user("before"), cue.message()]);
            assert_eq!(Cue::read(&request), Some(cue));
        }
        assert_eq!(Cue::read(&Request::new([Message::user("hello")])), None);
    }
}
