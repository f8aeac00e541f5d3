//! Selection of the strongest sentences of a side.

use super::prompt_notes::PromptNotes;
use crate::fact_check::sentences;
use crate::prompt::DebateAgent;
use crate::rule_model::arguments::{self, Argument};
use crate::rule_model::history::{History, opponent};
use crate::rule_model::topic::Topic;

/// Returns the two strongest sentences of a side, in their original order.
pub(super) fn strongest<'a>(
    role: DebateAgent,
    history: &'a History,
    topic: &Topic,
    notes: &PromptNotes,
) -> Vec<&'a str> {
    let own_sentences: Vec<&str> = history.turns_of(role).flat_map(sentences).collect();
    let cases = arguments::aspects(topic).iter().map(|aspect| aspect.case(role));
    let argued: Vec<UsedArgument<'_>> = cases
        .filter(|case| history.turns_of(role).any(|text| case.is_in(text)))
        .map(|case| UsedArgument { case, was_answered: history.turns_of(opponent(role)).any(|text| case.is_in(text)) })
        .collect();
    let weigh = |index: usize, sentence: &str| {
        // The opening sentence is only an announcement.
        let is_opening = index == 0 && role == DebateAgent::Optimist;
        weight(sentence, &argued) + notes.weight(sentence) - i32::from(is_opening)
    };
    let mut best: Vec<(i32, usize)> =
        own_sentences.iter().enumerate().map(|(index, text)| (-weigh(index, text), index)).collect();
    best.sort_unstable();
    best.truncate(2);
    best.sort_unstable_by_key(|(_, index)| *index);
    best.into_iter().map(|(_, index)| own_sentences[index]).collect()
}

/// An argument template that a side used.
struct UsedArgument<'a> {
    case: &'a Argument,
    was_answered: bool,
}

/// Weighs a sentence: arguments count more than rebuttals, and more if they have a source or were never rebutted.
fn weight(sentence: &str, argued: &[UsedArgument<'_>]) -> i32 {
    let argument = argued.iter().find(|argued| argued.case.is_in(sentence));
    let has_source = sentence.contains("” (") && sentence.contains('#');
    let is_answer = sentence.contains('“') && !has_source;
    let is_handy = (8..=40).contains(&sentence.split_whitespace().count());
    let is_question = sentence.ends_with('?');
    4 * i32::from(argument.is_some())
        + 3 * i32::from(has_source)
        + i32::from(is_handy)
        + 2 * i32::from(argument.is_some_and(|argued| !argued.was_answered))
        - 3 * i32::from(is_answer)
        - i32::from(is_question)
}
