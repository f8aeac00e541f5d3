//! Searches without a query: prefixes, order, pages.

use std::collections::BTreeSet;

use serde_json::json;

use super::{StoreFactory, key_at, keys, put_all, search_indices};
use crate::port::SharedStore;
use crate::store::{Filter, SearchOp};

/// Puts items in namespaces with similar beginnings.
async fn put_in_similar_namespaces(store: &SharedStore) {
    let spaces: [&[&str]; 7] = [&["a"], &["a", "b"], &["a", "b", "c"], &["ab"], &["a b"], &["b", "a"], &["a\u{1}"]];
    for (index, space) in spaces.iter().enumerate() {
        store.put(*space, key_at(index), json!("word")).await.expect("put");
    }
}

/// A prefix consists of whole labels: `a` is not a prefix of `ab`.
pub async fn prefixes_match_complete_labels(open: StoreFactory) {
    let (store, _) = open.open();
    put_in_similar_namespaces(&store).await;
    assert_eq!(search_indices(&store, SearchOp::new("a")).await, [0, 1, 2]);
    assert_eq!(search_indices(&store, SearchOp::new(["a", "b"])).await, [1, 2]);
    assert_eq!(search_indices(&store, SearchOp::new(["a", "b", "c"])).await, [2]);
    assert_eq!(search_indices(&store, SearchOp::new("ab")).await, [3]);
    assert_eq!(search_indices(&store, SearchOp::new("b")).await, [5]);
}

/// With a query, too, a prefix consists of whole labels.
pub async fn a_prefix_holds_for_queries(open: StoreFactory) {
    let (store, _) = open.open();
    put_in_similar_namespaces(&store).await;
    assert_eq!(search_indices(&store, SearchOp::new("a").query("word")).await, [0, 1, 2]);
    assert_eq!(search_indices(&store, SearchOp::new(["a", "b"]).query("word")).await, [1, 2]);
}

/// An empty prefix matches everything.
pub async fn no_prefix_is_everything(open: StoreFactory) {
    let (store, _) = open.open();
    put_in_similar_namespaces(&store).await;
    assert_eq!(search_indices(&store, SearchOp::all_namespaces()).await, [0, 1, 2, 3, 4, 5, 6]);
}

/// A prefix without items, and a namespace longer than all others, find nothing.
pub async fn an_unknown_prefix_finds_nothing(open: StoreFactory) {
    let (store, _) = open.open();
    put_in_similar_namespaces(&store).await;
    for prefix in [&["c"][..], &["a", "b", "c", "d"], &["%"], &["*"], &["a", "_"]] {
        assert!(store.search(SearchOp::new(prefix)).await.expect("search").is_empty(), "{prefix:?}");
    }
}

/// The newest come first, by the time of their last put.
pub async fn the_newest_come_first(open: StoreFactory) {
    let (store, clock) = open.open();
    for key in ["b", "a", "c"] {
        store.put("n", key, json!(1)).await.expect("put");
        clock.advance(1);
    }
    assert_eq!(keys(&store.search(SearchOp::new("n")).await.expect("search")), ["c", "a", "b"]);
    store.put("n", "b", json!(2)).await.expect("put");
    assert_eq!(keys(&store.search(SearchOp::new("n")).await.expect("search")), ["b", "c", "a"]);
}

/// Items of the same time are ordered by name: namespace, then key, byte by byte.
pub async fn equally_new_ones_come_by_name(open: StoreFactory) {
    let (store, _) = open.open();
    for (space, key) in [("m", "b"), ("n", "a"), ("m", "a"), ("m", "B"), ("m", "ä"), ("m", "z")] {
        store.put(space, key, json!(1)).await.expect("put");
    }
    let hits = store.search(SearchOp::all_namespaces()).await.expect("search");
    let names: Vec<String> = hits.iter().map(|hit| format!("{}/{}", hit.item.namespace, hit.item.key)).collect();
    assert_eq!(names, ["m/B", "m/a", "m/b", "m/z", "m/ä", "n/a"]);
}

/// The default limit is ten, and a limit of 0 returns none.
pub async fn ten_are_returned_by_default(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &vec![json!(1); 25]).await;
    let count = async |search| store.search(search).await.expect("search").len();
    assert_eq!(count(SearchOp::new("n")).await, 10);
    assert_eq!(count(SearchOp::new("n").limit(0)).await, 0);
    assert_eq!(count(SearchOp::new("n").limit(1_000)).await, 25);
    assert_eq!(count(SearchOp::new("n").limit(usize::MAX)).await, 25);
    assert_eq!(count(SearchOp::new("n").offset(20)).await, 5);
    assert_eq!(count(SearchOp::new("n").offset(25)).await, 0);
    assert_eq!(count(SearchOp::new("n").offset(usize::MAX).limit(usize::MAX)).await, 0);
}

/// Pages contain every item once, in the order of the full result.
pub async fn pages_hold_every_item_once(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &vec![json!({ "text": "word" }); 23]).await;
    for search in [SearchOp::new("n"), SearchOp::new("n").query("word")] {
        let full = store.search(search.clone().limit(100)).await.expect("search");
        let mut pages = Vec::new();
        for page in 0..6 {
            pages.extend(store.search(search.clone().limit(5).offset(page * 5)).await.expect("search"));
        }
        assert_eq!(keys(&pages), keys(&full));
        assert_eq!(keys(&pages).into_iter().collect::<BTreeSet<_>>().len(), 23);
    }
}

/// A page is selected after the filter.
pub async fn a_page_is_cut_after_the_filter(open: StoreFactory) {
    let (store, _) = open.open();
    let values: Vec<_> = (0..300).map(|number| json!({ "even": number % 2 == 0, "number": number })).collect();
    for (index, value) in values.iter().enumerate() {
        store.put("n", format!("{index:03}"), value.clone()).await.expect("put");
    }
    let search = SearchOp::new("n").filter(Filter::eq("even", true));
    let page = store.search(search.clone().limit(4).offset(140)).await.expect("search");
    assert_eq!(keys(&page), ["280", "282", "284", "286"]);
    assert_eq!(store.search(search.limit(4).offset(149)).await.expect("search").len(), 1);
}

/// Without a query there is no score, and `matched_by` is `None`.
pub async fn without_a_query_there_is_no_score(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("word")]).await;
    let hits = store.search(SearchOp::new("n")).await.expect("search");
    assert_eq!((hits[0].score, hits[0].matched_by), (None, None));
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_searches {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, search:
            prefixes_match_complete_labels, a_prefix_holds_for_queries, no_prefix_is_everything,
            an_unknown_prefix_finds_nothing, the_newest_come_first, equally_new_ones_come_by_name,
            ten_are_returned_by_default, pages_hold_every_item_once, a_page_is_cut_after_the_filter,
            without_a_query_there_is_no_score,
        );
    };
}
