//! The process dies at every write, once with the write lost and once with the write kept; the outcome is always the
//! same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{CompiledGraph, Error, Outcome, SubgraphPersistence, ToParent};

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Trip {
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(add)]
    cost: u64,
    #[reduce(merge)]
    votes: BTreeMap<String, u64>,
    approved: bool,
    rounds: u64,
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Hotel {
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(add)]
    nights: u64,
}

/// Number of executions of each node, over all restarts of the process.
type Runs = Arc<Mutex<BTreeMap<String, usize>>>;

fn ran(runs: &Runs, node: &str) {
    *runs.lock().unwrap().entry(node.to_owned()).or_default() += 1;
}

fn hotel(runs: &Runs) -> CompiledGraph<Hotel> {
    let mut graph = StateGraph::<Hotel>::new("hotel");
    let runs = runs.clone();
    let book = graph.add_node("book", move |hotel: View<Hotel>| {
        ran(&runs, "book");
        Hotel::update().nights(1u64).log(format!("night {}", hotel.nights + 1))
    });
    graph.add_edge(START, book);
    graph.add_conditional_edges(
        book,
        move |hotel: &Hotel| if hotel.nights < 3 { Goto::node(book) } else { Goto::end() },
        [book.into(), END],
    );
    graph.subgraph_persistence(SubgraphPersistence::Inherit);
    graph.compile().unwrap()
}

/// A graph with everything that is saved: fan-out, join, sends, a subgraph, an interrupt, a recorded result, a loop.
fn trip(runs: &Runs) -> CompiledGraph<Trip> {
    let mut graph = StateGraph::<Trip>::new("trip");
    let note = |name: &'static str, cost: u64| {
        let runs = runs.clone();
        move || {
            ran(&runs, name);
            Trip::update().log(name).cost(cost)
        }
    };
    let fly = graph.add_node("fly", note("fly", 100));
    let drive = graph.add_node("drive", note("drive", 50));
    let pack = graph.add_node("pack", note("pack", 1));
    let hotel = graph.add_node("hotel", hotel(runs));
    let votes = runs.clone();
    let vote = graph.add_node("vote", move |voter: SendPayload<String>| {
        ran(&votes, &format!("vote {}", *voter));
        Trip::update().votes((voter.0.clone(), voter.len() as u64))
    });
    let approve_runs = runs.clone();
    let approve = graph.add_node("approve", move |trip: View<Trip>, interrupts: Interrupts, cx: TaskContext| {
        let approve_runs = approve_runs.clone();
        async move {
            let pay = async {
                ran(&approve_runs, "pay");
                Ok::<u64, NodeError>(trip.cost)
            };
            let paid = cx.once("pay", pay).await?;
            let yes: bool = interrupts.raise("approve?", paid).await?;
            Ok::<_, NodeError>(Trip::update().approved(yes).log(format!("paid {paid}")))
        }
    });
    let round = graph.add_node("round", |trip: View<Trip>| Trip::update().rounds(trip.rounds + 1));
    graph.add_edge(START, fly).add_edge(START, drive).add_edge(START, pack);
    graph.add_join([fly, drive, pack], hotel);
    graph.add_conditional_edges(
        hotel,
        move |_: &Trip| ["ann", "bob", "cyd"].map(|voter| SendTo::new(vote, voter.to_owned())).to_vec(),
        [vote],
    );
    graph.add_edge(vote, approve).add_edge(approve, round);
    graph.add_conditional_edges(
        round,
        move |trip: &Trip| if trip.rounds < 2 { Goto::node(pack) } else { Goto::end() },
        [pack.into(), END],
    );
    graph.compile().unwrap()
}

async fn live(
    graph: &CompiledGraph<Trip>,
    store: impl Into<superstep::core::port::SharedCheckpointer>,
    has_started: bool,
) -> Result<Outcome<Trip>, Error> {
    let store = store.into();
    let has_thread = has_started && graph.threads().checkpointer(store.clone()).get_state("t").await.is_ok();
    let mut out = match has_thread {
        true => graph.continue_thread("t").checkpointer(store.clone()).await?,
        false => graph.invoke(Trip::input().cost(0u64)).thread("t").checkpointer(store.clone()).await?,
    };
    while !out.interrupts().is_empty() {
        out = graph.resume("t", true).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

fn seen(out: &Outcome<Trip>) -> Value {
    json!(&*out.state)
}

/// R-FWK-28, R-GRA-45: at whatever write the process dies, continuing ends in the same state, and recorded or
/// finished work is not repeated.
#[tokio::test]
async fn a_crash_at_any_write_changes_nothing() {
    let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
    let expected = seen(&live(&trip(&runs), disk, false).await.unwrap());
    let calm = runs.lock().unwrap().clone();
    assert_eq!(expected["cost"], 152);
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
            let graph = trip(&runs);
            let store = CrashingCheckpointer::new(disk.clone(), at, last);
            let survived = live(&graph, store, false).await.is_ok();
            let out = live(&graph, disk, true)
                .await
                .unwrap_or_else(|error| panic!("crash at write {at}, {last:?}: {error:?}"));
            assert_eq!(seen(&out), expected, "crash at write {at}, {last:?}");
            check_runs(&calm, &runs.lock().unwrap(), last, at);
            if survived {
                assert!(at > 15, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// Asserts that one crash repeats at most the superstep whose write was lost; a kept write repeats nothing that it
/// contains.
fn check_runs(calm: &BTreeMap<String, usize>, runs: &BTreeMap<String, usize>, last: CrashedWrite, at: usize) {
    let extra: usize = runs.iter().map(|(node, count)| count - calm.get(node).unwrap_or(&0)).sum();
    let allowed = 3;
    assert!(extra <= allowed, "crash at write {at}, {last:?}: {extra} nodes ran again: {runs:?} instead of {calm:?}");
}

/// R-GRA-45: the process dies twice, also while it recovers from the first crash.
#[tokio::test]
async fn a_crash_while_recovering_changes_nothing() {
    let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
    let expected = seen(&live(&trip(&runs), disk, false).await.unwrap());
    for first in 0..24 {
        for second in 0..6 {
            let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
            let graph = trip(&runs);
            let _ = live(&graph, CrashingCheckpointer::new(disk.clone(), first, CrashedWrite::Persisted), false).await;
            let _ = live(&graph, CrashingCheckpointer::new(disk.clone(), second, CrashedWrite::Lost), true).await;
            assert_eq!(seen(&live(&graph, disk, true).await.unwrap()), expected, "crashes at {first} and {second}");
        }
    }
}

/// R-FWK-8: a command for the parent graph is not lost when the process dies right after it.
#[tokio::test]
async fn a_command_to_the_parent_survives_a_crash() {
    let build = || {
        let mut inner = StateGraph::<Hotel>::new("inner");
        let leave =
            inner.add_node("leave", || ToParent(Command::<Trip>::goto("after").update(Trip::update().cost(7u64))));
        inner.add_edge(START, leave).add_edge(leave, END);
        let mut graph = StateGraph::<Trip>::new("outer");
        let subgraph = graph.add_node("inside", node(inner.compile().unwrap()).goto_targets(["after"]));
        let after = graph.add_node("after", || Trip::update().log("after"));
        graph.add_edge(START, subgraph).add_edge(subgraph, END).add_edge(after, END);
        graph.compile().unwrap()
    };
    for at in 0.. {
        let disk = MemoryCheckpointer::new();
        let store = CrashingCheckpointer::new(disk.clone(), at, CrashedWrite::Persisted);
        let survived = live(&build(), store, false).await.is_ok();
        let out = live(&build(), disk, true).await.unwrap();
        assert_eq!((out.state.cost, &out.state.log[..]), (7, &["after".to_owned()][..]), "crash at write {at}");
        if survived {
            break;
        }
    }
}
