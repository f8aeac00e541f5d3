//! English and German stop words: words that occur in every question and do not help a search.

use std::collections::BTreeSet;
use std::sync::LazyLock;

const ENGLISH: &str = "\
    a about after again all also am an and any anybody anyone are as at be because been before being both but by \
    can cannot could did do does doing don done each else for from further get gets give going got had has have \
    having he her here hers him his how i if in into is isn it its itself just know let like ll look make many \
    may me might more most much must my need no nor not now of on once one only or other others our ours out \
    over own please quite re s same say says she should since so some somebody someone something such t take \
    than thank thanks that the their them then there these they thing things this those through to today too \
    under until up us use used using ve very want was we well were what when where which while who whom why will \
    with without would yes yesterday you your";

const GERMAN: &str = "\
    aber als auch auf aus bei bin bis bitte da damit das dass dem den denn der des dich die dies diese diesem \
    diesen dieser dieses doch du durch ein eine einem einen einer eines er es euch für ganz gibt habe haben hat \
    hier ich ihr ihre im ist ja jemand kann kein keine man mein meine mir mit muss nach nicht noch nur ob oder \
    ohne schon sehr sich sie sind soll um und uns unser unter vom von vor wann warum weil wenn wer werden wie \
    wir wird wo zu zum zur über";

static STOP_WORDS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| ENGLISH.split_whitespace().chain(GERMAN.split_whitespace()).collect());

/// Returns true if a lowercase word is a stop word or a single ASCII letter.
pub(super) fn is_stop_word(word: &str) -> bool {
    let is_letter = word.chars().count() < 2 && word.is_ascii();
    is_letter || STOP_WORDS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-42: stop words of both languages and single letters are recognised; words of other scripts never are.
    #[test]
    fn stop_words_are_recognised() {
        assert!(["how", "wie", "i", "x"].into_iter().all(is_stop_word));
        assert!(!["pod", "湖", "down"].into_iter().any(is_stop_word));
    }
}
