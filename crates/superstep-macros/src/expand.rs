//! Writes what a state expands to: the update builder, and one hidden block with the schema.
//!
//! Every path is absolute and nothing but `FooUpdate` gets a name a user could meet. Code that can fail to compile
//! because of what the user wrote carries the place of the user's own tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::state::StateSpec;

mod field;
mod reducer;
mod update;

/// The expansion.
pub(crate) fn expand(spec: &StateSpec) -> TokenStream {
    let fields: Vec<field::Expanded> =
        spec.fields.iter().enumerate().map(|(index, field)| field::Expanded::new(&spec.ident, field, index)).collect();
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
                AlwaysThere as _, HasJsonSchema as _, LacksJsonSchema as _, MayBeAbsent as _,
            };
            #(#helpers)*
            #update_impls
            #state_impl
        };
    }
}

fn state_impl(spec: &StateSpec, fields: &[field::Expanded]) -> TokenStream {
    let StateSpec { ident, name, version, .. } = spec;
    let update = update_ident(spec);
    let rows = fields.iter().map(|field| &field.row);
    let initials = fields.iter().map(|field| {
        let (ident, initial) = (field.ident, &field.initial);
        let at = here(ident.span());
        quote_spanned!(at=> #ident: #initial())
    });
    let at = here(ident.span());
    let this = Ident::new(&ident.to_string(), at);
    quote_spanned! {at=>
        #[automatically_derived]
        // Whoever forgot the derive learns nothing from other states that have it.
        #[diagnostic::do_not_recommend]
        impl ::superstep::__private::state::State for #this {
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

/// The name of the update builder.
fn update_ident(spec: &StateSpec) -> Ident {
    format_ident!("{}Update", spec.ident)
}

/// A place in the user's code that still counts as generated: errors point there, lints stay silent.
fn here(place: Span) -> Span {
    Span::call_site().located_at(place)
}
