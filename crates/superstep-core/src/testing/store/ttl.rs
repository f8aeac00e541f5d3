//! Time to live: an expired item is absent for every operation, by the clock of the store.

use std::time::Duration;

use serde_json::json;

use super::{START_TIME, StoreFactory, keys, search_indices};
use crate::port::SharedStore;
use crate::store::{GetOp, LexicalEmbedder, ListNamespacesOp, PutOp, SearchOp};

const MINUTE: Duration = Duration::from_secs(60);

async fn put_for_a_minute(store: &SharedStore, key: &str) {
    store.put_with(PutOp::new("n", key, json!("word")).ttl(MINUTE)).await.expect("put");
}

async fn exists(store: &SharedStore, key: &str) -> bool {
    store.get_with(GetOp::new("n", key).refresh(false)).await.expect("get").is_some()
}

/// An item has its expiry time, is present until then, and absent afterwards.
pub async fn expired_items_are_absent(open: StoreFactory) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    let item = store.get_with(GetOp::new("n", "k").refresh(false)).await.expect("get").expect("there");
    assert_eq!(item.expires_at, Some(START_TIME + 60_000_000));
    clock.advance(59);
    assert!(exists(&store, "k").await);
    clock.advance(1);
    assert!(!exists(&store, "k").await);
}

/// An expired item is absent for every operation.
pub async fn expired_items_are_absent_for_every_operation(open: StoreFactory) {
    let (store, clock) = open.with(|options| options.embedder(LexicalEmbedder::default()));
    put_for_a_minute(&store, "00").await;
    clock.advance(60);
    assert!(search_indices(&store, SearchOp::new("n")).await.is_empty());
    assert!(search_indices(&store, SearchOp::new("n").query("word")).await.is_empty());
    assert!(
        search_indices(&store, SearchOp::new("n").query("word").mode(crate::store::SearchMode::Text)).await.is_empty()
    );
    assert!(store.list_namespaces(ListNamespacesOp::default()).await.expect("list").is_empty());
    assert!(!store.delete("n", "00").await.expect("delete"), "it was gone already");
}

/// A put under the name of an expired item creates a new item.
pub async fn put_after_expiry_creates_a_new_item(open: StoreFactory) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    clock.advance(60);
    store.put("n", "k", json!("new")).await.expect("put");
    let item = store.get("n", "k").await.expect("get").expect("there");
    assert_eq!((item.created_at, item.expires_at), (START_TIME + 60_000_000, None));
    clock.advance(1_000_000);
    assert!(exists(&store, "k").await, "a put without a TTL does not expire");
}

/// A read restarts the TTL, and returns the new expiry time.
pub async fn get_refreshes_ttl(open: StoreFactory) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    for round in 1..=3 {
        clock.advance(50);
        let item = store.get("n", "k").await.expect("get").expect("there");
        assert_eq!(item.expires_at, Some(START_TIME + (50 * round + 60) * 1_000_000));
        assert_eq!(item.updated_at, START_TIME, "it was not changed");
    }
    clock.advance(60);
    assert!(!exists(&store, "k").await);
}

/// A read does not restart the TTL if the read or the store disables it.
pub async fn get_without_refresh_keeps_expiry(open: StoreFactory) {
    let (store, clock) = open.with(|options| options.refresh_on_read(false));
    put_for_a_minute(&store, "a").await;
    put_for_a_minute(&store, "b").await;
    clock.advance(50);
    assert!(store.get("n", "a").await.expect("get").is_some());
    assert!(store.get_with(GetOp::new("n", "b").refresh(true)).await.expect("get").is_some());
    clock.advance(10);
    assert!(!exists(&store, "a").await && exists(&store, "b").await);
}

/// A search restarts the TTL of its results, and of no other item.
pub async fn search_refreshes_ttl(open: StoreFactory) {
    let (store, clock) = open.open();
    for key in ["a", "b", "c"] {
        put_for_a_minute(&store, key).await;
    }
    clock.advance(50);
    let hits = store.search(SearchOp::new("n").limit(1)).await.expect("search");
    assert_eq!((keys(&hits), hits[0].item.expires_at), (vec!["a"], Some(START_TIME + 110_000_000)));
    let hits = store.search(SearchOp::new("n").query("word").limit(1).offset(1)).await.expect("search");
    assert_eq!((keys(&hits), hits[0].item.expires_at), (vec!["b"], Some(START_TIME + 110_000_000)));
    store.search(SearchOp::new("n").refresh(false)).await.expect("search");
    clock.advance(10);
    assert_eq!(keys(&store.search(SearchOp::new("n")).await.expect("search")), ["a", "b"]);
}

/// A put restarts the TTL, or removes it.
pub async fn a_put_restarts_the_ttl(open: StoreFactory) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "a").await;
    put_for_a_minute(&store, "b").await;
    clock.advance(50);
    put_for_a_minute(&store, "a").await;
    store.put_with(PutOp::new("n", "b", json!(1)).no_ttl()).await.expect("put");
    clock.advance(59);
    assert!(exists(&store, "a").await);
    clock.advance(1);
    assert!(!exists(&store, "a").await && exists(&store, "b").await);
}

/// The store has a default TTL for puts without one.
pub async fn the_store_has_a_default_ttl(open: StoreFactory) {
    let (store, clock) = open.with(|options| options.default_ttl(MINUTE));
    store.put("n", "as-store", json!(1)).await.expect("put");
    store.put_with(PutOp::new("n", "longer", json!(1)).ttl(MINUTE * 2)).await.expect("put");
    store.put_with(PutOp::new("n", "forever", json!(1)).no_ttl()).await.expect("put");
    clock.advance(60);
    assert!(!exists(&store, "as-store").await && exists(&store, "longer").await);
    clock.advance(60);
    assert!(!exists(&store, "longer").await && exists(&store, "forever").await);
}

/// Minutes may have fractions; NaN and negative values count as zero.
pub async fn ttl_minutes_may_have_fractions(open: StoreFactory) {
    let (store, clock) = open.open();
    for (key, minutes) in
        [("half", 0.5), ("two", 2.0), ("none", 0.0), ("less", -1.0), ("nan", f64::NAN), ("long", 1e300)]
    {
        store.put_with(PutOp::new("n", key, json!(1)).ttl_minutes(minutes)).await.expect("put");
    }
    for key in ["none", "less", "nan"] {
        assert!(!exists(&store, key).await, "{key}");
    }
    clock.advance(30);
    assert!(!exists(&store, "half").await && exists(&store, "two").await && exists(&store, "long").await);
}

/// A sweep removes expired items and returns their number; the others stay.
pub async fn a_sweep_removes_expired_items(open: StoreFactory) {
    let (store, clock) = open.open();
    store.put("n", "stays", json!("word")).await.expect("put");
    for number in 0..5 {
        put_for_a_minute(&store, &format!("goes-{number}")).await;
    }
    assert_eq!(store.sweep_ttl().await.expect("sweep"), 0);
    clock.advance(60);
    assert_eq!(store.sweep_ttl().await.expect("sweep"), 5);
    assert_eq!(store.sweep_ttl().await.expect("sweep"), 0);
    assert_eq!(keys(&store.search(SearchOp::new("n").query("word")).await.expect("search")), ["stays"]);
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_ttl {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, ttl:
            expired_items_are_absent, expired_items_are_absent_for_every_operation, put_after_expiry_creates_a_new_item,
            get_refreshes_ttl, get_without_refresh_keeps_expiry, search_refreshes_ttl,
            a_put_restarts_the_ttl, the_store_has_a_default_ttl, ttl_minutes_may_have_fractions,
            a_sweep_removes_expired_items,
        );
    };
}
