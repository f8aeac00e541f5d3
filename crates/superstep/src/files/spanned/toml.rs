//! TOML parser with locations: the document of the `toml` crate, in the order of the text.

use serde_json::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::diagnostics::Diagnostics;
use super::{MAX_DEPTH, SpannedEntry, SpannedKind, SpannedValue, reject_deep};

/// Maximum number of reported syntax errors: later ones usually follow from the first.
const MAX_REPORTED_ERRORS: usize = 5;

pub(super) fn parse(text: &str, diagnostics: &mut Diagnostics) -> Option<SpannedValue> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.iter().take(MAX_REPORTED_ERRORS) {
        let offset = error.span().map_or(0, |span| span.start);
        diagnostics.at_offset(offset, format!("not TOML: {}", error.message().replace('\n', ", ")), None);
    }
    if !errors.is_empty() {
        return None;
    }
    let kind = table(document.get_ref(), MAX_DEPTH, diagnostics)?;
    Some(SpannedValue { kind, span: 0..text.len() })
}

/// Converts a table. `depth` is the remaining nesting depth.
fn table(table: &DeTable<'_>, depth: usize, diagnostics: &mut Diagnostics) -> Option<SpannedKind> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let kind = kind(value, depth - 1, diagnostics);
        let (key_span, key) = (key.span(), key.get_ref().to_string());
        entries.push(kind.map(|kind| SpannedEntry { key, key_span, value: SpannedValue { kind, span: value.span() } }));
    }
    let mut entries = entries.into_iter().collect::<Option<Vec<_>>>()?;
    entries.sort_by_key(|entry| entry.key_span.start);
    Some(SpannedKind::Map(entries))
}

fn kind(value: &Spanned<DeValue<'_>>, depth: usize, diagnostics: &mut Diagnostics) -> Option<SpannedKind> {
    let offset = value.span().start;
    if depth == 0 {
        reject_deep(offset, diagnostics);
        return None;
    }
    let number = match value.get_ref() {
        DeValue::String(text) => return Some(SpannedKind::Text(text.to_string())),
        DeValue::Boolean(flag) => return Some(SpannedKind::Flag(*flag)),
        DeValue::Datetime(time) => return Some(SpannedKind::Text(time.to_string())),
        DeValue::Table(inner) => return table(inner, depth, diagnostics),
        DeValue::Array(items) => {
            let read = |item: &Spanned<DeValue<'_>>, diagnostics: &mut Diagnostics| {
                let kind = kind(item, depth - 1, diagnostics)?;
                Some(SpannedValue { kind, span: item.span() })
            };
            let items: Vec<Option<SpannedValue>> = items.iter().map(|item| read(item, diagnostics)).collect();
            return items.into_iter().collect::<Option<_>>().map(SpannedKind::List);
        }
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(Number::from),
        DeValue::Float(number) => number.as_str().parse().ok().and_then(Number::from_f64),
    };
    if number.is_none() {
        diagnostics.at_offset(offset, "the number is out of range", Some("use a finite 64-bit number".to_owned()));
    }
    number.map(SpannedKind::Number)
}
