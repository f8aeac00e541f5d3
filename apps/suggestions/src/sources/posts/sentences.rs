//! Counts sentences. Not every period ends a sentence.

/// Abbreviations that are written with a period, in English and German.
const ABBREVIATIONS: [&str; 40] = [
    "approx", "bzw", "ca", "cf", "co", "corp", "dept", "dr", "e.g", "eg", "etc", "evtl", "fig", "ggf", "i.e", "ie",
    "inc", "inkl", "jr", "ltd", "max", "min", "misc", "mr", "mrs", "ms", "no", "nr", "prof", "resp", "sr", "st", "str",
    "tel", "u.a", "usw", "vgl", "vs", "z.b", "d.h",
];

/// Counts the sentences of a text. Periods in URLs and numbers, after abbreviations and in ellipses do not count.
///
/// ```
/// use superstep_suggestions::sources::count_sentences;
/// assert_eq!(count_sentences("See https://a.example/b.html for 3.5 GB, e.g. today... Why?!"), 1);
/// assert_eq!(count_sentences("One. Two! Three? Four"), 4);
/// ```
#[must_use]
pub fn count_sentences(text: &str) -> usize {
    let mut count = 0;
    let mut is_open = false;
    for word in words(text) {
        is_open |= word.text.chars().any(char::is_alphanumeric);
        if is_open && ends_sentence(&word) {
            count += 1;
            is_open = false;
        }
    }
    count + usize::from(is_open)
}

/// A word with its surrounding punctuation.
struct Word<'a> {
    text: &'a str,
    is_last: bool,
}

/// Splits a text at whitespace and after full-width sentence marks (`。`), which no space follows.
fn words(text: &str) -> Vec<Word<'_>> {
    let pieces = text.split_whitespace().flat_map(|word| word.split_inclusive(['。', '！', '？']));
    let mut words: Vec<Word<'_>> = pieces.map(|text| Word { text, is_last: false }).collect();
    if let Some(last) = words.last_mut() {
        last.is_last = true;
    }
    words
}

fn ends_sentence(word: &Word<'_>) -> bool {
    let text = word.text.trim_end_matches(['"', '\'', ')', ']', '”', '“', '’', '»', '«', '*', '_']);
    let bare = text.trim_end_matches(['.', '!', '?', '…', '。', '！', '？']);
    let end_marks = &text[bare.len()..];
    if end_marks.is_empty() || end_marks.contains('…') || end_marks.contains("..") {
        // An ellipsis does not end a sentence; a question or exclamation mark after it does.
        return end_marks.contains(['!', '?']);
    }
    end_marks != "." || !is_abbreviation(bare, word.is_last)
}

/// Returns true if a single period belongs to the word and does not end the sentence.
fn is_abbreviation(bare: &str, is_last: bool) -> bool {
    if is_last {
        return false;
    }
    let word = bare.trim_start_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    // As in "on the 3. of May"; a longer number before a period rather ends a statement.
    let is_ordinal = (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    is_initial || is_ordinal || is_dotted || ABBREVIATIONS.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-40: punctuation that only looks like the end of a sentence does not count.
    #[test]
    fn dots_that_end_nothing_do_not_count() {
        for (text, expected) in [
            ("", 0),
            ("...", 0),
            ("Hello", 1),
            ("Hello.", 1),
            ("One. Two. Three.", 3),
            ("One! Two? Three. Four", 4),
            ("What?! Really!!!", 2),
            ("See https://a.example/x.html. It is good.", 2),
            ("See www.a.example/x.html?y=1.2 now", 1),
            ("Version 1.2.3 is 4.5 times faster", 1),
            ("We wait… and wait... until Monday", 1),
            ("We wait ... then what?", 1),
            ("Tools, e.g. helm, i.e. charts etc. are old", 1),
            ("Dr. J. Smith vs. Prof. Lee at 9 a.m. today", 1),
            ("Das geht z.B. am 3. Mai bzw. später. Ja?", 2),
            ("It costs 250. Come by.", 2),
            ("He said \"stop.\" Then (he left.) Yes", 3),
            ("一つ。二つ！三つ？四つ", 4),
            ("a.\nb.\n\nc", 1),
            ("All of us, etc.", 1),
        ] {
            assert_eq!(count_sentences(text), expected, "{text}");
        }
    }
}
