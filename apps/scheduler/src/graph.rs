//! The drawing of a request: every agent goes back to one router, none calls another.
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

use superstep::core::port::SharedCheckpointer;
use superstep::{Compiled, END, Endpoint, Graph, Result, START};

use crate::home::Home;
use crate::nodes;
use crate::route::{Next, route_next_step};
use crate::state::Scheduler;

/// Five agents, three questions, three ways out, and retries of each.
const LONGEST_RUN: u32 = 64;

/// The graph, ready to run, with conversations kept in this store.
///
/// # Errors
/// When the drawing is not valid.
pub fn graph(checkpointer: impl Into<SharedCheckpointer>) -> Result<Compiled<Scheduler, Home>> {
    let mut graph = draw();
    graph.checkpointer(checkpointer);
    graph.compile()
}

/// The graph in the making, for whoever has more to say about it.
#[must_use]
pub fn draw() -> Graph<Scheduler, Home> {
    let mut graph = Graph::<Scheduler, Home>::new("scheduler");
    let all = [
        (Next::NlParser, graph.node("nl_parser", nodes::nl_parser)),
        (Next::Scheduling, graph.node("scheduling", nodes::scheduling)),
        (Next::ResourceManager, graph.node("resource_manager", nodes::resource_manager)),
        (Next::ConflictDetection, graph.node("conflict_detection", nodes::conflict_detection)),
        (Next::Resolution, graph.node("resolution", nodes::resolution)),
        (Next::ApplyResolution, graph.node("apply_resolution", nodes::apply_resolution)),
        (Next::Query, graph.node("query", nodes::query)),
        (Next::RequestClarification, graph.node("request_clarification", nodes::request_clarification)),
        (Next::ConfirmEvent, graph.node("confirm_event", nodes::confirm_event)),
    ];
    graph.edge(START, all[0].1);
    let endpoint = move |next: Next| -> Endpoint {
        all.iter().find(|(known, _)| *known == next).map_or(END, |(_, node)| Endpoint::from(*node))
    };
    for (from, node) in all {
        let goals: Vec<Endpoint> = from.goals().iter().map(|next| endpoint(*next)).collect();
        graph.route(node, move |state: &Scheduler| endpoint(route_next_step(state)), goals);
    }
    graph.recursion_limit(LONGEST_RUN);
    graph
}
