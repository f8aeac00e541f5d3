//! Reducer type of a field, and the hidden types behind `merge_by` and `with`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

use super::field::replace_self;
use super::generated_span;
use crate::field::FieldSpec;
use crate::reducer_attribute::ReducerSpec;

/// Returns the reducer type, and the items it needs.
pub(super) fn reducer(state: &Ident, spec: &FieldSpec, index: usize) -> (TokenStream, TokenStream) {
    let none = TokenStream::new();
    match &spec.reduce {
        None if spec.options.has("topic") => (quote!(::superstep::__private::reducer::Append), none),
        None => (quote!(::superstep::__private::reducer::Replace), none),
        Some(ReducerSpec::Plain(word, name)) => (reducer_path(word, name), none),
        Some(ReducerSpec::Count(word, name, count)) => {
            let name = reducer_path(word, name);
            (quote!(#name<{ #count }>), none)
        }
        Some(ReducerSpec::MergeBy(word, key)) => {
            let hidden = format_ident!("__Key{index}{}", spec.ident.unraw());
            let name = reducer_path(word, "MergeBy");
            (quote!(#name<#hidden>), key_items(spec, &hidden, key))
        }
        Some(ReducerSpec::With(path, input)) => {
            let hidden = format_ident!("__Reducer{index}{}", spec.ident.unraw());
            let path = replace_self(state, quote!(#path));
            let input = input.as_deref().unwrap_or(&spec.ty);
            let items = custom_items(spec, &hidden, &path, input);
            (quote!(#hidden), items)
        }
    }
}

/// Returns a reducer type with the span of the word that names it.
fn reducer_path(word: &Ident, name: &str) -> TokenStream {
    let at = generated_span(word.span());
    let name = Ident::new(name, at);
    quote_spanned!(at=> ::superstep::__private::reducer::#name)
}

fn key_items(spec: &FieldSpec, hidden: &Ident, key: &Ident) -> TokenStream {
    let item = item_type(&spec.ty);
    let name = key.unraw().to_string();
    let at = generated_span(key.span());
    let same = quote_spanned!(at=> one.#key == other.#key);
    quote! {
        #[allow(non_camel_case_types, reason = "named after the field")]
        struct #hidden;
        #[automatically_derived]
        impl ::superstep::__private::reducer::MergeKey<#item> for #hidden {
            const NAME: &'static str = #name;
            fn is_same(one: &#item, other: &#item) -> bool {
                #same
            }
        }
    }
}

/// Returns the `E` of a `Vec<E>`; for another type its iterator item.
fn item_type(ty: &Type) -> TokenStream {
    let item = match ty {
        Type::Path(path) => path.path.segments.last().filter(|segment| segment.ident == "Vec").and_then(|segment| {
            match &segment.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.first(),
                _ => None,
            }
        }),
        _ => None,
    };
    match item {
        Some(GenericArgument::Type(item)) => quote!(#item),
        _ => quote!(<#ty as ::core::iter::IntoIterator>::Item),
    }
}

fn custom_items(spec: &FieldSpec, hidden: &Ident, path: &TokenStream, input: &Type) -> TokenStream {
    let ty = &spec.ty;
    let at = generated_span(path.span());
    // The function keeps its own span, so that a wrong signature is reported there.
    let reduce_call = quote_spanned! {at=>
        ::superstep::__private::reducer::reduce_full_value::<#ty, #input, _, _>(&#path, current, input)
    };
    quote! {
        #[allow(non_camel_case_types, reason = "named after the field")]
        struct #hidden;
        #[automatically_derived]
        impl ::superstep::__private::reducer::Reducer<#ty> for #hidden {
            type Input = #input;
            fn name() -> ::std::string::String {
                ::std::string::String::from("custom")
            }
            fn reduce(
                current: &mut #ty,
                input: #input,
            ) -> ::core::result::Result<::superstep::__private::change::Change, ::superstep::__private::validation_error::ValidationError> {
                #reduce_call
            }
        }
        #[automatically_derived]
        impl ::superstep::__private::reducer::IntoWrite<#ty, #hidden> for #input {
            fn into_write(self) -> (::superstep::__private::update::WriteMode, ::superstep::__private::value::AnyValue) {
                (::superstep::__private::update::WriteMode::Reduce, ::superstep::__private::value::AnyValue::native(self))
            }
        }
    }
}
