//! Derives and attributes for superstep. Expands to paths of the `superstep` crate; holds no logic of its own.
//!
//! Reading (`attribute`, `state`, `field`, `reduce`) checks everything an attribute can get wrong and lists all of it at
//! once; writing (`expand`) then has nothing left to refuse. What an expansion calls is
//! `superstep_core::state::derive`.

use proc_macro::TokenStream;

mod attribute;
mod case;
mod expand;
mod field;
mod functional;
mod literal;
mod problems;
mod reduce;
mod state;
mod suggest;
mod tool;

/// Makes a struct the state of a graph, and generates its update builder (`Chat` gets `ChatUpdate`).
///
/// On the struct: `#[state(version = 2, name = "chat", rename_all = "camelCase")]`.
///
/// On a field, `#[reduce(..)]` says how updates fold into it: `append`, `add`, `merge`, `deep_merge`, `max`, `min`,
/// `set_union`, `messages`, `replace`, `keep_last = 10`, `capped = 10`, `merge_by = id`, or `with = my_fold` for a
/// function `fn(&mut T, I)`, `fn(&mut T, I) -> Result<(), E>` or `fn(T, I) -> T`, where `input = I` tells an input of
/// another type than the field's.
///
/// `#[state(..)]` says the rest: `set_once`, `private`, `untracked`, `ephemeral`, `topic`, `required`, `last_wins`,
/// `default = expr`, `one_of("a", "b")`, `min = 0`, `max = 5`, `rename = "x"`.
#[proc_macro_derive(State, attributes(state, reduce))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let read = syn::parse(input).and_then(|input| state::StateSpec::read(&input));
    match read {
        Ok(spec) => expand::expand(&spec).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Records the result of an async function: the first time it runs, afterwards the recorded result is returned.
///
/// The function takes the context first. Its result is durable before the caller sees it.
#[proc_macro_attribute]
pub fn task(_options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    functional::task(function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a graph of one async function: it becomes a function without arguments that gives an entry point to compile.
#[proc_macro_attribute]
pub fn entrypoint(_options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    functional::entrypoint(function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a tool of a function: it becomes a function without arguments that gives the tool.
///
/// Name and description are those of the function and of its doc comment. On the attribute: `name = ".."`, `read_only`,
/// `idempotent`, `destructive`, `timeout = "30s"` (or whole seconds), `retries = 2`, `return_direct`, and for a plain `fn` that blocks
/// `blocking`.
///
/// Its parameters are the arguments that a model gives: any type that is `Deserialize` and `JsonSchema`, with doc comments
/// for the model; `Option<T>` and `#[default(10)]` need not be given. Parameters of type `Cx`, `View<State>`,
/// `Ctx<Context>`, `SharedStore`, `Ask`, `Writer`, `Info`, `CallId`, `Progress` and `ToolCx` come from the run: the model
/// neither sees nor gives them. `#[inject]` says the same of a type with another name.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    let read = tool::ToolFn::read(options.into(), function);
    read.map_or_else(syn::Error::into_compile_error, |tool| tool.expand()).into()
}
