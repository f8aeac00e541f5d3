//! Expansion of `#[tool]`: the function itself, a struct of its arguments, and the tool built from both.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn};

use super::{Parameter, ToolFn};

impl ToolFn {
    /// Expands to a function without parameters that returns the tool.
    pub(crate) fn expand(&self) -> TokenStream {
        let (vis, name, attrs) = (&self.function.vis, &self.function.sig.ident, &self.function.attrs);
        let (spec, inner) = (self.spec(), self.inner());
        let (arguments, defaults) = (self.arguments(), self.defaults());
        let parameter_names =
            self.parameters.iter().filter(|parameter| !parameter.is_injected).map(|parameter| &parameter.name);
        let injections =
            self.parameters.iter().filter(|parameter| parameter.is_injected).map(|Parameter { name, ty, .. }| {
                quote! { let #name = __call.get::<#ty>()?; }
            });
        let call = self.call();
        // At the span of the return type, because an error is caused there.
        let output = quote_spanned! { self.function.sig.output.span() =>
            ::superstep::tools::IntoToolOutput::into_tool_output(#call)
        };
        quote! {
            #(#attrs)*
            #vis fn #name() -> ::superstep::tools::SharedTool {
                #inner
                #defaults
                #arguments
                ::superstep::tools::tool_fn(#spec, |__arguments: __Arguments, __call: ::superstep::tools::ToolContext| async move {
                    let __Arguments { #(#parameter_names),* } = __arguments;
                    #(#injections)*
                    #output
                })
            }
        }
    }

    /// Returns the original function without the attributes of this macro.
    fn inner(&self) -> ItemFn {
        let mut inner = self.function.clone();
        (inner.attrs, inner.vis) = (Vec::new(), syn::Visibility::Inherited);
        for input in &mut inner.sig.inputs {
            if let FnArg::Typed(input) = input {
                input.attrs.clear();
            }
        }
        inner
    }

    fn call(&self) -> TokenStream {
        let name = &self.function.sig.ident;
        let arguments = self.parameters.iter().map(|parameter| &parameter.name);
        let call = quote! { #name(#(#arguments),*) };
        match (self.function.sig.asyncness, self.options.blocking) {
            (Some(_), _) => quote! { #call.await },
            (None, true) => quote! { ::superstep::__private::run_blocking_tool(move || #call).await? },
            (None, false) => call,
        }
    }

    fn spec(&self) -> TokenStream {
        let (name, description, options) = (&self.name, &self.description, &self.options);
        let mut spec = quote! { ::superstep::tools::ToolSpec::new(#name, #description) };
        for (is_set, method) in [
            (options.read_only, quote!(read_only)),
            (options.idempotent, quote!(idempotent)),
            (options.destructive, quote!(destructive)),
            (options.return_direct, quote!(return_direct)),
        ] {
            if is_set {
                spec = quote! { #spec.#method() };
            }
        }
        if let Some(time) = options.timeout_ms {
            spec = quote! { #spec.timeout(::core::time::Duration::from_millis(#time)) };
        }
        if let Some(retries) = &options.retries {
            spec = quote! { #spec.retries(#retries) };
        }
        spec
    }

    /// Expands the struct into which the arguments of a model are deserialized.
    fn arguments(&self) -> TokenStream {
        let fields = self.parameters.iter().filter(|parameter| !parameter.is_injected).map(|parameter| {
            let Parameter { name, ty, doc, default, .. } = parameter;
            let doc = (!doc.is_empty()).then(|| quote! { #[doc = #doc] });
            let default = default.as_ref().map(|_| {
                let function = default_fn_name(parameter).to_string();
                quote! { #[serde(default = #function)] }
            });
            quote! { #doc #default #name: #ty }
        });
        quote! {
            #[derive(::superstep::serde::Deserialize, ::superstep::schemars::JsonSchema)]
            #[serde(crate = "::superstep::serde", deny_unknown_fields)]
            #[schemars(crate = "::superstep::schemars")]
            #[allow(non_camel_case_types)]
            struct __Arguments { #(#fields),* }
        }
    }

    fn defaults(&self) -> TokenStream {
        let functions = self.parameters.iter().filter_map(|parameter| {
            let (function, ty, value) = (default_fn_name(parameter), &parameter.ty, parameter.default.as_ref()?);
            Some(quote! { fn #function() -> #ty { #value } })
        });
        quote! { #(#functions)* }
    }
}

fn default_fn_name(parameter: &Parameter) -> syn::Ident {
    format_ident!("default_of_{}", parameter.name)
}
