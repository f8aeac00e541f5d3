//! Sentence splitting, for the rule model and for fact checks.
//!
//! A quotation or parenthesis never ends the sentence around it.

/// Splits a text into sentences, each with its final punctuation mark.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut slices = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (offset, letter) in text.char_indices() {
        // Fast path: this loop runs for every character of a debate.
        if letter.is_alphanumeric() || letter == ' ' {
            continue;
        }
        let next = text[offset + letter.len_utf8()..].chars().next();
        match letter {
            '“' | '(' | '[' => depth += 1,
            '”' | ')' | ']' => depth = depth.saturating_sub(1),
            // A blank line ends open quotations, even if the closing mark is missing.
            '\n' if next == Some('\n') => depth = 0,
            _ => {}
        }
        let is_end = match letter {
            '。' | '！' | '？' => depth == 0,
            '.' | '!' | '?' | '…' => {
                depth == 0 && next.is_none_or(char::is_whitespace) && !is_abbreviation(&text[start..offset], letter)
            }
            '\n' => next == Some('\n'),
            _ => false,
        };
        if is_end {
            push_sentence(&mut slices, &text[start..offset + letter.len_utf8()]);
            start = offset + letter.len_utf8();
        }
    }
    push_sentence(&mut slices, &text[start..]);
    slices
}

fn push_sentence<'a>(slices: &mut Vec<&'a str>, sentence: &'a str) {
    let sentence = sentence.trim();
    if sentence.chars().any(char::is_alphanumeric) {
        slices.push(sentence);
    }
}

/// Returns true if the full stop belongs to an abbreviation.
fn is_abbreviation(before: &str, mark: char) -> bool {
    const ABBREVIATIONS: [&str; 14] =
        ["vs", "e.g", "i.e", "dr", "mr", "mrs", "ms", "prof", "st", "approx", "etc", "cf", "no", "sen"];
    if mark != '.' {
        return false;
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let is_dotted = word.len() > 2 && word.split('.').all(|part| part.chars().count() == 1);
    // `no` is an abbreviation only before a number, which is rare; a sentence that ends in `no` is more common.
    is_initial || is_dotted || (word != "no" && ABBREVIATIONS.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-26: quotation marks, parentheses and abbreviations do not end a sentence.
    #[test]
    fn a_sentence_ends_where_a_reader_ends_it() {
        let text = "Dr. Ada said “It works. Really!” (a.md#b. c) twice. So? The U.S. agreed in 1.5 years, e.g. here. 東京。はい。";
        let expected =
            ["Dr. Ada said “It works. Really!” (a.md#b. c) twice.", "So?", "The U.S. agreed in 1.5 years, e.g. here."];
        let actual = sentences(text);
        assert_eq!(actual[..3], expected);
        assert_eq!(actual[3..], ["東京。", "はい。"]);
        assert_eq!(sentences("One “never closed.\n\nTwo."), ["One “never closed.", "Two."]);
        assert!(sentences(" … \n\n ?").is_empty());
    }
}
