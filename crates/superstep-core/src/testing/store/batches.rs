//! Batches: several operations as one, and several batches at once.

use serde_json::json;

use super::{StoreFactory, keys};
use crate::error::ErrorCode;
use crate::port::SharedStore;
use crate::store::{DeleteOp, GetOp, ListNamespacesOp, OpResult, PutOp, SearchOp, StoreOp};
use crate::testing::block_on;

/// Number of concurrent OS threads.
const WORKERS: usize = 8;

async fn exists(store: &SharedStore, key: &str) -> bool {
    store.get("n", key).await.expect("get").is_some()
}

/// Results are in the order of operations, each of the kind of its operation.
pub async fn results_come_in_order(open: StoreFactory) {
    let (store, _) = open.open();
    let operations: Vec<StoreOp> = vec![
        GetOp::new("n", "a").into(),
        PutOp::new("n", "a", json!(1)).into(),
        SearchOp::new("n").into(),
        ListNamespacesOp::default().into(),
        DeleteOp::new("n", "a").into(),
        DeleteOp::new("n", "a").into(),
    ];
    let results = store.batch(operations).await.expect("batch");
    let [OpResult::Item(None), OpResult::Done, OpResult::Hits(hits), OpResult::Namespaces(spaces), first, second] =
        &results[..]
    else {
        panic!("{results:?}");
    };
    assert_eq!((keys(hits), spaces), (vec!["a"], &vec!["n".into()]));
    assert_eq!((first, second), (&OpResult::Deleted(true), &OpResult::Deleted(false)));
}

/// A later operation sees the effects of earlier ones: puts and deletes of one name, in their order.
pub async fn operations_see_earlier_ones_of_their_batch(open: StoreFactory) {
    let (store, _) = open.open();
    let operations: Vec<StoreOp> = vec![
        PutOp::new("n", "a", json!("one")).into(),
        GetOp::new("n", "a").into(),
        PutOp::new("n", "a", json!("two")).into(),
        SearchOp::new("n").query("two").into(),
        DeleteOp::new("n", "a").into(),
        GetOp::new("n", "a").into(),
        PutOp::new("n", "a", json!("three")).into(),
    ];
    let results = store.batch(operations).await.expect("batch");
    assert!(matches!(&results[1], OpResult::Item(Some(item)) if item.value == json!("one")), "{results:?}");
    assert!(matches!(&results[3], OpResult::Hits(hits) if hits.len() == 1), "{results:?}");
    assert!(matches!(&results[5], OpResult::Item(None)), "{results:?}");
    assert_eq!(store.get("n", "a").await.expect("get").expect("there").value, json!("three"));
}

/// One rejected operation rejects the whole batch.
pub async fn all_or_nothing(open: StoreFactory) {
    let (store, _) = open.open();
    store.put("n", "kept", json!(1)).await.expect("put");
    let operations: Vec<StoreOp> = vec![
        PutOp::new("n", "a", json!(1)).into(),
        DeleteOp::new("n", "kept").into(),
        PutOp::new("n", "", json!(1)).into(),
    ];
    assert_eq!(store.batch(operations).await.expect_err("rejected").code(), ErrorCode::InputInvalid);
    assert!(!exists(&store, "a").await && exists(&store, "kept").await);
}

/// An empty batch returns no results.
pub async fn an_empty_batch_changes_nothing(open: StoreFactory) {
    let (store, _) = open.open();
    assert!(store.batch(Vec::new()).await.expect("batch").is_empty());
}

/// Many puts form one batch, and all of them are stored.
pub async fn many_puts_are_one_batch(open: StoreFactory) {
    let (store, _) = open.open();
    let puts = (0..500).map(|number| PutOp::new("n", format!("{number:03}"), json!({ "number": number })).into());
    let results = store.batch(puts.collect()).await.expect("batch");
    assert!(results.len() == 500 && results.iter().all(|result| *result == OpResult::Done));
    assert_eq!(store.search(SearchOp::new("n").limit(1_000)).await.expect("search").len(), 500);
}

/// Concurrent puts lose nothing.
pub async fn many_put_at_once(open: StoreFactory) {
    let (store, _) = open.open();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let store = store.clone();
            scope.spawn(move || {
                for number in 0..20 {
                    let put = store.put("n", format!("{worker}-{number:02}"), json!({ "worker": worker }));
                    block_on(put).expect("put");
                }
            });
        }
    });
    assert_eq!(store.search(SearchOp::new("n").limit(1_000)).await.expect("search").len(), WORKERS * 20);
}

/// Of concurrent puts of one name one value is stored, once, and found by its own words.
pub async fn many_put_one_name_at_once(open: StoreFactory) {
    let (store, _) = open.open();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..10 {
                    block_on(store.put("n", "k", json!({ "text": format!("by{worker}") }))).expect("put");
                }
            });
        }
    });
    let hits = store.search(SearchOp::new("n")).await.expect("search");
    let [hit] = &hits[..] else { panic!("{hits:?}") };
    for worker in 0..WORKERS {
        let word = format!("by{worker}");
        let by_word = store.search(SearchOp::new("n").query(word.as_str())).await.expect("search");
        assert_eq!(by_word.len() == 1, hit.item.value["text"] == json!(word), "{word}");
    }
}

/// Batches are isolated: two that each move everything never see each other's partial effects.
pub async fn batches_do_not_see_each_other_halfway(open: StoreFactory) {
    let (store, _) = open.open();
    let both = |value: usize| -> Vec<StoreOp> {
        vec![PutOp::new("n", "a", json!(value)).into(), PutOp::new("n", "b", json!(value)).into()]
    };
    store.batch(both(0)).await.expect("batch");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (store, both) = (store.clone(), &both);
            scope.spawn(move || {
                for number in 0..10 {
                    block_on(store.batch(both(worker * 100 + number))).expect("batch");
                    let reads = vec![GetOp::new("n", "a").into(), GetOp::new("n", "b").into()];
                    let results = block_on(store.batch(reads)).expect("batch");
                    let [OpResult::Item(Some(a)), OpResult::Item(Some(b))] = &results[..] else {
                        panic!("{results:?}")
                    };
                    assert_eq!(a.value, b.value);
                }
            });
        }
    });
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_batches {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, batches:
            results_come_in_order, operations_see_earlier_ones_of_their_batch, all_or_nothing,
            an_empty_batch_changes_nothing,
            many_puts_are_one_batch, many_put_at_once, many_put_one_name_at_once, batches_do_not_see_each_other_halfway,
        );
    };
}
