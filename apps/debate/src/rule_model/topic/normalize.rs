//! Normalization of a line: contractions are expanded, and the first person becomes the second (`my job`, `your
//! job`).

use super::nouns::is_common;
use super::verbs::{gerund_of_participle, has, is_verb};
use super::word_classes::{
    is_adjective, is_auxiliary, is_copula, is_determiner, is_interrogative, is_personal_pronoun, is_preposition,
};

/// Returns the words of a line without the punctuation at its ends.
pub(super) fn normalized_words(text: &str) -> Vec<String> {
    let bare = text.trim_matches(|letter: char| "?!.¿¡… ".contains(letter)).replace('’', "'");
    let mut words: Vec<String> = bare.split(' ').filter(|word| !word.is_empty()).flat_map(expand_contraction).collect();
    // `or not` adds nothing to the question.
    if words.len() > 3 && words[words.len() - 2..] == ["or", "not"] {
        words.truncate(words.len() - 2);
        let last = words.len() - 1;
        words[last] = words[last].trim_end_matches(',').to_owned();
    }
    // `Which is better: cats or dogs?`
    if words.first().is_some_and(|word| is_interrogative(&word.to_lowercase())) {
        words.iter_mut().for_each(|word| *word = word.replace(':', ","));
    }
    if is_title_case(&words) {
        words.iter_mut().skip(1).filter(|word| is_known_word(word)).for_each(|word| *word = word.to_lowercase());
    }
    to_second_person(words)
}

/// Expands contractions: `it's` to `it is`, `let's` to `let us`.
fn expand_contraction(word: &str) -> Vec<String> {
    let Some((before, after)) = word.split_once('\'') else { return vec![word.to_owned()] };
    const WITH_IS: &str = " it that there here he she what who where how this ";
    let second = match after {
        "s" if before.eq_ignore_ascii_case("let") => "us",
        "s" if has(WITH_IS, before) => "is",
        "re" => "are",
        "m" => "am",
        "ve" => "have",
        "ll" => "will",
        "d" => "would",
        _ => return vec![word.to_owned()],
    };
    vec![before.to_owned(), second.to_owned()]
}

/// Returns true if every important word is capitalized, as in a headline.
fn is_title_case(words: &[String]) -> bool {
    let is_small = |word: &String| is_preposition(word) || is_determiner(word) || has(" and or ", word);
    let is_capital = |word: &String| word.starts_with(|letter: char| letter.is_uppercase() || letter.is_numeric());
    words.len() > 3 && words.iter().filter(|word| !is_small(word)).all(is_capital)
}

/// Returns true if the grammar knows the word, so it is not a name.
fn is_known_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_short_name = word.chars().skip(1).any(char::is_uppercase) || word == "I";
    let is_word =
        is_auxiliary(&lower) || is_verb(&lower) || is_adjective(&lower) || gerund_of_participle(&lower).is_some();
    let is_small = is_personal_pronoun(&lower) || is_preposition(&lower) || is_determiner(&lower) || lower == "not";
    !is_short_name && (is_word || is_small || is_common(&lower))
}

/// Converts the first person to the second: the agents address the user.
fn to_second_person(words: Vec<String>) -> Vec<String> {
    let is_name = |index: usize| {
        // `World War I`
        index > 1 && words[index - 1].starts_with(char::is_uppercase)
    };
    let is_pronoun = |index: usize| index > 0 && words[index] == "I" && !is_name(index);
    let has_pronoun = (0..words.len()).any(is_pronoun);
    let convert = |(index, word): (usize, &String)| {
        let is_first = index == 0;
        let new = match word.as_str() {
            "I" if is_pronoun(index) => "you",
            "my" => "your",
            "My" => "Your",
            "me" => "you",
            "mine" if !is_first => "yours",
            "myself" => "yourself",
            copula if has_pronoun && is_copula(&copula.to_lowercase()) => match copula {
                "am" => "are",
                "Am" => "Are",
                "Was" => "Were",
                other => other,
            },
            other => other,
        };
        new.to_owned()
    };
    words.iter().enumerate().map(convert).collect()
}
