//! Infers the column types of a file without a schema from its values.

/// Returns the declared type for a column with these values; empty values are ignored.
pub(super) fn declaration<'a>(values: impl Iterator<Item = &'a str>) -> &'static str {
    let mut kind = None;
    for value in values.filter(|value| !value.is_empty()) {
        kind = match (kind, number(value)) {
            (_, None) => return "TEXT",
            (None | Some("INTEGER"), Some("INTEGER")) => Some("INTEGER"),
            _ => Some("DECIMAL"),
        };
    }
    kind.unwrap_or("TEXT")
}

/// Returns the numeric type of a text. A text with a leading zero or plus sign is a name, for example a postcode or
/// a phone number.
fn number(text: &str) -> Option<&'static str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (integer, fraction) = digits.split_once('.').map_or((digits, None), |(integer, rest)| (integer, Some(rest)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = integer.len() > 1 && integer.starts_with('0');
    match fraction {
        // Longer numbers would lose digits.
        _ if !is_digits(integer) || is_padded || digits.len() > 15 => None,
        Some(fraction) => is_digits(fraction).then_some("DECIMAL"),
        None => Some("INTEGER"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-53: a column of a file without a schema gets the type that fits all its values.
    #[test]
    fn values_determine_the_type_of_a_column() {
        for (values, expected) in [
            (vec!["1", "-20", ""], "INTEGER"),
            (vec!["1", "2.50"], "DECIMAL"),
            (vec!["1", "x"], "TEXT"),
            (vec!["01234"], "TEXT"),
            (vec!["+49"], "TEXT"),
            (vec!["1."], "TEXT"),
            (vec!["1234567890123456"], "TEXT"),
            (vec!["2026-10-01"], "TEXT"),
            (vec!["", ""], "TEXT"),
            (vec!["0", "0.5"], "DECIMAL"),
        ] {
            assert_eq!(declaration(values.iter().copied()), expected, "{values:?}");
        }
    }
}
