//! Graph of a debate: the order of the agents.
//!
//! ```text
//! START ─► optimist ─► skeptic ─┬─► optimist      while rounds are left
//!                               └─► moderator ─► END
//! ```
//!
//! These are the static edges. With other options in the run context, the skeptic also routes to `approval`, to
//! `fact_check`, or to both. Conditional edges here depend only on the state; decisions that depend on the run
//! context are made in the nodes (see `nodes`).

use superstep::core::port::SharedCheckpointer;
use superstep::{CompiledGraph, END, Goto, NodeHandle, Result, RetryPolicy, START, StateGraph, node};

use crate::context::DebateContext;
use crate::migration::to_1_1_0;
use crate::nodes::{self, approval, fact_check};
use crate::state::{DebateState, DebateStatus};

/// Recursion limit: above the number of supersteps of the longest debate, which has three per round (two turns and an
/// approval) and the summary.
const RECURSION_LIMIT: u32 = 64;

/// Creates the compiled graph, with debates stored in this checkpointer.
///
/// # Errors
/// Returns an error if the graph is invalid.
pub fn create_debate_graph(
    checkpointer: impl Into<SharedCheckpointer>,
) -> Result<CompiledGraph<DebateState, DebateContext>> {
    let mut graph = state_graph(RetryPolicy::exponential(3));
    graph.checkpointer(checkpointer);
    graph.compile()
}

/// Creates the uncompiled graph, for further configuration; `retry` applies to the nodes that call a model.
#[must_use]
pub fn state_graph(retry: RetryPolicy) -> StateGraph<DebateState, DebateContext> {
    let mut graph = StateGraph::<DebateState, DebateContext>::new("debate");
    // Reserved first, because the nodes refer to each other; updates of one superstep are applied in this order.
    let node_ids = ["optimist", "skeptic", "approval", "fact_check", "moderator"].map(|name| graph.reserve_node(name));
    let [optimist_node, skeptic_node, approval_node, fact_check_node, moderator_node] = node_ids;
    graph.define_node(optimist_node, node(nodes::optimist_node).retry(retry.clone()));
    let after_round = [optimist_node, approval_node, fact_check_node];
    graph.define_node(skeptic_node, node(nodes::skeptic_node).retry(retry.clone()).goto_targets(after_round));
    graph.define_node(approval_node, node(approval).goto_targets([fact_check_node]));
    graph.define_node(fact_check_node, node(fact_check).goto_targets([moderator_node.into(), END]));
    graph.define_node(moderator_node, node(nodes::moderator_node).retry(retry));
    // An input for a debate in progress must neither repeat a turn nor skip an open approval.
    let next_by_turn = move |debate: &DebateState| match debate.turns().last().and_then(|turn| turn.name.as_deref()) {
        _ if debate.awaiting_approval => approval_node,
        _ if debate.is_ready_for_summary() => moderator_node,
        Some("optimist") => skeptic_node,
        _ => optimist_node,
    };
    let start_targets = [optimist_node.into(), skeptic_node.into(), approval_node.into(), moderator_node.into(), END];
    graph.add_conditional_edges(START, unless_ended(next_by_turn), start_targets);
    graph.add_conditional_edges(optimist_node, unless_ended(move |_| skeptic_node), [skeptic_node.into(), END]);
    for node in [skeptic_node, approval_node] {
        let next =
            move |debate: &DebateState| if debate.is_ready_for_summary() { moderator_node } else { optimist_node };
        graph.add_conditional_edges(node, unless_ended(next), [optimist_node.into(), moderator_node.into(), END]);
    }
    graph.add_edge(moderator_node, END);
    graph.recursion_limit(RECURSION_LIMIT).add_migration(1, to_1_1_0());
    graph
}

/// Routes to the end unless the debate is running: status `error` ends a debate after any node.
fn unless_ended(next: impl Fn(&DebateState) -> NodeHandle) -> impl Fn(&DebateState) -> Goto {
    move |debate| if debate.status == DebateStatus::Running { next(debate).into() } else { Goto::end() }
}
