//! Topics that are no questions: statements, orders and things.

use super::Topic;
use super::grammar::{
    begins_with_action, gerund, inside, is_done_by_many, is_evil, is_order, is_plural, is_third_person, lowered,
};
use super::question::{is_helper, proposal};

/// Reads a line that is no question.
pub(super) fn read(words: &[&str]) -> Option<Topic> {
    let first = *words.first()?;
    if first.eq_ignore_ascii_case("to") {
        return None;
    }
    if let Some(topic) = stated(words) {
        return Some(topic);
    }
    if words.len() > 1 && is_order(first) {
        return Some(Topic::change([&[gerund(first).as_str()], &words[1..]].concat().join(" ")));
    }
    if is_evil(words) {
        return Some(Topic::change(format!("fighting {}", inside(words))));
    }
    let is_plural = !begins_with_action(words) && is_plural(words);
    Some(Topic::thing(inside(words), is_plural))
}

/// `AI should be regulated`, `Cats are better than dogs`, `Money buys happiness`.
fn stated(words: &[&str]) -> Option<Topic> {
    let is_relative = |word: &&str| matches!(word.to_lowercase().as_str(), "who" | "that" | "which" | "whose");
    let bare = |word: &str| word.to_lowercase().replace('’', "'").trim_end_matches("n't").to_owned();
    // `ca` is what is left of `can't`, `wo` of `won't`.
    let is_finite = |word: &str| matches!(bare(word).as_str(), "ca" | "wo") || is_helper(&bare(word));
    let place = (1..words.len().saturating_sub(1)).find(|place| {
        let (before, word) = (&words[..*place], words[*place]);
        let is_done = is_third_person(word) || is_done_by_many(word) && is_plural(before);
        !before.iter().any(is_relative) && (is_finite(word) || is_done)
    })?;
    let (subject, rest) = words.split_at(place);
    let mut subject: Vec<String> = subject.iter().map(|word| (*word).to_owned()).collect();
    subject[0] = lowered(&subject[0]);
    let subject: Vec<&str> = subject.iter().map(String::as_str).collect();
    match rest {
        ["should" | "must", action @ ..] if !action.is_empty() => proposal(&subject, action),
        ["is" | "are", "better", "than", other @ ..] if !other.is_empty() => Some(Topic::choice(&subject, other)),
        _ => Some(Topic::view(format!("{} {}", subject.join(" "), rest.join(" ")))),
    }
}
