//! Lists of namespaces.

use serde_json::json;

use super::StoreFactory;
use crate::port::SharedStore;
use crate::store::{ListNamespacesOp, StoreNamespace};

async fn filled(open: StoreFactory) -> SharedStore {
    let (store, _) = open.open();
    let spaces: [&[&str]; 7] = [
        &["b"],
        &["a", "x", "docs"],
        &["a", "y", "docs"],
        &["a", "x"],
        &["a-", "x"],
        &["ab", "docs"],
        &["a", "x", "notes"],
    ];
    for space in spaces {
        store.put(space, "k", json!(1)).await.expect("put");
        store.put(space, "other", json!(1)).await.expect("put");
    }
    store
}

async fn listed_namespaces(store: &SharedStore, list: ListNamespacesOp) -> Vec<String> {
    let namespaces = store.list_namespaces(list).await.expect("list");
    namespaces.iter().map(ToString::to_string).collect()
}

fn list(prefix: impl Into<StoreNamespace>, suffix: impl Into<StoreNamespace>) -> ListNamespacesOp {
    ListNamespacesOp { prefix: prefix.into(), suffix: suffix.into(), ..ListNamespacesOp::default() }
}

/// Every namespace with items is listed once, label by label in order.
pub async fn namespaces_are_listed_once_in_order(open: StoreFactory) {
    let store = filled(open).await;
    let all = listed_namespaces(&store, ListNamespacesOp::default()).await;
    assert_eq!(all, ["a.x", "a.x.docs", "a.x.notes", "a.y.docs", "a-.x", "ab.docs", "b"]);
}

/// A prefix and a suffix consist of whole labels, and can be combined.
pub async fn prefix_and_suffix_hold_both(open: StoreFactory) {
    let store = filled(open).await;
    let none = StoreNamespace::default();
    assert_eq!(listed_namespaces(&store, list("a", &none)).await, ["a.x", "a.x.docs", "a.x.notes", "a.y.docs"]);
    assert_eq!(listed_namespaces(&store, list(["a", "x"], &none)).await, ["a.x", "a.x.docs", "a.x.notes"]);
    assert_eq!(listed_namespaces(&store, list(&none, "docs")).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
    assert_eq!(listed_namespaces(&store, list("a", "docs")).await, ["a.x.docs", "a.y.docs"]);
    assert_eq!(listed_namespaces(&store, list(&none, ["x", "docs"])).await, ["a.x.docs"]);
    assert!(listed_namespaces(&store, list(["b", "c"], &none)).await.is_empty());
}

/// A star matches any one label.
pub async fn a_star_is_any_label(open: StoreFactory) {
    let store = filled(open).await;
    let none = StoreNamespace::default();
    assert_eq!(listed_namespaces(&store, list(["a", "*", "docs"], &none)).await, ["a.x.docs", "a.y.docs"]);
    assert_eq!(listed_namespaces(&store, list("*", "docs")).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
    assert_eq!(listed_namespaces(&store, list(&none, ["*", "docs"])).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
}

/// Deeper namespaces are truncated, and listed once.
pub async fn deep_namespaces_are_cut(open: StoreFactory) {
    let store = filled(open).await;
    let cut = |max_depth| ListNamespacesOp { max_depth: Some(max_depth), ..ListNamespacesOp::default() };
    assert_eq!(listed_namespaces(&store, cut(1)).await, ["a", "a-", "ab", "b"]);
    assert_eq!(listed_namespaces(&store, cut(2)).await, ["a.x", "a.y", "a-.x", "ab.docs", "b"]);
    let some = ListNamespacesOp { suffix: "docs".into(), ..cut(1) };
    assert_eq!(listed_namespaces(&store, some).await, ["a", "ab"], "the suffix is looked for before");
}

/// Namespaces are listed in pages.
pub async fn namespaces_come_in_pages(open: StoreFactory) {
    let store = filled(open).await;
    let page = |offset| ListNamespacesOp { limit: 3, offset, ..ListNamespacesOp::default() };
    assert_eq!(listed_namespaces(&store, page(0)).await, ["a.x", "a.x.docs", "a.x.notes"]);
    assert_eq!(listed_namespaces(&store, page(3)).await, ["a.y.docs", "a-.x", "ab.docs"]);
    assert_eq!(listed_namespaces(&store, page(6)).await, ["b"]);
    assert!(listed_namespaces(&store, page(7)).await.is_empty());
}

/// A namespace exists as long as it has an item.
pub async fn a_namespace_is_removed_with_its_last_item(open: StoreFactory) {
    let (store, _) = open.open();
    store.put(["a", "b"], "k", json!(1)).await.expect("put");
    assert_eq!(listed_namespaces(&store, ListNamespacesOp::default()).await, ["a.b"]);
    assert!(store.get("c", "k").await.expect("get").is_none());
    store.delete(["a", "b"], "k").await.expect("delete");
    assert!(listed_namespaces(&store, ListNamespacesOp::default()).await.is_empty());
}

/// The default limit is one hundred.
pub async fn a_hundred_are_listed_by_default(open: StoreFactory) {
    let (store, _) = open.open();
    for number in 0..105 {
        store.put(format!("n{number:03}").as_str(), "k", json!(1)).await.expect("put");
    }
    assert_eq!(listed_namespaces(&store, ListNamespacesOp::default()).await.len(), 100);
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_list_namespaces {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, list_namespaces:
            namespaces_are_listed_once_in_order, prefix_and_suffix_hold_both, a_star_is_any_label,
            deep_namespaces_are_cut, namespaces_come_in_pages, a_namespace_is_removed_with_its_last_item,
            a_hundred_are_listed_by_default,
        );
    };
}
