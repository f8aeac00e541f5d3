//! Threads that last only so long.

use std::time::Duration;

use superstep::core::port::{Checkpointer, Commit, ThreadStatus, ThreadsQuery};
use superstep::core::testing::block_on;
use superstep_adapters::key_value::KeyValueStore;

use super::plain::Plain;
use super::{diary, pages, run, until, write};

const LIFE: Duration = Duration::from_secs(2);

fn listed(store: &impl Checkpointer) -> Vec<String> {
    let threads = block_on(store.threads(&ThreadsQuery::default())).unwrap();
    threads.iter().map(ToString::to_string).collect()
}

/// R-FWK-39: a thread that nobody wrote to for as long as it was to last is gone for every question, also for a store
/// that was told of no such time, and begins anew; the others stay.
#[test]
fn a_thread_nobody_wrote_to_is_gone_and_begins_anew() {
    let plain = Plain::default();
    let lasting = KeyValueStore::open(plain.other()).unwrap();
    write(&diary(lasting.clone(), 2_000), "lasting", 2);
    let store = KeyValueStore::options().time_to_live(LIFE).open(plain.clone()).unwrap();
    let graph = diary(store.clone(), 2_000);
    write(&graph, "brief", 4);
    assert_eq!(pages(&diary(lasting.clone(), 2_000), "brief").unwrap(), 4);
    until(|| block_on(store.status(&"brief".into())).unwrap().is_none().then_some(()));
    assert_eq!((listed(&store), listed(&lasting)), (vec!["lasting".to_owned()], vec!["lasting".to_owned()]));
    assert!(pages(&graph, "brief").is_err() && block_on(lasting.namespaces(&"brief".into())).unwrap().is_empty());
    assert_eq!(block_on(store.stats()).unwrap().threads, 1);
    assert_eq!(write(&graph, "brief", 2), 2, "nothing is left of what was before");
    assert_eq!(pages(&diary(lasting, 2_000), "lasting").unwrap(), 2);
}

/// R-FWK-39: what a thread leaves is removed, by the store itself or when it is asked to.
#[test]
fn what_a_thread_leaves_is_swept_away() {
    let plain = Plain::default();
    let store = KeyValueStore::options().time_to_live(LIFE).compression(false).open(plain.clone()).unwrap();
    for thread in ["a", "a-b", "a.b"] {
        write(&diary(store.clone(), 2_000), thread, 6);
    }
    assert!(plain.keys().iter().any(|key| key.contains("/part/")));
    let is_clear = || !plain.keys().iter().any(|key| key.contains("/part/"));
    until(|| is_clear().then_some(()));
    let left = plain.keys().into_iter().filter(|key| key.contains("/in/")).count();
    assert!(left <= 6, "of each thread only that it is gone: {:?}", plain.keys());
    drop(store);

    let store = KeyValueStore::options().time_to_live(LIFE).compression(false).open(plain.clone()).unwrap();
    write(&diary(store, 2_000), "later", 3);
    let other = KeyValueStore::open(plain.other()).unwrap();
    until(|| (block_on(other.sweep()).unwrap() == 1).then_some(()));
    assert!(is_clear());
}

/// R-FWK-39: a thread that is moved does not go, however long that takes, and each commit begins its time anew.
#[test]
fn a_thread_that_is_moved_does_not_go() {
    let store = KeyValueStore::options().time_to_live(LIFE).open(Plain::default()).unwrap();
    let graph = diary(store.clone(), 100);
    write(&graph, "t", 3);
    let lease = block_on(store.acquire(&"t".into(), run(1))).unwrap();
    write(&graph, "clock", 1);
    until(|| block_on(store.status(&"clock".into())).unwrap().is_none().then_some(()));
    assert_eq!(pages(&graph, "t").unwrap(), 3);
    let waiting = Commit { status: Some(ThreadStatus::Interrupted), ..Commit::empty(lease.clone(), "".into()) };
    block_on(store.commit(&waiting)).unwrap();
    store.release(&lease);
    assert_eq!(pages(&graph, "t").unwrap(), 3);
    until(|| pages(&graph, "t").is_err().then_some(()));
}

/// R-FWK-39: a time of nothing is refused.
#[test]
fn a_time_of_nothing_is_refused() {
    assert!(KeyValueStore::options().time_to_live(Duration::ZERO).open(Plain::default()).is_err());
    assert!(KeyValueStore::options().lapse_after(Duration::ZERO).open(Plain::default()).is_err());
}
