//! The process dies at every write, once with the write lost and once kept; the end is always the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Compiled, Error, Outcome, Persistence, ToParent};

#[derive(State, Clone, Debug, Serialize, Deserialize)]
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

#[derive(State, Clone, Serialize, Deserialize)]
struct Hotel {
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(add)]
    nights: u64,
}

/// How often each node ran, over all lives of the process.
type Runs = Arc<Mutex<BTreeMap<String, usize>>>;

fn ran(runs: &Runs, node: &str) {
    *runs.lock().unwrap().entry(node.to_owned()).or_default() += 1;
}

fn hotel(runs: &Runs) -> Compiled<Hotel> {
    let mut graph = Graph::<Hotel>::new("hotel");
    let runs = runs.clone();
    let book = graph.node("book", move |hotel: View<Hotel>| {
        ran(&runs, "book");
        Hotel::update().nights(1u64).log(format!("night {}", hotel.nights + 1))
    });
    graph.edge(START, book);
    graph.route(book, move |hotel: &Hotel| if hotel.nights < 3 { Go::to(book) } else { Go::end() }, [book.into(), END]);
    graph.persistence(Persistence::Inherit);
    graph.compile().unwrap()
}

/// A graph with everything that saves: fan-out, join, sends, a graph inside, a question, a record, a loop.
fn trip(runs: &Runs) -> Compiled<Trip> {
    let mut graph = Graph::<Trip>::new("trip");
    let note = |name: &'static str, cost: u64| {
        let runs = runs.clone();
        move || {
            ran(&runs, name);
            Trip::update().log(name).cost(cost)
        }
    };
    let fly = graph.node("fly", note("fly", 100));
    let drive = graph.node("drive", note("drive", 50));
    let pack = graph.node("pack", note("pack", 1));
    let hotel = graph.node("hotel", hotel(runs));
    let votes = runs.clone();
    let vote = graph.node("vote", move |who: Sent<String>| {
        ran(&votes, &format!("vote {}", *who));
        Trip::update().votes((who.0.clone(), who.len() as u64))
    });
    let asks = runs.clone();
    let approve = graph.node("approve", move |trip: View<Trip>, ask: Ask, cx: Cx| {
        let asks = asks.clone();
        async move {
            let pay = async {
                ran(&asks, "pay");
                Ok::<u64, NodeError>(trip.cost)
            };
            let paid = cx.once("pay", pay).await?;
            let yes: bool = ask.person("approve?", paid).await?;
            Ok::<_, NodeError>(Trip::update().approved(yes).log(format!("paid {paid}")))
        }
    });
    let round = graph.node("round", |trip: View<Trip>| Trip::update().rounds(trip.rounds + 1));
    graph.edge(START, fly).edge(START, drive).edge(START, pack);
    graph.join([fly, drive, pack], hotel);
    graph.route(
        hotel,
        move |_: &Trip| ["ann", "bob", "cyd"].map(|who| Send::new(vote, who.to_owned())).to_vec(),
        [vote],
    );
    graph.edge(vote, approve).edge(approve, round);
    graph.route(round, move |trip: &Trip| if trip.rounds < 2 { Go::to(pack) } else { Go::end() }, [pack.into(), END]);
    graph.compile().unwrap()
}

async fn live(
    graph: &Compiled<Trip>,
    store: impl Into<superstep::core::port::SharedCheckpointer>,
    begun: bool,
) -> Result<Outcome<Trip>, Error> {
    let store = store.into();
    let has_thread = begun && graph.threads().checkpointer(store.clone()).state("t").await.is_ok();
    let mut out = match has_thread {
        true => graph.go_on("t").checkpointer(store.clone()).await?,
        false => graph.run(Trip::input().cost(0u64)).thread("t").checkpointer(store.clone()).await?,
    };
    while !out.questions().is_empty() {
        out = graph.resume("t", true).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

fn seen(out: &Outcome<Trip>) -> Value {
    json!(&*out.state)
}

/// R-FWK-28, R-GRA-45: whatever write the process dies at, going on ends in the same state, and what was
/// recorded or finished before is not done again.
#[tokio::test]
async fn a_crash_at_any_write_changes_nothing() {
    let (runs, disk) = (Runs::default(), Memory::new());
    let expected = seen(&live(&trip(&runs), disk, false).await.unwrap());
    let calm = runs.lock().unwrap().clone();
    assert_eq!(expected["cost"], 152);
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (runs, disk) = (Runs::default(), Memory::new());
            let graph = trip(&runs);
            let store = CrashAt::new(disk.clone(), at, last);
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

/// One crash repeats at most the one superstep whose write was lost; a kept write repeats nothing that it holds.
fn check_runs(calm: &BTreeMap<String, usize>, runs: &BTreeMap<String, usize>, last: LastWrite, at: usize) {
    let extra: usize = runs.iter().map(|(node, count)| count - calm.get(node).unwrap_or(&0)).sum();
    let allowed = 3;
    assert!(extra <= allowed, "crash at write {at}, {last:?}: {extra} nodes ran again: {runs:?} instead of {calm:?}");
}

/// R-GRA-45: the process dies twice, also while it recovers from the first time.
#[tokio::test]
async fn a_crash_while_recovering_changes_nothing() {
    let (runs, disk) = (Runs::default(), Memory::new());
    let expected = seen(&live(&trip(&runs), disk, false).await.unwrap());
    for first in 0..24 {
        for second in 0..6 {
            let (runs, disk) = (Runs::default(), Memory::new());
            let graph = trip(&runs);
            let _ = live(&graph, CrashAt::new(disk.clone(), first, LastWrite::Kept), false).await;
            let _ = live(&graph, CrashAt::new(disk.clone(), second, LastWrite::Lost), true).await;
            assert_eq!(seen(&live(&graph, disk, true).await.unwrap()), expected, "crashes at {first} and {second}");
        }
    }
}

/// R-FWK-8: a command for the graph around is not lost when the process dies right after it.
#[tokio::test]
async fn a_command_to_the_parent_survives_a_crash() {
    let build = || {
        let mut inner = Graph::<Hotel>::new("inner");
        let leave = inner.node("leave", || ToParent(Command::<Trip>::goto("after").update(Trip::update().cost(7u64))));
        inner.edge(START, leave).edge(leave, END);
        let mut graph = Graph::<Trip>::new("outer");
        let inside = graph.node("inside", node(inner.compile().unwrap()).goto(["after"]));
        let after = graph.node("after", || Trip::update().log("after"));
        graph.edge(START, inside).edge(inside, END).edge(after, END);
        graph.compile().unwrap()
    };
    for at in 0.. {
        let disk = Memory::new();
        let store = CrashAt::new(disk.clone(), at, LastWrite::Kept);
        let survived = live(&build(), store, false).await.is_ok();
        let out = live(&build(), disk, true).await.unwrap();
        assert_eq!((out.state.cost, &out.state.log[..]), (7, &["after".to_owned()][..]), "crash at write {at}");
        if survived {
            break;
        }
    }
}
