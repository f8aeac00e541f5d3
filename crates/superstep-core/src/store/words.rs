//! The words of a text, the same for every store: the index of a database only narrows down the candidates.

use xxhash_rust::xxh3::xxh3_64;

/// Returns the words of a text, in order: runs of letters and digits, in lower case. In scripts without spaces
/// between words (Chinese, Japanese), each character is a word.
///
/// ```
/// use superstep_core::store::words;
/// assert_eq!(words("Zürich's 2 lakes: 湖水"), ["zürich", "s", "2", "lakes", "湖", "水"]);
/// ```
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if !character.is_alphanumeric() || is_whole_word(character) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if is_whole_word(character) {
            words.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Returns true for kana and ideographs.
fn is_whole_word(character: char) -> bool {
    let code = u32::from(character);
    matches!(code, 0x3041..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Returns the index term of a word: only ASCII letters and digits, so that no index splits it or interprets it as
/// more than a word. Two words may share one term.
#[must_use]
pub fn index_term(word: &str) -> String {
    format!("x{:08x}", xxh3_64(word.as_bytes()) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_terms_are_alphanumeric() {
        for word in ["a", "ü", "x') OR 1=1 --", "\0", ""] {
            let term = index_term(word);
            assert!(term.len() == 9 && term.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{term}");
        }
    }

    #[test]
    fn words_are_apart_and_in_lower_case() {
        assert_eq!(words("Ann's e-mail"), ["ann", "s", "e", "mail"]);
        assert_eq!(words("ÄRGER ΣΑΣ"), ["ärger", "σασ"]);
        assert!(words(" \t…!").is_empty());
    }
}
