//! The stock of arguments: for each aspect what either side says, what backs it, and how the other side answers.
//!
//! Words in `«»` are those that the other side takes up; they hold no slots, so they are found again in what was said.
//! `{it}` is the topic, `{they}`, `{them}`, `{their}` stand for it, `[is|are]` follows its number, `{claim}` is what a view
//! says, `{quote}` what is taken up.

mod phrases;
mod practice;
mod views;

pub(super) use phrases::{ANSWERS_OF_OPTIMIST, ANSWERS_OF_SKEPTIC, CITATIONS, OPENINGS, OPENINGS_OF_VIEWS};

use super::topic::Topic;
use crate::prompt::Role;

/// One side of an aspect.
#[derive(Debug)]
pub(super) struct Case {
    /// What is said.
    pub(super) claim: &'static str,
    /// What backs it.
    pub(super) support: &'static str,
    /// What the other side answers.
    pub(super) answer: &'static str,
}

/// Which topics an aspect suits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fits {
    All,
    /// What somebody wants to be done.
    Change,
    /// What is there or is done already.
    Custom,
    /// What is so still, and did not only happen once.
    Lasting,
}

impl Fits {
    /// Whether a topic is of this kind.
    pub(super) fn suits(self, topic: &Topic) -> bool {
        match self {
            Self::All => true,
            Self::Change => topic.is_change,
            Self::Custom => !topic.is_change,
            Self::Lasting => !topic.is_past,
        }
    }
}

/// Something that both sides can argue from.
#[derive(Debug)]
pub(super) struct Aspect {
    /// What they clash over.
    pub(super) name: &'static str,
    /// Which topics it suits best; with others it comes last.
    pub(super) fits: Fits,
    pub(super) pro: Case,
    pub(super) con: Case,
}

impl Aspect {
    /// What this side says.
    pub(super) fn case(&self, role: Role) -> &Case {
        if role == Role::Skeptic { &self.con } else { &self.pro }
    }
}

impl Case {
    /// The words that the other side takes up.
    pub(super) fn key(&self) -> &'static str {
        self.claim.split_once('«').and_then(|(_, rest)| rest.split_once('»')).map_or("", |(key, _)| key)
    }

    /// Whether it was said in this text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        // Without the first letter, which is a capital at the beginning of a sentence.
        let mut rest = self.key().chars();
        rest.next().is_some() && text.contains(rest.as_str())
    }
}

/// The aspects from which a topic is argued.
pub(super) fn aspects(topic: &Topic) -> &'static [Aspect] {
    if topic.view.is_some() { &views::ASPECTS } else { &practice::ASPECTS }
}

/// A sentence out of a pattern. What is filled in is never read as a pattern itself.
pub(super) fn fill(pattern: &str, topic: &Topic, quote: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '[', '«', '»']) {
        text.push_str(&rest[..at]);
        let mark = rest[at..].chars().next().unwrap_or_default();
        rest = &rest[at + mark.len_utf8()..];
        let close = match mark {
            '{' => '}',
            '[' => ']',
            _ => continue,
        };
        let Some((inner, after)) = rest.split_once(close) else { break };
        rest = after;
        text.push_str(&slot(inner, topic, quote));
    }
    text.push_str(rest);
    capital(&text)
}

fn slot(name: &str, topic: &Topic, quote: &str) -> String {
    let by_number = |one: &str, many: &str| if topic.is_plural { many.to_owned() } else { one.to_owned() };
    match name {
        "it" => topic.it.clone(),
        "claim" => topic.claim(),
        "quote" => quote.to_owned(),
        "they" => by_number("it", "they"),
        "them" => by_number("it", "them"),
        "their" => by_number("its", "their"),
        forms => forms.split_once('|').map_or_else(|| forms.to_owned(), |(one, many)| by_number(one, many)),
    }
}

/// With a capital at the beginning, also behind a quotation mark.
fn capital(text: &str) -> String {
    let Some((at, first)) = text.char_indices().find(|(_, letter)| !matches!(letter, '“' | '‘' | '"')) else {
        return text.to_owned();
    };
    let end = at + first.len_utf8();
    format!("{}{}{}", &text[..at], first.to_uppercase(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// R-DEB-41: every argument can be found again, answers take it up, and no sentence stands twice in the stock.
    #[test]
    fn every_argument_is_whole() {
        for aspects in [&practice::ASPECTS[..], &views::ASPECTS[..]] {
            let mut seen = BTreeSet::new();
            let cases: Vec<&Case> = aspects.iter().flat_map(|aspect| [&aspect.pro, &aspect.con]).collect();
            assert!(aspects.len() >= 12, "ten rounds need as many, and some to choose from");
            for case in &cases {
                let key = case.key();
                assert!(key.split(' ').count() >= 3 && !key.contains(['{', '[']), "{}", case.claim);
                assert!(case.claim.contains("{it}") || case.claim.contains("{claim}"), "{}", case.claim);
                assert!(case.answer.contains("{quote}"), "{}", case.answer);
                for text in [case.claim, case.support, case.answer] {
                    assert!(seen.insert(text) && text.ends_with(['.', '?']), "{text}");
                    assert_eq!(crate::facts::sentences(text).len(), 1, "{text}");
                    assert_eq!(text.matches(['{', '[']).count(), text.matches(['}', ']']).count(), "{text}");
                }
                let found = cases.iter().filter(|other| case.claim.replace(['«', '»'], "").contains(other.key()));
                assert_eq!(found.count(), 1, "{key}");
            }
        }
    }

    /// R-DEB-57: what is filled in is never read as a pattern.
    #[test]
    fn what_is_filled_in_is_text() {
        let topic = Topic::read("{quote} [a|b] «x» {it}");
        assert_eq!(fill("about {it}.", &topic, "q"), format!("About {}.", topic.it));
        assert_eq!(fill("“{quote}” [is|are] so.", &topic, "it works"), "“It works” is so.");
    }
}
