//! Tests of the `KeyValue` contract on the emulator.

use std::time::{Duration, Instant};

use superstep_core::error::ErrorCode;
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::store_of_values;
use crate::firestore::{ONLY_NEW, collection, emulator, open, options};

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// R-FWK-38: a value that was put is read, replaced and removed.
#[test]
fn values_are_put_read_replaced_and_removed() {
    let store = store_of_values();
    block_on(async {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(store.get("a").await.unwrap(), None);
        assert!(store.put("a", &bytes, PutOptions::default()).await.unwrap());
        assert!(store.put("empty", &[], PutOptions::default()).await.unwrap());
        assert_eq!(store.get("a").await.unwrap(), Some(bytes));
        assert!(store.put("a", b"new", PutOptions::default()).await.unwrap());
        let requested = keys(&["a", "none", "empty", "a"]);
        let values = store.get_many(&requested).await.unwrap();
        assert_eq!(values, [Some(b"new".to_vec()), None, Some(Vec::new()), Some(b"new".to_vec())]);
        assert!(!store.put("a", b"newer", ONLY_NEW).await.unwrap());
        store.delete(&keys(&["a", "none", "a"])).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), None);
        assert!(store.put("a", b"again", ONLY_NEW).await.unwrap());
        assert_eq!(store.get("a").await.unwrap(), Some(b"again".to_vec()));
        assert_eq!(store.get_many(&[]).await.unwrap(), Vec::<Option<Vec<u8>>>::new());
        store.delete(&[]).await.unwrap();
    });
}

/// R-FWK-38: keys of all characters are distinct and listed in byte order; unusual ones are keys like others.
#[test]
fn keys_of_every_character_are_listed_in_order() {
    let store = store_of_values();
    let letters = "ABCXYZabcxyz019_.:/-";
    let mut all: Vec<String> = letters.chars().map(|letter| format!("p{letter}q")).collect();
    let odd = [".", "..", "/", "//", "__a__", "-", "p", "pz", "pz/", "q", "nothing"];
    all.extend(odd.iter().map(|key| (*key).to_owned()));
    all.extend(["/".repeat(512), "z".repeat(512)]);
    all.sort();
    block_on(async {
        for key in &all {
            assert!(store.put(key, key.as_bytes(), ONLY_NEW).await.unwrap(), "{key}");
        }
        for (key, value) in all.iter().zip(store.get_many(&all).await.unwrap()) {
            assert_eq!(value.as_deref(), Some(key.as_bytes()), "{key}");
        }
        for prefix in ["", "p", "pz", "pz/", "/", "none", "z"] {
            let expected: Vec<String> = all.iter().filter(|key| key.starts_with(prefix)).cloned().collect();
            assert_eq!(store.list(prefix, None, 1000).await.unwrap(), expected, "{prefix}");
            let (mut listed, mut after) = (Vec::new(), None::<String>);
            loop {
                let page = store.list(prefix, after.as_deref(), 3).await.unwrap();
                assert!(page.len() <= 3);
                let Some(last) = page.last() else { break };
                after = Some(last.clone());
                listed.extend(page);
            }
            assert_eq!(listed, expected, "{prefix}");
        }
        assert_eq!(store.list("p", Some("a"), 1).await.unwrap(), ["p"]);
        assert_eq!(store.list("p", Some("z"), 9).await.unwrap(), Vec::<String>::new());
        assert_eq!(store.list("", None, 0).await.unwrap(), Vec::<String>::new());
        for key in ["", "a b", "a~b", "\u{e4}"] {
            assert_eq!(
                store.put(key, b"", PutOptions::default()).await.unwrap_err().code(),
                ErrorCode::InputInvalid,
                "{key}"
            );
            assert_eq!(store.get(key).await.unwrap_err().code(), ErrorCode::InputInvalid, "{key}");
        }
    });
}

/// R-FWK-38: more keys than fit into one request are listed, read and removed.
#[test]
fn many_keys_take_several_requests() {
    let store = store_of_values();
    let all: Vec<String> = (0..450).map(|number| format!("n/{number:04}")).collect();
    std::thread::scope(|scope| {
        for share in all.chunks(50) {
            scope.spawn(|| share.iter().for_each(|key| assert!(block_on(store.put(key, b"1", ONLY_NEW)).unwrap())));
        }
    });
    block_on(async {
        assert_eq!(store.list("n/", None, usize::MAX).await.unwrap(), all);
        assert_eq!(store.list("n/", None, 420).await.unwrap(), all[..420]);
        assert!(store.get_many(&all).await.unwrap().iter().all(Option::is_some));
        store.delete(&all).await.unwrap();
        assert_eq!(store.list("", None, 10).await.unwrap(), Vec::<String>::new());
    });
}

/// R-FWK-38: if fifty clients put a new key concurrently, one succeeds, and its value is stored.
#[test]
fn one_of_many_puts_a_new_key() {
    let address = emulator();
    let name = collection();
    let store = open(&options(&address, &name));
    let others = open(&options(&address, &name));
    let race = |number: usize| {
        let store = if number.is_multiple_of(2) { &store } else { &others };
        block_on(store.put("lock", number.to_string().as_bytes(), ONLY_NEW)).unwrap()
    };
    let winners: Vec<usize> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..50).map(|number| (number, scope.spawn(move || race(number)))).collect();
        racers.into_iter().filter_map(|(number, racer)| racer.join().unwrap().then_some(number)).collect()
    });
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert_eq!(block_on(store.get("lock")).unwrap(), Some(winners[0].to_string().into_bytes()));
}

/// R-FWK-38: a value with a time to live is removed for every method when it expires, and not before.
#[test]
fn expired_values_are_absent() {
    let store = store_of_values();
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(3600));
    let with_ttl = |ttl| PutOptions { if_absent: true, ttl: Some(ttl) };
    block_on(async {
        let started = Instant::now();
        assert!(store.put("a", b"short", with_ttl(short)).await.unwrap());
        assert!(store.put("b", b"long", with_ttl(long)).await.unwrap());
        let was_put = store.put("a", b"other", ONLY_NEW).await.unwrap();
        let listed = store.list("", None, 9).await.unwrap();
        // A machine that was suspended for a second may already see the expired state.
        if started.elapsed() < short {
            assert!(!was_put);
            assert_eq!(listed, ["a", "b"]);
        }
        while store.get("a").await.unwrap().is_some() {
            assert!(started.elapsed() < Duration::from_secs(60), "the value did not expire");
        }
        assert_eq!(store.get_many(&keys(&["a", "b"])).await.unwrap(), [None, Some(b"long".to_vec())]);
        assert_eq!(store.list("", None, 1).await.unwrap(), ["b"]);
        assert!(store.put("a", b"next", ONLY_NEW).await.unwrap());
        assert_eq!(store.get("a").await.unwrap(), Some(b"next".to_vec()));
        store.put("b", b"for ever", PutOptions::default()).await.unwrap();
        assert!(store.put("c", b"over", with_ttl(Duration::ZERO)).await.unwrap());
        while store.sweep().await.unwrap().expired == 0 {
            assert!(started.elapsed() < Duration::from_secs(120), "the expired value was not removed");
        }
        assert_eq!(store.list("", None, 9).await.unwrap(), ["a", "b"]);
    });
}
