//! TOML and JSON as one tree in which every value knows where it stands in the text.
//!
//! Everything after this reads one form and can say line and column. JSON is judged by `serde_json`, TOML by `toml`: here
//! nothing is accepted that they refuse.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::problems::Problems;

mod json;
mod toml;

/// How deep values may be nested.
pub(super) const DEPTH: usize = 64;

/// The two ways to write a graph file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// A value, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    /// In the order of the text.
    Map(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Tree,
}

impl Tree {
    /// The text as a tree; nothing where it is not what it should be, which is then among the problems.
    pub(super) fn parse(text: &str, format: Format, problems: &mut Problems) -> Option<Self> {
        let tree = match format {
            Format::Toml => toml::parse(text, problems),
            Format::Json => json::parse(text, problems),
        }?;
        if let Some(deep) = too_deep(&tree, DEPTH) {
            refuse_deep(deep, problems);
            return None;
        }
        Some(tree)
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Flag(flag) => Value::Bool(*flag),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Where the value at a JSON pointer begins; for a table that has a name, where the name does. A pointer to what is
    /// not there is answered with the nearest that is.
    pub(super) fn offset(&self, pointer: &str) -> usize {
        let (mut here, mut offset) = (self, self.span.start);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &here.kind {
                Kind::Map(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| {
                    let is_table = matches!(entry.value.kind, Kind::Map(_) | Kind::List(_));
                    (&entry.value, if is_table { entry.key_span.start } else { entry.value.span.start })
                }),
                Kind::List(items) => {
                    step.parse().ok().and_then(|at: usize| items.get(at)).map(|item| (item, item.span.start))
                }
                _ => None,
            };
            let Some(next) = next else { break };
            (here, offset) = next;
        }
        offset
    }

    /// Where the key at the end of a JSON pointer begins.
    pub(super) fn key_offset(&self, pointer: &str) -> usize {
        let (above, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = above.split('/').skip(1).try_fold(self, |here, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            match &here.kind {
                Kind::List(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
                _ => here.get(&step),
            }
        });
        let entry = parent.and_then(|parent| parent.entries().iter().find(|entry| entry.key == key));
        entry.map_or_else(|| self.offset(above), |entry| entry.key_span.start)
    }
}

fn refuse_deep(offset: usize, problems: &mut Problems) {
    problems.at_offset(offset, format!("values are nested more than {DEPTH} deep"), None);
}

/// The first value that stands too deep.
fn too_deep(tree: &Tree, left: usize) -> Option<usize> {
    if left == 0 {
        return Some(tree.span.start);
    }
    match &tree.kind {
        Kind::List(items) => items.iter().find_map(|item| too_deep(item, left - 1)),
        Kind::Map(entries) => entries.iter().find_map(|entry| too_deep(&entry.value, left - 1)),
        _ => None,
    }
}

/// A JSON pointer one step further.
pub(super) fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
