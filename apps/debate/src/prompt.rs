//! Turn prompts: one message that a language model reads as text and that the rule model parses.

use superstep::Message;
use superstep::core::model::ChatRequest;

/// Agent of a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebateAgent {
    /// Argues for the topic.
    Optimist,
    /// Argues against the topic.
    Skeptic,
    /// Writes the summary.
    Moderator,
}

impl DebateAgent {
    /// All agents, in the order of their turns.
    pub const ALL: [Self; 3] = [Self::Optimist, Self::Skeptic, Self::Moderator];

    /// Returns the name of the node and of its messages.
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

/// Prompt for one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPrompt {
    /// Agent whose turn it is.
    pub role: DebateAgent,
    /// Number of the round, from 1.
    pub round: u32,
    /// Total number of rounds.
    pub max_rounds: u32,
    /// Topic of the debate, in one line.
    pub topic: String,
    /// Notes for the agent, one line each: verdicts of claims, an early end by the user.
    pub notes: Vec<String>,
}

impl TurnPrompt {
    /// Converts the prompt to the last message of a request.
    #[must_use]
    pub fn message(&self) -> Message {
        let Self { role, round, max_rounds: rounds, topic, notes } = self;
        let notes: String = notes.iter().map(|note| format!("\nNote: {}", one_line(note))).collect();
        let (name, task, topic) = (role.name(), role.task(), one_line(topic));
        Message::user(format!(
            "You are the {name} of a debate, round {round} of {rounds}.\nTopic: {topic}\n{task}{notes}"
        ))
    }

    /// Parses the prompt from the last message of a request.
    #[must_use]
    pub fn from_request(request: &ChatRequest) -> Option<Self> {
        let text = request.messages.last()?.text();
        let mut lines = text.lines();
        let first = lines.next()?.strip_prefix("You are the ")?.strip_suffix('.')?;
        let (name, progress) = first.split_once(" of a debate, round ")?;
        let (round, rounds) = progress.split_once(" of ")?;
        let role = DebateAgent::ALL.into_iter().find(|role| role.name() == name)?;
        let topic = lines.next()?.strip_prefix("Topic: ")?.to_owned();
        let notes = lines.filter_map(|line| line.strip_prefix("Note: ")).map(str::to_owned).collect();
        Some(Self { role, round: round.parse().ok()?, max_rounds: rounds.parse().ok()?, topic, notes })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule model parses the prompt of a node, whatever the topic is.
    #[test]
    fn a_turn_prompt_is_read_back() {
        for (role, topic) in
            [(DebateAgent::Optimist, "Should AI be regulated?"), (DebateAgent::Moderator, "Note: \"of 3\".")]
        {
            let notes =
                vec!["the claim \"x\" is false (file.md#a)".to_owned(), "ended by the user after round 1".to_owned()];
            let prompt = TurnPrompt { role, round: 2, max_rounds: 3, topic: topic.to_owned(), notes };
            let request = ChatRequest::new([Message::user("before"), prompt.message()]);
            assert_eq!(TurnPrompt::from_request(&request), Some(prompt));
        }
        assert_eq!(TurnPrompt::from_request(&ChatRequest::new([Message::user("hello")])), None);
    }
}
