//! Several checkpointers on the same values, as in several processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use superstep::ErrorCode;
use superstep::core::port::{Checkpointer, Commit, Retention, ThreadStatus};
use superstep::core::testing::block_on;
use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};

use super::memory_backend::{MemoryKeyValue, PutOutcome};
use super::{diary, folder, once_free, pages, run, write};

/// R-FWK-39: a thread leased by one checkpointer cannot be acquired by another until the lease is released or the
/// checkpointer is closed.
#[test]
fn a_leased_thread_cannot_be_acquired_by_another_checkpointer() {
    let backend = MemoryKeyValue::default();
    let (one, two) =
        (KeyValueCheckpointer::open(backend.clone()).unwrap(), KeyValueCheckpointer::open(backend.other()).unwrap());
    let lease = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    let error = block_on(two.acquire(&"t".into(), run(2))).unwrap_err();
    assert_eq!((error.code(), error.message().contains(&run(1).to_string())), (ErrorCode::ThreadBusy, true));
    let busy = Commit { status: Some(ThreadStatus::Busy), ..Commit::empty(lease.clone(), "".into()) };
    block_on(one.commit(&busy)).unwrap();
    assert_eq!(block_on(two.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
    assert_eq!(block_on(two.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
    one.release(&lease);
    let new_lease = once_free(|| block_on(two.acquire(&"t".into(), run(2))));
    assert!(new_lease.fence > lease.fence);
    assert_eq!(block_on(one.commit(&Commit::empty(lease, "".into()))).unwrap_err().code(), ErrorCode::ThreadBusy);
    drop(two);
    once_free(|| block_on(one.acquire(&"t".into(), run(3))));
    assert_eq!(block_on(one.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy), "the last saved status was lost");
}

/// R-FWK-39: a checkpointer without a heartbeat is taken over, and its later writes are rejected.
#[test]
fn a_checkpointer_without_heartbeats_is_taken_over_and_fenced() {
    let backend = MemoryKeyValue::default();
    let one = KeyValueCheckpointer::options().lease_timeout(Duration::from_millis(60)).open(backend.clone()).unwrap();
    let two = KeyValueCheckpointer::open(backend.other()).unwrap();
    let old = block_on(one.acquire(&"t".into(), run(1))).unwrap();
    block_on(one.commit(&Commit::empty(old.clone(), "".into()))).unwrap();
    backend.set_put_hook(|key| if key.contains("/holders/") { PutOutcome::Lost } else { PutOutcome::Done });
    let new = once_free(|| block_on(two.acquire(&"t".into(), run(2))));
    assert!(new.fence > old.fence);
    let error = Commit { status: Some(ThreadStatus::Error), ..Commit::empty(old, "".into()) };
    let fenced_error = block_on(one.commit(&error)).unwrap_err();
    assert!(fenced_error.message().starts_with("fenced"), "{fenced_error}");
    block_on(two.commit(&Commit::empty(new, "".into()))).unwrap();
    assert_eq!(block_on(one.status(&"t".into())).unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-39: a process that is suspended right before it puts a record, while another process takes over,
/// writes, prunes and removes the old records so that the number is free again, gets a fencing error, and no
/// histories are mixed.
#[test]
fn a_record_put_after_a_prune_is_fenced() {
    let backend = MemoryKeyValue::default();
    let suspended =
        KeyValueCheckpointer::options().lease_timeout(Duration::from_secs(3_600)).open(backend.clone()).unwrap();
    let graph = diary(suspended, 1_500);
    write(&graph, "t", 3);
    let (other, is_asleep) = (backend.other(), Arc::new(AtomicBool::new(true)));
    let is_awake = is_asleep.clone();
    let puts = AtomicUsize::new(0);
    backend.set_put_hook(move |key| {
        let is_third = key.contains("/log/") && puts.fetch_add(1, Ordering::Relaxed) == 3;
        if !is_third || !is_asleep.swap(false, Ordering::Relaxed) {
            return PutOutcome::Done;
        }
        // On a separate thread, because this code runs inside a run.
        let (other, number) = (other.clone(), key.rsplit('/').next().unwrap().to_owned());
        std::thread::spawn(move || take_over_and_clear(&other, &number)).join().unwrap();
        PutOutcome::Done
    });
    let error = graph
        .invoke(super::Diary::input().target(9))
        .thread("t")
        .wait_blocking()
        .map(|done| done.supersteps)
        .unwrap_err();
    assert!(!is_awake.load(Ordering::Relaxed), "another process wrote in between");
    assert!(error.to_string().contains("fenced"), "{error}");
    let reopened = diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500);
    assert_eq!(pages(&reopened, "t").unwrap(), 60);
    assert_eq!(pages(&graph, "t").unwrap(), 60);
    assert_eq!(write(&reopened, "t", 61), 61);
}

/// Takes over the thread while its lease holder is suspended, so that it counts as dead.
fn take_over_and_clear(backend: &MemoryKeyValue, number: &str) {
    backend.change(|values| values.retain(|key, _| !key.contains("/holders/")));
    let store = KeyValueCheckpointer::open(backend.other()).unwrap();
    assert_eq!(write(&diary(store.clone(), 1_500), "t", 60), 60);
    let retention = Retention { keep_last: 1, ..Retention::default() };
    assert!(block_on(store.prune(&"t".into(), &retention)).unwrap().checkpoints > 50);
    assert!(!backend.keys().iter().any(|key| key.ends_with(number)), "record {number} was not removed");
}

/// R-FWK-39: a store that was restored to an earlier state is detected: nothing is saved on top of missing
/// records, and the remaining ones stay readable.
#[test]
fn nothing_is_saved_after_missing_records() {
    let backend = MemoryKeyValue::default();
    let graph = diary(KeyValueCheckpointer::open(backend.clone()).unwrap(), 1_500);
    write(&graph, "t", 3);
    let (values, puts) = (backend.clone(), AtomicUsize::new(0));
    backend.set_put_hook(move |key| {
        if key.contains("/log/") && puts.fetch_add(1, Ordering::Relaxed) == 4 {
            let last = values.keys().into_iter().rfind(|key| key.contains("/log/")).unwrap();
            values.change(|values| values.remove(&last));
            return PutOutcome::Lost;
        }
        PutOutcome::Done
    });
    let result = graph.invoke(super::Diary::input().target(9)).thread("t").wait_blocking().map(|done| done.supersteps);
    assert!(result.is_err(), "a run continued after a missing checkpoint: {result:?}");
    let reopened = diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500);
    assert!((3..9).contains(&pages(&reopened, "t").unwrap()));
    backend.change(|values| values.retain(|key, _| !key.contains("/holders/")));
    assert_eq!(write(&diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500), "t", 9), 9);
}

/// R-FWK-39: a process that has read a thread finds the one that was created again after the thread was deleted and
/// its tombstone expired.
#[test]
fn a_thread_recreated_by_another_process_is_read() {
    let backend = MemoryKeyValue::default();
    let (one, other) =
        (KeyValueCheckpointer::open(backend.clone()).unwrap(), KeyValueCheckpointer::open(backend.other()).unwrap());
    let (here, there) = (diary(one.clone(), 1_500), diary(other.clone(), 1_500));
    write(&here, "t", 8);
    assert_eq!(pages(&there, "t").unwrap(), 8);
    super::once_free(|| block_on(one.delete_thread(&"t".into())));
    // As after two days.
    backend.change(|values| values.retain(|key, _| !key.contains("/in/")));
    let third = diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500);
    write(&third, "t", 2);
    assert_eq!((pages(&here, "t").unwrap(), pages(&there, "t").unwrap()), (2, 2));
    assert_eq!((write(&here, "t", 4), write(&there, "t", 5)), (4, 5));
    assert_eq!(pages(&diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500), "t").unwrap(), 5);
}

/// R-FWK-39: a commit whose response was lost takes effect once, whether it was executed or not.
#[test]
fn a_lost_answer_does_not_lose_or_double_a_superstep() {
    for outcome in [PutOutcome::ResponseLost, PutOutcome::Lost] {
        let backend = MemoryKeyValue::default();
        let graph = diary(KeyValueCheckpointer::open(backend.clone()).unwrap(), 1_500);
        let puts = AtomicUsize::new(0);
        backend.set_put_hook(move |_| {
            if puts.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { outcome } else { PutOutcome::Done }
        });
        assert_eq!(write(&graph, "t", 20), 20);
        let history = block_on(graph.threads().get_state_history("t", &Default::default())).unwrap();
        assert_eq!(history.len(), 21);
        let reopened = diary(KeyValueCheckpointer::open(backend.other()).unwrap(), 1_500);
        assert_eq!(pages(&reopened, "t").unwrap(), 20);
    }
}

/// R-FWK-39: runs of two checkpointers alternate on one thread while a third one prunes it; each continues
/// from the state that the other saved.
#[test]
fn runs_of_two_stores_take_turns_while_a_third_prunes() {
    let folder = folder();
    let open = || KeyValueCheckpointer::open(FileKeyValue::open(&folder).unwrap()).unwrap();
    let (finished_writers, stores) = (AtomicUsize::new(0), [open(), open()]);
    let pruner = open();
    std::thread::scope(|scope| {
        for store in &stores {
            let finished_writers = &finished_writers;
            scope.spawn(move || {
                let graph = diary(store.clone(), 1_200);
                for _ in 0..15 {
                    once_free(|| {
                        let page_count = pages(&graph, "t").unwrap_or(0);
                        graph.invoke(super::Diary::input().target(page_count + 2)).thread("t").wait_blocking()
                    });
                }
                finished_writers.fetch_add(1, Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            let retention = Retention { keep_last: 3, ..Retention::default() };
            while finished_writers.load(Ordering::Relaxed) < 2 {
                block_on(pruner.prune(&"t".into(), &retention)).unwrap();
            }
        });
    });
    assert!(pages(&diary(open(), 1_200), "t").unwrap() >= 30);
}
