//! Specification of one state field: its name, type and attributes.

use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, Field, Ident, LitStr, Type};

use crate::attribute::{AttributeEntry, EntryValue, entries};
use crate::case::RenameRule;
use crate::diagnostics::Diagnostics;
use crate::reducer_attribute::ReducerSpec;
use crate::{literals, suggest};

/// A parsed field.
pub(crate) struct FieldSpec {
    /// Name of the field in the struct.
    pub(crate) ident: Ident,
    /// Type of the field.
    pub(crate) ty: Type,
    /// Doc comments, repeated on the setter.
    pub(crate) docs: Vec<Attribute>,
    /// Name in schemas, storage and JSON.
    pub(crate) name: String,
    /// Reducer of the field; without one the last value stays.
    pub(crate) reduce: Option<ReducerSpec>,
    /// Other options.
    pub(crate) options: FieldOptions,
}

/// Options of `#[state(..)]` on a field.
#[derive(Default)]
pub(crate) struct FieldOptions {
    names: Vec<Ident>,
    /// Value of a new thread.
    pub(crate) default: Option<Expr>,
    /// Permitted values.
    pub(crate) one_of: Vec<proc_macro2::TokenStream>,
    /// Minimum value or length.
    pub(crate) min: Option<f64>,
    /// Maximum value or length.
    pub(crate) max: Option<f64>,
    rename: Option<LitStr>,
}

const OPTION_NAMES: [&str; 12] = [
    "set_once",
    "private",
    "untracked",
    "ephemeral",
    "topic",
    "required",
    "last_wins",
    "default",
    "one_of",
    "min",
    "max",
    "rename",
];

/// Pairs of options that exclude each other, with the reason.
const CONFLICTING_OPTIONS: [(&str, &str, &str); 13] = [
    ("set_once", "reduce", "`set_once` keeps the first value, so a reducer has no effect"),
    ("set_once", "ephemeral", "an ephemeral value is reset after each superstep"),
    ("set_once", "topic", "an ephemeral value is reset after each superstep"),
    ("untracked", "reduce", "an untracked field keeps the last value"),
    ("untracked", "topic", "an untracked field keeps the last value"),
    ("untracked", "one_of", "an untracked value is never validated"),
    ("untracked", "min", "an untracked value is never validated"),
    ("untracked", "max", "an untracked value is never validated"),
    ("topic", "reduce", "a topic always appends"),
    ("topic", "ephemeral", "a topic is always ephemeral"),
    ("last_wins", "reduce", "a reducer accepts every write, so there is no conflict"),
    ("last_wins", "topic", "a topic accepts every write, so there is no conflict"),
    ("required", "private", "a private field cannot be part of the input"),
];

/// Returns true if the word is an option of `#[state(..)]` on a field.
pub(crate) fn is_option(word: &str) -> bool {
    OPTION_NAMES.contains(&word)
}

impl FieldSpec {
    /// Parses a named field.
    pub(crate) fn parse(field: &Field, case: Option<RenameRule>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let ident = field.ident.clone()?;
        let reduce = ReducerSpec::parse(field, diagnostics);
        let options = FieldOptions::parse(field, diagnostics);
        options.check(field, reduce.as_ref(), diagnostics);
        let rust_name = ident.unraw().to_string();
        let name = match (&options.rename, case) {
            (Some(name), _) => name.value(),
            (None, Some(case)) => case.apply(&rust_name),
            (None, None) => rust_name,
        };
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        Some(Self { ident, ty: field.ty.clone(), docs, name, reduce, options })
    }

    /// Returns the tokens that an error about the name points to.
    pub(crate) fn name_tokens(&self) -> proc_macro2::TokenStream {
        use quote::ToTokens as _;
        self.options.rename.as_ref().map_or_else(|| self.ident.to_token_stream(), |name| name.to_token_stream())
    }

    /// Returns true if a later write of a task replaces an earlier one.
    pub(crate) fn keeps_last(&self) -> bool {
        self.reduce.as_ref().is_none_or(ReducerSpec::is_replace) && !self.options.has("topic")
    }
}

impl FieldOptions {
    fn parse(field: &Field, diagnostics: &mut Diagnostics) -> Self {
        let mut options = Self::default();
        for entry in entries(&field.attrs, "state", diagnostics) {
            if options.names.contains(&entry.name) {
                diagnostics.add(&entry.name, format!("duplicate option `{}`", entry.name));
                continue;
            }
            options.parse_entry(&entry, diagnostics);
            options.names.push(entry.name);
        }
        options
    }

    /// Returns true if the option is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|option| option == name)
    }

    fn parse_entry(&mut self, entry: &AttributeEntry, diagnostics: &mut Diagnostics) {
        match entry.name.to_string().as_str() {
            "set_once" | "private" | "untracked" | "ephemeral" | "topic" | "required" | "last_wins" => {
                entry.expect_no_value(diagnostics);
            }
            "default" => self.default = entry.value(|expr| Some(expr.clone()), "default = expr", diagnostics),
            "rename" => self.rename = entry.value(literals::text, "rename = \"name\"", diagnostics),
            "min" => self.min = entry.value(literals::number, "min = 0", diagnostics),
            "max" => self.max = entry.value(literals::number, "max = 5", diagnostics),
            "one_of" => self.parse_one_of(entry, diagnostics),
            word => diagnostics.add(&entry.name, unknown_option_message(word)),
        }
    }

    fn parse_one_of(&mut self, entry: &AttributeEntry, diagnostics: &mut Diagnostics) {
        let EntryValue::List(values) = &entry.value else {
            return diagnostics.add(&entry.name, "`one_of` requires values: write `one_of(\"a\", \"b\")`");
        };
        if values.is_empty() {
            diagnostics.add(&entry.name, "`one_of` requires at least one value");
        }
        for value in values {
            match literals::scalar(value) {
                Some(value) => self.one_of.push(value),
                None => diagnostics.add(value, "a value of `one_of` must be a string, number, `true` or `false`"),
            }
        }
    }

    fn check(&self, field: &Field, reduce: Option<&ReducerSpec>, diagnostics: &mut Diagnostics) {
        let reduce_attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("reduce"));
        for (one, other, reason) in CONFLICTING_OPTIONS {
            let is_harmless = one == "last_wins" && reduce.is_some_and(ReducerSpec::is_replace);
            let has_other = if other == "reduce" { reduce_attribute.is_some() } else { self.has(other) };
            let Some(ident) =
                self.names.iter().find(|candidate| *candidate == one).filter(|_| has_other && !is_harmless)
            else {
                continue;
            };
            diagnostics.add(ident, format!("`{one}` and `{other}` cannot be combined: {reason}"));
        }
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            diagnostics.add(&field.ident, format!("the range from {min} to {max} is empty"));
        }
    }
}

fn unknown_option_message(word: &str) -> String {
    if word == "reduce" || ReducerSpec::is_reducer_name(word) {
        return format!("`{word}` is a reducer, not an option of a field: write `#[reduce(..)]`");
    }
    format!("unknown option `{word}`; {}", suggest::known_names(word, &OPTION_NAMES))
}
