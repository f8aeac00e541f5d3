//! The graph of the workers: supersteps with one and several tasks, a subgraph, a recorded result, growing lists.
//!
//! The result depends only on the input, so every run of the same input must end in the same state, whatever faults
//! occurred.

use std::collections::BTreeMap;
use std::time::Duration;

use superstep::prelude::*;
use superstep::{CompiledGraph, Result};

use crate::side_effects::{SideEffectKind, SideEffectLog};

/// Default thread id.
pub(crate) const THREAD: &str = "t";
/// Name of the subgraph node.
pub(crate) const INNER: &str = "inner";

/// All nodes including those of the subgraph; each runs once per round.
pub(crate) const NODES: [&str; 13] =
    ["plan", "quick", "slow", "slower", "gather", INNER, "first", "left", "right", "last", "pay", "parallel", "turn"];

/// State of a thread.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkloadState {
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    /// A large field that is replaced; at most one task of a superstep writes it.
    pub(crate) bulk: String,
    #[reduce(add)]
    pub(crate) paid: u64,
    pub(crate) round: u64,
    /// Number of rounds to run.
    pub(crate) rounds: u64,
    /// Size of `bulk` in bytes.
    pub(crate) weight: u64,
}

/// State of the subgraph.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubgraphState {
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    pub(crate) round: u64,
    #[reduce(add)]
    pub(crate) steps: u64,
}

/// The graph.
pub(crate) type WorkloadGraph = CompiledGraph<WorkloadState, SideEffectLog>;
/// The subgraph.
pub(crate) type SubgraphGraph = CompiledGraph<SubgraphState, SideEffectLog>;
type NodeResult<T = WorkloadStateUpdate> = Result<T, NodeError>;

/// Returns the input of a thread.
pub(crate) fn input(rounds: u64, weight: u64) -> WorkloadStateUpdate {
    WorkloadState::update().rounds(rounds).weight(weight)
}

/// Builds the graph.
///
/// # Errors
/// Returns an error only if the graph is invalid.
pub(crate) fn graph() -> Result<WorkloadGraph> {
    let mut graph = StateGraph::<WorkloadState, SideEffectLog>::new("torture");
    let plan = graph
        .add_node("plan", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            heavy(state, effects, cx)
        });
    let quick = graph
        .add_node("quick", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            plain(state, effects, cx, 0)
        });
    let slow = graph
        .add_node("slow", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            plain(state, effects, cx, 1)
        });
    let slower = graph
        .add_node("slower", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            plain(state, effects, cx, 3)
        });
    let gather = graph
        .add_node("gather", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            heavy(state, effects, cx)
        });
    let inner = graph.add_node(INNER, inner_graph()?);
    let pay = graph.add_node("pay", pays);
    let parallel = graph
        .add_node("parallel", |state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            plain(state, effects, cx, 2)
        });
    let turn = graph.add_node("turn", turns);
    graph.add_edge(START, plan).add_edge(plan, quick).add_edge(plan, slow).add_edge(plan, slower);
    graph.add_join([quick, slow, slower], gather).add_edge(gather, inner);
    graph.add_edge(inner, pay).add_edge(inner, parallel).add_join([pay, parallel], turn);
    let next_round =
        move |state: &WorkloadState| if state.round < state.rounds { Goto::node(plan) } else { Goto::end() };
    graph.add_conditional_edges(turn, next_round, [plan.into(), END]);
    graph.compile()
}

/// Builds the subgraph.
///
/// # Errors
/// Returns an error only if the graph is invalid.
pub(crate) fn inner_graph() -> Result<SubgraphGraph> {
    let mut graph = StateGraph::<SubgraphState, SideEffectLog>::new("part");
    let first =
        graph.add_node("first", |state: View<SubgraphState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            run_in_subgraph(state, effects, cx, 0)
        });
    let left =
        graph.add_node("left", |state: View<SubgraphState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            run_in_subgraph(state, effects, cx, 1)
        });
    let right =
        graph.add_node("right", |state: View<SubgraphState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            run_in_subgraph(state, effects, cx, 2)
        });
    let last =
        graph.add_node("last", |state: View<SubgraphState>, effects: RunContext<SideEffectLog>, cx: TaskContext| {
            run_in_subgraph(state, effects, cx, 0)
        });
    graph
        .add_edge(START, first)
        .add_edge(first, left)
        .add_edge(first, right)
        .add_join([left, right], last)
        .add_edge(last, END);
    graph.compile()
}

/// Performs a task: records its start, waits, records its end.
async fn perform_work(effects: &SideEffectLog, cx: &TaskContext, milliseconds: u64) {
    let key = cx.idempotency_key().to_string();
    effects.record(SideEffectKind::Started, &key, cx.node());
    if milliseconds > 0 {
        cx.sleep(Duration::from_millis(milliseconds)).await;
    }
    effects.record(SideEffectKind::Worked, &key, cx.node());
}

async fn plain(
    state: View<WorkloadState>,
    effects: RunContext<SideEffectLog>,
    cx: TaskContext,
    milliseconds: u64,
) -> NodeResult {
    perform_work(&effects, &cx, milliseconds).await;
    let label = format!("{} {}", cx.node(), state.round);
    Ok(WorkloadState::update().log(label.clone()).count(1_u64).marks((label, state.count)))
}

/// Also writes the large field.
async fn heavy(state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext) -> NodeResult {
    let bulk = format!("{} of round {}; ", cx.node(), state.round);
    let bulk = bulk.repeat(state.weight as usize / bulk.len() + 1);
    Ok(plain(state, effects, cx, 0).await?.bulk(bulk))
}

/// Also increments the round.
async fn turns(state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext) -> NodeResult {
    let round = state.round + 1;
    Ok(plain(state, effects, cx, 0).await?.round(round))
}

/// Records a result before it is used.
async fn pays(state: View<WorkloadState>, effects: RunContext<SideEffectLog>, cx: TaskContext) -> NodeResult {
    let key = cx.idempotency_key().to_string();
    let compute = async {
        effects.record(SideEffectKind::Computed, &key, cx.node());
        Ok::<u64, NodeError>(state.count)
    };
    let paid = cx.once("pay", compute).await?;
    effects.record(SideEffectKind::Recorded, &key, cx.node());
    Ok(plain(state, effects, cx, 1).await?.paid(paid))
}

async fn run_in_subgraph(
    state: View<SubgraphState>,
    effects: RunContext<SideEffectLog>,
    cx: TaskContext,
    milliseconds: u64,
) -> NodeResult<SubgraphStateUpdate> {
    perform_work(&effects, &cx, milliseconds).await;
    let label = format!("{} {}", cx.node(), state.round);
    Ok(SubgraphState::update().log(label.clone()).count(1_u64).marks((label, state.steps)).steps(1_u64))
}
