//! `#[tool]`: a function as a tool.
//!
//! This module parses the function and reports all its errors; `expand` expands it to a function without parameters
//! that returns the tool. The options are documented in `superstep::tool`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, Token, Type};

use crate::attribute::{AttributeEntry, EntryValue};
use crate::diagnostics::Diagnostics;
use crate::literals;
use crate::suggest::known_names;

mod expand;

/// Options of `#[tool(..)]`.
const OPTIONS: [&str; 8] =
    ["name", "read_only", "idempotent", "destructive", "timeout", "retries", "blocking", "return_direct"];

/// Types that are injected by the run and never provided by a model, by the last segment of their path.
const INJECTED_TYPES: [&str; 10] = [
    "TaskContext",
    "View",
    "RunContext",
    "SharedStore",
    "Interrupts",
    "StreamWriter",
    "TaskInfo",
    "ToolCallId",
    "ToolProgress",
    "ToolContext",
];

/// A parsed and checked tool function.
pub(crate) struct ToolFn {
    function: ItemFn,
    name: String,
    description: String,
    options: ToolOptions,
    parameters: Vec<Parameter>,
}

#[derive(Default)]
struct ToolOptions {
    read_only: bool,
    idempotent: bool,
    destructive: bool,
    blocking: bool,
    return_direct: bool,
    timeout_ms: Option<u64>,
    retries: Option<Expr>,
}

struct Parameter {
    name: Ident,
    ty: Type,
    doc: String,
    default: Option<Expr>,
    /// True if the run injects the parameter.
    is_injected: bool,
}

impl ToolFn {
    /// Parses a function and the options of its attribute.
    pub(crate) fn parse(options: TokenStream, function: ItemFn) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let entries = syn::parse::Parser::parse2(Punctuated::<AttributeEntry, Token![,]>::parse_terminated, options);
        let entries: Vec<AttributeEntry> = entries.map_or_else(
            |error| {
                diagnostics.push(error);
                Vec::new()
            },
            |entries| entries.into_iter().collect(),
        );
        let (name, options) = parse_options(&entries, &function, &mut diagnostics);
        let description = doc_of(&function.attrs);
        if description.is_empty() {
            let help =
                "a tool requires a description for the model: add a doc comment, such as `/// Adds two numbers.`";
            diagnostics.add(&function.sig.ident, help);
        }
        if let Some(generic) = function.sig.generics.params.first() {
            diagnostics.add(generic, "a tool cannot have generic parameters: a model cannot choose types");
        }
        if options.blocking
            && let Some(word) = &function.sig.asyncness
        {
            diagnostics.add(word, "`blocking` is only valid on a plain `fn`: an async function must not block");
        }
        let parameters =
            function.sig.inputs.iter().filter_map(|input| Parameter::parse(input, &mut diagnostics)).collect();
        diagnostics.finish(Self { function, name, description, options, parameters })
    }
}

fn parse_options(
    entries: &[AttributeEntry],
    function: &ItemFn,
    diagnostics: &mut Diagnostics,
) -> (String, ToolOptions) {
    let (mut name, mut options) = (function.sig.ident.to_string(), ToolOptions::default());
    for entry in entries {
        match entry.name.to_string().as_str() {
            "name" => {
                let tool_name = |expr: &Expr| literals::text(expr).filter(|text| is_name(&text.value()));
                let example = "name = \"add_numbers\"` with letters, digits, `_` and `-`, at most 64 of them, as in `name = \"add\"";
                name = entry.value(tool_name, example, diagnostics).map_or(name, |text| text.value());
            }
            "read_only" => flag(entry, &mut options.read_only, diagnostics),
            "idempotent" => flag(entry, &mut options.idempotent, diagnostics),
            "destructive" => flag(entry, &mut options.destructive, diagnostics),
            "blocking" => flag(entry, &mut options.blocking, diagnostics),
            "return_direct" => flag(entry, &mut options.return_direct, diagnostics),
            "timeout" => options.timeout_ms = entry.value(milliseconds, "timeout = \"30s\"", diagnostics),
            "retries" => options.retries = entry.value(literals::count, "retries = 2", diagnostics),
            other => {
                let help = known_names(other, &OPTIONS);
                diagnostics.add(&entry.name, format!("unknown option `{other}`; {help}"));
            }
        }
    }
    if options.read_only && options.destructive {
        diagnostics.add(&function.sig.ident, "a tool cannot be both `read_only` and `destructive`; remove one");
    }
    (name, options)
}

fn flag(entry: &AttributeEntry, flag: &mut bool, diagnostics: &mut Diagnostics) {
    if !matches!(entry.value, EntryValue::Nothing) {
        entry.expect_no_value(diagnostics);
    }
    *flag = true;
}

fn is_name(name: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Parses a duration: whole seconds, or a string such as `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
fn milliseconds(expr: &Expr) -> Option<u64> {
    let Expr::Lit(ExprLit { lit, .. }) = expr else { return None };
    let time = match lit {
        Lit::Int(seconds) => seconds.base10_parse::<u64>().ok()?.checked_mul(1000)?,
        Lit::Str(text) => {
            let text = text.value();
            let (number, unit) = text.split_at(text.find(|character: char| !character.is_ascii_digit())?);
            let factor = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
            let (_, factor) = factor.into_iter().find(|(candidate, _)| *candidate == unit)?;
            number.parse::<u64>().ok()?.checked_mul(factor)?
        }
        _ => return None,
    };
    (time > 0).then_some(time)
}

/// Returns the text of the doc comments.
fn doc_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        literals::text(&pair.value).map(|text| text.value().trim().to_owned())
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

impl Parameter {
    fn parse(input: &FnArg, diagnostics: &mut Diagnostics) -> Option<Self> {
        let FnArg::Typed(input) = input else {
            diagnostics.add(input, "a tool must be a free function: `self` is not supported");
            return None;
        };
        let Pat::Ident(name) = &*input.pat else {
            diagnostics.add(&input.pat, "an argument of a tool requires a name: write `name: Type`");
            return None;
        };
        let (mut default, mut is_injected) = (None, is_injected(&input.ty));
        for attribute in &input.attrs {
            let path = attribute.path();
            if path.is_ident("doc") {
            } else if path.is_ident("inject") {
                is_injected = true;
            } else if path.is_ident("default") {
                match attribute.parse_args::<Expr>() {
                    Ok(value) => default = Some(value),
                    Err(_) => diagnostics.add(attribute, "`default` requires a value: `#[default(10)]`"),
                }
            } else {
                diagnostics
                    .add(path, format!("unknown attribute `{}`; known: `default`, `inject`", path.to_token_stream()));
            }
        }
        if let Type::Reference(reference) = &*input.ty {
            diagnostics.add(
                reference,
                "a tool owns its arguments: use `String` instead of `&str`, `Vec<T>` instead of `&[T]`",
            );
        }
        if is_injected && let Some(value) = &default {
            diagnostics.add(value, "an injected argument cannot have a default");
        }
        Some(Self {
            name: name.ident.clone(),
            ty: (*input.ty).clone(),
            doc: doc_of(&input.attrs),
            default,
            is_injected,
        })
    }
}

/// Returns true if the run injects parameters of this type.
fn is_injected(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| INJECTED_TYPES.iter().any(|name| last.ident == name))
}
