//! Clause splitting into subject and predicate.

use super::nouns::{is_plural, starts_with_action};
use super::verbs::{has, is_also_noun, is_gerund_of_verb, is_verb};
use super::word_classes::{
    is_adjective, is_adverb, is_article, is_degree, is_determiner, is_indefinite_pronoun, is_participle,
    is_personal_pronoun, is_preposition, is_relative,
};

/// A subject and its predicate.
pub(super) type SubjectAndPredicate<'a> = (&'a [&'a str], &'a [&'a str]);

/// Splits a clause before the verb of an action.
pub(super) fn split<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    let second = words.get(1).copied().unwrap_or_default();
    let index = if is_personal_pronoun(first) || first == "there" {
        1 + usize::from(has(" all both ", second))
    } else {
        match verb_index(words) {
            Some(index) => index,
            None if is_indefinite_pronoun(first) && !is_preposition(second) && !is_relative(second) => 1,
            None => return None,
        }
    };
    (index < words.len()).then(|| words.split_at(index))
}

/// Returns the index of the verb, or of the adverbs before it.
fn verb_index(words: &[&str]) -> Option<usize> {
    let may_be = |index: &usize| {
        let (word, before) = (words[*index], words[index - 1]);
        let is_noun =
            is_determiner(before) && !is_indefinite_pronoun(before) || is_preposition(before) || before.ends_with("'s");
        word == "be" || is_verb(word) && !is_noun && !is_relative(before)
    };
    let candidates: Vec<usize> = (1..words.len()).filter(may_be).collect();
    // `drug use be`: a word that may be a noun is one if a verb follows directly.
    let may_be_noun = |index: usize| is_also_noun(words[index]) && !is_plural(&words[..index]);
    let is_noun = |index: usize| candidates.contains(&(index + 1)) && (words[index + 1] == "be" || may_be_noun(index));
    let index = candidates.iter().copied().find(|index| !is_noun(*index))?;
    // `AI change work` is ambiguous.
    if index == 2 && is_noun(1) && words[2] != "be" && words[0].starts_with(char::is_uppercase) {
        return None;
    }
    let min_index = if is_determiner(words[0]) { 2 } else { 1 };
    let adverbs = words[min_index.min(index)..index].iter().rev().take_while(|word| is_adverb(word)).count();
    Some(index - adverbs)
}

/// Splits a clause before the complement of a form of `be`.
pub(super) fn split_copula<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    let is_pronoun = is_personal_pronoun(first) || first == "there";
    let index = if is_pronoun { Some(1) } else { predicate_index(words) }?;
    (index > 0 && index < words.len()).then(|| words.split_at(index))
}

/// Certainty that a word starts the predicate.
#[derive(PartialEq, Eq)]
enum Certainty {
    Sure,
    Perhaps,
    None,
}

fn predicate_index(words: &[&str]) -> Option<usize> {
    let min_index = if is_determiner(words[0]) { 2 } else { 1 };
    let find = |expected: Certainty| (min_index..words.len()).find(|index| certainty(words, *index) == expected);
    if let Some(index) = find(Certainty::Sure).or_else(|| find(Certainty::Perhaps)) {
        return Some(index);
    }
    let preposition = (min_index..words.len()).find(|index| is_preposition(words[*index]));
    match preposition {
        None => words.len().checked_sub(1),
        // Only the preposition distinguishes `the future in our hands` from `pineapple on pizza ...`.
        Some(index) => {
            let after = &words[index + 1..];
            let is_complement = after.len() == 1 || after.first().is_some_and(|word| is_determiner(word));
            (is_complement && words[index] != "of").then_some(index)
        }
    }
}

/// Returns the certainty that the predicate starts at this index.
fn certainty(words: &[&str], index: usize) -> Certainty {
    let (word, before) = (words[index], words[index - 1]);
    let next = words.get(index + 1).copied();
    let is_inside_phrase =
        is_preposition(before) || is_determiner(before) || has(" and or ", before) || is_degree(before);
    if is_inside_phrase {
        return Certainty::None;
    }
    if has(" not worth ", word) || is_adverb(word) {
        return Certainty::Sure;
    }
    if is_article(word) || is_degree(word) {
        // `banning a book wrong`, but `homeschooling a good idea`
        return if index == 1 && words[0].ends_with("ing") { Certainty::Perhaps } else { Certainty::Sure };
    }
    // An adjective before a noun belongs to the noun.
    let is_standalone = next.is_none_or(|next| {
        is_preposition(next)
            || is_adverb(next)
            || is_degree(next)
            || has(" and or but enough that when if because ", next)
    });
    if is_adjective(word) || is_participle(word) {
        return if is_standalone { Certainty::Sure } else { Certainty::Perhaps };
    }
    if word.ends_with("ing") && word.len() > 5 {
        return if is_progressive(word, next, starts_with_action(words)) { Certainty::Sure } else { Certainty::None };
    }
    let is_last_word = next.is_none() && (is_preposition(word) || has(" up down out off ", word));
    if is_last_word || next == Some("than") { Certainty::Sure } else { Certainty::None }
}

/// Returns true for a progressive verb: in `taking our jobs`, but not in `landing faked`, where `landing` is a
/// noun.
fn is_progressive(word: &str, next: Option<&str>, is_in_action: bool) -> bool {
    let Some(next) = next else { return !is_in_action };
    if has(" becoming getting being going growing staying ", word) {
        return true;
    }
    let is_complement_next = is_participle(next) || is_adjective(next);
    let is_object = is_determiner(next) || is_personal_pronoun(next) || has(" us them him me ", next);
    is_object || !is_complement_next && (is_gerund_of_verb(word) || is_preposition(next) || is_adverb(next))
}

/// Splits a clause before the participle of a perfect tense.
pub(super) fn split_perfect<'a>(words: &'a [&'a str]) -> Option<SubjectAndPredicate<'a>> {
    let first = *words.first()?;
    if is_personal_pronoun(first) {
        return (words.len() > 1).then(|| words.split_at(1));
    }
    let is_perfect = |index: &usize| {
        let word = words[*index];
        matches!(word, "gone" | "become" | "been" | "come" | "had") || is_participle(word)
    };
    let candidates: Vec<usize> = (1..words.len()).filter(is_perfect).collect();
    // `the printed book died`
    let participle = candidates.iter().find(|index| !is_determiner(words[**index - 1]));
    let index = *participle?;
    let adverbs = words[1..index].iter().rev().take_while(|word| is_adverb(word)).count();
    Some(words.split_at(index - adverbs))
}
