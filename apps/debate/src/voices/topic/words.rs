//! The small words of English that hold a topic together, and which words say what something is like.

use super::grammar::{gerund_of_participle, has};

/// Whether a verb that helps others: `should`, `is`, `does`.
pub(super) fn is_helper(word: &str) -> bool {
    is_modal(word) || is_being(word) || matches!(word, "do" | "does" | "did" | "has" | "have" | "had")
}

fn is_modal(word: &str) -> bool {
    matches!(word, "should" | "must" | "can" | "could" | "will" | "would" | "may" | "might" | "shall" | "cannot")
}

pub(super) fn is_being(word: &str) -> bool {
    matches!(word, "is" | "are" | "was" | "were" | "am")
}

/// Whether a helping verb speaks of what is over.
pub(super) fn is_past(helper: &str) -> bool {
    matches!(helper, "was" | "were" | "did" | "had")
}

/// `shouldn't` to `should`.
pub(super) fn positive(word: &str) -> String {
    match word {
        "won't" => "will".to_owned(),
        "can't" => "can".to_owned(),
        word => word.trim_end_matches("n't").to_owned(),
    }
}

pub(super) fn is_asking(word: &str) -> bool {
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

/// Whether a determiner that also begins what something is said to be: `a threat`, `our fault`.
pub(super) fn is_article(word: &str) -> bool {
    has(" a an the my your our his her its their no another ", word)
}

pub(super) fn is_relative(word: &str) -> bool {
    has(" who whom whose that which ", word)
}

/// Whether a word that stands for somebody already named.
pub(super) fn is_personal(word: &str) -> bool {
    has(" i we you they he she it ", word)
}

/// Whether a word that stands for no one in particular.
pub(super) fn is_indefinite(word: &str) -> bool {
    has(" people one someone somebody everyone everybody nobody anyone anybody everything nothing ", word)
}

/// Whether leaving the subject out changes nothing.
pub(super) fn is_anybody(subject: &[&str]) -> bool {
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

/// Whether a word makes what follows stronger or weaker.
pub(super) fn is_degree(word: &str) -> bool {
    has(" more too less very as so quite fully ", word)
}

/// Whether a word says what something is like.
pub(super) fn is_quality(word: &str) -> bool {
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

/// Whether something can be made so by a rule: `mandatory`.
pub(super) fn is_by_rule(word: &str) -> bool {
    has(
        " mandatory compulsory obligatory voluntary optional legal illegal free public private taxable available \
        accessible affordable cheaper cheap tax-free car-free transparent open unlawful lawful criminal punishable binding \
        stricter harder easier shorter longer safer smaller bigger higher lower ",
        word,
    )
}

/// Whether a participle tells a feeling and nothing that is done.
pub(super) fn is_feeling(word: &str) -> bool {
    has(
        " worried scared concerned interested excited tired ashamed bored frightened satisfied embarrassed pleased ",
        word,
    )
}

/// Whether a participle such as `banned`.
pub(super) fn is_participle(word: &str) -> bool {
    gerund_of_participle(word).is_some()
}

/// Whether what is named is nothing anybody hopes for.
pub(super) fn is_gloomy(words: &[&str]) -> bool {
    const GLOOMY: &str = " threat danger curse risk burden problem bad harmful evil wrong worse myth harm waste mistake \
    failure dangerous cruel villain poison disaster nightmare dystopia hurt worsen foe enemy sin crime fake scam fiction ";
    words.iter().any(|word| has(GLOOMY, word))
}
