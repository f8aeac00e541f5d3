//! Expansion of a state: the update builder, and one hidden block with the schema.
//!
//! Every path is absolute, and `FooUpdate` is the only visible name that is added. Generated code that may fail to
//! compile because of user code carries the span of the user's tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::state::StateSpec;

mod field;
mod reducer;
mod update;

/// Expands the derive.
pub(crate) fn expand(spec: &StateSpec) -> TokenStream {
    let fields: Vec<field::ExpandedField> = spec
        .fields
        .iter()
        .enumerate()
        .map(|(index, field)| field::ExpandedField::new(&spec.ident, field, index))
        .collect();
    let update = update::definition(spec);
    let update_impls = update::impls(spec, &fields);
    let helpers = fields.iter().map(|field| &field.helpers);
    let state_impl = state_impl(spec, &fields);
    quote! {
        #update
        #[doc(hidden)]
        const _: () = {
            #[allow(unused_imports, reason = "which one applies depends on the types of the fields")]
            use ::superstep::__private::state::derive::{
                RequiredValue as _, HasJsonSchema as _, LacksJsonSchema as _, OptionalValue as _,
            };
            #(#helpers)*
            #update_impls
            #state_impl
        };
    }
}

fn state_impl(spec: &StateSpec, fields: &[field::ExpandedField]) -> TokenStream {
    let StateSpec { ident, name, version, .. } = spec;
    let update = update_ident(spec);
    let rows = fields.iter().map(|field| &field.schema_field);
    let initials = fields.iter().map(|field| {
        let (ident, initial) = (field.ident, &field.initial);
        let at = generated_span(ident.span());
        quote_spanned!(at=> #ident: #initial())
    });
    let at = generated_span(ident.span());
    let this = Ident::new(&ident.to_string(), at);
    quote_spanned! {at=>
        #[automatically_derived]
        // Without this, the error for a forgotten derive would list unrelated states that have one.
        #[diagnostic::do_not_recommend]
        impl ::superstep::__private::state::GraphState for #this {
            type Update = #update;

            fn schema() -> ::core::option::Option<::std::sync::Arc<::superstep::__private::schema::Schema>> {
                static SCHEMA: ::std::sync::LazyLock<::std::sync::Arc<::superstep::__private::schema::Schema>> =
                    ::std::sync::LazyLock::new(|| {
                        ::superstep::__private::state::derive::schema::<#ident>(
                            #name,
                            #version,
                            ::std::vec![#(#rows),*],
                            || #ident { #(#initials),* },
                        )
                    });
                ::core::option::Option::Some(::std::sync::Arc::clone(&SCHEMA))
            }
        }
    }
}

/// Returns the name of the update builder.
fn update_ident(spec: &StateSpec) -> Ident {
    format_ident!("{}Update", spec.ident)
}

/// Returns a span in user code that still counts as generated: errors point there, lints stay silent.
fn generated_span(span: Span) -> Span {
    Span::call_site().located_at(span)
}
