//! Time to live: what has expired is absent for every operation, whoever asks, by the clock of the store.

use std::time::Duration;

use serde_json::json;

use super::{BEGIN, Opener, found, keys};
use crate::port::SharedStore;
use crate::store::{Get, LexicalEmbedder, ListNamespaces, Put, Search};

const MINUTE: Duration = Duration::from_secs(60);

async fn put_for_a_minute(store: &SharedStore, key: &str) {
    store.put_with(Put::new("n", key, json!("word")).lasts(MINUTE)).await.expect("put");
}

async fn is_there(store: &SharedStore, key: &str) -> bool {
    store.get_with(Get::new("n", key).refresh(false)).await.expect("get").is_some()
}

/// An item says when it expires, is there until then, and gone from then on.
pub async fn an_item_is_gone_when_its_time_is_over(open: Opener) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    let item = store.get_with(Get::new("n", "k").refresh(false)).await.expect("get").expect("there");
    assert_eq!(item.expires_at, Some(BEGIN + 60_000_000));
    clock.advance(59);
    assert!(is_there(&store, "k").await);
    clock.advance(1);
    assert!(!is_there(&store, "k").await);
}

/// What is gone is gone for every operation.
pub async fn what_is_gone_is_absent_everywhere(open: Opener) {
    let (store, clock) = open.with(|options| options.embedder(LexicalEmbedder::default()));
    put_for_a_minute(&store, "00").await;
    clock.advance(60);
    assert!(found(&store, Search::new("n")).await.is_empty());
    assert!(found(&store, Search::new("n").query("word")).await.is_empty());
    assert!(found(&store, Search::new("n").query("word").by(crate::store::By::Text)).await.is_empty());
    assert!(store.list_namespaces(ListNamespaces::default()).await.expect("list").is_empty());
    assert!(!store.delete("n", "00").await.expect("delete"), "it was gone already");
}

/// A put under the name of something that is gone makes a new item.
pub async fn a_put_after_the_end_is_new(open: Opener) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    clock.advance(60);
    store.put("n", "k", json!("new")).await.expect("put");
    let item = store.get("n", "k").await.expect("get").expect("there");
    assert_eq!((item.created_at, item.expires_at), (BEGIN + 60_000_000, None));
    clock.advance(1_000_000);
    assert!(is_there(&store, "k").await, "a put that does not say so lasts");
}

/// Reading makes an item last anew, and shows the new time.
pub async fn reading_makes_it_last_anew(open: Opener) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "k").await;
    for round in 1..=3 {
        clock.advance(50);
        let item = store.get("n", "k").await.expect("get").expect("there");
        assert_eq!(item.expires_at, Some(BEGIN + (50 * round + 60) * 1_000_000));
        assert_eq!(item.updated_at, BEGIN, "it was not changed");
    }
    clock.advance(60);
    assert!(!is_there(&store, "k").await);
}

/// Reading leaves the end where it is when told so, by the read or by the store.
pub async fn reading_need_not_make_it_last_anew(open: Opener) {
    let (store, clock) = open.with(|options| options.refresh_on_read(false));
    put_for_a_minute(&store, "a").await;
    put_for_a_minute(&store, "b").await;
    clock.advance(50);
    assert!(store.get("n", "a").await.expect("get").is_some());
    assert!(store.get_with(Get::new("n", "b").refresh(true)).await.expect("get").is_some());
    clock.advance(10);
    assert!(!is_there(&store, "a").await && is_there(&store, "b").await);
}

/// Finding makes last anew what was found, and nothing else.
pub async fn finding_makes_it_last_anew(open: Opener) {
    let (store, clock) = open.open();
    for key in ["a", "b", "c"] {
        put_for_a_minute(&store, key).await;
    }
    clock.advance(50);
    let hits = store.search(Search::new("n").limit(1)).await.expect("search");
    assert_eq!((keys(&hits), hits[0].item.expires_at), (vec!["a"], Some(BEGIN + 110_000_000)));
    let hits = store.search(Search::new("n").query("word").limit(1).offset(1)).await.expect("search");
    assert_eq!((keys(&hits), hits[0].item.expires_at), (vec!["b"], Some(BEGIN + 110_000_000)));
    store.search(Search::new("n").refresh(false)).await.expect("search");
    clock.advance(10);
    assert_eq!(keys(&store.search(Search::new("n")).await.expect("search")), ["a", "b"]);
}

/// A put begins the time anew, or ends it.
pub async fn a_put_begins_the_time_anew(open: Opener) {
    let (store, clock) = open.open();
    put_for_a_minute(&store, "a").await;
    put_for_a_minute(&store, "b").await;
    clock.advance(50);
    put_for_a_minute(&store, "a").await;
    store.put_with(Put::new("n", "b", json!(1)).forever()).await.expect("put");
    clock.advance(59);
    assert!(is_there(&store, "a").await);
    clock.advance(1);
    assert!(!is_there(&store, "a").await && is_there(&store, "b").await);
}

/// The store says how long what is put lasts where the put does not.
pub async fn the_store_has_a_time_of_its_own(open: Opener) {
    let (store, clock) = open.with(|options| options.lasts(MINUTE));
    store.put("n", "as-store", json!(1)).await.expect("put");
    store.put_with(Put::new("n", "longer", json!(1)).lasts(MINUTE * 2)).await.expect("put");
    store.put_with(Put::new("n", "forever", json!(1)).forever()).await.expect("put");
    clock.advance(60);
    assert!(!is_there(&store, "as-store").await && is_there(&store, "longer").await);
    clock.advance(60);
    assert!(!is_there(&store, "longer").await && is_there(&store, "forever").await);
}

/// Minutes are minutes, also parts of one; what is no time at all is none.
pub async fn minutes_are_minutes(open: Opener) {
    let (store, clock) = open.open();
    for (key, minutes) in
        [("half", 0.5), ("two", 2.0), ("none", 0.0), ("less", -1.0), ("nan", f64::NAN), ("long", 1e300)]
    {
        store.put_with(Put::new("n", key, json!(1)).lasts_minutes(minutes)).await.expect("put");
    }
    for key in ["none", "less", "nan"] {
        assert!(!is_there(&store, key).await, "{key}");
    }
    clock.advance(30);
    assert!(!is_there(&store, "half").await && is_there(&store, "two").await && is_there(&store, "long").await);
}

/// A sweep removes what is gone and says how many; what is there stays.
pub async fn a_sweep_removes_what_is_gone(open: Opener) {
    let (store, clock) = open.open();
    store.put("n", "stays", json!("word")).await.expect("put");
    for number in 0..5 {
        put_for_a_minute(&store, &format!("goes-{number}")).await;
    }
    assert_eq!(store.sweep().await.expect("sweep"), 0);
    clock.advance(60);
    assert_eq!(store.sweep().await.expect("sweep"), 5);
    assert_eq!(store.sweep().await.expect("sweep"), 0);
    assert_eq!(keys(&store.search(Search::new("n").query("word")).await.expect("search")), ["stays"]);
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_lifetimes {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, lifetimes:
            an_item_is_gone_when_its_time_is_over, what_is_gone_is_absent_everywhere, a_put_after_the_end_is_new,
            reading_makes_it_last_anew, reading_need_not_make_it_last_anew, finding_makes_it_last_anew,
            a_put_begins_the_time_anew, the_store_has_a_time_of_its_own, minutes_are_minutes,
            a_sweep_removes_what_is_gone,
        );
    };
}
