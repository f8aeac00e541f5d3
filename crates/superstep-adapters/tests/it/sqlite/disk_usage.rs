//! The disk usage of a history, which depends on its changes and not on its length.

use std::collections::BTreeMap;
use std::path::Path;

use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::port::{CheckpointSelector, Checkpointer};
use superstep::core::testing::block_on;
use superstep::prelude::*;
use superstep::{Durability, SubgraphPersistence};
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::fixtures::{checkpoints, diary, pages, size, write};
use super::folder;

fn size_of(name: &str, steps: usize, length: usize) -> u64 {
    let path = folder().join(name);
    // Not compressed: zeros would need almost no space.
    let graph = diary(SqliteCheckpointer::options().compression(false).open(&path).unwrap(), length);
    assert_eq!(write(&graph, "t", steps).pages.len(), steps);
    assert_eq!(checkpoints(&graph, "t"), steps + 1);
    drop(graph);
    let reopened = diary(SqliteCheckpointer::open(&path).unwrap(), length);
    assert_eq!(pages(&reopened, "t").unwrap().len(), steps);
    drop(reopened);
    size(&path)
}

/// R-FWK-42: 1,000 supersteps that each add 1 KB take less than 5 MB; full copies would take 500 MB.
#[test]
fn a_thousand_kilobytes_take_less_than_five_megabytes() {
    let used_bytes = size_of("thousand.db", 1_000, 1_000);
    assert!((1_000_000..5_000_000).contains(&used_bytes), "{used_bytes} bytes");
}

/// R-FWK-42, R-DEF-14: a history of twice the length takes about twice the space.
#[test]
fn size_grows_with_the_changes() {
    for length in [3, 300] {
        let (single, double) = (size_of("once.db", 500, length), size_of("twice.db", 1_000, length));
        assert!(double as f64 <= 2.2 * single as f64, "{length}: {single} bytes, then {double}");
    }
}

/// R-FWK-42: a fork shares the rows before it and needs space only for its changes.
#[test]
fn a_fork_needs_space_only_for_its_changes() {
    let path = folder().join("fork.db");
    let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 2_000);
    write(&graph, "t", 500);
    drop(graph);
    let before = size(&path);
    let graph = diary(SqliteCheckpointer::open(&path).unwrap(), 2_000);
    let threads = graph.threads();
    let history = block_on(threads.get_state_history("t", &Default::default())).unwrap();
    for at in history.iter().skip(10).step_by(50) {
        let page_count = at.state.pages.len();
        let update = super::fixtures::Diary::update().target(page_count + 3);
        let forked =
            block_on(threads.update_state("t", update).as_node("write").from_checkpoint(at.id()).into_future())
                .unwrap();
        let done = graph.continue_thread("t").from_checkpoint(forked).wait_blocking().unwrap().state.pages.clone();
        assert_eq!((done.len(), done.last().map(String::len)), (page_count + 3, Some(2_000)));
    }
    drop((history, threads, graph));
    let added = size(&path) - before;
    assert!(added < 10 * 3 * 2_000 * 3, "{added} bytes for 10 forks of 3 pages of 2,000");
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct GameState {
    #[reduce(merge)]
    marks: BTreeMap<String, u64>,
    #[reduce(append)]
    moves: Vec<u64>,
    turn: u64,
    target: u64,
}

/// Builds a graph that sets one of ten marks in each superstep and records it, until there were enough.
fn game(name: &str) -> StateGraph<GameState> {
    let mut graph = StateGraph::<GameState>::new(name);
    let step = graph.add_node("step", |state: View<GameState>| {
        let mark = BTreeMap::from([(format!("mark {}", state.turn % 10), state.turn)]);
        GameState::update().marks(mark).moves(state.turn).turn(state.turn + 1)
    });
    graph.add_edge(START, step).recursion_limit(100_000);
    let route = move |state: &GameState| if state.turn < state.target { Goto::node(step) } else { Goto::end() };
    graph.add_conditional_edges(step, route, [step.into(), END]);
    graph
}

/// Returns the number of changes to read for the newest value of each field, largest first.
fn parts(path: &Path, is_wanted: impl Fn(&CheckpointNamespace) -> bool) -> Vec<(usize, String)> {
    let (store, thread) = (SqliteCheckpointer::open(path).unwrap(), "t".into());
    let namespace = block_on(store.namespaces(&thread)).unwrap().into_iter().find(is_wanted).unwrap();
    let loaded = block_on(store.load(&thread, &namespace, CheckpointSelector::Latest)).unwrap().unwrap();
    let mut parts: Vec<_> = loaded.fields.iter().map(|(name, log)| (log.len(), name.to_string())).collect();
    parts.sort_by(|one, other| other.cmp(one));
    parts
}

/// R-FWK-42, R-FWK-44: `async` durability also replaces long chains of changes with full values: reading the newest
/// checkpoint does not depend on the length of the thread, and the file grows with the changes.
#[test]
fn saving_behind_the_run_keeps_reading_short() {
    let folder = folder();
    let used_bytes = [1_000, 2_000].map(|steps| {
        let path = folder.join(format!("{steps}.db"));
        let graph = game("board").checkpointer(SqliteCheckpointer::open(&path).unwrap()).compile().unwrap();
        let run = graph.invoke(GameState::input().target(steps)).thread("t").durability(Durability::Async);
        let done = run.wait_blocking().unwrap().state.clone();
        drop(graph);
        let reopened = game("board").checkpointer(SqliteCheckpointer::open(&path).unwrap()).compile().unwrap();
        let read = block_on(reopened.threads().get_state("t")).unwrap().state;
        assert_eq!((&read.marks, &read.moves), (&done.marks, &done.moves));
        assert_eq!((read.turn, read.marks.len(), read.moves.len()), (steps, 10, steps as usize));
        drop(reopened);
        let (change_counts, size) = (parts(&path, CheckpointNamespace::is_root), size(&path));
        // Twice the marks are about 400 bytes, and a change of them is about 80 bytes including its row.
        let marks = change_counts.iter().find(|(_, name)| name == "marks").unwrap().0;
        assert!(marks < 60, "{steps}: {change_counts:?}");
        assert!(change_counts[0].0 < 600, "{steps}: {change_counts:?}");
        size
    });
    assert!(used_bytes[1] as f64 <= 2.2 * used_bytes[0] as f64, "{used_bytes:?} bytes");
}

/// R-FWK-42, R-FWK-44: the same holds for a subgraph with state per thread and `exit` durability.
#[test]
fn exit_durability_keeps_subgraph_reads_short() {
    let path = folder().join("inside.db");
    let inner = game("inner").subgraph_persistence(SubgraphPersistence::PerThread).compile().unwrap();
    let mut graph = StateGraph::<RoundState>::new("outer");
    let node = graph.add_node("inner", inner);
    graph.add_edge(START, node).add_edge(node, END).checkpointer(SqliteCheckpointer::open(&path).unwrap());
    let graph = graph.compile().unwrap();
    for round in 1..=300 {
        let run = graph.invoke(RoundState::input().target(round)).thread("t").durability(Durability::Exit);
        assert_eq!(run.wait_blocking().unwrap().state.target, round);
    }
    drop(graph);
    let change_counts = parts(&path, |namespace| !namespace.is_root());
    assert!(change_counts.iter().all(|(parts, _)| *parts < 120), "{change_counts:?}");
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct RoundState {
    target: u64,
}
