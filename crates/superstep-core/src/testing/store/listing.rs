//! Listing namespaces.

use serde_json::json;

use super::Opener;
use crate::port::SharedStore;
use crate::store::{ListNamespaces, Namespace};

async fn filled(open: Opener) -> SharedStore {
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

async fn told(store: &SharedStore, list: ListNamespaces) -> Vec<String> {
    let namespaces = store.list_namespaces(list).await.expect("list");
    namespaces.iter().map(ToString::to_string).collect()
}

fn list(prefix: impl Into<Namespace>, suffix: impl Into<Namespace>) -> ListNamespaces {
    ListNamespaces { prefix: prefix.into(), suffix: suffix.into(), ..ListNamespaces::default() }
}

/// Every namespace that has items is told once, label by label in order.
pub async fn namespaces_are_told_once_in_order(open: Opener) {
    let store = filled(open).await;
    let all = told(&store, ListNamespaces::default()).await;
    assert_eq!(all, ["a.x", "a.x.docs", "a.x.notes", "a.y.docs", "a-.x", "ab.docs", "b"]);
}

/// A prefix and a suffix are of whole labels, and hold both.
pub async fn prefix_and_suffix_hold_both(open: Opener) {
    let store = filled(open).await;
    let none = Namespace::default();
    assert_eq!(told(&store, list("a", &none)).await, ["a.x", "a.x.docs", "a.x.notes", "a.y.docs"]);
    assert_eq!(told(&store, list(["a", "x"], &none)).await, ["a.x", "a.x.docs", "a.x.notes"]);
    assert_eq!(told(&store, list(&none, "docs")).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
    assert_eq!(told(&store, list("a", "docs")).await, ["a.x.docs", "a.y.docs"]);
    assert_eq!(told(&store, list(&none, ["x", "docs"])).await, ["a.x.docs"]);
    assert!(told(&store, list(["b", "c"], &none)).await.is_empty());
}

/// A star is any one label.
pub async fn a_star_is_any_label(open: Opener) {
    let store = filled(open).await;
    let none = Namespace::default();
    assert_eq!(told(&store, list(["a", "*", "docs"], &none)).await, ["a.x.docs", "a.y.docs"]);
    assert_eq!(told(&store, list("*", "docs")).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
    assert_eq!(told(&store, list(&none, ["*", "docs"])).await, ["a.x.docs", "a.y.docs", "ab.docs"]);
}

/// Deeper ones are cut, and told once.
pub async fn deep_namespaces_are_cut(open: Opener) {
    let store = filled(open).await;
    let cut = |max_depth| ListNamespaces { max_depth: Some(max_depth), ..ListNamespaces::default() };
    assert_eq!(told(&store, cut(1)).await, ["a", "a-", "ab", "b"]);
    assert_eq!(told(&store, cut(2)).await, ["a.x", "a.y", "a-.x", "ab.docs", "b"]);
    let some = ListNamespaces { suffix: "docs".into(), ..cut(1) };
    assert_eq!(told(&store, some).await, ["a", "ab"], "the suffix is looked for before");
}

/// Pages of namespaces.
pub async fn namespaces_come_in_pages(open: Opener) {
    let store = filled(open).await;
    let page = |offset| ListNamespaces { limit: 3, offset, ..ListNamespaces::default() };
    assert_eq!(told(&store, page(0)).await, ["a.x", "a.x.docs", "a.x.notes"]);
    assert_eq!(told(&store, page(3)).await, ["a.y.docs", "a-.x", "ab.docs"]);
    assert_eq!(told(&store, page(6)).await, ["b"]);
    assert!(told(&store, page(7)).await.is_empty());
}

/// A namespace is there as long as it has an item.
pub async fn a_namespace_goes_with_its_last_item(open: Opener) {
    let (store, _) = open.open();
    store.put(["a", "b"], "k", json!(1)).await.expect("put");
    assert_eq!(told(&store, ListNamespaces::default()).await, ["a.b"]);
    assert!(store.get("c", "k").await.expect("get").is_none());
    store.delete(["a", "b"], "k").await.expect("delete");
    assert!(told(&store, ListNamespaces::default()).await.is_empty());
}

/// A hundred are told unless told otherwise.
pub async fn a_hundred_are_told(open: Opener) {
    let (store, _) = open.open();
    for number in 0..105 {
        store.put(format!("n{number:03}").as_str(), "k", json!(1)).await.expect("put");
    }
    assert_eq!(told(&store, ListNamespaces::default()).await.len(), 100);
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_listing {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, listing:
            namespaces_are_told_once_in_order, prefix_and_suffix_hold_both, a_star_is_any_label,
            deep_namespaces_are_cut, namespaces_come_in_pages, a_namespace_goes_with_its_last_item,
            a_hundred_are_told,
        );
    };
}
