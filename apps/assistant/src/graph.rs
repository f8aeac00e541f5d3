//! The drawing of a turn: who works after whom.
//!
//! ```text
//! START ─► ingress ─► planner ─┬─► tool_router ─► tool_executor ─► verifier ─┬─► planner
//!             └────────────────┴──────────────► generator ◄──────────────────┘
//!                                                    └─► summarizer ─► END
//! ```
//!
//! The policy's answer goes from `ingress` to `generator`. The way back to the planner is bounded by the verifier.

use superstep::core::port::{SharedCheckpointer, SharedStore};
use superstep::{Compiled, END, Graph, Result, START};

use crate::desk::Desk;
use crate::nodes::{generator, ingress, planner, summarizer, tool_executor, tool_router, verifier};
use crate::plan::NextStep;
use crate::state::Assistant;
use crate::verdict::VerdictStatus;

/// Four supersteps for each attempt, and as many for each question to the user, and some more.
const LONGEST_RUN: u32 = 64;

/// The graph, ready to run, with conversations and memories kept in these stores.
///
/// # Errors
/// When the drawing is not valid.
pub fn graph(
    checkpointer: impl Into<SharedCheckpointer>,
    store: impl Into<SharedStore>,
) -> Result<Compiled<Assistant, Desk>> {
    let mut graph = draw();
    graph.checkpointer(checkpointer).store(store);
    graph.compile()
}

/// The graph in the making, for whoever has more to say about it.
#[must_use]
pub fn draw() -> Graph<Assistant, Desk> {
    let mut graph = Graph::<Assistant, Desk>::new("assistant");
    let ingress = graph.node("ingress", ingress);
    let planner = graph.node("planner", planner);
    let router = graph.node("tool_router", tool_router);
    let executor = graph.node("tool_executor", tool_executor);
    let verifier = graph.node("verifier", verifier);
    let generator = graph.node("generator", generator);
    let summarizer = graph.node("summarizer", summarizer);
    graph.edge(START, ingress);
    let passes = move |state: &Assistant| if state.safety_check == Some(false) { generator } else { planner };
    graph.route(ingress, passes, [planner, generator]);
    let by_plan = move |state: &Assistant| match state.next_step {
        Some(NextStep::ToolUse) => router,
        Some(NextStep::Generate) | None => generator,
    };
    graph.route(planner, by_plan, [router, generator]);
    graph.edge(router, executor).edge(executor, verifier);
    let by_verdict = move |state: &Assistant| match state.verdict.as_ref().map(|verdict| verdict.status) {
        Some(VerdictStatus::PlanningRetry | VerdictStatus::ClarificationNeeded) => planner,
        Some(VerdictStatus::Verified | VerdictStatus::GivingUp) | None => generator,
    };
    graph.route(verifier, by_verdict, [planner, generator]);
    graph.edge(generator, summarizer).edge(summarizer, END);
    // Everything else is what nodes found out or people allowed: whoever begins a turn cannot bring it.
    graph.input(["messages", "user_id", "session_id"]).recursion_limit(LONGEST_RUN);
    graph
}
