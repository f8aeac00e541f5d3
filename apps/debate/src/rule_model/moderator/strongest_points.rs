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
    let side_arguments = arguments::aspects(topic).iter().map(|aspect| aspect.argument(role));
    let used: Vec<UsedArgument<'_>> = side_arguments
        .filter(|argument| history.turns_of(role).any(|text| argument.is_in(text)))
        .map(|argument| UsedArgument {
            argument,
            was_answered: history.turns_of(opponent(role)).any(|text| argument.is_in(text)),
        })
        .collect();
    let weigh = |index: usize, sentence: &str| {
        // The opening sentence is only an announcement.
        let is_opening = index == 0 && role == DebateAgent::Optimist;
        weight(sentence, &used) + notes.weight(sentence) - i32::from(is_opening)
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
    argument: &'a Argument,
    was_answered: bool,
}

/// Weighs a sentence: arguments count more than rebuttals, and more if they have a source or were never rebutted.
fn weight(sentence: &str, used: &[UsedArgument<'_>]) -> i32 {
    let argument = used.iter().find(|used| used.argument.is_in(sentence));
    let has_source = sentence.contains("” (") && sentence.contains('#');
    let is_rebuttal = sentence.contains('“') && !has_source;
    let has_good_length = (8..=40).contains(&sentence.split_whitespace().count());
    let is_question = sentence.ends_with('?');
    4 * i32::from(argument.is_some())
        + 3 * i32::from(has_source)
        + i32::from(has_good_length)
        + 2 * i32::from(argument.is_some_and(|used| !used.was_answered))
        - 3 * i32::from(is_rebuttal)
        - i32::from(is_question)
}
