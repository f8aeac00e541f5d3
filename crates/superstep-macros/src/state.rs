//! Specification of a state struct: its attributes, its fields, and the rules for their names.

use std::collections::BTreeMap;

use syn::{Data, DeriveInput, Field, Fields, Ident, LitStr, Visibility};

use crate::attribute::entries;
use crate::case::RenameRule;
use crate::diagnostics::Diagnostics;
use crate::field::FieldSpec;
use crate::{literals, suggest};

/// A parsed state struct.
pub(crate) struct StateSpec {
    /// Name of the struct.
    pub(crate) ident: Ident,
    /// Visibility of the struct and its update builder.
    pub(crate) vis: Visibility,
    /// Name of the state.
    pub(crate) name: String,
    /// Version of the schema.
    pub(crate) version: u32,
    /// Fields in declaration order.
    pub(crate) fields: Vec<FieldSpec>,
}

const STATE_OPTIONS: [&str; 3] = ["version", "name", "rename_all"];

impl StateSpec {
    /// Parses a struct with named fields.
    ///
    /// # Errors
    /// Returns all errors of the struct at once.
    pub(crate) fn parse(input: &DeriveInput) -> syn::Result<Self> {
        let fields = named_fields(input)?;
        let mut diagnostics = Diagnostics::default();
        if !input.generics.params.is_empty() {
            let message = "a state cannot have type or lifetime parameters, because its schema is the same for \
                 all threads";
            diagnostics.add(&input.generics, message);
        }
        let mut options = StateOptions::default();
        options.parse(input, &mut diagnostics);
        let fields: Vec<FieldSpec> =
            fields.into_iter().filter_map(|field| FieldSpec::parse(field, options.case, &mut diagnostics)).collect();
        check_names(&fields, &mut diagnostics);
        let ident = input.ident.clone();
        let name = options.name.map_or_else(|| ident.to_string(), |name| name.value());
        let version = options.version.unwrap_or(1);
        diagnostics.finish(Self { ident, vis: input.vis.clone(), name, version, fields })
    }
}

#[derive(Default)]
struct StateOptions {
    version: Option<u32>,
    name: Option<LitStr>,
    case: Option<RenameRule>,
}

impl StateOptions {
    fn parse(&mut self, input: &DeriveInput, diagnostics: &mut Diagnostics) {
        if let Some(attribute) = input.attrs.iter().find(|attribute| attribute.path().is_ident("reduce")) {
            diagnostics.add(attribute, "`#[reduce(..)]` is only valid on a field");
        }
        let mut seen: Vec<Ident> = Vec::new();
        for entry in entries(&input.attrs, "state", diagnostics) {
            match entry.name.to_string().as_str() {
                word if seen.contains(&entry.name) => {
                    diagnostics.add(&entry.name, format!("duplicate option `{word}`"));
                }
                "version" => self.version = entry.value(literals::version, "version = 2", diagnostics),
                "name" => self.name = entry.value(literals::text, "name = \"chat\"", diagnostics),
                "rename_all" => {
                    let case = entry.value(literals::text, "rename_all = \"camelCase\"", diagnostics);
                    match case.map(|case| {
                        RenameRule::parse(&case.value()).map_err(|advice| syn::Error::new(case.span(), advice))
                    }) {
                        Some(Ok(case)) => self.case = Some(case),
                        Some(Err(error)) => diagnostics.push(error),
                        None => {}
                    }
                }
                word if crate::field::is_option(word) => {
                    diagnostics.add(&entry.name, format!("`{word}` is only valid on a field"));
                }
                word => {
                    let advice = suggest::known_names(word, &STATE_OPTIONS);
                    diagnostics.add(&entry.name, format!("unknown option `{word}`; {advice}"));
                }
            }
            seen.push(entry.name);
        }
    }
}

fn named_fields(input: &DeriveInput) -> syn::Result<Vec<&Field>> {
    let reject = |actual: &str| {
        let message = format!("a state must be a struct with named fields, but `{}` is {actual}", input.ident);
        Err(syn::Error::new_spanned(&input.ident, message))
    };
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unnamed(_) => reject("a tuple struct"),
            Fields::Unit => reject("a unit struct"),
        },
        Data::Enum(_) => reject("an enum"),
        Data::Union(_) => reject("a union"),
    }
}

fn check_names(fields: &[FieldSpec], diagnostics: &mut Diagnostics) {
    let mut seen: BTreeMap<&str, &Ident> = BTreeMap::new();
    for field in fields {
        let (name, tokens) = (field.name.as_str(), field.name_tokens());
        if name.is_empty() {
            diagnostics.add(&tokens, "the name of a field is empty");
        }
        if name.starts_with("__") {
            diagnostics.add(&tokens, format!("field name `{name}` is reserved: names must not start with `__`"));
        }
        if let Some(first) = seen.insert(name, &field.ident) {
            diagnostics.add(&tokens, format!("duplicate field name `{name}`, also used by `{first}`"));
        }
    }
}

#[cfg(test)]
mod tests;
