//! Several operations as one, and several at once.

use serde_json::json;

use super::{Opener, keys};
use crate::error::Code;
use crate::port::SharedStore;
use crate::store::{Answer, Delete, Get, ListNamespaces, Operation, Put, Search};
use crate::testing::block_on;

/// How many take part at once.
const WORKERS: usize = 8;

async fn is_there(store: &SharedStore, key: &str) -> bool {
    store.get("n", key).await.expect("get").is_some()
}

/// Answers come in the order of operations, each in kind.
pub async fn answers_come_in_order(open: Opener) {
    let (store, _) = open.open();
    let operations: Vec<Operation> = vec![
        Get::new("n", "a").into(),
        Put::new("n", "a", json!(1)).into(),
        Search::new("n").into(),
        ListNamespaces::default().into(),
        Delete::new("n", "a").into(),
        Delete::new("n", "a").into(),
    ];
    let answers = store.batch(operations).await.expect("batch");
    let [Answer::Item(None), Answer::Done, Answer::Hits(hits), Answer::Namespaces(spaces), first, second] =
        &answers[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!((keys(hits), spaces), (vec!["a"], &vec!["n".into()]));
    assert_eq!((first, second), (&Answer::Deleted(true), &Answer::Deleted(false)));
}

/// A later operation sees what earlier ones did: puts and deletes of one name, in their order.
pub async fn later_ones_see_earlier_ones(open: Opener) {
    let (store, _) = open.open();
    let operations: Vec<Operation> = vec![
        Put::new("n", "a", json!("one")).into(),
        Get::new("n", "a").into(),
        Put::new("n", "a", json!("two")).into(),
        Search::new("n").query("two").into(),
        Delete::new("n", "a").into(),
        Get::new("n", "a").into(),
        Put::new("n", "a", json!("three")).into(),
    ];
    let answers = store.batch(operations).await.expect("batch");
    assert!(matches!(&answers[1], Answer::Item(Some(item)) if item.value == json!("one")), "{answers:?}");
    assert!(matches!(&answers[3], Answer::Hits(hits) if hits.len() == 1), "{answers:?}");
    assert!(matches!(&answers[5], Answer::Item(None)), "{answers:?}");
    assert_eq!(store.get("n", "a").await.expect("get").expect("there").value, json!("three"));
}

/// One operation that is refused refuses all of them.
pub async fn all_or_nothing(open: Opener) {
    let (store, _) = open.open();
    store.put("n", "kept", json!(1)).await.expect("put");
    let operations: Vec<Operation> =
        vec![Put::new("n", "a", json!(1)).into(), Delete::new("n", "kept").into(), Put::new("n", "", json!(1)).into()];
    assert_eq!(store.batch(operations).await.expect_err("refused").code(), Code::InputInvalid);
    assert!(!is_there(&store, "a").await && is_there(&store, "kept").await);
}

/// Nothing asked, nothing answered.
pub async fn an_empty_batch_is_nothing(open: Opener) {
    let (store, _) = open.open();
    assert!(store.batch(Vec::new()).await.expect("batch").is_empty());
}

/// Many puts are one batch, and all of them are there.
pub async fn many_puts_are_one_batch(open: Opener) {
    let (store, _) = open.open();
    let puts = (0..500).map(|number| Put::new("n", format!("{number:03}"), json!({ "number": number })).into());
    let answers = store.batch(puts.collect()).await.expect("batch");
    assert!(answers.len() == 500 && answers.iter().all(|answer| *answer == Answer::Done));
    assert_eq!(store.search(Search::new("n").limit(1_000)).await.expect("search").len(), 500);
}

/// Many put at once, and nothing is lost.
pub async fn many_put_at_once(open: Opener) {
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
    assert_eq!(store.search(Search::new("n").limit(1_000)).await.expect("search").len(), WORKERS * 20);
}

/// Many put one name at once: one of the values is there, once, and found by its own words.
pub async fn many_put_one_name_at_once(open: Opener) {
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
    let hits = store.search(Search::new("n")).await.expect("search");
    let [hit] = &hits[..] else { panic!("{hits:?}") };
    for worker in 0..WORKERS {
        let word = format!("by{worker}");
        let by_word = store.search(Search::new("n").query(word.as_str())).await.expect("search");
        assert_eq!(by_word.len() == 1, hit.item.value["text"] == json!(word), "{word}");
    }
}

/// Batches are apart: two that each move everything never see each other halfway.
pub async fn batches_do_not_see_each_other_halfway(open: Opener) {
    let (store, _) = open.open();
    let both = |value: usize| -> Vec<Operation> {
        vec![Put::new("n", "a", json!(value)).into(), Put::new("n", "b", json!(value)).into()]
    };
    store.batch(both(0)).await.expect("batch");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (store, both) = (store.clone(), &both);
            scope.spawn(move || {
                for number in 0..10 {
                    block_on(store.batch(both(worker * 100 + number))).expect("batch");
                    let read = vec![Get::new("n", "a").into(), Get::new("n", "b").into()];
                    let answers = block_on(store.batch(read)).expect("batch");
                    let [Answer::Item(Some(a)), Answer::Item(Some(b))] = &answers[..] else { panic!("{answers:?}") };
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
            answers_come_in_order, later_ones_see_earlier_ones, all_or_nothing, an_empty_batch_is_nothing,
            many_puts_are_one_batch, many_put_at_once, many_put_one_name_at_once, batches_do_not_see_each_other_halfway,
        );
    };
}
