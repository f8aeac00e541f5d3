//! Common grammar of `#[state(..)]` and `#[reduce(..)]`: names, some with `= value`, some with `(values)`.
//!
//! This module only parses: valid names and their values are checked where they are used.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Token, Type};

use crate::diagnostics::Diagnostics;

/// One entry of an attribute.
pub(crate) struct AttributeEntry {
    /// Name of the entry.
    pub(crate) name: Ident,
    /// Value behind the name.
    pub(crate) value: EntryValue,
}

/// Value behind the name of an entry.
pub(crate) enum EntryValue {
    /// No value.
    Nothing,
    /// `= expr`.
    Value(Expr),
    /// `= Type`, only after `input`.
    Type(Box<Type>),
    /// `(expr, ..)`.
    List(Vec<Expr>),
}

impl Parse for AttributeEntry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        let entry_value = if input.peek(syn::token::Paren) {
            let list;
            syn::parenthesized!(list in input);
            EntryValue::List(Punctuated::<Expr, Token![,]>::parse_terminated(&list)?.into_iter().collect())
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            // A type with generic arguments does not parse as an expression.
            if name == "input" { EntryValue::Type(input.parse()?) } else { EntryValue::Value(input.parse()?) }
        } else {
            EntryValue::Nothing
        };
        Ok(Self { name, value: entry_value })
    }
}

/// Collects the entries of every attribute called `path`, in order.
pub(crate) fn entries(attributes: &[Attribute], path: &str, diagnostics: &mut Diagnostics) -> Vec<AttributeEntry> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(path)) {
        match attribute.parse_args_with(Punctuated::<AttributeEntry, Token![,]>::parse_terminated) {
            Ok(entries) if entries.is_empty() => {
                diagnostics.add(attribute, format!("`#[{path}(..)]` is empty; add an option, or remove it"));
            }
            Ok(entries) => all.extend(entries),
            Err(error) => diagnostics.push(error),
        }
    }
    all
}

impl AttributeEntry {
    /// Adds a diagnostic if a value follows the name.
    pub(crate) fn expect_no_value(&self, diagnostics: &mut Diagnostics) {
        if !matches!(self.value, EntryValue::Nothing) {
            diagnostics.add(&self.name, format!("`{}` takes no value", self.name));
        }
    }

    /// Parses the value with `parse`; adds a diagnostic with an example if the value is missing or malformed.
    pub(crate) fn value<T>(
        &self,
        parse: impl FnOnce(&Expr) -> Option<T>,
        example: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<T> {
        let value = match &self.value {
            EntryValue::Value(expr) => parse(expr),
            _ => None,
        };
        if value.is_none() {
            match &self.value {
                EntryValue::Value(expr) => diagnostics.add(expr, format!("write `{example}`")),
                _ => diagnostics.add(&self.name, format!("`{}` requires a value: write `{example}`", self.name)),
            }
        }
        value
    }
}
