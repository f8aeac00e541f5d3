//! JSON parser with locations.
//!
//! `serde_json` first checks whether the text is valid JSON; only accepted text is walked, so the walk needs no
//! errors of its own. Duplicate keys are rejected here, because `serde_json` would use the last one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::diagnostics::Diagnostics;
use super::{SpannedEntry, SpannedKind, SpannedValue};

pub(super) fn parse(text: &str, diagnostics: &mut Diagnostics) -> Option<SpannedValue> {
    if let Err(error) = serde_json::from_str::<Value>(text) {
        let message = error.to_string();
        let fact = message.rsplit_once(" at line ").map_or(message.as_str(), |(fact, _)| fact);
        diagnostics.at_offset(offset_of(text, error.line(), error.column()), format!("not JSON: {fact}"), None);
        return None;
    }
    let mut parser = JsonSpanParser { text, at: 0, duplicate_keys: Vec::new() };
    let tree = parser.value()?;
    for (offset, key) in &parser.duplicate_keys {
        diagnostics.at_offset(*offset, format!("duplicate key `{key}`"), Some("remove one of them".to_owned()));
    }
    parser.duplicate_keys.is_empty().then_some(tree)
}

/// Converts a position of `serde_json` to an offset. Lines and columns (bytes) count from one; a column past the end
/// of a line means its end.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut offset = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

struct JsonSpanParser<'a> {
    text: &'a str,
    at: usize,
    duplicate_keys: Vec<(usize, String)>,
}

impl JsonSpanParser<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Option<SpannedValue> {
        let first = self.peek()?;
        let start = self.at;
        let kind = match first {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => SpannedKind::Text(self.text()?),
            _ => self.plain()?,
        };
        Some(SpannedValue { kind, span: start..self.at })
    }

    fn text(&mut self) -> Option<String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while *bytes.get(self.at)? != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    /// Parses a number, a boolean or null.
    fn plain(&mut self) -> Option<SpannedKind> {
        let start = self.at;
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}');
        self.at += self.text.as_bytes()[start..].iter().take_while(|byte| !is_end(byte)).count();
        match serde_json::from_str(self.text.get(start..self.at)?).ok()? {
            Value::Bool(flag) => Some(SpannedKind::Flag(flag)),
            Value::Number(number) => Some(SpannedKind::Number(number)),
            _ => Some(SpannedKind::Null),
        }
    }

    fn list(&mut self) -> Option<SpannedKind> {
        let mut items = Vec::new();
        self.at += 1;
        while self.peek()? != b']' {
            items.push(self.value()?);
            self.comma()?;
        }
        self.at += 1;
        Some(SpannedKind::List(items))
    }

    fn map(&mut self) -> Option<SpannedKind> {
        let mut entries: Vec<SpannedEntry> = Vec::new();
        let mut keys = BTreeSet::new();
        self.at += 1;
        while self.peek()? != b'}' {
            let start = self.at;
            let key = self.text()?;
            let key_span = start..self.at;
            self.peek()?;
            self.at += 1;
            let value = self.value()?;
            if !keys.insert(key.clone()) {
                self.duplicate_keys.push((start, key.clone()));
            }
            entries.push(SpannedEntry { key, key_span, value });
            self.comma()?;
        }
        self.at += 1;
        Some(SpannedKind::Map(entries))
    }

    fn comma(&mut self) -> Option<()> {
        if self.peek()? == b',' {
            self.at += 1;
        }
        Some(())
    }
}
