//! Topics that are not questions: statements, imperatives and things.

use super::Topic;
use super::nouns::{in_sentence, is_common, is_negative_topic, is_plural, lowered, starts_with_action};
use super::verbs::{has, is_common_verb, is_imperative, is_third_person, is_verb, may_be_third_person};
use super::word_classes::{
    is_adverb, is_auxiliary, is_degree, is_determiner, is_indefinite_pronoun, is_participle, is_past,
    is_personal_pronoun, is_preposition, is_relative, positive,
};
use super::yes_no_question::{proposal, to_gerund};

/// Parses a line that is not a question.
pub(super) fn parse(words: &[&str]) -> Option<Topic> {
    let small: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let small: Vec<&str> = small.iter().map(String::as_str).collect();
    if let Some(count) = opinion_length(&small) {
        let mut rest = words[count..].to_vec();
        let first = lowered(rest.first()?);
        rest[0] = &first;
        return super::parse(&rest).filter(|topic| topic.belief.is_some() || topic.is_change || topic.short.is_some());
    }
    if let Some(topic) = parse_demand(words, &small) {
        return Some(topic);
    }
    let first = *words.first()?;
    if let Some(topic) = parse_statement(words) {
        return Some(topic);
    }
    // A personal sentence, or a fragment of a sentence.
    if is_personal_pronoun(first) && words.len() > 1
        || words.len() == 1 && has(" i me us him hi hello hey ok okay yes no ", first)
        || is_preposition(first)
        || has(" if unless although because and but ", first)
    {
        return None;
    }
    if let Some(topic) = super::parse_choice(words, "or") {
        return topic;
    }
    let second = words.get(1).copied().unwrap_or_default();
    if words.len() > 1 && (is_imperative(first) || is_verb(first) && is_determiner(second)) {
        return Some(Topic::change(to_gerund(words)));
    }
    if is_negative_topic(words) {
        return Some(Topic::change(format!("fighting {}", in_sentence(words))));
    }
    let is_plural = !starts_with_action(words) && is_plural(words);
    Some(Topic::from_noun_phrase(in_sentence(words), is_plural))
}

/// Returns the number of leading words that only mark an opinion.
fn opinion_length(words: &[&str]) -> Option<usize> {
    let count = match words {
        ["i" | "we", "think" | "believe" | "feel" | "say" | "guess" | "hold", ..] => 2,
        ["this", "house", "believes" | "holds" | "thinks", ..] => 3,
        ["in", "my" | "your", "opinion" | "opinion,", ..] => 3,
        ["whether", ..] => 1,
        _ => return None,
    };
    let count = count + usize::from(words.get(count) == Some(&"that"));
    (count + 1 < words.len()).then_some(count)
}

/// Parses a demand: `We need a shorter week`, `Let us ban cars`, `Time to act`.
fn parse_demand(words: &[&str], small: &[&str]) -> Option<Topic> {
    let count = match small {
        ["i" | "we", "need" | "want" | "demand" | "deserve", ..] => 2,
        ["i" | "we", "would", "like" | "love", ..] => 3,
        ["i" | "we", "have" | "ought", "to", ..] => 2,
        ["it", "is", "time", "to" | "for", ..] => 3,
        ["time", "to", ..] => 1,
        ["let", "us", ..] => 2,
        ["this", "house", "would" | "should" | "will", ..] => 3,
        ["please" | "please,", ..] => 1,
        ["never", verb, ..] if is_verb(verb) => 0,
        _ => return None,
    };
    let demanded = &words[count..];
    match demanded {
        ["to", action @ ..] if !action.is_empty() => Some(Topic::change(to_gerund(action))),
        ["for", noun @ ..] | noun @ [_, ..] => {
            let is_action = matches!(small[0], "let" | "please" | "never") || small[1] == "house";
            if is_action {
                let action = if noun[0] == "all" { &noun[1..] } else { noun };
                return (!action.is_empty()).then(|| Topic::change(to_gerund(action)));
            }
            if noun.is_empty() || is_personal_pronoun(noun[0]) || noun.contains(&"to") {
                return None;
            }
            Some(Topic { is_change: true, ..Topic::from_noun_phrase(noun.join(" "), is_plural(noun)) })
        }
        [] => None,
    }
}

/// Parses a statement: `AI should be regulated`, `Cats are better than dogs`, `Money buys happiness`.
pub(super) fn parse_statement(words: &[&str]) -> Option<Topic> {
    if *words.first()? == "I" && !words.get(1).is_some_and(|word| matches!(*word, "should" | "must")) {
        return None;
    }
    let index = (1..words.len()).find(|index| is_finite_verb(words, *index))?;
    let (subject, rest) = words.split_at(index);
    // The subject of a past action is a name, unless the word is known.
    let is_name = subject.len() == 1 && is_participle(rest[0]) && !is_common(subject[0]);
    let first = if is_name { subject[0].to_owned() } else { lowered(subject[0]) };
    let subject = [&[first.as_str()], &subject[1..]].concat();
    Some(match rest {
        ["should" | "must", action @ ..] if !action.is_empty() => return proposal(&subject, action),
        ["is" | "are", "better", "than", other @ ..] if !other.is_empty() => Topic::choice(&subject, other),
        [verb, ..] => {
            let is_past_event = is_past(&positive(verb)) || is_participle(verb) || *verb == "fell";
            Topic::belief(format!("{} {}", subject.join(" "), rest.join(" "))).past(is_past_event)
        }
        [] => return None,
    })
}

/// Returns true if the finite verb of the sentence is at this index.
fn is_finite_verb(words: &[&str], index: usize) -> bool {
    let (before, word) = (&words[..index], words[index]);
    let last = words[index - 1];
    let next = words.get(index + 1).copied();
    let is_in_clause = is_relative(last) && index > 1
        || index > 2 && is_relative(words[index - 2]) && (is_personal_pronoun(last) || is_plural(&[last]));
    if is_in_clause || is_determiner(last) || is_preposition(last) {
        return false;
    }
    let has_relative = before.iter().any(|word| is_relative(word));
    let is_pronoun = index == 1 && (is_personal_pronoun(last) || is_indefinite_pronoun(last));
    let is_done = match next {
        _ if has_relative => false,
        None => is_common_verb(word, is_plural(before)),
        Some(_) if is_pronoun => is_verb(word) || may_be_third_person(word),
        Some(next) => {
            let is_over = is_participle(word) && !is_preposition(last) && starts_object(next);
            let is_form = may_be_third_person(word) && (is_determiner(next) || is_degree(next) || is_adverb(next));
            let is_need =
                is_determiner(words[0]) && index > 1 && has(" costs needs wants ", word) && !is_preposition(next);
            is_form
                || is_need && !is_plural(before)
                || is_third_person(word)
                || is_common_verb(word, is_plural(before))
                || is_over
        }
    };
    let auxiliary = positive(&word.to_lowercase());
    (is_auxiliary(&auxiliary) && word.starts_with(char::is_lowercase) && next.is_some()) || is_done
}

/// Returns true if a word starts the object of an action.
fn starts_object(word: &str) -> bool {
    is_determiner(word) || word.starts_with(char::is_uppercase) || has(" us them him her it ", word)
}
