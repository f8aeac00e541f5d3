//! Questions with `how`, `why`, `who` and similar words: converted to finding, knowing or settling something.

use super::Topic;
use super::clause_split::split;
use super::nouns::{in_sentence, is_plural};
use super::verbs::{has, is_verb};
use super::word_classes::{
    is_adjective, is_adverb, is_auxiliary, is_generic_subject, is_participle, is_personal_pronoun, is_preposition,
};
use super::yes_no_question::{to_gerund, to_statement};

/// Parses a question without its first word; `None` if it can only be quoted.
pub(super) fn parse(first: &str, rest: &[&str]) -> Option<Topic> {
    if let Some(topic) = which_of_two(rest) {
        return Some(topic);
    }
    let second = rest.first()?.to_lowercase();
    let after = &rest[1..];
    let text = match (first, second.as_str()) {
        ("how", "to") if !after.is_empty() => format!("finding a way to {}", after.join(" ")),
        ("how" | "what", "about") if !after.is_empty() => {
            return Some(Topic::from_noun_phrase(in_sentence(after), is_plural(after)));
        }
        ("why", "not") if after.first().is_some_and(|word| is_verb(word)) => to_gerund(after),
        ("how", "do") if after.first().is_some_and(|word| is_personal_pronoun(word)) => return solution(after),
        ("how", "should" | "can" | "could" | "must" | "would") => return solution(after),
        (_, "did" | "if") => return None,
        ("how" | "why", auxiliary) if is_auxiliary(auxiliary) => {
            format!("knowing {first} {}", to_statement(auxiliary, after)?)
        }
        // `Why democracy matters`
        ("why", _) if after.iter().any(|word| is_auxiliary(word) || word.ends_with('s')) => {
            format!("knowing why {}", in_sentence(rest))
        }
        ("what", "is" | "are" | "was" | "were") if !after.is_empty() => what_is(rest)?,
        ("who" | "which" | "whose" | "whom" | "what", _) => format!("settling {first} {}", settled(rest)?),
        ("when" | "where", auxiliary) if is_auxiliary(auxiliary) => {
            format!("settling {first} {}", to_statement(auxiliary, after)?)
        }
        _ => return None,
    };
    Some(Topic::change(text))
}

/// Parses `is better, cats or dogs`.
fn which_of_two(rest: &[&str]) -> Option<Topic> {
    let comma = rest.iter().position(|word| word.ends_with(','))?;
    let named = &rest[comma + 1..];
    let or = named.iter().position(|word| *word == "or")?;
    let (first, second) = (&named[..or], &named[or + 1..]);
    let is_two = !first.is_empty() && !second.is_empty() && !named.iter().any(|word| word.ends_with(','));
    is_two.then(|| Topic::choice(first, second))
}

/// Converts `cities deal with cars` to `finding a way for cities to deal with cars`.
fn solution(after: &[&str]) -> Option<Topic> {
    let (subject, action) = split(after)?;
    if is_generic_subject(subject) {
        return Some(Topic::change(format!("finding a way to {}", action.join(" "))));
    }
    let phrase = format!("finding a way for {} to {}", subject.join(" "), action.join(" "));
    Some(Topic::change(phrase).or_short(to_gerund(action), false))
}

fn what_is(rest: &[&str]) -> Option<String> {
    let (copula, named) = rest.split_first()?;
    let (first, last) = (*named.first()?, *named.last()?);
    if is_preposition(last) {
        return None;
    }
    let is_predicate = is_adjective(first) || is_adverb(first) || is_participle(first) || first.ends_with("ing");
    Some(match first {
        _ if is_predicate && named.len() > 1 => format!("settling what {copula} {}", named.join(" ")),
        first if has(" the your our ", first) => format!("finding {}", named.join(" ")),
        _ => format!("defining {}", named.join(" ")),
    })
}

/// Converts a question clause to statement order: `language should you learn` to `language you should learn`;
/// `should pay for college` is unchanged.
fn settled(rest: &[&str]) -> Option<String> {
    let Some(index) = rest.iter().position(|word| is_auxiliary(word)) else {
        return (rest.len() > 1).then(|| rest.join(" "));
    };
    let (named, auxiliary, after) = (&rest[..index], rest[index], &rest[index + 1..]);
    let next = *after.first()?;
    let is_form_of_do = matches!(auxiliary, "do" | "does");
    let is_subject_question = is_verb(next)
        || is_adjective(next)
        || is_participle(next)
        || is_adverb(next)
        || !is_modal_or_form_of_do(auxiliary);
    if is_subject_question && !is_form_of_do {
        // `fault is it` has inverted word order, which only the words themselves show.
        return (!is_inverted(named, auxiliary)).then(|| rest.join(" "));
    }
    let clause = to_statement(auxiliary, after)?;
    Some(if named.is_empty() { clause } else { format!("{} {clause}", named.join(" ")) })
}

fn is_modal_or_form_of_do(auxiliary: &str) -> bool {
    !has(" is are was were has have had ", auxiliary)
}

fn is_inverted(named: &[&str], auxiliary: &str) -> bool {
    has(" fault idea turn job duty ", named.last().copied().unwrap_or_default()) && has(" is are was were ", auxiliary)
}
