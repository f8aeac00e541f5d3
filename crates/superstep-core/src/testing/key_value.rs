//! The contract of every key-value store, as tests.
//!
//! One line in the tests of an implementation defines a test for each guarantee:
//! `mod conformance { superstep_core::key_value_conformance!(|| Files::open(folder()).unwrap()); }`. A store that
//! needs a runtime passes a function that drives a future, as for
//! [`checkpointer_conformance!`](crate::checkpointer_conformance).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::error::ErrorCode;
use crate::port::{BoxFuture, KeyValue, MAX_KEY_BYTES, PutOptions};

pub mod concurrency;

/// TTL that is short enough to wait for.
const SHORT_TTL: Duration = Duration::from_millis(40);

/// Runs one check on an empty store.
pub fn check<K: KeyValue, F: Future<Output = ()> + Send + 'static>(
    open: impl FnOnce() -> K + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>),
    test: impl FnOnce(Arc<K>) -> F + Send + 'static,
) {
    drive(Box::pin(async move {
        let store = Arc::new(open());
        test(store).await;
    }));
}

async fn put<K: KeyValue>(store: &K, key: &str, value: &[u8]) {
    assert!(store.put(key, value, PutOptions::default()).await.expect("putting works"), "{key}: a value is replaced");
}

async fn put_new<K: KeyValue>(store: &K, key: &str, value: &[u8]) -> bool {
    store.put(key, value, PutOptions { if_absent: true, ttl: None }).await.expect("putting works")
}

async fn put_with_ttl<K: KeyValue>(store: &K, key: &str, ttl: Duration) {
    store.put(key, b"brief", PutOptions { if_absent: false, ttl: Some(ttl) }).await.expect("putting works");
}

async fn get<K: KeyValue>(store: &K, key: &str) -> Option<Vec<u8>> {
    store.get(key).await.expect("getting works")
}

async fn list<K: KeyValue>(store: &K, prefix: &str) -> Vec<String> {
    store.list(prefix, None, usize::MAX).await.expect("listing works")
}

/// Waits until a key has expired, by the clock of the store.
#[expect(clippy::disallowed_methods, reason = "the backend's clock cannot be controlled")]
async fn wait_until_expired<K: KeyValue>(store: &K, key: &str) {
    for _ in 0..2_000 {
        if get(store, key).await.is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("`{key}` did not expire");
}

/// R-FWK-39: a value is returned until it is replaced, also an empty one.
pub async fn get_returns_last_put_value<K: KeyValue>(store: Arc<K>) {
    let every: Vec<u8> = (0..=255).collect();
    for value in [&every[..], b"", b"\0", b"after", &every[..]] {
        put(&*store, "a/key", value).await;
        assert_eq!(get(&*store, "a/key").await.as_deref(), Some(value));
    }
}

/// R-FWK-39: a missing key has no value; several keys are answered in their order.
pub async fn a_key_that_is_not_there_has_no_value<K: KeyValue>(store: Arc<K>) {
    assert_eq!(get(&*store, "none").await, None);
    put(&*store, "one", b"1").await;
    put(&*store, "two", b"2").await;
    let keys = ["two", "none", "one", "on", "two", "one/"].map(str::to_owned);
    let (one, two) = (Some(b"1".to_vec()), Some(b"2".to_vec()));
    let values = store.get_many(&keys).await.expect("getting works");
    assert_eq!(values, [two.clone(), None, one, None, two, None]);
    assert!(store.get_many(&[]).await.expect("getting works").is_empty());
}

/// R-FWK-39: a put of a new key is rejected if the key exists, and accepted after its deletion.
pub async fn a_new_key_is_rejected_if_it_exists<K: KeyValue>(store: Arc<K>) {
    assert!(put_new(&*store, "key", b"first").await);
    assert!(!put_new(&*store, "key", b"second").await);
    assert_eq!(get(&*store, "key").await.as_deref(), Some(&b"first"[..]));
    put(&*store, "key", b"third").await;
    assert!(!put_new(&*store, "key", b"fourth").await);
    store.delete(&["key".to_owned()]).await.expect("deleting works");
    assert!(put_new(&*store, "key", b"fifth").await);
    assert_eq!(get(&*store, "key").await.as_deref(), Some(&b"fifth"[..]));
}

/// R-FWK-39: deleting removes the named keys and no others, and a missing key is no error.
pub async fn deleting_removes_what_is_named<K: KeyValue>(store: Arc<K>) {
    for key in ["a", "a/b", "a/b/c", "ab", "b"] {
        put(&*store, key, b"x").await;
    }
    store.delete(&["a/b", "nothing", "b", "b"].map(str::to_owned)).await.expect("deleting works");
    store.delete(&[]).await.expect("deleting works");
    assert_eq!(list(&*store, "").await, ["a", "a/b/c", "ab"]);
    assert_eq!((get(&*store, "a/b").await, get(&*store, "b").await), (None, None));
    let many: Vec<String> = (0..1_500).map(|number| format!("many/{number}")).collect();
    for key in many.iter().step_by(50) {
        put(&*store, key, b"x").await;
    }
    store.delete(&many).await.expect("deleting works");
    assert!(list(&*store, "many/").await.is_empty());
}

/// R-FWK-39: an expired key is absent for every method, and can be put as a new key.
pub async fn an_expired_key_is_absent_for_every_method<K: KeyValue>(store: Arc<K>) {
    put_with_ttl(&*store, "brief/1", SHORT_TTL).await;
    put_with_ttl(&*store, "brief/2", Duration::from_secs(3_600)).await;
    put(&*store, "brief/3", b"lasting").await;
    wait_until_expired(&*store, "brief/1").await;
    let keys = ["brief/1", "brief/2"].map(str::to_owned);
    let values = store.get_many(&keys).await.expect("getting works");
    assert_eq!(values, [None, Some(b"brief".to_vec())]);
    assert_eq!(list(&*store, "brief/").await, ["brief/2", "brief/3"]);
    assert_eq!(store.list("brief/", None, 1).await.expect("listing works"), ["brief/2"]);
    assert!(put_new(&*store, "brief/1", b"new").await);
    assert!(!put_new(&*store, "brief/2", b"new").await);
    assert_eq!(list(&*store, "brief/").await, ["brief/1", "brief/2", "brief/3"]);
    assert_eq!(get(&*store, "brief/1").await.as_deref(), Some(&b"new"[..]));
}

/// R-FWK-39: a repeated put replaces the TTL.
pub async fn put_replaces_ttl<K: KeyValue>(store: Arc<K>) {
    put_with_ttl(&*store, "kept", SHORT_TTL).await;
    put(&*store, "kept", b"for ever").await;
    put_with_ttl(&*store, "longer", SHORT_TTL).await;
    put_with_ttl(&*store, "longer", Duration::from_secs(3_600)).await;
    put(&*store, "shorter", b"for ever").await;
    put_with_ttl(&*store, "shorter", 2 * SHORT_TTL).await;
    wait_until_expired(&*store, "shorter").await;
    assert_eq!(list(&*store, "").await, ["kept", "longer"]);
    assert_eq!(get(&*store, "kept").await.as_deref(), Some(&b"for ever"[..]));
    assert_eq!(get(&*store, "longer").await.as_deref(), Some(&b"brief"[..]));
}

/// R-FWK-39: keys are listed byte by byte, those with the prefix and no others.
pub async fn keys_are_listed_byte_by_byte<K: KeyValue>(store: Arc<K>) {
    let mut keys = [
        "a", "a/", "a//b", "a/b", "a/B", "a-b/c", "a.b", "a0", "a:b", "a_b", "aa", "B", "a/b/c", "a/b-c", "/", "9",
        "10",
    ];
    for key in keys {
        put(&*store, key, key.as_bytes()).await;
    }
    keys.sort_unstable();
    assert_eq!(list(&*store, "").await, keys);
    for prefix in ["a", "a/", "a/b", "a-", "A", "a/b/", "a/b/c", "a/b/c/", "zz", "/"] {
        let expected: Vec<&str> = keys.iter().copied().filter(|key| key.starts_with(prefix)).collect();
        assert_eq!(list(&*store, prefix).await, expected, "{prefix}");
    }
}

/// R-FWK-39: a list starts after a key, which need not exist, and ends at a limit.
pub async fn keys_are_listed_page_by_page<K: KeyValue>(store: Arc<K>) {
    let mut keys: Vec<String> = (0..60).map(|number| format!("p/{}/{}", number % 7, number * 37 % 101)).collect();
    keys.extend(["o".to_owned(), "p".to_owned(), "q/1".to_owned()]);
    for key in &keys {
        put(&*store, key, b"").await;
    }
    keys.retain(|key| key.starts_with("p/"));
    keys.sort_unstable();
    for size in [1, 7, 59, 60, 61] {
        let (mut listed, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = store.list("p/", after.as_deref(), size).await.expect("listing works");
            assert!(page.len() <= size);
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            listed.extend(page);
        }
        assert_eq!(listed, keys, "in pages of {size}");
    }
    for after in ["a", "p/", "p/3", "p/3/zz", "p/9", "z", "p"] {
        let expected: Vec<String> = keys.iter().filter(|key| ***key > *after).cloned().collect();
        assert_eq!(store.list("p/", Some(after), usize::MAX).await.expect("listing works"), expected, "{after}");
    }
    assert!(store.list("p/", None, 0).await.expect("listing works").is_empty());
}

/// R-FWK-39: characters of pattern languages have no meaning in a prefix.
pub async fn a_prefix_is_no_pattern<K: KeyValue>(store: Arc<K>) {
    for key in ["a.b", "a_b", "axb", "a-b", "a/b", "a:b", "A.b"] {
        put(&*store, key, b"").await;
    }
    for (prefix, expected) in [("a.", "a.b"), ("a_", "a_b"), ("a-", "a-b"), ("a:", "a:b"), ("A", "A.b")] {
        assert_eq!(list(&*store, prefix).await, [expected]);
    }
    for prefix in
        ["*", "a*", "a?b", "?", "[a]", "a[.]b", "a%", "%", "a\\", "a\\.b", "^a", "a$", "(", "a'b", "{a}", "a "]
    {
        assert!(list(&*store, prefix).await.is_empty(), "{prefix}");
    }
}

/// R-FWK-39: every valid character can be in a key, at any position, and all are distinct.
pub async fn every_character_can_be_in_a_key<K: KeyValue>(store: Arc<K>) {
    let characters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("_.:/-".chars()).collect();
    let mut keys: BTreeSet<String> = characters.iter().map(char::to_string).collect();
    keys.extend(characters.iter().map(|character| format!("in{character}side")));
    keys.extend(["..", "../x", "./x", "a/../b", "//", "a/./b", "con", "nul", "x.tmp", "-", "--"].map(str::to_owned));
    keys.extend(["x", "X", "x/", ".", "-x."].map(|piece| piece.repeat(MAX_KEY_BYTES / piece.len())));
    keys.extend([format!("{}y", "x".repeat(MAX_KEY_BYTES - 1)), format!("{}/y", "x".repeat(MAX_KEY_BYTES - 2))]);
    for key in &keys {
        assert!(put_new(&*store, key, key.as_bytes()).await, "{key}: another key is like it");
    }
    for key in &keys {
        assert_eq!(get(&*store, key).await.as_deref(), Some(key.as_bytes()), "{key}");
    }
    assert_eq!(list(&*store, "").await, keys.iter().cloned().collect::<Vec<_>>());
    let all: Vec<String> = keys.into_iter().collect();
    store.delete(&all).await.expect("deleting works");
    assert!(list(&*store, "").await.is_empty());
}

/// R-FWK-39: a text that is not a key is rejected and puts nothing.
pub async fn an_invalid_key_is_rejected<K: KeyValue>(store: Arc<K>) {
    let long = "x".repeat(MAX_KEY_BYTES + 1);
    for key in ["", "a b", "a*", "é", "a\u{0}", "a\\b", "a=b", "a%b", &long] {
        let error = store.put(key, b"x", PutOptions::default()).await.expect_err("it is no key");
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::InputInvalid, false), "{key:?}");
    }
    assert!(list(&*store, "").await.is_empty());
}

/// R-FWK-39: values of 5 megabytes are returned.
pub async fn long_values_round_trip<K: KeyValue>(store: Arc<K>) {
    let value = |seed: u32| -> Vec<u8> {
        let numbers = (0..5 * 1_024 * 256_u32).map(|number| (number ^ seed).wrapping_mul(2_654_435_761));
        numbers.flat_map(u32::to_le_bytes).collect()
    };
    let keys = [1, 2, 3].map(|seed| format!("long/{seed}"));
    for (seed, key) in (1..).zip(&keys) {
        assert!(put_new(&*store, key, &value(seed)).await);
    }
    for (seed, stored) in (1..).zip(store.get_many(&keys).await.expect("getting works")) {
        assert!(stored.is_some_and(|stored| stored == value(seed)), "value {seed} is another one");
    }
}

/// Expands to one test for each guarantee of a key-value store; invoke it in a module of its own.
///
/// The first argument opens an empty store. The second drives a future to completion and is only needed by stores
/// that require a runtime.
#[macro_export]
macro_rules! key_value_conformance {
    ($open:expr) => {
        $crate::key_value_conformance!($open, $crate::testing::block_on);
    };
    ($open:expr, $drive:expr) => {
        use $crate::testing::key_value::{self as checks, concurrency};

        /// R-FWK-39: a value is returned until it is replaced, also an empty one.
        #[test]
        fn get_returns_last_put_value() {
            checks::check($open, $drive, checks::get_returns_last_put_value);
        }

        /// R-FWK-39: a missing key has no value; several keys are answered in their order.
        #[test]
        fn a_key_that_is_not_there_has_no_value() {
            checks::check($open, $drive, checks::a_key_that_is_not_there_has_no_value);
        }

        /// R-FWK-39: a put of a new key is rejected if the key exists, and accepted after its deletion.
        #[test]
        fn a_new_key_is_rejected_if_it_exists() {
            checks::check($open, $drive, checks::a_new_key_is_rejected_if_it_exists);
        }

        /// R-FWK-39: deleting removes the named keys and no others, and a missing key is no error.
        #[test]
        fn deleting_removes_what_is_named() {
            checks::check($open, $drive, checks::deleting_removes_what_is_named);
        }

        /// R-FWK-39: an expired key is absent for every method, and can be put as a new key.
        #[test]
        fn an_expired_key_is_absent_for_every_method() {
            checks::check($open, $drive, checks::an_expired_key_is_absent_for_every_method);
        }

        /// R-FWK-39: a repeated put replaces the TTL.
        #[test]
        fn put_replaces_ttl() {
            checks::check($open, $drive, checks::put_replaces_ttl);
        }

        /// R-FWK-39: keys are listed byte by byte, those with the prefix and no others.
        #[test]
        fn keys_are_listed_byte_by_byte() {
            checks::check($open, $drive, checks::keys_are_listed_byte_by_byte);
        }

        /// R-FWK-39: a list starts after a key, which need not exist, and ends at a limit.
        #[test]
        fn keys_are_listed_page_by_page() {
            checks::check($open, $drive, checks::keys_are_listed_page_by_page);
        }

        /// R-FWK-39: characters of pattern languages have no meaning in a prefix.
        #[test]
        fn a_prefix_is_no_pattern() {
            checks::check($open, $drive, checks::a_prefix_is_no_pattern);
        }

        /// R-FWK-39: every valid character can be in a key, at any position, and all are distinct.
        #[test]
        fn every_character_can_be_in_a_key() {
            checks::check($open, $drive, checks::every_character_can_be_in_a_key);
        }

        /// R-FWK-39: a text that is not a key is rejected and puts nothing.
        #[test]
        fn an_invalid_key_is_rejected() {
            checks::check($open, $drive, checks::an_invalid_key_is_rejected);
        }

        /// R-FWK-39: values of 5 megabytes are returned.
        #[test]
        fn long_values_round_trip() {
            checks::check($open, $drive, checks::long_values_round_trip);
        }

        /// R-FWK-39: of many concurrent puts of a new key one succeeds, and its value stays.
        #[test]
        fn one_of_many_concurrent_puts_of_a_new_key_succeeds() {
            concurrency::check($open, $drive, concurrency::one_of_many_concurrent_puts_of_a_new_key_succeeds());
        }

        /// R-FWK-39: of many concurrent puts of an expired key one succeeds.
        #[test]
        fn one_of_many_concurrent_puts_of_an_expired_key_succeeds() {
            concurrency::check($open, $drive, concurrency::one_of_many_concurrent_puts_of_an_expired_key_succeeds());
        }

        /// R-FWK-39: a reader sees complete values only while writers are active.
        #[test]
        fn readers_see_complete_values() {
            concurrency::check($open, $drive, concurrency::readers_see_complete_values());
        }
    };
}
