//! Escapes names and labels for display.
//!
//! They come from users and models, so they may try to break out of a quoted string, hide characters or reverse the
//! reading direction. Every format first makes such characters visible here, then applies its own quoting.

/// Replaces control, bidirectional and invisible characters by escapes such as `\u{202a}`.
pub(super) fn escape_invisible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        if is_hidden(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
        escaped
    })
}

/// Makes hidden characters visible, then replaces characters with a meaning in XML by entities.
pub(super) fn xml(text: &str) -> String {
    escape_invisible(text).chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
        escaped
    })
}

/// Returns the width of the text in terminal columns.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Makes hidden characters visible and truncates the text with an ellipsis if it is wider than `limit` columns.
pub(super) fn truncate_columns(text: &str, limit: usize) -> String {
    let escaped = escape_invisible(text);
    if columns(&escaped) <= limit {
        return escaped;
    }
    let mut clipped = String::new();
    let mut used = 1;
    for character in escaped.chars() {
        used += width(character);
        if used > limit {
            break;
        }
        clipped.push(character);
    }
    clipped.push('…');
    clipped
}

// Joiners (U+200C, U+200D) stay: Persian words and joined emoji need them.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

fn width(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{columns, escape_invisible, truncate_columns, xml};

    /// R-FWK-10: invisible characters, and characters that change the reading direction, are escaped.
    #[test]
    fn hidden_characters_become_visible() {
        for (input, expected) in [
            ("plain näme", "plain näme"),
            ("a\nb\tc\u{1b}[31m", "a\\nb\\tc\\u{1b}[31m"),
            ("\u{202a}\u{202e}", "\\u{202a}\\u{202e}"),
            ("\u{2066}\u{2069}", "\\u{2066}\\u{2069}"),
            ("\u{e0000}\u{e007f}", "\\u{e0000}\\u{e007f}"),
            ("\u{0}\u{85}\u{ffff}", "\\u{0}\\u{85}\\u{ffff}"),
        ] {
            assert_eq!(escape_invisible(input), expected);
        }
    }

    /// R-FWK-10: no character keeps a meaning in XML.
    #[test]
    fn xml_text_has_no_markup_left() {
        assert_eq!(xml("<a href='x' b=\"y\">&"), "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
    }

    /// R-FWK-10: widths match the columns of a terminal.
    #[test]
    fn columns_and_clipping_follow_the_terminal() {
        assert_eq!([columns("abc"), columns("検索"), columns("e\u{301}")], [3, 4, 1]);
        assert_eq!(
            [truncate_columns("abcdef", 6), truncate_columns("abcdef", 4), truncate_columns("検索中", 5)],
            ["abcdef", "abc…", "検索…"]
        );
    }
}
