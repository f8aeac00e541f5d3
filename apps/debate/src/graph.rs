//! The drawing of a debate: who speaks after whom.
//!
//! ```text
//! START ─► optimist ─► skeptic ─┬─► optimist      while rounds are left
//!                               └─► moderator ─► END
//! ```
//!
//! That is all of it unless the hall says more: then the skeptic also leads to `approval`, to `fact_check`, or to both.
//! What is drawn here depends on the state alone; what depends on the hall is said by the nodes (see `nodes`).

use superstep::core::port::SharedCheckpointer;
use superstep::{Compiled, END, Go, Graph, NodeHandle, Result, Retry, START, node};

use crate::hall::Hall;
use crate::migration::to_1_1_0;
use crate::nodes::{approval, fact_check, moderator, optimist, skeptic};
use crate::state::{Debate, Status};

/// Two supersteps a round, one for a person, and what comes at the end, for the longest debate and some more.
const LONGEST_RUN: u32 = 64;

/// The graph, ready to run, with debates kept in this store.
///
/// # Errors
/// When the drawing is not valid.
pub fn graph(checkpointer: impl Into<SharedCheckpointer>) -> Result<Compiled<Debate, Hall>> {
    let mut graph = draw(Retry::exponential(3));
    graph.checkpointer(checkpointer);
    graph.compile()
}

/// The graph in the making, for whoever has more to say about it; `retry` is for voices whose model fails.
#[must_use]
pub fn draw(retry: Retry) -> Graph<Debate, Hall> {
    let mut graph = Graph::<Debate, Hall>::new("debate");
    // Reserved first, because they lead to each other; updates of one superstep are folded in this order.
    let places = ["optimist", "skeptic", "approval", "fact_check", "moderator"].map(|name| graph.reserve(name));
    let [optimist_node, skeptic_node, approval_node, fact_check_node, moderator_node] = places;
    graph.define(optimist_node, node(optimist).retry(retry.clone()));
    let after_round = [optimist_node, approval_node, fact_check_node];
    graph.define(skeptic_node, node(skeptic).retry(retry.clone()).goto(after_round));
    graph.define(approval_node, node(approval).goto([fact_check_node]));
    graph.define(fact_check_node, node(fact_check).goto([moderator_node.into(), END]));
    graph.define(moderator_node, node(moderator).retry(retry));
    // An input on a debate that has begun makes nobody speak twice, and passes nobody over who is to be asked.
    let by_turn = move |debate: &Debate| match debate.turns().last().and_then(|turn| turn.name.as_deref()) {
        _ if debate.awaiting_approval => approval_node,
        _ if debate.is_argued() => moderator_node,
        Some("optimist") => skeptic_node,
        _ => optimist_node,
    };
    let begins = [optimist_node.into(), skeptic_node.into(), approval_node.into(), moderator_node.into(), END];
    graph.route(START, unless_over(by_turn), begins);
    graph.route(optimist_node, unless_over(move |_| skeptic_node), [skeptic_node.into(), END]);
    for from in [skeptic_node, approval_node] {
        let on = move |debate: &Debate| if debate.is_argued() { moderator_node } else { optimist_node };
        graph.route(from, unless_over(on), [optimist_node.into(), moderator_node.into(), END]);
    }
    graph.edge(moderator_node, END);
    graph.recursion_limit(LONGEST_RUN).migrate(1, to_1_1_0());
    graph
}

/// Nothing follows a debate that is over: `error` ends it wherever it comes from.
fn unless_over(next: impl Fn(&Debate) -> NodeHandle) -> impl Fn(&Debate) -> Go {
    move |debate| if debate.status == Status::Running { next(debate).into() } else { Go::end() }
}
