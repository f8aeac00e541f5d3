//! One field of a state: its name, type and what its attributes say.

use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, Field, Ident, LitStr, Type};

use crate::attribute::{Entry, Given, entries};
use crate::case::Case;
use crate::problems::Problems;
use crate::reduce::Reduce;
use crate::{literal, suggest};

/// A field, read.
pub(crate) struct FieldSpec {
    /// The field of the struct.
    pub(crate) ident: Ident,
    /// Its type.
    pub(crate) ty: Type,
    /// Its doc comment and `cfg`-free attributes that setters repeat.
    pub(crate) docs: Vec<Attribute>,
    /// The name in schemas, stores and on the wire.
    pub(crate) name: String,
    /// Its reducer; without one the last value stays.
    pub(crate) reduce: Option<Reduce>,
    /// The rest.
    pub(crate) options: Options,
}

/// What `#[state(..)]` on a field says.
#[derive(Default)]
pub(crate) struct Options {
    given: Vec<Ident>,
    /// The value of a new thread.
    pub(crate) default: Option<Expr>,
    /// Values it may have.
    pub(crate) one_of: Vec<proc_macro2::TokenStream>,
    /// The least value or length.
    pub(crate) min: Option<f64>,
    /// The greatest value or length.
    pub(crate) max: Option<f64>,
    rename: Option<LitStr>,
}

const KNOWN: [&str; 12] = [
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

/// Options that cannot stand together, and why.
const CONFLICTS: [(&str, &str, &str); 13] = [
    ("set_once", "reduce", "the first value stays, so there is nothing to fold"),
    ("set_once", "ephemeral", "the one value would be gone after a superstep"),
    ("set_once", "topic", "the one value would be gone after a superstep"),
    ("untracked", "reduce", "an untracked field keeps the last value"),
    ("untracked", "topic", "an untracked field keeps the last value"),
    ("untracked", "one_of", "an untracked value is never looked at"),
    ("untracked", "min", "an untracked value is never looked at"),
    ("untracked", "max", "an untracked value is never looked at"),
    ("topic", "reduce", "a topic appends"),
    ("topic", "ephemeral", "a topic is ephemeral"),
    ("last_wins", "reduce", "a reducer takes every write, so none has to win"),
    ("last_wins", "topic", "a topic takes every write, so none has to win"),
    ("required", "private", "a private field cannot be given with the input"),
];

/// True when the word is an option of `#[state(..)]` on a field.
pub(crate) fn is_option(word: &str) -> bool {
    KNOWN.contains(&word)
}

impl FieldSpec {
    /// Reads a named field.
    pub(crate) fn read(field: &Field, case: Option<Case>, problems: &mut Problems) -> Option<Self> {
        let ident = field.ident.clone()?;
        let reduce = Reduce::read(field, problems);
        let options = Options::read(field, problems);
        options.check(field, reduce.as_ref(), problems);
        let rust_name = ident.unraw().to_string();
        let name = match (&options.rename, case) {
            (Some(name), _) => name.value(),
            (None, Some(case)) => case.apply(&rust_name),
            (None, None) => rust_name,
        };
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        Some(Self { ident, ty: field.ty.clone(), docs, name, reduce, options })
    }

    /// What to underline when the name is wrong.
    pub(crate) fn name_tokens(&self) -> proc_macro2::TokenStream {
        use quote::ToTokens as _;
        self.options.rename.as_ref().map_or_else(|| self.ident.to_token_stream(), |name| name.to_token_stream())
    }

    /// True when a later write of one task stands in place of an earlier one.
    pub(crate) fn keeps_last(&self) -> bool {
        self.reduce.as_ref().is_none_or(Reduce::is_replace) && !self.options.has("topic")
    }
}

impl Options {
    fn read(field: &Field, problems: &mut Problems) -> Self {
        let mut options = Self::default();
        for entry in entries(&field.attrs, "state", problems) {
            if options.given.contains(&entry.name) {
                problems.add(&entry.name, format!("`{}` is given twice", entry.name));
                continue;
            }
            options.take(&entry, problems);
            options.given.push(entry.name);
        }
        options
    }

    /// True when the option is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    fn take(&mut self, entry: &Entry, problems: &mut Problems) {
        match entry.name.to_string().as_str() {
            "set_once" | "private" | "untracked" | "ephemeral" | "topic" | "required" | "last_wins" => {
                entry.takes_nothing(problems);
            }
            "default" => self.default = entry.value(|expr| Some(expr.clone()), "default = expr", problems),
            "rename" => self.rename = entry.value(literal::text, "rename = \"name\"", problems),
            "min" => self.min = entry.value(literal::number, "min = 0", problems),
            "max" => self.max = entry.value(literal::number, "max = 5", problems),
            "one_of" => self.take_one_of(entry, problems),
            word => problems.add(&entry.name, unknown(word)),
        }
    }

    fn take_one_of(&mut self, entry: &Entry, problems: &mut Problems) {
        let Given::List(values) = &entry.given else {
            return problems.add(&entry.name, "`one_of` needs values: write `one_of(\"a\", \"b\")`");
        };
        if values.is_empty() {
            problems.add(&entry.name, "`one_of` needs at least one value");
        }
        for value in values {
            match literal::scalar(value) {
                Some(value) => self.one_of.push(value),
                None => problems.add(value, "a value of `one_of` is a text, number, `true` or `false`"),
            }
        }
    }

    fn check(&self, field: &Field, reduce: Option<&Reduce>, problems: &mut Problems) {
        let reduce_attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("reduce"));
        for (one, other, why) in CONFLICTS {
            let is_harmless = one == "last_wins" && reduce.is_some_and(Reduce::is_replace);
            let is_there = if other == "reduce" { reduce_attribute.is_some() } else { self.has(other) };
            let Some(place) = self.given.iter().find(|given| *given == one).filter(|_| is_there && !is_harmless) else {
                continue;
            };
            problems.add(place, format!("`{one}` and `{other}` do not go together: {why}"));
        }
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            problems.add(&field.ident, format!("no value is both at least {min} and at most {max}"));
        }
    }
}

fn unknown(word: &str) -> String {
    if word == "reduce" || Reduce::is_known(word) {
        return format!("`{word}` is no option of a field: write `#[reduce(..)]`");
    }
    format!("unknown option `{word}`; {}", suggest::known_names(word, &KNOWN))
}
