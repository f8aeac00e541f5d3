//! Parser of `#[reduce(..)]`, which selects the reducer of a field.

use syn::{Expr, Field, Ident, Path, Type};

use crate::attribute::{AttributeEntry, EntryValue, entries};
use crate::diagnostics::Diagnostics;
use crate::{literals, suggest};

/// Reducer of a field. Each variant keeps the word that names it, so that compiler errors point there.
pub(crate) enum ReducerSpec {
    /// A reducer without argument: the word, and the name of its type.
    Plain(Ident, &'static str),
    /// A reducer with a number of items.
    Count(Ident, &'static str, Expr),
    /// A list whose items are identified by a key.
    MergeBy(Ident, Ident),
    /// A user function, with its input type if that differs from the field's.
    With(Path, Option<Box<Type>>),
}

/// Names in `#[reduce(..)]`, with their types.
const UNIT_REDUCERS: [(&str, &str); 9] = [
    ("append", "Append"),
    ("add", "Add"),
    ("merge", "Merge"),
    ("deep_merge", "DeepMerge"),
    ("max", "Max"),
    ("min", "Min"),
    ("set_union", "SetUnion"),
    ("messages", "AddMessages"),
    ("replace", "Replace"),
];
const COUNT_REDUCERS: [(&str, &str); 2] = [("keep_last", "KeepLast"), ("capped", "Capped")];
const REDUCER_NAMES: [&str; 13] = [
    "append",
    "add",
    "merge",
    "deep_merge",
    "max",
    "min",
    "set_union",
    "messages",
    "replace",
    "keep_last",
    "capped",
    "merge_by",
    "with",
];

/// Names of these reducers in other libraries, which no edit distance finds.
const REDUCER_ALIASES: [(&str, &str); 8] = [
    ("add_messages", "messages"),
    ("concat", "append"),
    ("extend", "append"),
    ("push", "append"),
    ("sum", "add"),
    ("union", "set_union"),
    ("last", "replace"),
    ("upsert", "merge_by"),
];

impl ReducerSpec {
    /// Parses the reducer of a field, if it has one.
    pub(crate) fn parse(field: &Field, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut input = None;
        let mut parsed: Option<(Ident, Option<Self>)> = None;
        for entry in entries(&field.attrs, "reduce", diagnostics) {
            if let EntryValue::Type(input_type) = entry.value {
                if input.replace(input_type).is_some() {
                    diagnostics.add(&entry.name, "duplicate option `input`");
                }
                continue;
            }
            if let Some((first, _)) = &parsed {
                diagnostics.add(&entry.name, format!("a field has one reducer; this one already has `{first}`"));
                continue;
            }
            let reduce = Self::from_entry(&entry, diagnostics);
            parsed = Some((entry.name, reduce));
        }
        match (parsed, input) {
            (Some((_, Some(Self::With(path, None)))), input) => Some(Self::With(path, input)),
            (parsed, Some(input)) => {
                if !matches!(parsed, Some((_, None))) {
                    diagnostics.add(input, "`input` requires `with`: `#[reduce(with = my_reducer, input = Type)]`");
                }
                None
            }
            (parsed, None) => parsed.and_then(|(_, reduce)| reduce),
        }
    }

    fn from_entry(entry: &AttributeEntry, diagnostics: &mut Diagnostics) -> Option<Self> {
        let word = entry.name.to_string();
        if let Some((_, reducer)) = UNIT_REDUCERS.iter().find(|(candidate, _)| *candidate == word) {
            entry.expect_no_value(diagnostics);
            return Some(Self::Plain(entry.name.clone(), reducer));
        }
        if let Some((_, reducer)) = COUNT_REDUCERS.iter().find(|(candidate, _)| *candidate == word) {
            let count = entry.value(literals::count, &format!("{word} = 10"), diagnostics)?;
            return Some(Self::Count(entry.name.clone(), reducer, count));
        }
        match word.as_str() {
            "merge_by" => {
                let key = |expr: &Expr| path(expr)?.get_ident().cloned();
                Some(Self::MergeBy(entry.name.clone(), entry.value(key, "merge_by = id", diagnostics)?))
            }
            "with" => Some(Self::With(entry.value(path, "with = my_reducer", diagnostics)?, None)),
            _ => {
                diagnostics.add(&entry.name, unknown_reducer_message(&word));
                None
            }
        }
    }

    /// Returns true for `replace`, which behaves like a field without a reducer.
    pub(crate) fn is_replace(&self) -> bool {
        matches!(self, Self::Plain(_, "Replace"))
    }

    /// Returns true if the word names a reducer.
    pub(crate) fn is_reducer_name(word: &str) -> bool {
        REDUCER_NAMES.contains(&word)
    }
}

fn path(expr: &Expr) -> Option<Path> {
    match expr {
        Expr::Path(path) if path.qself.is_none() => Some(path.path.clone()),
        _ => None,
    }
}

fn unknown_reducer_message(word: &str) -> String {
    if crate::field::is_option(word) {
        return format!("`{word}` is not a reducer: write `#[state({word})]`");
    }
    let suggested = REDUCER_ALIASES.iter().find(|(foreign, _)| *foreign == word).map_or(word, |(_, name)| name);
    format!("unknown reducer `{word}`; {}", suggest::known_names(suggested, &REDUCER_NAMES))
}
