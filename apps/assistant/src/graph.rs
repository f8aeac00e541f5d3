//! The graph of a turn: its nodes and edges.
//!
//! ```text
//! START ─► ingress ─► planner ─┬─► tool_router ─► tool_executor ─► verifier ─┬─► planner
//!             └────────────────┴──────────────► generator ◄──────────────────┘
//!                                                    └─► summarizer ─► END
//! ```
//!
//! A refusal of the policy goes from `ingress` to `generator`. The verifier limits the number of returns to the
//! planner.

use superstep::core::port::{SharedCheckpointer, SharedStore};
use superstep::{CompiledGraph, END, Result, START, StateGraph};

use crate::context::AssistantContext;
use crate::nodes::{generator, ingress, planner, summarizer, tool_executor, tool_router, verifier};
use crate::plan::NextStep;
use crate::state::AgentState;
use crate::verdict::VerdictStatus;

/// Recursion limit: four supersteps per attempt, as many per question to the user, and a reserve.
const RECURSION_LIMIT: u32 = 64;

/// Compiles the graph with a checkpointer for threads and a store for long-term memory.
///
/// # Errors
/// Returns an error if the graph is invalid.
pub fn create_assistant_graph(
    checkpointer: impl Into<SharedCheckpointer>,
    store: impl Into<SharedStore>,
) -> Result<CompiledGraph<AgentState, AssistantContext>> {
    let mut graph = state_graph();
    graph.checkpointer(checkpointer).store(store);
    graph.compile()
}

/// Returns the uncompiled graph, so that callers can extend it.
#[must_use]
pub fn state_graph() -> StateGraph<AgentState, AssistantContext> {
    let mut graph = StateGraph::<AgentState, AssistantContext>::new("assistant");
    let ingress = graph.add_node("ingress", ingress);
    let planner = graph.add_node("planner", planner);
    let router = graph.add_node("tool_router", tool_router);
    let executor = graph.add_node("tool_executor", tool_executor);
    let verifier = graph.add_node("verifier", verifier);
    let generator = graph.add_node("generator", generator);
    let summarizer = graph.add_node("summarizer", summarizer);
    graph.add_edge(START, ingress);
    let by_safety_check = move |state: &AgentState| if state.safety_check == Some(false) { generator } else { planner };
    graph.add_conditional_edges(ingress, by_safety_check, [planner, generator]);
    let by_plan = move |state: &AgentState| match state.next_step {
        Some(NextStep::ToolUse) => router,
        Some(NextStep::Generate) | None => generator,
    };
    graph.add_conditional_edges(planner, by_plan, [router, generator]);
    graph.add_edge(router, executor).add_edge(executor, verifier);
    let by_verdict = move |state: &AgentState| match state.verdict.as_ref().map(|verdict| verdict.status) {
        Some(VerdictStatus::PlanningRetry | VerdictStatus::ClarificationNeeded) => planner,
        Some(VerdictStatus::Verified | VerdictStatus::GivingUp) | None => generator,
    };
    graph.add_conditional_edges(verifier, by_verdict, [planner, generator]);
    graph.add_edge(generator, summarizer).add_edge(summarizer, END);
    // All other fields contain results of nodes or approvals of people, which an input must not set.
    graph.input_fields(["messages", "user_id", "session_id"]).recursion_limit(RECURSION_LIMIT);
    graph
}
