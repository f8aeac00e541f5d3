//! Concurrency: many OS threads on one key-value store.

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use super::{get, list, put, put_new, put_with_ttl, wait_until_expired};
use crate::port::{BoxFuture, KeyValue};

/// Number of OS threads in a race.
const RACERS: usize = 8;
/// Number of races.
const RACES: usize = 25;

/// The work of each thread, synchronised by the barrier, and the assertions at the end.
type ConcurrentCheck<K> =
    (fn(Arc<K>, usize, Arc<Barrier>) -> BoxFuture<'static, ()>, fn(Arc<K>) -> BoxFuture<'static, ()>);

/// Runs one check on an empty store: several OS threads at once, then the assertions.
pub fn check<K: KeyValue>(
    open: impl FnOnce() -> K + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>) + Sync,
    (work, end): ConcurrentCheck<K>,
) {
    let opened = Arc::new(Mutex::new(None));
    let slot = opened.clone();
    drive(Box::pin(async move {
        let store = Arc::new(open());
        *slot.lock().expect("no thread panicked") = Some(store);
    }));
    let store: Arc<K> = opened.lock().expect("no thread panicked").take().expect("the store was opened");
    let barrier = Arc::new(Barrier::new(RACERS));
    std::thread::scope(|scope| {
        for racer in 0..RACERS {
            let (drive, store, barrier) = (&drive, store.clone(), barrier.clone());
            scope.spawn(move || drive(work(store, racer, barrier)));
        }
    });
    drive(end(store));
}

/// R-FWK-39: of many concurrent puts of a new key one succeeds, and its value stays.
pub fn one_of_many_concurrent_puts_of_a_new_key_succeeds<K: KeyValue>() -> ConcurrentCheck<K> {
    async fn work<K: KeyValue>(store: Arc<K>, racer: usize, barrier: Arc<Barrier>) {
        for race in 0..RACES {
            barrier.wait();
            let value = format!("racer {racer}").into_bytes();
            if put_new(&*store, &format!("race/{race}"), &value).await {
                assert!(put_new(&*store, &format!("won/{race}"), &value).await, "race {race} was won twice");
            }
        }
    }
    async fn end<K: KeyValue>(store: Arc<K>) {
        for race in 0..RACES {
            let winner = get(&*store, &format!("race/{race}")).await;
            assert!(winner.is_some(), "no put succeeded in race {race}");
            assert_eq!(winner, get(&*store, &format!("won/{race}")).await, "race {race}: another value is stored");
        }
        assert_eq!(list(&*store, "race/").await.len(), RACES);
    }
    (|store, racer, barrier| Box::pin(work(store, racer, barrier)), |store| Box::pin(end(store)))
}

/// R-FWK-39: of many concurrent puts of an expired key one succeeds.
pub fn one_of_many_concurrent_puts_of_an_expired_key_succeeds<K: KeyValue>() -> ConcurrentCheck<K> {
    async fn work<K: KeyValue>(store: Arc<K>, racer: usize, barrier: Arc<Barrier>) {
        for race in 0..RACES {
            let key = format!("race/{race}");
            if racer == 0 {
                put_with_ttl(&*store, &key, Duration::from_millis(1)).await;
                wait_until_expired(&*store, &key).await;
            }
            barrier.wait();
            if put_new(&*store, &key, b"won").await {
                assert!(put_new(&*store, &format!("won/{race}"), b"").await, "race {race} was won twice");
            }
        }
    }
    async fn end<K: KeyValue>(store: Arc<K>) {
        assert_eq!(list(&*store, "race/").await.len(), RACES);
        assert_eq!(list(&*store, "won/").await.len(), RACES, "one put succeeds in each race");
    }
    (|store, racer, barrier| Box::pin(work(store, racer, barrier)), |store| Box::pin(end(store)))
}

/// R-FWK-39: a reader sees complete values only while writers are active.
pub fn readers_see_complete_values<K: KeyValue>() -> ConcurrentCheck<K> {
    async fn work<K: KeyValue>(store: Arc<K>, racer: usize, _: Arc<Barrier>) {
        for round in 0..RACES {
            if racer.is_multiple_of(2) {
                put(&*store, "whole", &vec![racer as u8; 50_000 + 1_000 * racer + round]).await;
                continue;
            }
            for _ in 0..4 {
                if let Some(value) = get(&*store, "whole").await {
                    assert!(value.len() >= 50_000 && value.iter().all(|byte| *byte == value[0]), "half a value");
                }
            }
        }
    }
    async fn end<K: KeyValue>(store: Arc<K>) {
        assert!(get(&*store, "whole").await.is_some());
    }
    (|store, racer, barrier| Box::pin(work(store, racer, barrier)), |store| Box::pin(end(store)))
}
