//! Threads with a time to live.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use superstep::core::error::Result;
use superstep::core::port::{Checkpointer, Commit, KeyValue, PutOptions, ThreadStatus, ThreadsQuery};
use superstep::core::testing::block_on;
use superstep_adapters::key_value::KeyValueCheckpointer;

use super::memory_backend::MemoryKeyValue;
use super::{diary, pages, run, until, write};

/// Long enough that a thread expires during a test only if [`expire`] is called.
const TTL: Duration = Duration::from_secs(3_600);

/// Removes the TTL keys of a thread, as if its time to live were over.
fn expire(values: &MemoryKeyValue, thread: &str) {
    let ttl_keys = format!("superstep/in/{thread}/life/");
    values.change(|values| values.retain(|key, _| !key.starts_with(&ttl_keys)));
}

fn listed(store: &impl Checkpointer) -> Vec<String> {
    let threads = block_on(store.threads(&ThreadsQuery::default())).unwrap();
    threads.iter().map(ToString::to_string).collect()
}

/// R-FWK-39: an expired thread disappears for every request, also for a checkpointer without a time to live, and can
/// be created again; other threads stay.
#[test]
fn an_expired_thread_is_removed_and_can_be_created_again() {
    let backend = MemoryKeyValue::default();
    let permanent = KeyValueCheckpointer::open(backend.other()).unwrap();
    write(&diary(permanent.clone(), 2_000), "lasting", 2);
    let store = KeyValueCheckpointer::options().time_to_live(TTL).open(backend.clone()).unwrap();
    let graph = diary(store.clone(), 2_000);
    write(&graph, "brief", 4);
    assert_eq!(pages(&diary(permanent.clone(), 2_000), "brief").unwrap(), 4);
    expire(&backend, "brief");
    until(|| block_on(store.status(&"brief".into())).unwrap().is_none().then_some(()));
    assert_eq!((listed(&store), listed(&permanent)), (vec!["lasting".to_owned()], vec!["lasting".to_owned()]));
    assert!(pages(&graph, "brief").is_err() && block_on(permanent.namespaces(&"brief".into())).unwrap().is_empty());
    assert_eq!(block_on(store.stats()).unwrap().threads, 1);
    assert_eq!(write(&graph, "brief", 2), 2, "the recreated thread contains data of the expired one");
    assert_eq!(pages(&diary(permanent, 2_000), "lasting").unwrap(), 2);
}

/// R-FWK-39: the remains of an expired thread are removed, in the background or on request.
#[test]
fn remains_of_expired_threads_are_removed() {
    let backend = MemoryKeyValue::default();
    let open =
        |ttl| KeyValueCheckpointer::options().time_to_live(ttl).compression(false).open(backend.other()).unwrap();
    let store = open(TTL);
    for thread in ["a", "a-b", "a.b"] {
        write(&diary(store.clone(), 2_000), thread, 6);
    }
    drop(store);
    assert!(backend.keys().iter().any(|key| key.contains("/part/")));
    ["a", "a-b", "a.b"].iter().for_each(|thread| expire(&backend, thread));
    // Sweeps in the background every 100 milliseconds.
    let store = open(Duration::from_millis(200));
    write(&diary(store.clone(), 2_000), "short", 6);
    let has_no_parts = || !backend.keys().iter().any(|key| key.contains("/part/"));
    until(|| has_no_parts().then_some(()));
    // The last keys of a thread are removed shortly after its values.
    until(|| (backend.keys().into_iter().filter(|key| key.contains("/in/")).count() <= 8).then_some(()));
    drop(store);

    write(&diary(open(TTL), 2_000), "later", 3);
    expire(&backend, "later");
    let other = KeyValueCheckpointer::open(backend.other()).unwrap();
    until(|| (block_on(other.sweep_expired()).unwrap() == 1).then_some(()));
    assert!(has_no_parts());
}

/// R-FWK-39: a leased thread does not expire, and each commit renews its time to live.
#[test]
fn leased_threads_do_not_expire() {
    let backend = MemoryKeyValue::default();
    let store = KeyValueCheckpointer::options().time_to_live(TTL).open(backend.clone()).unwrap();
    let graph = diary(store.clone(), 100);
    write(&graph, "t", 3);
    let lease = super::once_free(|| block_on(store.acquire(&"t".into(), run(1))));
    expire(&backend, "t");
    assert_eq!(pages(&graph, "t").unwrap(), 3);
    let waiting = Commit { status: Some(ThreadStatus::Interrupted), ..Commit::empty(lease.clone(), "".into()) };
    block_on(store.commit(&waiting)).unwrap();
    store.release(&lease);
    assert_eq!(pages(&graph, "t").unwrap(), 3);
    expire(&backend, "t");
    until(|| pages(&graph, "t").is_err().then_some(()));
}

/// R-FWK-39: a corrupt thread does not expire, because an unreadable record may have changed its time to live; it can
/// be deleted.
#[test]
fn a_corrupt_thread_does_not_expire() {
    let backend = MemoryKeyValue::default();
    let open = || KeyValueCheckpointer::options().time_to_live(TTL).open(backend.other()).unwrap();
    write(&diary(open(), 100), "t", 4);
    backend.change(|values| values.get_mut("superstep/in/t/log/0000000000000004").unwrap().0.clear());
    expire(&backend, "t");
    let store = open();
    assert_eq!((block_on(store.sweep_expired()).unwrap(), listed(&store)), (0, vec!["t".to_owned()]));
    assert_eq!(block_on(store.namespaces(&"t".into())).unwrap().len(), 1);
    super::once_free(|| block_on(store.delete_thread(&"t".into())));
    assert!(listed(&store).is_empty() && block_on(store.namespaces(&"t".into())).unwrap().is_empty());
}

/// R-FWK-39: a time of zero is rejected.
#[test]
fn a_time_to_live_of_zero_is_rejected() {
    assert!(KeyValueCheckpointer::options().time_to_live(Duration::ZERO).open(MemoryKeyValue::default()).is_err());
    assert!(KeyValueCheckpointer::options().lease_timeout(Duration::ZERO).open(MemoryKeyValue::default()).is_err());
}

/// A key-value store with a slow thread index: removing an entry signals its start and waits for permission.
struct Slow {
    values: MemoryKeyValue,
    started: Sender<()>,
    may_continue: Mutex<Receiver<()>>,
}

impl KeyValue for Slow {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.values.get(key).await
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        self.values.put(key, value, put).await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        if keys.iter().any(|key| key.contains("/threads/")) {
            self.started.send(()).unwrap();
            self.may_continue.lock().unwrap().recv().unwrap();
        }
        self.values.delete(keys).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        self.values.list(prefix, after, limit).await
    }
}

/// R-FWK-39: a process that deletes a thread and is slow to remove its index entry does not remove the entry of
/// the thread created again meanwhile, with or without a time to live.
#[test]
fn a_slow_deletion_does_not_hide_a_recreated_thread() {
    for (old, new) in [(false, false), (true, true), (false, true), (true, false)] {
        let options = |has_ttl: bool| match has_ttl {
            false => KeyValueCheckpointer::options(),
            true => KeyValueCheckpointer::options().time_to_live(TTL),
        };
        let backend = MemoryKeyValue::default();
        write(&diary(options(old).open(backend.other()).unwrap(), 100), "t", 5);
        let ((started, has_started), (proceed, may_continue)) = (channel(), channel());
        let slow = Slow { values: backend.other(), started, may_continue: Mutex::new(may_continue) };
        let slow = options(old).open(slow).unwrap();
        let store = options(new).open(backend.other()).unwrap();
        let graph = diary(store.clone(), 100);
        std::thread::scope(|scope| {
            let deleting = scope.spawn(|| block_on(slow.delete_thread(&"t".into())));
            has_started.recv().unwrap();
            assert!(listed(&store).is_empty());
            assert_eq!(write(&graph, "t", 2), 2);
            assert_eq!(listed(&store), ["t"]);
            proceed.send(()).unwrap();
            deleting.join().unwrap().unwrap();
        });
        assert_eq!((listed(&store), pages(&graph, "t").unwrap()), (vec!["t".to_owned()], 2), "{old} {new}");
        assert_eq!((block_on(store.sweep_expired()).unwrap(), pages(&graph, "t").unwrap()), (0, 2), "{old} {new}");
    }
}

/// R-FWK-39: if the slow process dies before it writes the entry of the new thread again, the thread still
/// exists, and the next sweep or run restores its entry.
#[test]
fn unlisted_threads_exist_and_are_listed_again() {
    for has_ttl in [false, true] {
        let backend = MemoryKeyValue::default();
        let options = KeyValueCheckpointer::options();
        let options = if has_ttl { options.time_to_live(TTL) } else { options };
        let store = options.open(backend.clone()).unwrap();
        let graph = diary(store.clone(), 100);
        write(&graph, "t", 2);
        let entry = "superstep/threads/t";
        let unlist = || {
            backend.change(|values| values.remove(entry)).expect("the thread is in the index");
            assert!(listed(&store).is_empty());
        };
        // The run ends before its lease is released, and only the release marks the entry as certain.
        until(|| backend.change(|values| values.get(entry).filter(|(value, _)| value != b"doubt").map(drop)));
        unlist();
        assert_eq!(pages(&graph, "t").unwrap(), 2);
        assert_eq!((block_on(store.sweep_expired()).unwrap(), listed(&store)), (0, vec!["t".to_owned()]));
        unlist();
        assert_eq!((write(&graph, "t", 3), listed(&store)), (3, vec!["t".to_owned()]));
    }
}
