//! Verification and summaries by the rule model.

use serde_json::json;

use super::RuleModel;
use crate::memory::SummaryOutput;
use crate::prompt::TaskPrompt;
use crate::verdict::{Judgement, VerdictReason};

/// Maximum length of a quoted message in a summary in characters.
const MAX_QUOTE_CHARS: usize = 200;

impl RuleModel {
    /// Returns a judgement as JSON: the outputs are sufficient if the rules can write an answer from them.
    pub(super) fn judge(&self, prompt: &TaskPrompt) -> String {
        let answers = self.answer_from_outputs(&self.classify(prompt), prompt).is_some();
        let reason = match (answers, prompt.outputs.iter().any(|output| output.is_success())) {
            (true, _) => None,
            (false, true) => Some(VerdictReason::Irrelevant),
            (false, false) => Some(VerdictReason::Error),
        };
        let missing = if answers { Vec::new() } else { vec!["the requested information".to_owned()] };
        json!(Judgement { answers, reason, missing, choices: Vec::new() }).to_string()
    }
}

/// Returns a summary as JSON: the previous summary and a line about this turn.
pub(super) fn summary_json(prompt: &TaskPrompt) -> String {
    let latest = |role: &str| {
        prompt.history.iter().rev().find(|message| message.role == role).map(|message| excerpt(&message.text))
    };
    let line = match (latest("user"), latest("assistant")) {
        (Some(question), Some(answer)) => format!("- {question} -> {answer}"),
        (Some(text), None) | (None, Some(text)) => format!("- {text}"),
        (None, None) => String::new(),
    };
    let parts = [prompt.summary.trim(), line.as_str()];
    let summary = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    json!(SummaryOutput { summary, facts: Vec::new() }).to_string()
}

fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MAX_QUOTE_CHARS {
        line.chars().take(MAX_QUOTE_CHARS).chain("...".chars()).collect()
    } else {
        line
    }
}
