//! The drawing of the agent.
//!
//! ```text
//! START ─► llmCall ─┬─► toolExec ─► llmCall        while tools are asked for and rounds are left
//!                   └─► formatResponse ─► END
//! ```

use superstep::tool::wants_tools;
use superstep::{Code, Compiled, END, Error, Go, Graph, Result, START};

use crate::context::Context;
use crate::nodes::{LlmCall, ToolExec, format_response};
use crate::state::Suggestions;

/// How often the model is asked unless told; the last time without tools.
pub const MAX_TOOL_ROUNDS: u32 = 5;
/// How often it may be asked at most.
pub const MOST_TOOL_ROUNDS: u32 = 20;

/// The graph, ready to run, without a store; `rounds` is how often the model is asked at most.
///
/// # Errors
/// When the rounds are not from 1 to [`MOST_TOOL_ROUNDS`].
pub fn graph(rounds: u32) -> Result<Compiled<Suggestions, Context>> {
    draw(rounds)?.compile()
}

/// The graph in the making, for whoever has more to say about it, such as where threads are kept.
///
/// # Errors
/// When the rounds are not from 1 to [`MOST_TOOL_ROUNDS`].
pub fn draw(rounds: u32) -> Result<Graph<Suggestions, Context>> {
    if !(1..=MOST_TOOL_ROUNDS).contains(&rounds) {
        let fact = format!("{rounds} rounds of tools: allowed are 1 to {MOST_TOOL_ROUNDS}");
        return Err(Error::new(Code::ConfigInvalid, fact));
    }
    let mut graph = Graph::<Suggestions, Context>::new("suggestions");
    let llm_call = graph.node("llmCall", LlmCall::new(rounds));
    let tool_exec = graph.node("toolExec", ToolExec::new());
    let format_response = graph.node("formatResponse", format_response);
    let should_continue = move |state: &Suggestions| -> Go {
        let goes_on = wants_tools(&state.messages) && state.llm_call_count < rounds;
        if goes_on { tool_exec.into() } else { format_response.into() }
    };
    graph.edge(START, llm_call).edge(tool_exec, llm_call).edge(format_response, END);
    graph.route(llm_call, should_continue, [tool_exec, format_response]);
    graph.output(["response"]).recursion_limit(2 * rounds + 2);
    Ok(graph)
}
