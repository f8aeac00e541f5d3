//! Function words of English, and adjectives that occur in topics.

use super::verbs::{gerund_of_participle, has};

/// Returns true for an auxiliary verb: `should`, `is`, `does`.
pub(super) fn is_auxiliary(word: &str) -> bool {
    is_modal(word) || is_copula(word) || matches!(word, "do" | "does" | "did" | "has" | "have" | "had")
}

fn is_modal(word: &str) -> bool {
    matches!(word, "should" | "must" | "can" | "could" | "will" | "would" | "may" | "might" | "shall" | "cannot")
}

/// Returns true for a finite form of `be`.
pub(super) fn is_copula(word: &str) -> bool {
    matches!(word, "is" | "are" | "was" | "were" | "am")
}

/// Returns true for an auxiliary verb in past tense.
pub(super) fn is_past(auxiliary: &str) -> bool {
    matches!(auxiliary, "was" | "were" | "did" | "had")
}

/// Converts `shouldn't` to `should`.
pub(super) fn positive(word: &str) -> String {
    match word {
        "won't" => "will".to_owned(),
        "can't" => "can".to_owned(),
        word => word.trim_end_matches("n't").to_owned(),
    }
}

pub(super) fn is_interrogative(word: &str) -> bool {
    matches!(word, "how" | "why" | "what" | "who" | "whose" | "which" | "when" | "where" | "whom")
}

pub(super) fn is_preposition(word: &str) -> bool {
    has(
        " about above across after against among around as at before behind below beside between beyond by despite during \
        for from in inside into like near of off on onto outside over since than through to toward towards under until \
        upon via with within without ",
        word,
    )
}

pub(super) fn is_determiner(word: &str) -> bool {
    has(
        " a an the my your our his her its their this that these those no some any every each all both most many few \
        several another ",
        word,
    )
}

/// Returns true for a determiner that may also start a predicate: `a threat`, `our fault`.
pub(super) fn is_article(word: &str) -> bool {
    has(" a an the my your our his her its their no another ", word)
}

pub(super) fn is_relative(word: &str) -> bool {
    has(" who whom whose that which ", word)
}

/// Returns true for a personal pronoun.
pub(super) fn is_personal_pronoun(word: &str) -> bool {
    has(" i we you they he she it ", word)
}

/// Returns true for an indefinite pronoun.
pub(super) fn is_indefinite_pronoun(word: &str) -> bool {
    has(" people one someone somebody everyone everybody nobody anyone anybody everything nothing ", word)
}

/// Returns true if omitting the subject changes nothing.
pub(super) fn is_generic_subject(subject: &[&str]) -> bool {
    match subject {
        [word] => has(" we you i one people someone somebody ", word),
        [word, all] => has(" we you ", word) && has(" all both ", all),
        _ => false,
    }
}

pub(super) fn is_adverb(word: &str) -> bool {
    const ADVERBS: &str = " ever always still also only really just never even often sometimes already soon not ";
    const NO_ADVERBS: &str = " ally anomaly apply assembly belly bully costly daily deadly early elderly family friendly \
    holy italy jelly july likely lonely monopoly rely reply silly supply ugly weekly ";
    has(ADVERBS, word) || (word.len() > 4 && word.to_lowercase().ends_with("ly") && !has(NO_ADVERBS, word))
}

/// Returns true for an adverb of degree.
pub(super) fn is_degree(word: &str) -> bool {
    has(" more too less very as so quite fully ", word)
}

/// Returns true for an adjective.
pub(super) fn is_adjective(word: &str) -> bool {
    const QUALITIES: &str = " good bad better worse best worst safe unsafe right wrong ethical unethical moral immoral \
    necessary unnecessary worth worthy overrated underrated dangerous dead alive real fake fair unfair free legal illegal \
    healthy unhealthy obsolete important essential efficient inevitable justified natural human racist sexist universal \
    innate conscious intelligent evil cheap cheaper safer stronger smarter healthier faster ready able likely unlikely \
    blue green red true false beneficial here enough part ok okay fine cruel lazy tasty happy crazy scary risky guilty \
    greedy funny easy hard difficult normal boring outdated special equal toxic broken doomed democratic romantic \
    political economic toxic authentic fantastic tragic illogical old young new rich poor big small high low strong weak \
    long short fast slow sick mad wise stupid smart cool great perfect relevant irrelevant excellent violent innocent \
    different independent patient sufficient dishonest honest silly ugly deadly friendly lonely costly ";
    const ENDS: [&str; 8] = ["able", "ible", "ful", "less", "ous", "ive", "ical", "ish"];
    let lower = word.to_lowercase();
    let has_end = |end: &&str| lower.ends_with(*end) && lower.len() > end.len() + 2;
    has(QUALITIES, &lower) || ENDS.iter().any(has_end) || (lower.ends_with("ier") && lower.len() > 5)
}

/// Returns true for an adjective that a rule can impose: `mandatory`.
pub(super) fn can_be_imposed(word: &str) -> bool {
    has(
        " mandatory compulsory obligatory voluntary optional legal illegal free public private taxable available \
        accessible affordable cheaper cheap tax-free car-free transparent open unlawful lawful criminal punishable binding \
        stricter harder easier shorter longer safer smaller bigger higher lower ",
        word,
    )
}

/// Returns true for a participle that describes a feeling, not an action.
pub(super) fn is_feeling(word: &str) -> bool {
    has(
        " worried scared concerned interested excited tired ashamed bored frightened satisfied embarrassed pleased ",
        word,
    )
}

/// Returns true for a participle such as `banned`.
pub(super) fn is_participle(word: &str) -> bool {
    gerund_of_participle(word).is_some()
}

/// Returns true if the words have a negative meaning.
pub(super) fn has_negative_sentiment(words: &[&str]) -> bool {
    const GLOOMY: &str = " threat danger curse risk burden problem bad harmful evil wrong worse myth harm waste mistake \
    failure dangerous cruel villain poison disaster nightmare dystopia hurt worsen foe enemy sin crime fake scam fiction ";
    words.iter().any(|word| has(GLOOMY, word))
}
