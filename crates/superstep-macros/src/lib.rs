//! Derives and attributes for superstep. Parses attributes and expands to paths of `superstep`; contains no run-time code.
//!
//! The parser (`attribute`, `state`, `field`, `reducer_attribute`) rejects invalid attributes and reports all errors at
//! once; the expansion (`expand`) cannot fail. Expanded code calls `superstep_core::state::derive`.

use proc_macro::TokenStream;

mod attribute;
mod case;
mod diagnostics;
mod expand;
mod field;
mod literals;
mod reducer_attribute;
mod state;
mod suggest;
mod task_and_entrypoint;
mod tool;

/// Implements `GraphState` for a struct, and generates its update builder: `ChatUpdate` for `Chat`.
///
/// On the struct: `#[state(version = 2, name = "chat", rename_all = "camelCase")]`.
///
/// On a field, `#[reduce(..)]` selects the reducer that merges updates into the field: `append`, `add`, `merge`,
/// `deep_merge`, `max`, `min`, `set_union`, `messages`, `replace`, `keep_last = 10`, `capped = 10`, `merge_by =
/// id`, or `with = my_reducer` for a function `fn(&mut T, I)`, `fn(&mut T, I) -> Result<(), E>` or `fn(T, I) -> T`,
/// where `input = I` declares an input type other than the field's.
///
/// `#[state(..)]` sets the other options: `set_once`, `private`, `untracked`, `ephemeral`, `topic`, `required`,
/// `last_wins`, `default = expr`, `one_of("a", "b")`, `min = 0`, `max = 5`, `rename = "x"`.
#[proc_macro_derive(GraphState, attributes(state, reduce))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let spec = syn::parse(input).and_then(|input| state::StateSpec::parse(&input));
    match spec {
        Ok(spec) => expand::expand(&spec).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Records the result of an async function: the function runs once, and later calls return the recorded result.
///
/// The first parameter is the task context. The result is durable before the caller receives it.
#[proc_macro_attribute]
pub fn task(_options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    task_and_entrypoint::task(function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Turns an async function into a graph: a function without parameters that returns an entry point to compile.
#[proc_macro_attribute]
pub fn entrypoint(_options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    task_and_entrypoint::entrypoint(function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Turns a function into a tool: a function without parameters that returns the tool.
///
/// Name and description come from the function and its doc comment. Options of the attribute: `name = ".."`,
/// `read_only`, `idempotent`, `destructive`, `timeout = "30s"` (or whole seconds), `retries = 2`, `return_direct`,
/// and `blocking` for a plain `fn` that blocks.
///
/// The parameters are the arguments that a model provides: any type that is `Deserialize` and `JsonSchema`, with doc
/// comments for the model; `Option<T>` and `#[default(10)]` are optional. Parameters of type `TaskContext`, `View<S>`,
/// `RunContext<C>`, `SharedStore`, `Interrupts`, `StreamWriter`, `TaskInfo`, `ToolCallId`, `ToolProgress` and
/// `ToolContext` are injected by the run: the model neither sees nor provides them. `#[inject]` marks an injected
/// parameter whose type has another name.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(function as syn::ItemFn);
    let tool = tool::ToolFn::parse(options.into(), function);
    tool.map_or_else(syn::Error::into_compile_error, |tool| tool.expand()).into()
}
