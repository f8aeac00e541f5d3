//! Topics that are questions: what they ask for, told as something done or something that is so.

use super::grammar::{gerund, gerund_of_participle, is_state, is_verb, third_person};
use super::{LONGEST, Topic, quote};

/// Whether a line that begins with this word is a question.
pub(super) fn is_opening(word: &str) -> bool {
    // `May` and `might` begin lines about months and about power more often than questions.
    is_asking(word) || is_helper(&positive(word)) && !matches!(word, "may" | "might")
}

fn is_asking(word: &str) -> bool {
    matches!(word, "how" | "why" | "what" | "who" | "whose" | "which" | "when" | "where" | "whom")
}

/// Whether a verb that helps others: `should`, `is`, `does`.
pub(super) fn is_helper(word: &str) -> bool {
    is_modal(word) || is_being(word) || matches!(word, "do" | "does" | "did" | "has" | "have" | "had")
}

fn is_modal(word: &str) -> bool {
    matches!(word, "should" | "must" | "can" | "could" | "will" | "would" | "may" | "might" | "shall" | "cannot")
}

fn is_being(word: &str) -> bool {
    matches!(word, "is" | "are" | "was" | "were" | "am")
}

/// `shouldn't` to `should`.
fn positive(word: &str) -> String {
    word.replace('’', "'").trim_end_matches("n't").to_owned()
}

/// Reads a question without its first word.
pub(super) fn read(first: &str, rest: &[&str]) -> Option<Topic> {
    if is_asking(first) {
        return Some(asking(first, rest).unwrap_or_else(|| unsettled(first, rest)));
    }
    let helper = positive(first);
    match helper.as_str() {
        "should" | "shall" | "must" => {
            let (subject, action) = split(rest)?;
            proposal(subject, action)
        }
        being if is_being(being) => being_so(being, rest),
        _ => told(&helper, rest).map(Topic::view),
    }
}

/// What a question asks with `ever`, a statement says with `sometimes`.
fn stated(words: &[&str]) -> String {
    words.iter().map(|word| if *word == "ever" { "sometimes" } else { word }).collect::<Vec<_>>().join(" ")
}

fn unsettled(first: &str, rest: &[&str]) -> Topic {
    let mut letters = first.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let line = std::iter::once(capital.as_str()).chain(rest.iter().copied()).collect::<Vec<_>>().join(" ");
    Topic::change(format!("settling the question {}", quote(&line, LONGEST)))
}

/// Questions with `how`, `why`, `who` and so on.
fn asking(first: &str, rest: &[&str]) -> Option<Topic> {
    let second = rest.first()?.to_lowercase();
    let after = &rest[1..];
    let text = match (first, second.as_str()) {
        ("how", "to") if !after.is_empty() => format!("finding a way to {}", after.join(" ")),
        ("how", "do" | "does" | "did") => format!("knowing how {}", told(&second, after)?),
        ("how", "should" | "can" | "could" | "must" | "would") => {
            let (subject, action) = split(after)?;
            let who = subject.join(" ");
            if !is_anybody(&who) {
                let whole = format!("finding a way for {who} to {}", action.join(" "));
                return Some(Topic::change(whole).or_short(doing(action), false));
            }
            format!("finding a way to {}", action.join(" "))
        }
        ("what", "is" | "are") if !after.is_empty() => {
            let verb = if after[0].eq_ignore_ascii_case("the") { "finding" } else { "defining" };
            format!("{verb} {}", after.join(" "))
        }
        ("who" | "which" | "whose", _) if !after.is_empty() => format!("settling {first} {}", rest.join(" ")),
        ("what", helper) if !is_helper(helper) => format!("settling what {}", rest.join(" ")),
        ("why", helper) if is_helper(helper) => format!("knowing why {}", told(helper, after)?),
        ("what" | "when" | "where", helper) if is_helper(helper) => {
            format!("settling {first} {}", told(helper, after)?)
        }
        _ => return None,
    };
    Some(Topic::change(text))
}

/// `ban cars` to `banning cars`.
fn doing(action: &[&str]) -> String {
    match action {
        [verb, tail @ ..] => [&[gerund(verb).as_str()], tail].concat().join(" "),
        [] => String::new(),
    }
}

/// A question that a helping verb opens, told as a clause: `does`, `money buy happiness` to `money buys happiness`.
fn told(helper: &str, rest: &[&str]) -> Option<String> {
    if is_being(helper) {
        let (subject, so) = split_being(rest)?;
        return Some(format!("{} {helper} {}", subject.join(" "), stated(so)));
    }
    let (subject, action) = match helper {
        "has" | "have" | "had" => split_perfect(rest)?,
        _ => split(rest)?,
    };
    let (subject, action) = (subject.join(" "), action.to_vec());
    Some(match helper {
        "do" => format!("{subject} {}", action.join(" ")),
        "does" if action.first()? == &"not" => format!("{subject} does {}", action.join(" ")),
        "does" => format!("{subject} {}", [&[third_person(action.first()?).as_str()], &action[1..]].concat().join(" ")),
        _ => format!("{subject} {helper} {}", stated(&action)),
    })
}

/// Something that somebody proposes: `AI`, `be regulated` to `regulating AI`.
pub(super) fn proposal(subject: &[&str], action: &[&str]) -> Option<Topic> {
    let (is_not, action) = match action {
        ["not" | "never", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let not = if is_not { "not " } else { "" };
    let early = action.iter().take_while(|word| is_adverb(word)).count();
    let (adverbs, action) = action.split_at(early);
    let who = subject.join(" ");
    // Who asks about `my job` is told about `your job`.
    let turned: Vec<&str> = action.iter().map(|word| if who == "I" { for_you(word) } else { word }).collect();
    let action = turned.as_slice();
    let text = match action {
        ["be", so @ ..] if !so.is_empty() => format!("{not}{}", done_to(&object(&who), so)),
        [verb, tail @ ..] if is_anybody(&who) => {
            format!("{not}{}", [adverbs, &[gerund(verb).as_str()], tail].concat().join(" "))
        }
        [verb, ..] if is_state(verb) => {
            let not = if is_not { " not" } else { "" };
            let whole = [adverbs, action].concat().join(" ");
            return Some(Topic::view(format!("{who} should{not} {whole}")));
        }
        [_, ..] => {
            let whole = format!("having {} {not}{}", object(&who), [adverbs, action].concat().join(" "));
            return Some(Topic::change(whole).or_short(format!("{not}{}", doing(action)), false));
        }
        [] => return None,
    };
    Some(Topic::change(text))
}

/// `AI`, `heavily regulated` to `heavily regulating AI`; `voting`, `mandatory` to `making voting mandatory`.
fn done_to(subject: &str, so: &[&str]) -> String {
    let early = so.iter().take_while(|word| is_adverb(word)).count();
    let (adverbs, so_far) = so.split_at(early);
    let doing = so_far.first().and_then(|word| gerund_of_participle(word));
    match doing {
        Some(doing) => [adverbs, &[doing.as_str(), subject], &so_far[1..]].concat().join(" "),
        None => format!("making {subject} {}", so.join(" ")),
    }
}

/// `Is it right to eat meat`, `Is there life on Mars`, `Is nuclear energy safe`.
fn being_so(being: &str, rest: &[&str]) -> Option<Topic> {
    match rest {
        ["there", so @ ..] if !so.is_empty() => Some(Topic::view(format!("there {being} {}", so.join(" ")))),
        ["it", so @ ..] => right_to(being, so),
        _ => {
            let (subject, so) = split_being(rest)?;
            match so {
                ["better", "than", other @ ..] if !other.is_empty() => Some(Topic::choice(subject, other)),
                _ => Some(Topic::view(format!("{} {being} {}", subject.join(" "), stated(so)))),
            }
        }
    }
}

/// `right to eat meat` is about eating meat; `wrong to eat meat` about the view that it is wrong.
fn right_to(being: &str, so: &[&str]) -> Option<Topic> {
    let to = so.iter().position(|word| *word == "to").filter(|to| *to > 0 && to + 1 < so.len())?;
    let (how, action) = (&so[..to], &so[to + 1..]);
    let (how, who) = match how.iter().position(|word| *word == "for") {
        Some(place) if place > 0 => (&how[..place], Some(how[place + 1..].join(" "))),
        _ => (how, None),
    };
    let doing = match who {
        Some(who) => format!("having {who} {}", action.join(" ")),
        None => doing(action),
    };
    const GOOD: [&str; 18] = [
        "right",
        "good",
        "ok",
        "okay",
        "ethical",
        "moral",
        "fair",
        "wise",
        "acceptable",
        "justified",
        "fine",
        "time",
        "necessary",
        "important",
        "worth",
        "legitimate",
        "reasonable",
        "justifiable",
    ];
    let is_good = how.last().is_some_and(|word| GOOD.contains(&word.to_lowercase().as_str()));
    let is_time = how.last() == Some(&"time");
    Some(match is_good || is_time {
        true => Topic::thing(doing, false),
        false => Topic::view(format!("{doing} {being} {}", how.join(" "))),
    })
}

/// Where the subject ends and what is done begins.
pub(super) fn split<'a>(words: &'a [&'a str]) -> Option<(&'a [&'a str], &'a [&'a str])> {
    let first = words.first()?.to_lowercase();
    let place = if is_pronoun(&first) {
        1
    } else {
        let be = words.iter().skip(1).position(|word| *word == "be").map(|place| place + 1);
        let verb = (1..words.len()).find(|place| is_verb(words[*place]) && !is_determiner(words[place - 1]));
        let place = be.into_iter().chain(verb).min()?;
        // `not` and adverbs before the verb belong to what is done.
        let early = words[1..place].iter().rev().take_while(|word| is_adverb(word) || **word == "not").count();
        place - early
    };
    (place < words.len()).then(|| words.split_at(place))
}

/// Where the subject ends and what it is said to be begins.
fn split_being<'a>(words: &'a [&'a str]) -> Option<(&'a [&'a str], &'a [&'a str])> {
    const QUALITIES: &str = " good bad better worse best worst safe unsafe harmful harmless right wrong ethical unethical \
    moral immoral necessary unnecessary worth worthy overrated underrated possible impossible sustainable dangerous \
    useful useless dead alive real fake fair unfair free legal illegal healthy unhealthy obsolete important responsible \
    essential effective efficient inevitable justified compatible natural human addictive racist sexist subjective \
    objective universal innate conscious intelligent evil selfish toxic broken doomed cheaper safer stronger smarter \
    ready able likely like blue green red true false beneficial here enough part to in on at of from for ";
    let is_so = |place: usize| {
        let word = words[place].to_lowercase();
        let is_article = matches!(word.as_str(), "a" | "an" | "the" | "our" | "your" | "my" | "not" | "no");
        let is_degree = matches!(word.as_str(), "more" | "too" | "less" | "very" | "as") || is_adverb(&word);
        let is_form = gerund_of_participle(&word).is_some() || (word.ends_with("ing") && word.len() > 5);
        is_article || is_degree || is_form || QUALITIES.contains(&format!(" {word} "))
    };
    let first = words.first()?.to_lowercase();
    let least = if is_determiner(&first) { 2 } else { 1 };
    let found = if is_pronoun(&first) { Some(1) } else { (least..words.len()).find(|place| is_so(*place)) };
    let place = found.unwrap_or(words.len().saturating_sub(1));
    (place > 0 && place < words.len()).then(|| words.split_at(place))
}

fn split_perfect<'a>(words: &'a [&'a str]) -> Option<(&'a [&'a str], &'a [&'a str])> {
    let is_perfect = |word: &str| {
        matches!(word, "gone" | "become" | "been" | "come" | "had") || gerund_of_participle(word).is_some()
    };
    let place = words.iter().skip(1).position(|word| is_perfect(word))? + 1;
    Some(words.split_at(place))
}

fn is_adverb(word: &str) -> bool {
    const ADVERBS: [&str; 9] = ["ever", "always", "still", "also", "only", "really", "just", "never", "even"];
    const NO_ADVERBS: [&str; 8] = ["family", "only", "supply", "italy", "july", "assembly", "anomaly", "monopoly"];
    let word = word.to_lowercase();
    ADVERBS.contains(&word.as_str()) || (word.len() > 4 && word.ends_with("ly") && !NO_ADVERBS.contains(&word.as_str()))
}

fn is_determiner(word: &str) -> bool {
    matches!(
        word.to_lowercase().as_str(),
        "a" | "an"
            | "the"
            | "our"
            | "my"
            | "your"
            | "their"
            | "his"
            | "her"
            | "its"
            | "this"
            | "that"
            | "all"
            | "every"
    )
}

fn is_pronoun(word: &str) -> bool {
    is_anybody(word) || matches!(word, "they" | "he" | "she" | "it" | "this" | "everyone" | "everybody" | "nobody")
}

/// Whether leaving the subject out changes nothing.
fn is_anybody(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "we" | "you" | "i" | "one" | "people" | "someone" | "somebody")
}

fn for_you(word: &str) -> &str {
    match word {
        "my" => "your",
        "me" => "you",
        "mine" => "yours",
        "myself" => "yourself",
        word => word,
    }
}

fn object(subject: &str) -> String {
    match subject.to_lowercase().as_str() {
        "we" => "us".to_owned(),
        "they" => "them".to_owned(),
        "he" => "him".to_owned(),
        "she" => "her".to_owned(),
        "i" => "me".to_owned(),
        _ => subject.to_owned(),
    }
}
