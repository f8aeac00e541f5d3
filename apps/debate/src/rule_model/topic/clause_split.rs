//! Clause splitting into subject and predicate.

use super::nouns::{begins_with_action, is_plural};
use super::verbs::{has, is_also_noun, is_gerund_of_verb, is_verb};
use super::word_classes::{
    is_adverb, is_article, is_degree, is_determiner, is_indefinite, is_participle, is_personal, is_preposition,
    is_quality, is_relative,
};

/// A subject and its predicate.
pub(super) type SubjectAndPredicate<'a> = (&'a [&'a str], &'a [&'a str]);

/// Splits a clause before the verb of an action.
pub(super) fn split<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    let second = words.get(1).copied().unwrap_or_default();
    let place = if is_personal(first) || first == "there" {
        1 + usize::from(has(" all both ", second))
    } else {
        match action(words) {
            Some(place) => place,
            None if is_indefinite(first) && !is_preposition(second) && !is_relative(second) => 1,
            None => return None,
        }
    };
    (place < words.len()).then(|| words.split_at(place))
}

/// Returns the index of the verb, or of the adverbs before it.
fn action(words: &[&str]) -> Option<usize> {
    let may_be = |place: &usize| {
        let (word, before) = (words[*place], words[place - 1]);
        let is_noun =
            is_determiner(before) && !is_indefinite(before) || is_preposition(before) || before.ends_with("'s");
        word == "be" || is_verb(word) && !is_noun && !is_relative(before)
    };
    let places: Vec<usize> = (1..words.len()).filter(may_be).collect();
    // `drug use be`: a word that may be a noun is one if a verb follows directly.
    let may_be_noun = |place: usize| is_also_noun(words[place]) && !is_plural(&words[..place]);
    let is_noun = |place: usize| places.contains(&(place + 1)) && (words[place + 1] == "be" || may_be_noun(place));
    let place = places.iter().copied().find(|place| !is_noun(*place))?;
    // `AI change work` is ambiguous.
    if place == 2 && is_noun(1) && words[2] != "be" && words[0].starts_with(char::is_uppercase) {
        return None;
    }
    let least = if is_determiner(words[0]) { 2 } else { 1 };
    let early = words[least.min(place)..place].iter().rev().take_while(|word| is_adverb(word)).count();
    Some(place - early)
}

/// Splits a clause before the complement of a form of `be`.
pub(super) fn split_being<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    let is_short = is_personal(first) || first == "there";
    let place = if is_short { Some(1) } else { predicate(words) }?;
    (place > 0 && place < words.len()).then(|| words.split_at(place))
}

/// Certainty that a word starts the predicate.
#[derive(PartialEq, Eq)]
enum Certainty {
    Sure,
    Perhaps,
    None,
}

fn predicate(words: &[&str]) -> Option<usize> {
    let least = if is_determiner(words[0]) { 2 } else { 1 };
    let is = |sign: Certainty| (least..words.len()).find(|place| begins(words, *place) == sign);
    if let Some(place) = is(Certainty::Sure).or_else(|| is(Certainty::Perhaps)) {
        return Some(place);
    }
    let preposition = (least..words.len()).find(|place| is_preposition(words[*place]));
    match preposition {
        None => words.len().checked_sub(1),
        // Only the preposition distinguishes `the future in our hands` from `pineapple on pizza ...`.
        Some(place) => {
            let after = &words[place + 1..];
            let is_whole = after.len() == 1 || after.first().is_some_and(|word| is_determiner(word));
            (is_whole && words[place] != "of").then_some(place)
        }
    }
}

/// Returns the certainty that the predicate starts at this index.
fn begins(words: &[&str], place: usize) -> Certainty {
    let (word, before) = (words[place], words[place - 1]);
    let next = words.get(place + 1).copied();
    let is_inside = is_preposition(before) || is_determiner(before) || has(" and or ", before) || is_degree(before);
    if is_inside {
        return Certainty::None;
    }
    if has(" not worth ", word) || is_adverb(word) {
        return Certainty::Sure;
    }
    if is_article(word) || is_degree(word) {
        // `banning a book wrong`, but `homeschooling a good idea`
        return if place == 1 && words[0].ends_with("ing") { Certainty::Perhaps } else { Certainty::Sure };
    }
    // An adjective before a noun belongs to the noun.
    let is_free = next.is_none_or(|next| {
        is_preposition(next)
            || is_adverb(next)
            || is_degree(next)
            || has(" and or but enough that when if because ", next)
    });
    if is_quality(word) || is_participle(word) {
        return if is_free { Certainty::Sure } else { Certainty::Perhaps };
    }
    if word.ends_with("ing") && word.len() > 5 {
        return if is_going_on(word, next, begins_with_action(words)) { Certainty::Sure } else { Certainty::None };
    }
    let is_last_word = next.is_none() && (is_preposition(word) || has(" up down out off ", word));
    if is_last_word || next == Some("than") { Certainty::Sure } else { Certainty::None }
}

/// Returns true for a progressive verb: in `taking our jobs`, but not in `landing faked`, where `landing` is a
/// noun.
fn is_going_on(word: &str, next: Option<&str>, is_in_action: bool) -> bool {
    let Some(next) = next else { return !is_in_action };
    if has(" becoming getting being going growing staying ", word) {
        return true;
    }
    let is_said_next = is_participle(next) || is_quality(next);
    let is_object = is_determiner(next) || is_personal(next) || has(" us them him me ", next);
    is_object || !is_said_next && (is_gerund_of_verb(word) || is_preposition(next) || is_adverb(next))
}

/// Splits a clause before the participle of a perfect tense.
pub(super) fn split_perfect<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    if is_personal(first) {
        return (words.len() > 1).then(|| words.split_at(1));
    }
    let is_perfect = |place: &usize| {
        let word = words[*place];
        matches!(word, "gone" | "become" | "been" | "come" | "had") || is_participle(word)
    };
    let places: Vec<usize> = (1..words.len()).filter(is_perfect).collect();
    // `the printed book died`
    let of_its_own = places.iter().find(|place| !is_determiner(words[**place - 1]));
    let place = *of_its_own?;
    let early = words[1..place].iter().rev().take_while(|word| is_adverb(word)).count();
    Some(words.split_at(place - early))
}
