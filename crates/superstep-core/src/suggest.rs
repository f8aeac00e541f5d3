//! Finds the known name that was probably meant, for the "did you mean" part of an error.
//!
//! Never corrects anything by itself: an unknown name stays an error (R-GRA-12, R-GRA-47), this file only formats
//! the help text.

/// Returns the candidate closest to `name`, or `None` if none is close enough.
///
/// Close means: equal but for case, or at most a third of the letters differ (insertion, deletion, replacement,
/// swap of neighbours), or one of the two begins with the other. The first of equally close candidates wins.
///
/// ```
/// use superstep_core::suggest::nearest;
/// assert_eq!(nearest("intger", ["string", "integer"]), Some("integer"));
/// assert_eq!(nearest("colour", ["string", "integer"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = lowercase_chars(name);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let Some(score) = closeness(&name, &lowercase_chars(candidate)) else { continue };
        if best.is_none_or(|(lowest, _)| score < lowest) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the sentence "did you mean `x`?" for the nearest candidate, or `None` if none is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Returns a help text that lists all known names, the nearest first and as a question: "did you mean `x`? known:
/// `x`, `y`".
pub fn did_you_mean_or_list(name: &str, names: &[&str]) -> String {
    let first = nearest(name, names.iter().copied());
    let rest = names.iter().copied().filter(|candidate| Some(*candidate) != first);
    let list: Vec<String> = first.into_iter().chain(rest).map(|candidate| format!("`{candidate}`")).collect();
    match first {
        Some(first) => format!("did you mean `{first}`? known: {}", list.join(", ")),
        None => format!("known: {}", list.join(", ")),
    }
}

fn lowercase_chars(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Returns the distance of two names, lower is closer; a shared beginning ranks after every small edit.
fn closeness(name: &[char], candidate: &[char]) -> Option<usize> {
    const SHARED_BEGINNING: usize = 1_000;
    let (shorter, longer) = if name.len() <= candidate.len() { (name, candidate) } else { (candidate, name) };
    let allowed = (longer.len() / 3).max(1);
    if longer.len() - shorter.len() <= allowed {
        let edits = distance(name, candidate);
        // If every letter is replaced, nothing is shared, however short the names are.
        if edits == 0 || (edits <= allowed && edits < shorter.len()) {
            return Some(edits);
        }
    }
    let is_prefix = shorter.len() >= 3 && longer.starts_with(shorter);
    is_prefix.then(|| SHARED_BEGINNING + longer.len() - shorter.len())
}

/// Computes the Damerau-Levenshtein distance in its optimal string alignment form, which needs only three rows.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = before_last.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["add", "append", "keep_last", "set_once", "integer", "naïve"];

    /// R-GRA-12, R-GRA-47: for an unknown name the nearest known one is suggested, if there is one.
    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let rows = [
            ("intger", Some("integer")),
            ("itneger", Some("integer")),
            ("INTEGER", Some("integer")),
            ("keepLast", Some("keep_last")),
            ("set-once", Some("set_once")),
            ("ad", Some("add")),
            ("int", Some("integer")),
            ("integers", Some("integer")),
            ("naive", Some("naïve")),
            ("colour", None),
            ("x", None),
            ("", None),
        ];
        for (name, expected) in rows {
            assert_eq!(nearest(name, NAMES), expected, "{name}");
        }
    }

    #[test]
    fn distances_count_insertions_deletions_replacements_and_swaps() {
        let rows =
            [("", "", 0), ("", "ab", 2), ("abc", "", 3), ("ab", "ba", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)];
        for (a, b, expected) in rows {
            assert_eq!(distance(&lowercase_chars(a), &lowercase_chars(b)), expected, "{a} {b}");
            assert_eq!(distance(&lowercase_chars(b), &lowercase_chars(a)), expected, "{b} {a}");
        }
    }

    #[test]
    fn the_first_of_equally_near_names_wins() {
        assert_eq!(nearest("bat", ["cat", "hat"]), Some("cat"));
        assert_eq!(nearest("bat", ["hat", "cat"]), Some("hat"));
    }

    #[test]
    fn advice_asks_for_the_nearest_and_lists_all() {
        assert_eq!(did_you_mean("ad", ["max", "add"]), Some("did you mean `add`?".into()));
        assert_eq!(did_you_mean("zzz", ["max", "add"]), None);
        assert_eq!(did_you_mean_or_list("ad", &["max", "add"]), "did you mean `add`? known: `add`, `max`");
        assert_eq!(did_you_mean_or_list("zzz", &["max", "add"]), "known: `max`, `add`");
    }
}
