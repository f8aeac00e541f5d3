//! Help text for an unknown name: the most similar valid name, then all of them.
//!
//! A small copy of `superstep_core::suggest`: a proc macro that depended on core would make every user build core
//! twice.

/// Returns "did you mean `x`? known: `x`, `y`", or only the list if no name is similar.
pub(crate) fn known_names(name: &str, names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let list = list.join(", ");
    match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`? known: {list}"),
        None => format!("known: {list}"),
    }
}

fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().filter_map(|candidate| {
        let allowed = (candidate.len().max(name.len()) / 3).max(1);
        let edits = distance(&name.to_lowercase(), candidate);
        let is_near = edits <= allowed && edits < candidate.len().min(name.len());
        let is_prefix = name.len() >= 3 && (candidate.starts_with(name) || name.starts_with(candidate));
        (is_near || is_prefix).then_some((edits, *candidate))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// Computes the Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, character) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
        let names = ["append", "add", "keep_last", "set_union"];
        let rows = [
            ("apend", Some("append")),
            ("Append", Some("append")),
            ("ad", Some("add")),
            ("keeplast", Some("keep_last")),
            ("keep_last_ten", Some("keep_last")),
            ("union", None),
            ("x", None),
            ("", None),
        ];
        for (name, expected) in rows {
            assert_eq!(nearest(name, &names), expected, "{name}");
        }
        assert_eq!(known_names("ad", &["max", "add"]), "did you mean `add`? known: `max`, `add`");
        assert_eq!(known_names("zzz", &["max", "add"]), "known: `max`, `add`");
    }
}
