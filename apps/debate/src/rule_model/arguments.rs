//! Argument templates: for each aspect the claim of either side, its support, and the rebuttal of the other side.
//!
//! Words in `«»` are quoted by the other side; they contain no placeholders, so they can be found in earlier
//! messages. `{it}` is the topic, `{they}`, `{them}`, `{their}` are its pronouns, `[is|are]` follows its number,
//! `{claim}` is the statement of a belief, `{quote}` the quoted words.

mod belief_topics;
mod phrases;
mod policy_topics;

pub(super) use phrases::{BELIEF_OPENINGS, CITATIONS, OPENINGS, OPTIMIST_REBUTTALS, SKEPTIC_REBUTTALS};

use super::topic::Topic;
use crate::prompt::DebateAgent;

/// Argument of one side of an aspect.
#[derive(Debug)]
pub(super) struct Argument {
    /// Claim of the argument.
    pub(super) claim: &'static str,
    /// Support for the claim.
    pub(super) support: &'static str,
    /// Rebuttal by the other side.
    pub(super) rebuttal: &'static str,
}

/// Kind of topic for which an aspect is suitable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopicKind {
    All,
    /// A proposed change.
    Change,
    /// An existing thing or practice.
    Custom,
    /// A state that still exists, not a single past event.
    Lasting,
}

impl TopicKind {
    /// Returns true if a topic is of this kind.
    pub(super) fn matches(self, topic: &Topic) -> bool {
        match self {
            Self::All => true,
            Self::Change => topic.is_change,
            Self::Custom => !topic.is_change,
            Self::Lasting => !topic.is_past,
        }
    }
}

/// An aspect of a topic, with arguments for both sides.
#[derive(Debug)]
pub(super) struct Aspect {
    /// Name of the aspect, for the summary.
    pub(super) name: &'static str,
    /// Kind of topic the aspect suits; for other topics it comes last.
    pub(super) fits: TopicKind,
    pub(super) pro: Argument,
    pub(super) con: Argument,
}

impl Aspect {
    /// Returns the argument of an agent.
    pub(super) fn argument(&self, role: DebateAgent) -> &Argument {
        if role == DebateAgent::Skeptic { &self.con } else { &self.pro }
    }
}

impl Argument {
    /// Returns the words that the other side quotes.
    pub(super) fn key(&self) -> &'static str {
        self.claim.split_once('«').and_then(|(_, rest)| rest.split_once('»')).map_or("", |(key, _)| key)
    }

    /// Returns true if a text contains the argument.
    pub(super) fn is_in(&self, text: &str) -> bool {
        // Without the first letter, which is capitalized at the start of a sentence.
        let mut rest = self.key().chars();
        rest.next().is_some() && text.contains(rest.as_str())
    }
}

/// Returns the aspects for a topic.
pub(super) fn aspects(topic: &Topic) -> &'static [Aspect] {
    if topic.belief.is_some() { &belief_topics::ASPECTS } else { &policy_topics::ASPECTS }
}

/// Fills a template. Inserted text is never parsed as a template itself.
pub(super) fn fill(pattern: &str, topic: &Topic, quote: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(offset) = rest.find(['{', '[', '«', '»']) {
        text.push_str(&rest[..offset]);
        let mark = rest[offset..].chars().next().unwrap_or_default();
        rest = &rest[offset + mark.len_utf8()..];
        let close = match mark {
            '{' => '}',
            '[' => ']',
            _ => continue,
        };
        let Some((inner, after)) = rest.split_once(close) else { break };
        rest = after;
        text.push_str(&placeholder_value(inner, topic, quote));
    }
    text.push_str(rest);
    capitalized(&text)
}

fn placeholder_value(name: &str, topic: &Topic, quote: &str) -> String {
    let by_number = |one: &str, many: &str| if topic.is_plural { many.to_owned() } else { one.to_owned() };
    match name {
        "it" => topic.noun_phrase.clone(),
        "claim" => topic.claim(),
        "quote" => quote.to_owned(),
        "they" => by_number("it", "they"),
        "them" => by_number("it", "them"),
        "their" => by_number("its", "their"),
        forms => forms.split_once('|').map_or_else(|| forms.to_owned(), |(one, many)| by_number(one, many)),
    }
}

/// Capitalizes the first letter, also after a quotation mark.
fn capitalized(text: &str) -> String {
    let Some((offset, first)) = text.char_indices().find(|(_, letter)| !matches!(letter, '“' | '‘' | '"')) else {
        return text.to_owned();
    };
    let end = offset + first.len_utf8();
    format!("{}{}{}", &text[..offset], first.to_uppercase(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// R-DEB-41: every argument can be found in a text, rebuttals quote it, and no sentence occurs twice.
    #[test]
    fn every_argument_can_be_quoted_and_is_unique() {
        for aspects in [&policy_topics::ASPECTS[..], &belief_topics::ASPECTS[..]] {
            let mut seen = BTreeSet::new();
            let arguments: Vec<&Argument> = aspects.iter().flat_map(|aspect| [&aspect.pro, &aspect.con]).collect();
            assert!(aspects.len() >= 12, "ten rounds need as many, and some to choose from");
            for argument in &arguments {
                let key = argument.key();
                assert!(key.split(' ').count() >= 3 && !key.contains(['{', '[']), "{}", argument.claim);
                assert!(argument.claim.contains("{it}") || argument.claim.contains("{claim}"), "{}", argument.claim);
                assert!(argument.rebuttal.contains("{quote}"), "{}", argument.rebuttal);
                for text in [argument.claim, argument.support, argument.rebuttal] {
                    assert!(seen.insert(text) && text.ends_with(['.', '?']), "{text}");
                    assert_eq!(crate::fact_check::sentences(text).len(), 1, "{text}");
                    assert_eq!(text.matches(['{', '[']).count(), text.matches(['}', ']']).count(), "{text}");
                }
                let matches =
                    arguments.iter().filter(|other| argument.claim.replace(['«', '»'], "").contains(other.key()));
                assert_eq!(matches.count(), 1, "{key}");
            }
        }
    }

    /// R-DEB-57: inserted text is never parsed as a template.
    #[test]
    fn inserted_text_is_not_parsed_as_a_template() {
        let topic = Topic::parse("{quote} [a|b] «x» {it}");
        assert_eq!(fill("about {it}.", &topic, "q"), format!("About {}.", topic.noun_phrase));
        assert_eq!(fill("“{quote}” [is|are] so.", &topic, "it works"), "“It works” is so.");
    }
}
