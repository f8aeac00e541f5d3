//! TOML and JSON as one syntax tree in which every value has its location in the text.
//!
//! All later steps read this tree and report line and column. `serde_json` parses JSON, `toml` parses TOML: this
//! module accepts nothing that they reject.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::diagnostics::Diagnostics;

mod json;
mod toml;

/// Maximum nesting depth of values.
pub(super) const MAX_DEPTH: usize = 64;

/// Format of a graph file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// A value with its location in the text.
#[derive(Debug, Clone)]
pub(super) struct SpannedValue {
    pub(super) kind: SpannedKind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum SpannedKind {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<SpannedValue>),
    /// Entries in the order of the text.
    Map(Vec<SpannedEntry>),
}

#[derive(Debug, Clone)]
pub(super) struct SpannedEntry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: SpannedValue,
}

impl SpannedValue {
    /// Parses the text into a tree. Returns `None` and adds diagnostics if the text is not valid.
    pub(super) fn parse(text: &str, format: FileFormat, diagnostics: &mut Diagnostics) -> Option<Self> {
        let tree = match format {
            FileFormat::Toml => toml::parse(text, diagnostics),
            FileFormat::Json => json::parse(text, diagnostics),
        }?;
        if let Some(offset) = too_deep(&tree, MAX_DEPTH) {
            reject_deep(offset, diagnostics);
            return None;
        }
        Some(tree)
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            SpannedKind::Null => Value::Null,
            SpannedKind::Flag(flag) => Value::Bool(*flag),
            SpannedKind::Number(number) => Value::Number(number.clone()),
            SpannedKind::Text(text) => Value::String(text.clone()),
            SpannedKind::List(items) => items.iter().map(Self::to_json).collect(),
            SpannedKind::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    pub(super) fn entries(&self) -> &[SpannedEntry] {
        match &self.kind {
            SpannedKind::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Returns the offset of the value at a JSON pointer; for a table with a key, the offset of the key. For a
    /// missing value, the offset of the nearest existing parent.
    pub(super) fn offset(&self, pointer: &str) -> usize {
        let (mut node, mut offset) = (self, self.span.start);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                SpannedKind::Map(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| {
                    let is_table = matches!(entry.value.kind, SpannedKind::Map(_) | SpannedKind::List(_));
                    (&entry.value, if is_table { entry.key_span.start } else { entry.value.span.start })
                }),
                SpannedKind::List(items) => {
                    step.parse().ok().and_then(|at: usize| items.get(at)).map(|item| (item, item.span.start))
                }
                _ => None,
            };
            let Some(next) = next else { break };
            (node, offset) = next;
        }
        offset
    }

    /// Returns the offset of the key at the end of a JSON pointer.
    pub(super) fn key_offset(&self, pointer: &str) -> usize {
        let (parent_pointer, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = parent_pointer.split('/').skip(1).try_fold(self, |node, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            match &node.kind {
                SpannedKind::List(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
                _ => node.get(&step),
            }
        });
        let entry = parent.and_then(|parent| parent.entries().iter().find(|entry| entry.key == key));
        entry.map_or_else(|| self.offset(parent_pointer), |entry| entry.key_span.start)
    }
}

fn reject_deep(offset: usize, diagnostics: &mut Diagnostics) {
    diagnostics.at_offset(offset, format!("values are nested more than {MAX_DEPTH} levels deep"), None);
}

/// Returns the offset of the first value that is nested too deep.
fn too_deep(tree: &SpannedValue, depth: usize) -> Option<usize> {
    if depth == 0 {
        return Some(tree.span.start);
    }
    match &tree.kind {
        SpannedKind::List(items) => items.iter().find_map(|item| too_deep(item, depth - 1)),
        SpannedKind::Map(entries) => entries.iter().find_map(|entry| too_deep(&entry.value, depth - 1)),
        _ => None,
    }
}

/// Appends a key to a JSON pointer.
pub(super) fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
