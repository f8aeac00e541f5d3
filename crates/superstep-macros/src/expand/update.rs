//! Update builder of a state: one setter per field.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;

use super::field::ExpandedField;
use super::{generated_span, update_ident};
use crate::field::FieldSpec;
use crate::state::StateSpec;

/// Expands the struct of the update builder, the only visible name that a derive adds.
pub(super) fn definition(spec: &StateSpec) -> TokenStream {
    let (vis, update) = (&spec.vis, update_ident(spec));
    let doc = format!("A partial [`{}`]: returned by a node or used as an input.", spec.ident);
    quote! {
        #[doc = #doc]
        #[must_use = "an update has no effect until a node returns it or a run uses it as input"]
        #[derive(Clone, Default, Debug)]
        #vis struct #update(::superstep::__private::update::Update);
    }
}

/// Expands constructors, setters and conversions.
pub(super) fn impls(spec: &StateSpec, fields: &[ExpandedField<'_>]) -> TokenStream {
    let StateSpec { ident, vis, .. } = spec;
    let update = update_ident(spec);
    let setters = spec.fields.iter().zip(fields).enumerate().map(|(index, (spec, field))| setter(spec, field, index));
    quote! {
        #[automatically_derived]
        impl #ident {
            /// Returns an empty update.
            #vis fn update() -> #update {
                ::core::default::Default::default()
            }

            /// Returns an empty input.
            #vis fn input() -> #update {
                ::core::default::Default::default()
            }
        }

        #[automatically_derived]
        #[allow(private_bounds, private_interfaces, reason = "a field may have a type that is private to its module")]
        #[allow(clippy::should_implement_trait, clippy::wrong_self_convention, reason = "setters are named after fields")]
        impl #update {
            #(#setters)*
        }

        #[automatically_derived]
        impl ::superstep::__private::IntoOutput<#ident> for #update {
            fn into_output(
                self,
            ) -> ::core::result::Result<::superstep::__private::command::TaskOutput, ::superstep::__private::NodeError> {
                ::superstep::__private::update_output(self)
            }
        }

        #[automatically_derived]
        impl ::superstep::__private::state::IntoUpdate for #update {
            fn into_update(self) -> ::superstep::__private::state::UncheckedUpdate {
                ::superstep::__private::state::UncheckedUpdate::Typed(self.0)
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#update> for ::superstep::__private::update::Update {
            fn from(update: #update) -> Self {
                update.0
            }
        }
    }
}

fn setter(spec: &FieldSpec, field: &ExpandedField<'_>, index: usize) -> TokenStream {
    let (ident, ty) = (field.ident, field.ty);
    let at = generated_span(ident.span());
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let default_doc = format!("Writes `{}`.", spec.ident.unraw());
    let docs = if spec.docs.is_empty() {
        quote!(#[doc = #default_doc])
    } else {
        spec.docs.iter().map(|doc| quote!(#doc)).collect()
    };
    let (value_type, write) = match &field.reducer {
        Some(reducer) => (
            quote!(impl ::superstep::__private::reducer::IntoWrite<#ty, #reducer>),
            quote!(::superstep::__private::reducer::IntoWrite::<#ty, #reducer>::into_write(value)),
        ),
        None => (quote!(#ty), quote!(::superstep::__private::state::derive::opaque(value))),
    };
    let add = if spec.keeps_last() { quote!(replace) } else { quote!(push) };
    quote_spanned! {at=>
        #docs
        pub fn #ident(mut self, value: #value_type) -> Self {
            ::superstep::__private::state::derive::#add(&mut self.0, #index, #write);
            self
        }
    }
}
