//! Classification of questions, used for planning and for answering.

use jiff::civil::Date;

use super::RuleModel;
use super::calculation::calculation;
use super::chat_intent::{ChatIntent, chat_intent};
use super::parsed_question::ParsedQuestion;
use super::sql_query::SqlQuery;
use super::tokens::tokenize;
use crate::prompt::TaskPrompt;

/// Kind of a question.
pub(super) enum QuestionKind {
    Chat(ChatIntent),
    Calculation(String),
    Data(Box<SqlQuery>),
    /// Question about the future.
    Future,
    /// Question that only documents may answer.
    Text,
}

/// A classified question.
pub(super) struct ClassifiedQuestion {
    /// Question with clarifications applied, and completed from the previous question if it is a follow-up.
    pub(super) question: String,
    pub(super) parsed: ParsedQuestion,
    pub(super) kind: QuestionKind,
}

/// Maximum number of questions in a chain of follow-ups.
const MAX_FOLLOW_UPS: usize = 5;

impl RuleModel {
    /// Parses and classifies a question.
    pub(super) fn classify(&self, prompt: &TaskPrompt) -> ClassifiedQuestion {
        let today = prompt.today.parse().unwrap_or(Date::ZERO);
        let question = self.rewrite_with_clarifications(prompt, today);
        let parsed = ParsedQuestion::new(&self.lexicon, &question, today);
        let kind = self.kind(&question, &parsed);
        ClassifiedQuestion { question, parsed, kind }
    }

    fn kind(&self, question: &str, parsed: &ParsedQuestion) -> QuestionKind {
        if let Some(intent) = chat_intent(question) {
            return QuestionKind::Chat(intent);
        }
        if let Some(text) = calculation(question) {
            return QuestionKind::Calculation(text);
        }
        let defines = is_definition(question);
        if parsed.cues.is_future && !defines && (parsed.cues.counts.is_some() || !parsed.items.is_empty()) {
            return QuestionKind::Future;
        }
        match self.query(parsed).filter(|_| !defines) {
            Some(query) => QuestionKind::Data(Box::new(query)),
            None => QuestionKind::Text,
        }
    }

    /// Applies clarifications to the question, and completes a follow-up from the previous question.
    fn rewrite_with_clarifications(&self, prompt: &TaskPrompt, today: Date) -> String {
        let mut question = prompt.question.clone();
        for clarified in &prompt.clarified {
            question = match find_ignoring_case(&question, &clarified.about) {
                Some(index) if !clarified.about.is_empty() => {
                    let (start, end) = (index, index + clarified.about.len());
                    format!("{}{}{}", &question[..start], clarified.answer, &question[end..])
                }
                _ => clarified.answer.clone(),
            };
        }
        let user_messages: Vec<&str> = prompt
            .history
            .iter()
            .filter(|message| message.role == "user")
            .map(|message| message.text.as_str())
            .collect();
        let earlier = &user_messages[user_messages.len().saturating_sub(MAX_FOLLOW_UPS)..];
        self.rewrite_follow_up(&question, earlier, today).unwrap_or(question)
    }

    /// Rewrites a follow-up such as `And in September?`: the previous question with other periods or values.
    fn rewrite_follow_up(&self, question: &str, earlier: &[&str], today: Date) -> Option<String> {
        let all = tokenize(question);
        let skipped = match all.as_slice() {
            [first, ..] if first.is_in(&["and"]) => 1,
            [first, second, ..] if first.is_in(&["what", "how"]) && second.is_in(&["about"]) => 2,
            _ => return None,
        };
        let (last, before) = earlier.split_last()?;
        let before = self.rewrite_follow_up(last, before, today).unwrap_or_else(|| (*last).to_owned());
        let added: Vec<&str> = all[skipped..].iter().map(|word| word.text.as_str()).collect();
        let (old, new) = (
            ParsedQuestion::new(&self.lexicon, &before, today),
            ParsedQuestion::new(&self.lexicon, &added.join(" "), today),
        );
        if !new.unknown.is_empty() || all.len() > 8 || (new.items.is_empty() && new.periods.is_empty()) {
            return None;
        }
        let mut dropped = vec![false; old.words.len()];
        let mut drop = |start: usize, end: usize| dropped[start..end].iter_mut().for_each(|dropped| *dropped = true);
        if !new.periods.is_empty() {
            old.periods.iter().for_each(|period| drop(period.start, period.end));
        }
        for item in &old.items {
            let is_alternative = |other: &super::lexicon::LexiconMatch| {
                item.meanings.iter().any(|one| other.meanings.iter().any(|two| one.is_alike(two)))
            };
            if new.items.iter().any(is_alternative) {
                drop(item.start, item.end);
            }
        }
        let remaining =
            old.words.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(word, _)| word.text.as_str());
        Some(remaining.chain(added).collect::<Vec<_>>().join(" "))
    }
}

fn find_ignoring_case(text: &str, part: &str) -> Option<usize> {
    match text.is_ascii() {
        true => text.to_ascii_lowercase().find(&part.to_ascii_lowercase()),
        false => text.find(part),
    }
}

/// Returns true if the question asks for a definition.
fn is_definition(question: &str) -> bool {
    let lower = question.to_lowercase();
    let trimmed = lower.trim_end_matches(['?', '.', '!', ' ']);
    let ends = [" mean", " means", " defined", " stand for"].iter().any(|end| trimmed.ends_with(end));
    let starts = ["what is a ", "what is an ", "what's a ", "what's an "].iter().any(|begin| lower.starts_with(begin));
    ends || starts
        || ["definition of", "define ", "what is meant by", "do we call", "what do we mean", "explain "]
            .iter()
            .any(|part| lower.contains(part))
}
