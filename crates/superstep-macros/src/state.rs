//! The struct behind a state: its own attributes, its fields, and the rules for their names.

use std::collections::BTreeMap;

use syn::{Data, DeriveInput, Field, Fields, Ident, LitStr, Visibility};

use crate::attribute::entries;
use crate::case::Case;
use crate::field::FieldSpec;
use crate::problems::Problems;
use crate::{literal, suggest};

/// A struct that is a state, read.
pub(crate) struct StateSpec {
    /// The struct.
    pub(crate) ident: Ident,
    /// Who may see it, and its update.
    pub(crate) vis: Visibility,
    /// The name of the state.
    pub(crate) name: String,
    /// The version of its shape.
    pub(crate) version: u32,
    /// Its fields, in order.
    pub(crate) fields: Vec<FieldSpec>,
}

const KNOWN: [&str; 3] = ["version", "name", "rename_all"];

impl StateSpec {
    /// Reads a struct with named fields.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(input: &DeriveInput) -> syn::Result<Self> {
        let fields = named_fields(input)?;
        let mut problems = Problems::default();
        if !input.generics.params.is_empty() {
            let message = "a state cannot have type or lifetime parameters: its schema is one for all threads";
            problems.add(&input.generics, message);
        }
        let mut options = Options::default();
        options.read(input, &mut problems);
        let fields: Vec<FieldSpec> =
            fields.into_iter().filter_map(|field| FieldSpec::read(field, options.case, &mut problems)).collect();
        check_names(&fields, &mut problems);
        let ident = input.ident.clone();
        let name = options.name.map_or_else(|| ident.to_string(), |name| name.value());
        let version = options.version.unwrap_or(1);
        problems.finish(Self { ident, vis: input.vis.clone(), name, version, fields })
    }
}

#[derive(Default)]
struct Options {
    version: Option<u32>,
    name: Option<LitStr>,
    case: Option<Case>,
}

impl Options {
    fn read(&mut self, input: &DeriveInput, problems: &mut Problems) {
        if let Some(attribute) = input.attrs.iter().find(|attribute| attribute.path().is_ident("reduce")) {
            problems.add(attribute, "`#[reduce(..)]` belongs on a field");
        }
        let mut given: Vec<Ident> = Vec::new();
        for entry in entries(&input.attrs, "state", problems) {
            match entry.name.to_string().as_str() {
                word if given.contains(&entry.name) => {
                    problems.add(&entry.name, format!("`{word}` is given twice"));
                }
                "version" => self.version = entry.value(literal::version, "version = 2", problems),
                "name" => self.name = entry.value(literal::text, "name = \"chat\"", problems),
                "rename_all" => {
                    let case = entry.value(literal::text, "rename_all = \"camelCase\"", problems);
                    match case
                        .map(|case| Case::parse(&case.value()).map_err(|advice| syn::Error::new(case.span(), advice)))
                    {
                        Some(Ok(case)) => self.case = Some(case),
                        Some(Err(error)) => problems.push(error),
                        None => {}
                    }
                }
                word if crate::field::is_option(word) => {
                    problems.add(&entry.name, format!("`{word}` belongs on a field"));
                }
                word => {
                    let advice = suggest::known_names(word, &KNOWN);
                    problems.add(&entry.name, format!("unknown option `{word}`; {advice}"));
                }
            }
            given.push(entry.name);
        }
    }
}

fn named_fields(input: &DeriveInput) -> syn::Result<Vec<&Field>> {
    let refuse = |what: &str| {
        let message = format!("a state is a struct with named fields, and `{}` is {what}", input.ident);
        Err(syn::Error::new_spanned(&input.ident, message))
    };
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unnamed(_) => refuse("a tuple struct"),
            Fields::Unit => refuse("a unit struct"),
        },
        Data::Enum(_) => refuse("an enum"),
        Data::Union(_) => refuse("a union"),
    }
}

fn check_names(fields: &[FieldSpec], problems: &mut Problems) {
    let mut seen: BTreeMap<&str, &Ident> = BTreeMap::new();
    for field in fields {
        let (name, place) = (field.name.as_str(), field.name_tokens());
        if name.is_empty() {
            problems.add(&place, "a field needs a name");
        }
        if name.starts_with("__") {
            problems.add(&place, format!("field name `{name}` is reserved: names do not start with `__`"));
        }
        if let Some(first) = seen.insert(name, &field.ident) {
            problems.add(&place, format!("field name `{name}` is taken by `{first}`"));
        }
    }
}

#[cfg(test)]
mod tests;
