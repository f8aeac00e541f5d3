//! The amount of stored and read data.

use superstep::core::port::{Checkpointer, Retention, ThreadStatus};
use superstep::core::testing::block_on;
use superstep_adapters::key_value::KeyValueCheckpointer;

use super::memory_backend::MemoryKeyValue;
use super::{diary, pages, until, write};

fn count(backend: &MemoryKeyValue, part: &str) -> usize {
    backend.keys().iter().filter(|key| key.contains(part)).count()
}

/// R-FWK-39, R-FWK-43: the size of a regularly pruned thread depends on its content and not on its age.
#[test]
fn a_thread_that_is_pruned_stays_small() {
    let backend = MemoryKeyValue::default();
    let store = KeyValueCheckpointer::options().compression(false).open(backend.clone()).unwrap();
    let graph = diary(store.clone(), 1_500);
    let retention = Retention { keep_last: 2, ..Retention::default() };
    let mut sizes = Vec::new();
    for round in 1..=20 {
        write(&graph, "t", round * 10);
        block_on(store.prune(&"t".into(), &retention)).unwrap();
        sizes.push((count(&backend, "/log/"), count(&backend, "/base/")));
        assert_eq!(pages(&graph, "t").unwrap(), round * 10);
    }
    assert!(sizes.iter().all(|(records, bases)| *records <= 40 && *bases <= 1), "{sizes:?}");
    assert_eq!(count(&backend, "/part/"), 200, "the number of long values differs from the number of pages");
    let reopened = diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500);
    assert_eq!(pages(&reopened, "t").unwrap(), 200);
}

/// R-FWK-39: repeatedly acquiring and releasing a thread does not grow its log without bound.
#[test]
fn runs_that_save_little_do_not_fill_the_log() {
    let backend = MemoryKeyValue::default();
    let store = KeyValueCheckpointer::open(backend.clone()).unwrap();
    write(&diary(store.clone(), 10), "t", 1);
    for number in 0..1_000_u128 {
        let lease = block_on(store.acquire(&"t".into(), super::run(number))).unwrap();
        store.release(&lease);
    }
    until(|| (count(&backend, "/log/") <= 600).then_some(()));
    assert_eq!(pages(&diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 10), "t").unwrap(), 1);
}

/// R-FWK-39: only a tombstone of a deleted thread remains, and it expires.
#[test]
fn the_tombstone_of_a_deleted_thread_expires() {
    let backend = MemoryKeyValue::default();
    let store = KeyValueCheckpointer::open(backend.clone()).unwrap();
    let graph = diary(store.clone(), 2_000);
    write(&graph, "t", 20);
    super::once_free(|| block_on(store.delete_thread(&"t".into())));
    drop((graph, store));
    let remaining = backend.change(|values| {
        let all = values.iter().filter(|(key, _)| !key.contains("/holders/"));
        all.map(|(key, (_, expires_at))| (key.clone(), expires_at.is_some())).collect::<Vec<_>>()
    });
    assert!(remaining.len() == 2 && remaining.iter().all(|(_, expires)| *expires), "{remaining:?}");
    backend.change(|values| values.retain(|key, _| !key.contains("/log/")));
    let store = KeyValueCheckpointer::open(backend.other()).unwrap();
    assert_eq!(block_on(store.status(&"t".into())).unwrap(), None);
    assert_eq!(write(&diary(store, 2_000), "t", 2), 2);
    backend.change(|values| values.retain(|key, _| !key.contains("/base/")));
    assert_eq!(pages(&diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 2_000), "t").unwrap(), 2);
}

/// R-FWK-39, R-FWK-42: opening a thread reads its records but no long values; those are read when they are needed.
#[test]
fn opening_a_thread_reads_no_long_values() {
    let backend = MemoryKeyValue::default();
    let store = KeyValueCheckpointer::options().compression(false).open(backend.clone()).unwrap();
    write(&diary(store, 60_000), "t", 30);
    let other = backend.other();
    let store = KeyValueCheckpointer::open(other.clone()).unwrap();
    assert_eq!(block_on(store.status(&"t".into())).unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(block_on(store.namespaces(&"t".into())).unwrap().len(), 1);
    assert!(other.read() < 60_000, "{} bytes", other.read());
    assert_eq!(pages(&diary(store, 60_000), "t").unwrap(), 30);
    assert!(other.read() > 1_800_000, "{} bytes", other.read());
}
