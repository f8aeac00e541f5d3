//! `#[task]` and `#[entrypoint]`: durable functions without an explicit graph.
//!
//! Both leave the body unchanged and only wrap it; their meaning is documented at `superstep::TaskContext::task` and
//! `superstep::entrypoint`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, FnArg, GenericArgument, ItemFn, Pat, PathArguments, ReturnType, Type, TypePath};

/// Expands an async function whose result is recorded: `async fn name(cx: &TaskContext, ..) -> Result<T, NodeError>`.
pub(crate) fn task(function: ItemFn) -> syn::Result<TokenStream> {
    require_async(&function)?;
    let help = "the first argument of a task is the context: `async fn name(cx: &TaskContext, ..)`";
    let Some(FnArg::Typed(first)) = function.sig.inputs.first() else {
        return Err(Error::new_spanned(&function.sig, help));
    };
    let Pat::Ident(cx) = &*first.pat else { return Err(Error::new_spanned(first, help)) };
    let cx = &cx.ident;
    let ItemFn { attrs, vis, sig, block } = &function;
    let ReturnType::Type(_, returned) = &sig.output else {
        return Err(Error::new_spanned(sig, "a task must return a `Result<T, NodeError>`"));
    };
    let name = sig.ident.to_string();
    // The type is repeated: inside the wrapped body `?` and `Ok` could not infer the error type otherwise.
    Ok(quote! {
        #(#attrs)*
        #vis #sig {
            #cx.task(#name, async move {
                let result: #returned = async move #block.await;
                result
            })
            .await
        }
    })
}

/// Expands an async function to a graph of its own: `async fn name(input: I, cx: TaskContext) -> Result<O, NodeError>`.
pub(crate) fn entrypoint(function: ItemFn) -> syn::Result<TokenStream> {
    require_async(&function)?;
    let mut arguments = function.sig.inputs.iter();
    let (Some(FnArg::Typed(input)), Some(FnArg::Typed(_)), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        let help = "an entrypoint takes its input and the context: `async fn name(input: I, cx: TaskContext)`";
        return Err(Error::new_spanned(&function.sig, help));
    };
    let (input, output) = (&input.ty, output_of(&function)?);
    let (attrs, vis, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let mut inner = function.clone();
    (inner.attrs, inner.vis) = (Vec::new(), syn::Visibility::Inherited);
    let text = name.to_string();
    Ok(quote! {
        #(#attrs)*
        #vis fn #name() -> ::superstep::EntrypointBuilder<#input, <#output as ::superstep::IntoFinal>::Output> {
            #inner
            ::superstep::entrypoint(#text, #name)
        }
    })
}

fn require_async(function: &ItemFn) -> syn::Result<()> {
    match function.sig.asyncness {
        Some(_) => Ok(()),
        None => Err(Error::new_spanned(function.sig.fn_token, "must be an `async fn`")),
    }
}

/// Returns the `T` of `-> Result<T, ..>`.
fn output_of(function: &ItemFn) -> syn::Result<&Type> {
    let help = "an entrypoint must return a `Result<T, NodeError>`";
    let ReturnType::Type(_, returned) = &function.sig.output else {
        return Err(Error::new_spanned(&function.sig, help));
    };
    let Type::Path(TypePath { path, .. }) = &**returned else { return Err(Error::new_spanned(returned, help)) };
    let last = path.segments.last().ok_or_else(|| Error::new_spanned(returned, help))?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Err(Error::new_spanned(returned, help));
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(output)) if last.ident == "Result" => Ok(output),
        _ => Err(Error::new_spanned(returned, help)),
    }
}
