//! Stemmer: removes word endings, so that `deploys` and `deployed` match.

/// Returns a word without the most common English endings. The result is not always a word; it only has to be equal
/// for the forms of one word.
///
/// ```
/// use superstep_suggestions::query_expansion::stem;
/// assert_eq!([stem("deployed"), stem("deploys"), stem("deploying")], ["deploy", "deploy", "deploy"]);
/// assert_eq!(stem("stopped"), stem("stops"));
/// ```
#[must_use]
pub fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let strip =
        |ending: &str, min_chars: usize| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= min_chars);
    if let Some(rest) = strip("ies", 2) {
        return format!("{rest}y");
    }
    let verb = strip("ing", 3).or_else(|| strip("ed", 3));
    let plural = || strip("es", 3).filter(|rest| rest.ends_with(['s', 'x', 'z', 'h'])).or_else(|| strip("s", 3));
    let rest = match verb.filter(|rest| has_vowel(rest)) {
        Some(rest) => without_double_consonant(rest),
        None if word.ends_with("ss") || word.ends_with("us") => &word,
        None => plural().unwrap_or(&word),
    };
    // `rotate`, `rotated` and `rotating` become equal only without the final `e`.
    let bare = rest.strip_suffix('e').filter(|bare| bare.chars().count() >= 3);
    bare.unwrap_or(rest).to_owned()
}

/// Removes a doubled final consonant: `stopp` of `stopped` becomes `stop`; `fall` of `falling` stays.
fn without_double_consonant(rest: &str) -> &str {
    let mut letters = rest.char_indices().rev();
    match (letters.next(), letters.next()) {
        (Some((offset, last)), Some((_, before))) if last == before && !"lsz".contains(last) => &rest[..offset],
        _ => rest,
    }
}

fn has_vowel(rest: &str) -> bool {
    rest.contains(|letter| "aeiouyäöü".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-42: forms of a word have the same stem.
    #[test]
    fn forms_of_a_word_have_the_same_stem() {
        for forms in [
            &["rotate", "rotated", "rotating", "rotates"][..],
            &["query", "queries"],
            &["crash", "crashes", "crashed", "crashing"],
            &["fall", "falls", "falling"],
            &["class", "classes"],
            &["größe"],
        ] {
            let stems: std::collections::BTreeSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?} {stems:?}");
        }
        assert_eq!([stem("status"), stem("ring"), stem("red"), stem("is")], ["status", "ring", "red", "is"]);
    }
}
