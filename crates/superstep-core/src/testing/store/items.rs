//! Items: put, get and delete of one item under one name.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{START_TIME, StoreFactory};
use crate::error::ErrorCode;
use crate::port::SharedStore;
use crate::store::{ListNamespacesOp, MAX_KEY_BYTES, MAX_NAMESPACE_LENGTH, SearchOp, StoreNamespace};

async fn value(store: &SharedStore, namespace: impl Into<StoreNamespace>, key: &str) -> Option<Value> {
    store.get(namespace, key).await.expect("get").map(|item| item.value)
}

async fn check_round_trip(open: StoreFactory, values: Vec<Value>) {
    let (store, _) = open.open();
    for (index, value) in values.iter().enumerate() {
        store.put("n", index.to_string(), value.clone()).await.expect("put");
    }
    for (index, expected) in values.iter().enumerate() {
        let item = store.get("n", index.to_string()).await.expect("get").expect("there");
        assert_eq!(item.value, *expected);
        assert_eq!(item.value.to_string(), expected.to_string(), "to the last digit");
    }
}

/// An item has the value, the name and the times of its put.
pub async fn an_item_round_trips(open: StoreFactory) {
    let (store, _) = open.open();
    store.put(["users", "mia"], "food", json!({ "likes": "curry" })).await.expect("put");
    let item = store.get(["users", "mia"], "food").await.expect("get").expect("there");
    assert_eq!((item.namespace, item.key.as_str()), (StoreNamespace::from(["users", "mia"]), "food"));
    assert_eq!(item.value, json!({ "likes": "curry" }));
    assert_eq!((item.created_at, item.updated_at, item.expires_at), (START_TIME, START_TIME, None));
}

/// Values of every kind are returned.
pub async fn values_of_every_kind_round_trip(open: StoreFactory) {
    let nested = json!({ "text": "", "list": [[], {}, null], "map": { "": 0 } });
    check_round_trip(open, vec![json!(null), json!(true), json!(1), json!("a"), json!([1]), json!({}), nested]).await;
}

/// Numbers are returned exactly.
pub async fn numbers_round_trip_exactly(open: StoreFactory) {
    let integers = [i64::MIN, -1, 0, (1 << 53) + 1, i64::MAX].map(Value::from);
    let parts = [0.1, 1.0, -0.0, 1e21, f64::MAX, f64::MIN_POSITIVE, 5e-324].map(Value::from);
    check_round_trip(open, integers.into_iter().chain(parts).chain([json!(u64::MAX)]).collect()).await;
}

/// Text outside ASCII and with control characters is returned, in values and in their keys.
pub async fn any_text_round_trips(open: StoreFactory) {
    let texts =
        ["Zürich", "日本語", "🦀👩‍👩‍👧", "\u{0}", "a\u{0}b", "\u{feff}\u{2028}", "\"\\/\n\r\t", "%_'; --", "\u{10ffff}"];
    check_round_trip(open, texts.iter().map(|text| json!({ *text: [text] })).collect()).await;
}

/// A value of two megabytes is returned, and so is a deeply nested one.
pub async fn large_values_round_trip(open: StoreFactory) {
    let long: String = (0..200_000).map(|number| format!("w{number} ")).collect();
    let deep = (0..45).fold(json!("core"), |inner, level| json!({ "level": level, "inner": [inner] }));
    check_round_trip(open, vec![json!({ "long": long }), json!(vec!["x"; 20_000]), deep]).await;
}

/// A value nested too deeply to be parsed again is rejected.
pub async fn a_value_nested_too_deeply_is_rejected(open: StoreFactory) {
    let (store, _) = open.open();
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(store.put("n", "k", deep).await.expect_err("too deep").code(), ErrorCode::InputInvalid);
    assert!(store.get("n", "k").await.expect("get").is_none());
}

/// An item that was never put is absent.
pub async fn missing_items_are_absent(open: StoreFactory) {
    let (store, _) = open.open();
    assert!(store.get("n", "k").await.expect("get").is_none());
    assert!(!store.delete("n", "k").await.expect("delete"));
    assert!(
        store.list_namespaces(ListNamespacesOp::default()).await.expect("list").is_empty(),
        "a read must not create an item"
    );
}

/// A put replaces the value, keeps the creation time and sets the update time.
pub async fn a_put_replaces(open: StoreFactory) {
    let (store, clock) = open.open();
    store.put("n", "k", json!({ "a": 1, "b": 2 })).await.expect("put");
    clock.advance(5);
    store.put("n", "k", json!({ "a": 3 })).await.expect("put");
    let item = store.get("n", "k").await.expect("get").expect("there");
    assert_eq!((item.value, item.created_at, item.updated_at), (json!({ "a": 3 }), START_TIME, START_TIME + 5_000_000));
    assert_eq!(store.search(SearchOp::new("n")).await.expect("search").len(), 1);
}

/// A deleted item is absent, and deleting it again finds none.
pub async fn deleted_items_are_absent(open: StoreFactory) {
    let (store, clock) = open.open();
    store.put("n", "k", json!("word")).await.expect("put");
    store.put("n", "other", json!("word")).await.expect("put");
    assert!(store.delete("n", "k").await.expect("delete"));
    assert!(!store.delete("n", "k").await.expect("delete"));
    assert!(store.get("n", "k").await.expect("get").is_none());
    assert_eq!(store.search(SearchOp::new("n")).await.expect("search").len(), 1);
    clock.advance(1);
    store.put("n", "k", json!("again")).await.expect("put");
    let item = store.get("n", "k").await.expect("get").expect("there");
    assert_eq!(item.created_at, START_TIME + 1_000_000, "it is another item");
}

/// The same key in two namespaces is two items, however similar the namespaces are.
pub async fn namespaces_do_not_mix(open: StoreFactory) {
    let (store, _) = open.open();
    let spaces: [&[&str]; 7] = [&["a"], &["a", "b"], &["ab"], &["a", "b", "c"], &["b", "a"], &["A"], &["a", " b"]];
    for (index, space) in spaces.iter().enumerate() {
        store.put(*space, "k", json!(index)).await.expect("put");
    }
    for (index, space) in spaces.iter().enumerate() {
        assert_eq!(value(&store, *space, "k").await, Some(json!(index)), "{space:?}");
    }
    assert!(store.delete("a", "k").await.expect("delete"));
    assert_eq!(value(&store, ["a", "b"], "k").await, Some(json!(1)), "what is below stays");
}

/// A key is compared by its bytes: no case folding, no pattern, no Unicode normalisation.
pub async fn keys_may_be_any_bytes(open: StoreFactory) {
    let (store, _) = open.open();
    let names =
        ["k", "K", " k", "k ", "%", "_", "*", "ä", "a\u{308}", "ﬀ", "ff", "k\0", "\0", "ß", "ss", "😀", "NULL", "0"];
    for name in names {
        store.put("n", name, json!(name)).await.expect("put");
    }
    for name in names {
        assert_eq!(value(&store, "n", name).await, Some(json!(name)), "{name:?}");
    }
    let hits = store.search(SearchOp::new("n").limit(100)).await.expect("search");
    let listed: BTreeSet<&str> = hits.iter().map(|hit| hit.item.key.as_str()).collect();
    assert_eq!(listed, BTreeSet::from(names));
}

/// Names that would be code in a database statement are plain names.
pub async fn names_are_escaped(open: StoreFactory) {
    let (store, _) = open.open();
    store.put("safe", "k", json!(1)).await.expect("put");
    let hostile = ["x') OR 1=1 --", "'; DROP TABLE memory; --", "\" OR \"\"=\"", "$1", "?1", "\\", "{}", "@schema@"];
    for name in hostile {
        assert!(store.get("safe", name).await.expect("get").is_none(), "{name}");
        assert!(store.search(SearchOp::new(name)).await.expect("search").is_empty(), "{name}");
        store.put(["n", name], name, json!({ "name": name })).await.expect("put");
        assert_eq!(value(&store, ["n", name], name).await, Some(json!({ "name": name })), "{name}");
    }
    assert_eq!(store.search(SearchOp::new("n").limit(100)).await.expect("search").len(), hostile.len());
    for name in hostile {
        assert!(store.delete(["n", name], name).await.expect("delete"), "{name}");
    }
    assert_eq!(value(&store, "safe", "k").await, Some(json!(1)));
}

/// Names of maximum length work.
pub async fn the_longest_names_work(open: StoreFactory) {
    let (store, _) = open.open();
    let (label, key) = ("l".repeat(MAX_NAMESPACE_LENGTH - 1), "ü".repeat(MAX_KEY_BYTES / 2));
    store.put(label.as_str(), key.as_str(), json!(1)).await.expect("put");
    assert_eq!(value(&store, label.as_str(), &key).await, Some(json!(1)));
    let error = store.put("n", format!("{key}x"), json!(1)).await.expect_err("too long");
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    let error = store.put(format!("{label}x").as_str(), "k", json!(1)).await.expect_err("too long");
    assert_eq!(error.code(), ErrorCode::InputInvalid);
}

/// Invalid namespaces and keys are rejected by every operation, and nothing is stored.
pub async fn invalid_names_are_rejected(open: StoreFactory) {
    let (store, _) = open.open();
    let spaces: [&[&str]; 6] = [&[], &[""], &["a", ""], &["a.b"], &["a\0b"], &["langgraph"]];
    for space in spaces {
        let errors = [
            store.put(space, "k", json!(1)).await.err(),
            store.get(space, "k").await.err(),
            store.delete(space, "k").await.err(),
        ];
        for error in errors {
            assert_eq!(error.expect("rejected").code(), ErrorCode::InputInvalid, "{space:?}");
        }
    }
    assert_eq!(store.put("n", "", json!(1)).await.expect_err("no key").code(), ErrorCode::InputInvalid);
    let error = store.search(SearchOp::new(["a", "b.c"])).await.expect_err("a dot");
    assert!(error.message().contains("`b.c`"), "{error}");
    assert!(store.search(SearchOp::all_namespaces()).await.expect("search").is_empty());
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_items {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, items:
            an_item_round_trips, values_of_every_kind_round_trip, numbers_round_trip_exactly, any_text_round_trips,
            large_values_round_trip, a_value_nested_too_deeply_is_rejected, missing_items_are_absent, a_put_replaces,
            deleted_items_are_absent,
            namespaces_do_not_mix, keys_may_be_any_bytes, names_are_escaped, the_longest_names_work,
            invalid_names_are_rejected,
        );
    };
}
