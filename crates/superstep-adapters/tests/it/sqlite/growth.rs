//! What a history takes on the disk: about what changed, however long it is.

use superstep::core::testing::block_on;
use superstep_adapters::sqlite::Sqlite;

use super::folder;
use super::writing::{checkpoints, diary, pages, size, write};

fn size_of(name: &str, steps: usize, length: usize) -> u64 {
    let path = folder().join(name);
    // Not squeezed: zeros would take next to nothing.
    let graph = diary(Sqlite::options().compression(false).open(&path).unwrap(), length);
    assert_eq!(write(&graph, "t", steps).pages.len(), steps);
    assert_eq!(checkpoints(&graph, "t"), steps + 1);
    drop(graph);
    let again = diary(Sqlite::open(&path).unwrap(), length);
    assert_eq!(pages(&again, "t").unwrap().len(), steps);
    drop(again);
    size(&path)
}

/// R-FWK-42: 1,000 supersteps that each add 1 KB take less than 5 MB; full copies would take 500.
#[test]
fn a_thousand_kilobytes_take_less_than_five_megabytes() {
    let taken = size_of("thousand.db", 1_000, 1_000);
    assert!((1_000_000..5_000_000).contains(&taken), "{taken} bytes");
}

/// R-FWK-42, R-DEF-14: a history that is twice as long takes about twice as much.
#[test]
fn size_grows_with_what_changed() {
    for length in [3, 300] {
        let (once, twice) = (size_of("once.db", 500, length), size_of("twice.db", 1_000, length));
        assert!(twice as f64 <= 2.2 * once as f64, "{length}: {once} bytes, then {twice}");
    }
}

/// R-FWK-42: a fork shares what came before it: it costs what it adds.
#[test]
fn a_fork_costs_what_it_adds() {
    let path = folder().join("fork.db");
    let graph = diary(Sqlite::open(&path).unwrap(), 2_000);
    write(&graph, "t", 500);
    drop(graph);
    let before = size(&path);
    let graph = diary(Sqlite::open(&path).unwrap(), 2_000);
    let threads = graph.threads();
    let history = block_on(threads.history("t", &Default::default())).unwrap();
    for at in history.iter().skip(10).step_by(50) {
        let kept = at.state.pages.len();
        let update = super::writing::Diary::update().wanted(kept + 3);
        let forked = block_on(threads.update("t", update).as_node("write").at(at.id()).into_future()).unwrap();
        let done = graph.go_on("t").at(forked).wait().unwrap().state.pages.clone();
        assert_eq!((done.len(), done.last().map(String::len)), (kept + 3, Some(2_000)));
    }
    drop((history, threads, graph));
    let added = size(&path) - before;
    assert!(added < 10 * 3 * 2_000 * 3, "{added} bytes for 10 forks of 3 pages of 2,000");
}
