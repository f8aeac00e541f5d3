//! State graph of a request: every agent returns to one router, and no agent calls another.
//!
//! ```text
//!                       ┌► nl_parser ──────────┐
//!                       ├► scheduling ─────────┤
//!                       ├► resource_manager ───┤
//! START ─► nl_parser ─► router ◄───────────────┤ ─► END
//!                       ├► conflict_detection ─┤
//!                       ├► resolution ─────────┤
//!                       ├► apply_resolution ───┤
//!                       ├► request_clarification
//!                       ├► query ──────────────┤
//!                       └► confirm_event ──────┘
//! ```

pub mod route;

use superstep::core::port::SharedCheckpointer;
use superstep::{CompiledGraph, END, Endpoint, Result, START, StateGraph};

use crate::context::SchedulerContext;
use crate::nodes;
use crate::orchestrator::route::{NextNode, route_next_step};
use crate::state::FamilySchedulerState;

/// Recursion limit: five agents, three clarifications, three resolutions, and retries of each.
const RECURSION_LIMIT: u32 = 64;

/// Compiles the graph with a checkpointer.
///
/// # Errors
/// Returns an error if the graph is invalid.
pub fn create_scheduler_graph(
    checkpointer: impl Into<SharedCheckpointer>,
) -> Result<CompiledGraph<FamilySchedulerState, SchedulerContext>> {
    let mut graph = state_graph();
    graph.checkpointer(checkpointer);
    graph.compile()
}

/// Builds the uncompiled graph, which the caller can still configure.
#[must_use]
pub fn state_graph() -> StateGraph<FamilySchedulerState, SchedulerContext> {
    let mut graph = StateGraph::<FamilySchedulerState, SchedulerContext>::new("scheduler");
    let all = [
        (NextNode::NlParser, graph.add_node("nl_parser", nodes::nl_parser)),
        (NextNode::Scheduling, graph.add_node("scheduling", nodes::scheduling)),
        (NextNode::ResourceManager, graph.add_node("resource_manager", nodes::resource_manager)),
        (NextNode::ConflictDetection, graph.add_node("conflict_detection", nodes::conflict_detection)),
        (NextNode::Resolution, graph.add_node("resolution", nodes::resolution)),
        (NextNode::ApplyResolution, graph.add_node("apply_resolution", nodes::apply_resolution)),
        (NextNode::Query, graph.add_node("query", nodes::query)),
        (NextNode::RequestClarification, graph.add_node("request_clarification", nodes::request_clarification)),
        (NextNode::ConfirmEvent, graph.add_node("confirm_event", nodes::confirm_event)),
    ];
    graph.add_edge(START, all[0].1);
    let endpoint = move |next: NextNode| -> Endpoint {
        all.iter().find(|(candidate, _)| *candidate == next).map_or(END, |(_, node)| Endpoint::from(*node))
    };
    for (from, node) in all {
        let targets: Vec<Endpoint> = from.targets().iter().map(|next| endpoint(*next)).collect();
        graph.add_conditional_edges(
            node,
            move |state: &FamilySchedulerState| endpoint(route_next_step(state)),
            targets,
        );
    }
    graph.recursion_limit(RECURSION_LIMIT);
    graph
}
