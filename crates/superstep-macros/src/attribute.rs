//! The common grammar of `#[state(..)]` and `#[reduce(..)]`: names, some with `= value`, some with `(values)`.
//!
//! Reads, and judges nothing: which names there are and what they take is said where they are used.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Token, Type};

use crate::problems::Problems;

/// One entry of an attribute.
pub(crate) struct Entry {
    /// The word it begins with.
    pub(crate) name: Ident,
    /// What follows the word.
    pub(crate) given: Given,
}

/// What follows the name of an entry.
pub(crate) enum Given {
    /// Nothing.
    Nothing,
    /// `= expr`.
    Value(Expr),
    /// `= Type`, only after `input`.
    Type(Box<Type>),
    /// `(expr, ..)`.
    List(Vec<Expr>),
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        let given = if input.peek(syn::token::Paren) {
            let list;
            syn::parenthesized!(list in input);
            Given::List(Punctuated::<Expr, Token![,]>::parse_terminated(&list)?.into_iter().collect())
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            // A type with arguments does not read as an expression.
            if name == "input" { Given::Type(input.parse()?) } else { Given::Value(input.parse()?) }
        } else {
            Given::Nothing
        };
        Ok(Self { name, given })
    }
}

/// The entries of every attribute called `path`, in order.
pub(crate) fn entries(attributes: &[Attribute], path: &str, problems: &mut Problems) -> Vec<Entry> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(path)) {
        match attribute.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated) {
            Ok(entries) if entries.is_empty() => {
                problems.add(attribute, format!("`#[{path}(..)]` says nothing: fill it or leave it out"));
            }
            Ok(entries) => all.extend(entries),
            Err(error) => problems.push(error),
        }
    }
    all
}

impl Entry {
    /// Complains when something follows the name.
    pub(crate) fn takes_nothing(&self, problems: &mut Problems) {
        if !matches!(self.given, Given::Nothing) {
            problems.add(&self.name, format!("`{}` takes no value", self.name));
        }
    }

    /// The value, read by `read`; complains with an example when it is missing or of another form.
    pub(crate) fn value<T>(
        &self,
        read: impl FnOnce(&Expr) -> Option<T>,
        example: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        let value = match &self.given {
            Given::Value(expr) => read(expr),
            _ => None,
        };
        if value.is_none() {
            match &self.given {
                Given::Value(expr) => problems.add(expr, format!("write `{example}`")),
                _ => problems.add(&self.name, format!("`{}` needs a value: write `{example}`", self.name)),
            }
        }
        value
    }
}
