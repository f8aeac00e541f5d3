//! The graph that victims run: steps of one task and of several, a graph inside, a recorded result, lists that grow.
//!
//! What it computes depends on its input alone, so every run of the same input must end in the same state, whatever
//! happened on the way.

use std::collections::BTreeMap;
use std::time::Duration;

use superstep::prelude::*;
use superstep::{Compiled, Result};

use crate::effects::{Effects, What};

/// The thread, unless another is named.
pub(crate) const THREAD: &str = "t";
/// The node that is a graph.
pub(crate) const INNER: &str = "inner";

/// All nodes, those of the graph inside too: each runs once in every round.
pub(crate) const NODES: [&str; 13] =
    ["plan", "quick", "slow", "slower", "gather", INNER, "first", "left", "right", "last", "pay", "beside", "turn"];

/// What a thread has done.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    /// Something large that is replaced; one task of a superstep at most writes it.
    pub(crate) bulk: String,
    #[reduce(add)]
    pub(crate) paid: u64,
    pub(crate) round: u64,
    /// How often the graph is to go round.
    pub(crate) laps: u64,
    /// How large `bulk` is, in bytes.
    pub(crate) weight: u64,
}

/// The state of the graph inside.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
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
pub(crate) type Flow = Compiled<Work, Effects>;
/// The graph inside.
pub(crate) type InnerFlow = Compiled<Part, Effects>;
type Made<T = WorkUpdate> = Result<T, NodeError>;

/// The input of a thread.
pub(crate) fn input(laps: u64, weight: u64) -> WorkUpdate {
    Work::update().laps(laps).weight(weight)
}

/// Draws the graph.
///
/// # Errors
/// Never, or the drawing is wrong.
pub(crate) fn graph() -> Result<Flow> {
    let mut graph = Graph::<Work, Effects>::new("torture");
    let plan = graph.node("plan", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| heavy(work, effects, cx));
    let quick = graph.node("quick", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| plain(work, effects, cx, 0));
    let slow = graph.node("slow", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| plain(work, effects, cx, 1));
    let slower = graph.node("slower", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| plain(work, effects, cx, 3));
    let gather = graph.node("gather", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| heavy(work, effects, cx));
    let inner = graph.node(INNER, inner_graph()?);
    let pay = graph.node("pay", pays);
    let beside = graph.node("beside", |work: View<Work>, effects: Ctx<Effects>, cx: Cx| plain(work, effects, cx, 2));
    let turn = graph.node("turn", turns);
    graph.edge(START, plan).edge(plan, quick).edge(plan, slow).edge(plan, slower);
    graph.join([quick, slow, slower], gather).edge(gather, inner);
    graph.edge(inner, pay).edge(inner, beside).join([pay, beside], turn);
    let again = move |work: &Work| if work.round < work.laps { Go::to(plan) } else { Go::end() };
    graph.route(turn, again, [plan.into(), END]);
    graph.compile()
}

/// Draws the graph inside.
///
/// # Errors
/// Never, or the drawing is wrong.
pub(crate) fn inner_graph() -> Result<InnerFlow> {
    let mut graph = Graph::<Part, Effects>::new("part");
    let first = graph.node("first", |part: View<Part>, effects: Ctx<Effects>, cx: Cx| inside(part, effects, cx, 0));
    let left = graph.node("left", |part: View<Part>, effects: Ctx<Effects>, cx: Cx| inside(part, effects, cx, 1));
    let right = graph.node("right", |part: View<Part>, effects: Ctx<Effects>, cx: Cx| inside(part, effects, cx, 2));
    let last = graph.node("last", |part: View<Part>, effects: Ctx<Effects>, cx: Cx| inside(part, effects, cx, 0));
    graph.edge(START, first).edge(first, left).edge(first, right).join([left, right], last).edge(last, END);
    graph.compile()
}

/// Does the work of a task: says that it begins, takes its time, says that it has done it.
async fn work_on(effects: &Effects, cx: &Cx, milliseconds: u64) {
    let key = cx.idempotency_key().to_string();
    effects.note(What::Began, &key, cx.node());
    if milliseconds > 0 {
        cx.sleep(Duration::from_millis(milliseconds)).await;
    }
    effects.note(What::Worked, &key, cx.node());
}

async fn plain(work: View<Work>, effects: Ctx<Effects>, cx: Cx, milliseconds: u64) -> Made {
    work_on(&effects, &cx, milliseconds).await;
    let label = format!("{} {}", cx.node(), work.round);
    Ok(Work::update().log(label.clone()).count(1_u64).marks((label, work.count)))
}

/// Also writes the large field.
async fn heavy(work: View<Work>, effects: Ctx<Effects>, cx: Cx) -> Made {
    let bulk = format!("{} of round {}; ", cx.node(), work.round);
    let bulk = bulk.repeat(work.weight as usize / bulk.len() + 1);
    Ok(plain(work, effects, cx, 0).await?.bulk(bulk))
}

/// Also counts the round.
async fn turns(work: View<Work>, effects: Ctx<Effects>, cx: Cx) -> Made {
    let round = work.round + 1;
    Ok(plain(work, effects, cx, 0).await?.round(round))
}

/// Records a result before it is used.
async fn pays(work: View<Work>, effects: Ctx<Effects>, cx: Cx) -> Made {
    let key = cx.idempotency_key().to_string();
    let make = async {
        effects.note(What::Made, &key, cx.node());
        Ok::<u64, NodeError>(work.count)
    };
    let paid = cx.once("pay", make).await?;
    effects.note(What::Recorded, &key, cx.node());
    Ok(plain(work, effects, cx, 1).await?.paid(paid))
}

async fn inside(part: View<Part>, effects: Ctx<Effects>, cx: Cx, milliseconds: u64) -> Made<PartUpdate> {
    work_on(&effects, &cx, milliseconds).await;
    let label = format!("{} {}", cx.node(), part.round);
    Ok(Part::update().log(label.clone()).count(1_u64).marks((label, part.steps)).steps(1_u64))
}
