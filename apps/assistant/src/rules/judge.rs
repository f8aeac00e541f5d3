//! Whether outputs answer a question, and what a conversation comes down to, for whoever asks the rules.

use serde_json::json;

use super::Book;
use crate::memory::Summed;
use crate::prompt::Ask;
use crate::verdict::{Judgement, Reason};

/// The longest words of a turn in a summary, in characters.
const LONGEST: usize = 200;

impl Book {
    /// A judgement as JSON: the outputs answer the question where the rules can make an answer of them.
    pub(super) fn judge(&self, ask: &Ask) -> String {
        let answers = self.found(&self.understand(ask), ask).is_some();
        let reason = match (answers, ask.outputs.iter().any(|output| output.is_good())) {
            (true, _) => None,
            (false, true) => Some(Reason::Irrelevant),
            (false, false) => Some(Reason::Error),
        };
        let missing = if answers { Vec::new() } else { vec!["what was asked for".to_owned()] };
        json!(Judgement { answers, reason, missing, choices: Vec::new() }).to_string()
    }
}

/// A summary as JSON: what was summed up before, and a line for this turn.
pub(super) fn summed(ask: &Ask) -> String {
    let said = |role: &str| ask.history.iter().rev().find(|said| said.role == role).map(|said| short(&said.text));
    let line = match (said("user"), said("assistant")) {
        (Some(question), Some(answer)) => format!("- {question} -> {answer}"),
        (Some(text), None) | (None, Some(text)) => format!("- {text}"),
        (None, None) => String::new(),
    };
    let parts = [ask.summary.trim(), line.as_str()];
    let summary = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    json!(Summed { summary, facts: Vec::new() }).to_string()
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > LONGEST { line.chars().take(LONGEST).chain("...".chars()).collect() } else { line }
}
