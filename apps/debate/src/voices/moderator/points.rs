//! Which sentences of a side are its strongest.

use super::notes::Notes;
use crate::facts::sentences;
use crate::prompt::Role;
use crate::voices::history::{History, opponent};
use crate::voices::stock::{self, Case};
use crate::voices::topic::Topic;

/// The two strongest sentences of a side, in the order in which they were said.
pub(super) fn strongest<'a>(role: Role, history: &'a History, topic: &Topic, notes: &Notes) -> Vec<&'a str> {
    let said: Vec<&str> = history.of(role).flat_map(sentences).collect();
    let cases = stock::aspects(topic).iter().map(|aspect| aspect.case(role));
    let argued: Vec<Argued<'_>> = cases
        .filter(|case| history.of(role).any(|text| case.is_in(text)))
        .map(|case| Argued { case, was_answered: history.of(opponent(role)).any(|text| case.is_in(text)) })
        .collect();
    let weigh = |place: usize, sentence: &str| {
        // How a debate is opened is an announcement.
        let is_opening = place == 0 && role == Role::Optimist;
        weight(sentence, &argued) + notes.weight(sentence) - i32::from(is_opening)
    };
    let mut best: Vec<(i32, usize)> =
        said.iter().enumerate().map(|(place, text)| (-weigh(place, text), place)).collect();
    best.sort_unstable();
    best.truncate(2);
    best.sort_unstable_by_key(|(_, place)| *place);
    best.into_iter().map(|(_, place)| said[place]).collect()
}

/// An argument of the stock that a side used.
struct Argued<'a> {
    case: &'a Case,
    was_answered: bool,
}

/// Arguments weigh more than answers, and more still when they are backed by a source or were never answered.
fn weight(sentence: &str, argued: &[Argued<'_>]) -> i32 {
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
