//! Expansion of one field: its schema entry, and the hidden items it needs.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Type, ext::IdentExt as _};

use super::{generated_span, reducer};
use crate::field::FieldSpec;

/// Generated code of a field.
pub(crate) struct ExpandedField<'a> {
    /// Name of the field in the struct.
    pub(crate) ident: &'a Ident,
    /// Type of the field.
    pub(crate) ty: &'a Type,
    /// Reducer type; `None` for an untracked field.
    pub(crate) reducer: Option<TokenStream>,
    /// Functions and types that precede all other generated code.
    pub(crate) helpers: TokenStream,
    /// Path of the function that creates the value of a new thread.
    pub(crate) initial: TokenStream,
    /// `Field` of the schema.
    pub(crate) schema_field: TokenStream,
}

impl<'a> ExpandedField<'a> {
    pub(crate) fn new(state: &Ident, spec: &'a FieldSpec, index: usize) -> Self {
        let (initial, initial_fn) = initial(state, spec, index);
        let is_untracked = spec.options.has("untracked");
        let (reducer, reducer_items) = if is_untracked {
            (None, TokenStream::new())
        } else {
            let (reducer, items) = reducer::reducer(state, spec, index);
            (Some(reducer), items)
        };
        let schema_field = schema_field(state, spec, reducer.as_ref(), &initial);
        let helpers = quote!(#initial_fn #reducer_items);
        Self { ident: &spec.ident, ty: &spec.ty, reducer, helpers, initial, schema_field }
    }
}

/// Returns the path of the function that creates the value of a new thread, and the function itself unless it is
/// `InitialValue::initial`.
fn initial(state: &Ident, spec: &FieldSpec, index: usize) -> (TokenStream, TokenStream) {
    let ty = &spec.ty;
    let Some(default) = &spec.options.default else {
        let at = generated_span(ty.span());
        return (
            quote_spanned!(at=> <#ty as ::superstep::__private::state::derive::InitialValue>::initial),
            TokenStream::new(),
        );
    };
    let name = format_ident!("__initial_{index}_{}", spec.ident.unraw());
    let default = replace_self(state, quote!(#default));
    let item = quote! {
        fn #name() -> #ty {
            #default
        }
    };
    (quote!(#name), item)
}

fn schema_field(state: &Ident, spec: &FieldSpec, reducer: Option<&TokenStream>, initial: &TokenStream) -> TokenStream {
    let (ident, ty) = (&spec.ident, &spec.ty);
    let at = generated_span(ty.span());
    let field_declaration = field_declaration(spec);
    let constructor = match reducer {
        Some(reducer) => quote_spanned!(at=> tracked_field::<#state, #ty, #reducer>),
        None => quote_spanned!(at=> untracked_field::<#state, #ty>),
    };
    quote_spanned! {at=>
        ::superstep::__private::state::derive::#constructor(
            #field_declaration,
            ::superstep::__private::field::FieldAccess {
                get: |state: &#state| &state.#ident,
                get_mut: |state: &mut #state| &mut state.#ident,
                initial: #initial,
            },
            ::superstep::__private::state::derive::FieldTypeInfo {
                json_schema: (&::superstep::__private::state::derive::TypeProbe::<#ty>::NEW).json_schema(),
                is_absent: (&::superstep::__private::state::derive::TypeProbe::<#ty>::NEW).absence(),
            },
        )
    }
}

fn field_declaration(spec: &FieldSpec) -> TokenStream {
    let (name, options) = (&spec.name, &spec.options);
    let set: Vec<Ident> = ["private", "set_once", "untracked", "required"]
        .into_iter()
        .filter(|flag| options.has(flag))
        .chain((options.has("ephemeral") || options.has("topic")).then_some("ephemeral"))
        .map(|flag| format_ident!("{flag}"))
        .collect();
    let mut rest = TokenStream::new();
    if !set.is_empty() {
        rest.extend(quote! {
            flags: ::superstep::__private::field::FieldFlags { #(#set: true,)* ..::core::default::Default::default() },
        });
    }
    // An explicit `replace` lets the last of several writers win (R-GRA-22).
    if options.has("last_wins") || spec.reduce.as_ref().is_some_and(crate::reducer_attribute::ReducerSpec::is_replace) {
        rest.extend(quote!(last_wins: true,));
    }
    if !options.one_of.is_empty() {
        let values = &options.one_of;
        rest.extend(quote! {
            one_of: ::std::vec![#(::superstep::__private::state::derive::Value::from(#values)),*],
        });
    }
    if options.min.is_some() || options.max.is_some() {
        let (min, max) = (bound(options.min), bound(options.max));
        rest.extend(quote! {
            range: ::core::option::Option::Some(::superstep::__private::types::Bounds { min: #min, max: #max }),
        });
    }
    quote! {
        ::superstep::__private::state::derive::FieldDeclaration { name: #name, #rest ..::core::default::Default::default() }
    }
}

fn bound(bound: Option<f64>) -> TokenStream {
    match bound {
        Some(bound) => quote!(::core::option::Option::Some(#bound)),
        None => quote!(::core::option::Option::None),
    }
}

/// Replaces `Self` by the name of the struct, because `Self` means another type, or nothing, inside the expansion.
pub(super) fn replace_self(state: &Ident, tokens: TokenStream) -> TokenStream {
    let named = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => TokenTree::Ident(Ident::new(&state.to_string(), ident.span())),
        TokenTree::Group(group) => {
            let mut named = Group::new(group.delimiter(), replace_self(state, group.stream()));
            named.set_span(group.span());
            TokenTree::Group(named)
        }
        other => other,
    });
    named.collect()
}
