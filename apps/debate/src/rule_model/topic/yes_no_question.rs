//! Yes-or-no questions: converted to an action or to a belief.

use super::Topic;
use super::clause_split::{split, split_copula, split_perfect};
use super::nouns::{in_sentence, is_plural};
use super::verbs::{gerund, gerund_of_participle, has, is_imperative, is_stative, is_verb, third_person};
use super::word_classes::{
    can_be_imposed, has_negative_sentiment, is_adjective, is_adverb, is_auxiliary, is_copula, is_degree, is_determiner,
    is_feeling, is_generic_subject, is_past, is_preposition, is_relative, positive,
};

/// Parses a question from its auxiliary verb and the words after it.
pub(super) fn parse(first: &str, rest: &[&str]) -> Option<Topic> {
    let auxiliary = positive(first);
    // `Don't eat meat`
    if auxiliary == "do" && rest.first().is_some_and(|word| is_verb(word)) {
        return (first != auxiliary).then(|| Topic::change(format!("not {}", to_gerund(rest))));
    }
    match auxiliary.as_str() {
        "do" if rest.first() == Some(&"you") => parse_opinion(&rest[1..]),
        "would" if rest.first() == Some(&"you") && rest.get(1).is_some_and(|word| is_verb(word)) => {
            Some(Topic::from_noun_phrase(to_gerund(&replace_or(&rest[1..])?), false))
        }
        "would" if rest.get(1) == Some(&"rather") => parse_preference(&rest[2..]),
        "should" | "shall" | "must" => {
            let (subject, action) = split(rest)?;
            proposal(subject, &replace_or(action)?)
        }
        copula if is_copula(copula) => parse_copula_question(copula, rest),
        _ => Some(Topic::belief(to_statement(&auxiliary, rest)?).past(is_past(&auxiliary))),
    }
}

/// Parses a question about an opinion: `think that zoos are cruel` is about zoos. Other questions about the user
/// cannot be converted.
fn parse_opinion(opinion: &[&str]) -> Option<Topic> {
    let clause = match opinion {
        ["think" | "believe", "that", clause @ ..] | ["think" | "believe", clause @ ..] => clause,
        _ => return None,
    };
    super::statement::parse_statement(clause)
}

/// Replaces `or` by `rather than`; `None` if there are more than two alternatives.
fn replace_or<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut replaced = Vec::new();
    let mut is_chosen = false;
    for (index, word) in words.iter().enumerate() {
        if *word != "or" {
            replaced.push(*word);
            continue;
        }
        let next = words.get(index + 1)?;
        if is_chosen
            || is_auxiliary(next)
            || has(" not both neither else ", next)
            || words.iter().any(|word| word.ends_with(','))
        {
            return None;
        }
        is_chosen = true;
        replaced.extend(["rather", "than"]);
    }
    Some(replaced)
}

/// Replaces `ever` of a question by `sometimes` in a statement.
fn replace_ever(words: &[&str]) -> String {
    words.iter().map(|word| if *word == "ever" { "sometimes" } else { word }).collect::<Vec<_>>().join(" ")
}

/// Converts an action to a gerund: `ban cars` to `banning cars`, `rent rather than buy` to `renting rather than
/// buying`.
pub(super) fn to_gerund(action: &[&str]) -> String {
    let adverb_count = action.iter().take_while(|word| is_adverb(word)).count();
    let (adverbs, action) = action.split_at(adverb_count);
    let [verb, tail @ ..] = action else { return adverbs.join(" ") };
    let is_joint = |index: usize| index > 0 && has(" and or than ", tail[index - 1]) && is_verb(tail[index]);
    let is_alone = |index: usize| {
        index == 1
            || index == 2 && tail[0] == "rather"
            || tail
                .get(index + 1)
                .is_none_or(|next| is_determiner(next) || is_preposition(next) || next.ends_with("ing"))
    };
    let converted = tail.iter().enumerate().map(|(index, word)| match is_joint(index) && is_alone(index) {
        true => gerund(word),
        false => (*word).to_owned(),
    });
    let tail: Vec<String> = converted.collect();
    let words = adverbs.iter().map(|word| word.to_lowercase()).chain([gerund(verb)]).chain(tail);
    words.collect::<Vec<_>>().join(" ")
}

/// Converts a question with an auxiliary verb to a clause: `does`, `money buy happiness` to `money buys happiness`.
pub(super) fn to_statement(auxiliary: &str, rest: &[&str]) -> Option<String> {
    if is_copula(auxiliary) {
        let (subject, complement) = split_copula(rest)?;
        return Some(format!("{} {auxiliary} {}", subject.join(" "), replace_ever(&replace_or(complement)?)));
    }
    let (subject, action) = match auxiliary {
        "has" | "have" | "had" => split_perfect(rest)?,
        _ => split(rest)?,
    };
    let (subject, action) = (subject.join(" "), replace_or(action)?);
    Some(match auxiliary {
        "do" => format!("{subject} {}", action.join(" ")),
        "does" if action.first()? == &"not" => format!("{subject} does {}", action.join(" ")),
        "does" => format!("{} {}", subject.replace("anyone", "someone"), third_person_phrase(&action)),
        _ => format!("{subject} {auxiliary} {}", replace_ever(&action)),
    })
}

/// Converts verbs to the third person: `help rather than hurt families` to `helps rather than hurts families`.
fn third_person_phrase(action: &[&str]) -> String {
    let adverb_count = action.iter().take_while(|word| is_adverb(word)).count();
    let is_done = |index: usize, word: &str| {
        let is_joint = index > adverb_count && has(" than and ", action[index - 1]) && index <= adverb_count + 3;
        index == adverb_count || is_joint && is_verb(word)
    };
    let converted = action.iter().enumerate().map(|(index, word)| match is_done(index, word) {
        true => third_person(word),
        false if *word == "ever" => "sometimes".to_owned(),
        false => (*word).to_owned(),
    });
    converted.collect::<Vec<_>>().join(" ")
}

/// Converts a proposal: `AI`, `be regulated` to `regulating AI`.
pub(super) fn proposal(subject: &[&str], action: &[&str]) -> Option<Topic> {
    let (is_not, action) = match action {
        ["not" | "never", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let not = if is_not { "not " } else { "" };
    let actor = object_form(&subject.join(" "));
    let bare = &action[action.iter().take_while(|word| is_adverb(word)).count()..];
    match (subject, bare) {
        (_, []) => None,
        (["there"], ["be", complement @ ..]) if !complement.is_empty() && !is_not => {
            Some(Topic { is_change: true, ..Topic::from_noun_phrase(in_sentence(complement), is_plural(complement)) })
        }
        (_, [_, ..]) if is_generic_subject(subject) && !(actor == "people" && bare[0] == "be") => {
            Some(Topic::change(format!("{not}{}", to_gerund(action))))
        }
        (_, ["be", complement @ ..]) if !complement.is_empty() => match passive_to_gerund(&actor, complement) {
            Some(phrase) => Some(Topic::change(format!("{not}{phrase}"))),
            None => Some(should_clause(subject, is_not, action)),
        },
        (_, [verb, ..]) if is_stative(verb) || *verb == "be" => Some(should_clause(subject, is_not, action)),
        _ => {
            let topic = Topic::change(format!("having {actor} {not}{}", action.join(" ")));
            // The action must keep its meaning without its subject.
            Some(match is_complete_without_subject(subject, action) {
                true => topic.or_short(format!("{not}{}", to_gerund(action)), false),
                false => topic,
            })
        }
    }
}

/// Returns true if an action keeps its meaning without its subject.
fn is_complete_without_subject(subject: &[&str], action: &[&str]) -> bool {
    let is_part = |word: &&str| is_preposition(word) || is_relative(word) || has(" and or ", word);
    let refers_back = |word: &&str| has(" their his her its them him themselves itself ", word);
    let is_group = subject.last().is_some_and(|word| is_adjective(word) || *word == "elderly");
    let is_whole = is_plural(subject) || is_determiner(subject[0]) || subject[0].starts_with(char::is_uppercase);
    // For a ban it hardly matters who bans; for a payment it matters who pays.
    let is_rule =
        action.first().is_some_and(|verb| is_imperative(verb) && !has(" buy do eat learn pay sell take use ", verb));
    is_rule && is_whole && !is_group && !subject.iter().any(is_part) && !action.iter().any(refers_back)
}

fn should_clause(subject: &[&str], is_not: bool, action: &[&str]) -> Topic {
    let not = if is_not { " not" } else { "" };
    Topic::belief(format!("{} should{not} {}", subject.join(" "), action.join(" ")))
}

/// Converts a passive proposal: `AI`, `heavily regulated` to `heavily regulating AI`; `voting`, `mandatory` to
/// `making voting mandatory`.
fn passive_to_gerund(subject: &str, complement: &[&str]) -> Option<String> {
    let adverb_count = complement.iter().take_while(|word| is_adverb(word)).count();
    let (adverbs, so_far) = complement.split_at(adverb_count);
    let participle = |word: &str| gerund_of_participle(word).filter(|_| !is_feeling(word));
    let first = so_far.first()?;
    // The agent after `by` is part of the question.
    if so_far.contains(&"by") {
        return None;
    }
    let Some(gerund) = participle(first) else {
        let is_rule = so_far.iter().any(|word| can_be_imposed(word)) && !is_degree(first) && !is_determiner(first);
        return is_rule.then(|| format!("making {subject} {}", complement.join(" ")));
    };
    let joint = match so_far {
        // `seen and not heard`
        [_, "and" | "or" | "but", second, ..] if participle(second).is_none() => return None,
        [_, "rather", "than", second, ..] => participle(second).map(|second| (format!("rather than {second}"), 4)),
        [_, joint @ ("and" | "or"), second, ..] => participle(second).map(|second| (format!("{joint} {second}"), 3)),
        _ => None,
    };
    Some(match &joint {
        Some((more, end)) => [adverbs, &[gerund.as_str(), more.as_str(), subject], &so_far[*end..]].concat().join(" "),
        None => [adverbs, &[gerund.as_str(), subject], &so_far[1..]].concat().join(" "),
    })
}

/// Parses `Is it right to eat meat`, `Is there life on Mars`, `Is nuclear energy safe`.
fn parse_copula_question(copula: &str, rest: &[&str]) -> Option<Topic> {
    let topic = match rest {
        ["there", complement @ ..] if !complement.is_empty() => {
            Topic::belief(format!("there {copula} {}", complement.join(" ")))
        }
        ["it", "true", "that", complement @ ..] if !complement.is_empty() => Topic::belief(complement.join(" ")),
        ["it", complement @ ..] => parse_moral_question(copula, complement)?,
        _ => {
            let (subject, complement) = split_copula(rest)?;
            match complement {
                ["better", "than", other @ ..] if !other.is_empty() => Topic::choice(subject, other),
                _ if subject.contains(&"or") => parse_comparison(copula, subject, complement)?,
                _ => Topic::belief(format!(
                    "{} {copula} {}",
                    subject.join(" "),
                    replace_ever(&positive_first(complement)?)
                )),
            }
        }
    };
    Some(topic.past(is_past(copula)))
}

/// Puts the positive alternative first: `a threat or an opportunity` to `an opportunity rather than a threat`, so
/// that the optimist argues for it.
fn positive_first<'a>(complement: &[&'a str]) -> Option<Vec<&'a str>> {
    let replaced = replace_or(complement)?;
    let Some(index) = complement.iter().position(|word| *word == "or") else { return Some(replaced) };
    let (first, second) = (&complement[..index], &complement[index + 1..]);
    let is_tail = second.iter().any(|word| is_preposition(word));
    if has_negative_sentiment(first) && !has_negative_sentiment(second) && !is_tail {
        return Some([second, &["rather", "than"], first].concat());
    }
    Some(replaced)
}

/// Parses `cats or dogs`, `better`.
fn parse_comparison(copula: &str, subject: &[&str], complement: &[&str]) -> Option<Topic> {
    let index = subject.iter().position(|word| *word == "or").filter(|index| *index > 0)?;
    let (first, second) = (&subject[..index], &subject[index + 1..]);
    let is_more = complement.first().is_some_and(|word| word.ends_with("er") || has(" more less worse ", word));
    match complement {
        _ if second.is_empty() || second.contains(&"or") => None,
        ["better"] => Some(Topic::choice(first, second)),
        _ if is_more && !complement.contains(&"than") => Some(Topic::belief(format!(
            "{} {copula} {} than {}",
            first.join(" "),
            complement.join(" "),
            second.join(" ")
        ))),
        _ => None,
    }
}

/// Parses a moral question: `right to eat meat` is about eating meat; `wrong to eat meat` about the view that it is
/// wrong.
fn parse_moral_question(copula: &str, complement: &[&str]) -> Option<Topic> {
    let to = complement.iter().position(|word| *word == "to").filter(|to| *to > 0 && to + 1 < complement.len());
    let Some(to) = to else {
        return (!complement.is_empty() && !complement.contains(&"or"))
            .then(|| Topic::belief(format!("it {copula} {}", replace_ever(complement))));
    };
    let (judgement, action) = (&complement[..to], &complement[to + 1..]);
    let (judgement, actor) = match judgement.iter().position(|word| *word == "for") {
        Some(index) if index > 0 => (&judgement[..index], Some(object_form(&judgement[index + 1..].join(" ")))),
        _ => (judgement, None),
    };
    if judgement == ["better"] {
        return parse_preference(action);
    }
    let action = replace_or(action)?;
    let has_doer = actor.is_some();
    let phrase = match actor {
        Some(actor) => format!("having {actor} {}", action.join(" ")),
        None => to_gerund(&action),
    };
    const GOOD: &str = " right good ok okay ethical moral fair wise acceptable justified fine time necessary important worth \
    legitimate reasonable justifiable ";
    let is_good =
        judgement.last().is_some_and(|word| has(GOOD, word)) && !judgement.contains(&"not") && !is_past(copula);
    Some(match is_good {
        true => Topic::from_noun_phrase(phrase, false),
        false if has_doer => Topic::belief(format!("it {copula} {}", replace_ever(complement))),
        false => Topic::belief(format!("{phrase} {copula} {}", replace_ever(judgement))),
    })
}

/// Converts `rent than to buy` to `renting rather than buying`.
fn parse_preference(action: &[&str]) -> Option<Topic> {
    let index = action.iter().position(|word| matches!(*word, "or" | "than")).filter(|index| *index > 0)?;
    let (first, mut second) = (&action[..index], &action[index + 1..]);
    if let ["to", rest @ ..] = second {
        second = rest;
    }
    let other = match second {
        [] => return None,
        _ if second.contains(&"or") => return None,
        [verb, ..] if is_verb(verb) && !is_feeling(verb) => to_gerund(second),
        _ => second.join(" "),
    };
    Some(Topic::from_noun_phrase(format!("{} rather than {other}", to_gerund(first)), false))
}

fn object_form(subject: &str) -> String {
    match subject.to_lowercase().as_str() {
        "we" => "us".to_owned(),
        "they" => "them".to_owned(),
        "he" => "him".to_owned(),
        "she" => "her".to_owned(),
        _ => subject.to_owned(),
    }
}
