//! Definition of the suggestions graph.
//!
//! ```text
//! START ─► llmCall ─┬─► toolExec ─► llmCall        while the model calls tools and rounds remain
//!                   └─► formatResponse ─► END
//! ```

use superstep::tools::has_pending_tool_calls;
use superstep::{CompiledGraph, END, Error, ErrorCode, Goto, Result, START, StateGraph};

use crate::context::SuggestionsContext;
use crate::nodes::{LlmCall, ToolExec, format_response};
use crate::state::SuggestionsState;

/// Default maximum number of model calls per run. The last call gets no tools.
pub const MAX_TOOL_ROUNDS: u32 = 5;
/// Upper limit of the maximum number of model calls per run.
pub const MAX_TOOL_ROUNDS_LIMIT: u32 = 20;

/// Compiles the graph without a checkpointer. `rounds` is the maximum number of model calls.
///
/// # Errors
/// Returns an error if `rounds` is not between 1 and [`MAX_TOOL_ROUNDS_LIMIT`].
pub fn create_suggestions_graph(rounds: u32) -> Result<CompiledGraph<SuggestionsState, SuggestionsContext>> {
    state_graph(rounds)?.compile()
}

/// Builds the uncompiled graph, for callers that configure it further, for example with a checkpointer.
///
/// # Errors
/// Returns an error if `rounds` is not between 1 and [`MAX_TOOL_ROUNDS_LIMIT`].
pub fn state_graph(rounds: u32) -> Result<StateGraph<SuggestionsState, SuggestionsContext>> {
    if !(1..=MAX_TOOL_ROUNDS_LIMIT).contains(&rounds) {
        let message = format!("the number of tool rounds must be from 1 to {MAX_TOOL_ROUNDS_LIMIT}, not {rounds}");
        return Err(Error::new(ErrorCode::ConfigInvalid, message));
    }
    let mut graph = StateGraph::<SuggestionsState, SuggestionsContext>::new("suggestions");
    let llm_call = graph.add_node("llmCall", LlmCall::new(rounds));
    let tool_exec = graph.add_node("toolExec", ToolExec::new());
    let format_response = graph.add_node("formatResponse", format_response);
    let should_continue = move |state: &SuggestionsState| -> Goto {
        let has_next_round = has_pending_tool_calls(&state.messages) && state.llm_call_count < rounds;
        if has_next_round { tool_exec.into() } else { format_response.into() }
    };
    graph.add_edge(START, llm_call).add_edge(tool_exec, llm_call).add_edge(format_response, END);
    graph.add_conditional_edges(llm_call, should_continue, [tool_exec, format_response]);
    graph.output_fields(["response"]).recursion_limit(2 * rounds + 2);
    Ok(graph)
}
