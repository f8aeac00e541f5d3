//! JSON with places.
//!
//! `serde_json` says first whether the text is JSON; only what it has accepted is walked, so the walk needs no errors of
//! its own. A key that is given twice is refused here, because `serde_json` would take the last.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::problems::Problems;
use super::{Entry, Kind, Tree};

pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<Tree> {
    if let Err(error) = serde_json::from_str::<Value>(text) {
        let message = error.to_string();
        let fact = message.rsplit_once(" at line ").map_or(message.as_str(), |(fact, _)| fact);
        problems.at_offset(offset_of(text, error.line(), error.column()), format!("not JSON: {fact}"), None);
        return None;
    }
    let mut walk = Walk { text, at: 0, twice: Vec::new() };
    let tree = walk.value()?;
    for (offset, key) in &walk.twice {
        problems.at_offset(*offset, format!("`{key}` is given twice"), Some("remove one of them".to_owned()));
    }
    walk.twice.is_empty().then_some(tree)
}

/// `serde_json` counts lines from one and bytes of a line from one; past the end of a line it stands at its end.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut offset = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
    twice: Vec<(usize, String)>,
}

impl Walk<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Option<Tree> {
        let first = self.peek()?;
        let start = self.at;
        let kind = match first {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => Kind::Text(self.text()?),
            _ => self.plain()?,
        };
        Some(Tree { kind, span: start..self.at })
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

    /// A number, a flag or null.
    fn plain(&mut self) -> Option<Kind> {
        let start = self.at;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}');
        self.at += self.text.as_bytes()[start..].iter().take_while(|byte| !ends(byte)).count();
        match serde_json::from_str(self.text.get(start..self.at)?).ok()? {
            Value::Bool(flag) => Some(Kind::Flag(flag)),
            Value::Number(number) => Some(Kind::Number(number)),
            _ => Some(Kind::Null),
        }
    }

    fn list(&mut self) -> Option<Kind> {
        let mut items = Vec::new();
        self.at += 1;
        while self.peek()? != b']' {
            items.push(self.value()?);
            self.comma()?;
        }
        self.at += 1;
        Some(Kind::List(items))
    }

    fn map(&mut self) -> Option<Kind> {
        let mut entries: Vec<Entry> = Vec::new();
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
                self.twice.push((start, key.clone()));
            }
            entries.push(Entry { key, key_span, value });
            self.comma()?;
        }
        self.at += 1;
        Some(Kind::Map(entries))
    }

    fn comma(&mut self) -> Option<()> {
        if self.peek()? == b',' {
            self.at += 1;
        }
        Some(())
    }
}
