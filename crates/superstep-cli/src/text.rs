//! Text for a terminal: truncated and wrapped to its width, without control characters, and formatted times and
//! amounts.

use std::time::Duration;

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns of the terminal.
pub(crate) fn width() -> usize {
    terminal_width().filter(|width| *width >= 20).unwrap_or(80)
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Returns the number of columns of a text.
pub(crate) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Shortens a text to one line of at most `max` columns, with a mark at the cut.
pub(crate) fn truncate(text: &str, max: usize) -> String {
    let text = one_line(text);
    if columns(&text) <= max {
        return text;
    }
    let (mut shortened, mut used) = (String::new(), 0);
    for symbol in text.chars() {
        used += symbol.width().unwrap_or(0);
        if used + 1 > max {
            break;
        }
        shortened.push(symbol);
    }
    shortened.push('…');
    shortened
}

/// Converts a text to one line and cuts its start off at a number of columns.
pub(crate) fn tail(text: &str, max: usize) -> String {
    let text = one_line(text);
    let (mut start, mut used) = (text.len(), 0);
    for (offset, symbol) in text.char_indices().rev() {
        used += symbol.width().unwrap_or(0);
        if used > max {
            break;
        }
        start = offset;
    }
    text[start..].to_owned()
}

/// Converts a text to one line. Text from models and storage must not move the cursor or change colours.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|symbol| if symbol.is_control() { ' ' } else { symbol }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes control characters except line breaks and tabs.
pub(crate) fn strip_control_characters(text: &str) -> String {
    text.chars().filter(|symbol| !symbol.is_control() || matches!(symbol, '\n' | '\t')).collect()
}

/// Formats a value as indented JSON.
pub(crate) fn pretty(value: &Value) -> String {
    escaped(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Escapes control characters in JSON text: the value stays the same, and the terminal is not affected.
pub(crate) fn escaped(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol.is_control() && symbol != '\n' {
            true => output.push_str(&format!("\\u{:04x}", u32::from(symbol))),
            false => output.push(symbol),
        }
    }
    output
}

/// Wraps a text between words into lines of at most `max` columns.
pub(crate) fn wrap(text: &str, max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in one_line(text).split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("`lines` is never empty");
        if !line.is_empty() && columns(line) + 1 + columns(word) > max {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Pads a text with spaces to a number of columns.
pub(crate) fn padded(text: &str, target_columns: usize) -> String {
    format!("{text}{}", " ".repeat(target_columns.saturating_sub(columns(text))))
}

/// Formats a duration: `0.3 s`, `2 min 5 s`.
pub(crate) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats an amount: `1 token`, `2 tokens`.
pub(crate) fn pluralize(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Formats a timestamp in local time.
pub(crate) fn format_timestamp(text: &str) -> String {
    let timestamp = text.parse::<jiff::Timestamp>();
    let local = timestamp.map(|timestamp| timestamp.to_zoned(jiff::tz::TimeZone::system()));
    local.map_or_else(|_| text.to_owned(), |local| local.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Summarizes the update of a node.
pub(crate) fn summary(update: &Value) -> String {
    match update {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !name.starts_with("__"));
            fields.map(|(name, value)| format!("{name}: {}", value_text(value))).collect::<Vec<_>>().join(", ")
        }
        Value::Null => String::new(),
        other => value_text(other),
    }
}

/// Summarizes a value; a list of messages by the content of the last one.
fn value_text(value: &Value) -> String {
    let message = value.as_array().and_then(|list| list.last()).unwrap_or(value);
    match message["content"].as_str().map_or(value, |_| &message["content"]) {
        Value::String(text) => one_line(text),
        other => other.to_string(),
    }
}

/// Quotes a word for a shell, if needed.
pub(crate) fn shell_quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-/=,@%+".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns_and_control_characters_none() {
        assert_eq!(truncate("日本語テキスト", 7), "日本語…");
        assert_eq!(["日本語テキスト", "a\nb"].map(|text| tail(text, 7)), ["キスト", "a b"]);
        assert_eq!(truncate("a\u{1b}[31mb\nc", 20), "a [31mb c");
        assert_eq!(wrap("日本 語 a b", 6), ["日本", "語 a b"]);
        assert_eq!(strip_control_characters("a\u{1b}[2Jb\n"), "a[2Jb\n");
        // The second is the one-character form of the escape sequence introducer, which JSON does not escape.
        let value = serde_json::json!({ "a": "\u{1b}[2J\u{9b}2J\u{7f}" });
        assert_eq!(pretty(&value), "{\n  \"a\": \"\\u001b[2J\\u009b2J\\u007f\"\n}");
        assert_eq!(serde_json::from_str::<Value>(&pretty(&value)).expect("JSON"), value);
    }

    /// Printed commands can be pasted into a shell.
    #[test]
    fn words_are_quoted_where_a_shell_would_read_something_else() {
        let rows = [("a-1:b", "a-1:b"), ("", "''"), ("it's", r"'it'\''s'"), ("$(x)", "'$(x)'")];
        for (word, expected) in rows {
            assert_eq!(shell_quote(word), expected);
        }
    }

    #[test]
    fn an_update_is_summarized_by_field_and_messages_by_their_text() {
        let update = serde_json::json!({ "n": 1, "messages": [{ "role": "user", "content": "a\nb" }], "__x": 1 });
        assert_eq!(summary(&update), "n: 1, messages: a b");
        assert_eq!(summary(&Value::Null), "");
    }

    #[test]
    fn durations_are_formatted_in_a_fitting_unit() {
        let rows = [(0.34, "0.3 s"), (59.0, "59.0 s"), (125.0, "2 min 5 s"), (7300.0, "2 h 1 min")];
        for (seconds, expected) in rows {
            assert_eq!(format_duration(Duration::from_secs_f64(seconds)), expected);
        }
    }
}
