//! Tests of values that are too long for one document.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::{ONLY_NEW, PROJECT, collection, count, emulator, open, options, post};
use crate::server::{ProxyAction, ReceivedRequest, Server};

/// Returns bytes without repetition.
fn long(length: usize, seed: u64) -> Vec<u8> {
    let mut number = seed;
    let mut next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Returns the documents that a request names.
fn documents(request: &ReceivedRequest) -> Vec<String> {
    let body: Value = serde_json::from_str(&request.text()).unwrap();
    body["documents"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Returns a response in which every document has a value of `length` zeros; `length` is a multiple of three.
fn zeros(request: &ReceivedRequest, length: usize) -> String {
    let time = "2026-01-01T00:00:00Z";
    let items = documents(request).into_iter().map(|name| match name.rsplit_once("/k") {
        None => json!({ "missing": name, "readTime": time }),
        Some((_, key)) => {
            let value = json!({ "bytesValue": "AAAA".repeat(length / 3) });
            let fields = json!({ "key": { "stringValue": key }, "writer": { "stringValue": "w" }, "value": value });
            let document = json!({ "name": name, "fields": fields, "createTime": time, "updateTime": time });
            json!({ "found": document, "readTime": time })
        }
    });
    items.collect::<Value>().to_string()
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("a{number}")).collect()
}

/// R-FWK-38: one request reads many short values or few long ones.
#[test]
fn an_answer_has_only_so_many_bytes() {
    for (length, count, expected) in
        [(3, 250, vec![20, 100, 100, 30]), (300_000, 45, vec![20, 10, 10, 5]), (900_000, 27, vec![20, 4, 3])]
    {
        let server =
            Server::start(None, move |request| ProxyAction::Answer(200, String::new(), zeros(request, length)));
        let store = open(&options(&server.address, "c"));
        let values = block_on(store.get_many(&keys(count))).unwrap();
        assert!(values.len() == count && values.iter().flatten().all(|value| value.len() == length), "{length}");
        let batch: Vec<usize> = server.received("batchget").iter().map(|batch| documents(batch).len()).collect();
        assert_eq!(batch[1..], expected, "{length}: the first request is the check when connecting");
    }
}

/// R-FWK-38: a slow response is received as long as bytes arrive; a response that stops is abandoned.
#[test]
fn a_slow_answer_is_waited_for_and_one_that_stops_is_not() {
    let (timeout, limit) = (Duration::from_secs(9), Duration::from_secs(3));
    for (pause, is_received) in [(limit / 15, true), (limit * 2, false)] {
        let server = Server::start(None, move |request| match documents(request).len() {
            1 => ProxyAction::Answer(200, String::new(), zeros(request, 3)),
            _ => ProxyAction::Drip(pause, zeros(request, 3_000)),
        });
        let store = open(&options(&server.address, "c").retry_timeout(timeout));
        let values = block_on(store.get_many(&keys(5)));
        assert_eq!(values.as_ref().is_ok_and(|values| values.len() == 5), is_received, "{pause:?}");
        if let Err(error) = values {
            assert!(error.is_retryable() && error.message().contains("request timed out"), "{error}");
        } else {
            assert_eq!(server.received("batchget").len(), 2, "the request was not repeated once");
        }
    }
}

mod on_the_emulator {
    use super::*;

    /// R-FWK-38: values of 5 and 12 MB are stored; after a replacement, rejection or removal no parts remain.
    #[test]
    fn long_values_are_stored_in_parts() {
        let address = emulator();
        let name = collection();
        let store = open(&options(&address, &name));
        let parts = || count(&address, &format!("{name}-parts"));
        block_on(async {
            for length in [900 * 1024, 900 * 1024 + 1] {
                let value = long(length, 3);
                assert!(store.put("edge", &value, PutOptions::default()).await.unwrap());
                assert!(store.get("edge").await.unwrap() == Some(value), "{length}");
            }
            assert_eq!(parts(), 2);
            store.delete(&["edge".to_owned()]).await.unwrap();
            assert_eq!(parts(), 0);

            let (five, twelve) = (long(5_000_000, 1), long(12_000_000, 2));
            assert!(store.put("long", &five, ONLY_NEW).await.unwrap());
            assert!(store.get("long").await.unwrap().as_ref() == Some(&five));
            assert_eq!(parts(), 6);
            assert!(!store.put("long", &twelve, ONLY_NEW).await.unwrap());
            assert_eq!(parts(), 6, "chunks of the rejected value remain");
            assert!(store.put("long", &twelve, PutOptions::default()).await.unwrap());
            let both = store.get_many(&["none".to_owned(), "long".to_owned()]).await.unwrap();
            assert!(both[0].is_none() && both[1].as_ref() == Some(&twelve));
            assert_eq!(parts(), 14, "chunks of the replaced value remain");
            assert!(store.put("long", b"short", PutOptions::default()).await.unwrap());
            assert_eq!((store.get("long").await.unwrap(), parts()), (Some(b"short".to_vec()), 0));
        });
    }

    /// R-FWK-38: a read during the replacement of a long value returns the complete old or the complete new value.
    #[test]
    fn no_read_returns_half_of_a_value() {
        let address = emulator();
        let store = open(&options(&address, &collection()));
        let value = |number: u8| vec![number; 1_000_000];
        block_on(store.put("key", &value(0), PutOptions::default())).unwrap();
        std::thread::scope(|scope| {
            let write = || {
                (1..6).for_each(|number| {
                    assert!(block_on(store.put("key", &value(number), PutOptions::default())).unwrap())
                })
            };
            let writer = scope.spawn(write);
            while !writer.is_finished() {
                let bytes = block_on(store.get("key")).unwrap().unwrap();
                assert!(bytes == value(bytes[0]), "a read returned a mix of two values");
            }
        });
        assert!(block_on(store.get("key")).unwrap() == Some(value(5)));
    }

    /// R-FWK-38: if several clients put a new long value, one succeeds, and the others leave no parts behind.
    #[test]
    fn failed_puts_delete_their_chunks() {
        let address = emulator();
        let name = collection();
        let store = open(&options(&address, &name));
        let winners = std::thread::scope(|scope| {
            let race = |number: u8| block_on(store.put("key", &vec![number; 1_000_000], ONLY_NEW)).unwrap();
            let racers: Vec<_> = (0..5).map(|number| scope.spawn(move || race(number))).collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap().then_some(())).count()
        });
        assert_eq!((winners, count(&address, &format!("{name}-parts"))), (1, 2));
    }

    /// R-FWK-38: a sweep removes only old parts of a client that died before it put the document.
    #[test]
    fn a_sweep_removes_unreferenced_parts() {
        let address = emulator();
        let name = collection();
        let parts = || count(&address, &format!("{name}-parts"));
        let store = open(&options(&address, &name));
        let value = long(1_000_000, 9);
        block_on(store.put("kept", &value, PutOptions::default())).unwrap();

        // The document itself is never stored.
        let dying = Server::start(Some(&address), |request| {
            match request.is("commit") && request.text().contains("\"writer\"") {
                true => ProxyAction::Answer(503, String::new(), String::new()),
                false => ProxyAction::Pass,
            }
        });
        for key in ["kept", "lost"] {
            let error = {
                let store = open(&options(&dying.address, &name).retry_timeout(Duration::from_secs(6)));
                block_on(store.put(key, &value, PutOptions::default())).unwrap_err()
            };
            assert!(error.is_retryable(), "{error}");
        }
        // A document of another program.
        let documents = format!("projects/{PROJECT}/databases/(default)/documents");
        let foreign = json!({ "update": { "name": format!("{documents}/{name}-parts/x-00000"), "fields": {} } });
        post(&address, "commit", &json!({ "writes": [foreign] }));
        assert_eq!(parts(), 7);

        assert_eq!(block_on(store.sweep()).unwrap().unreferenced, 0);
        assert_eq!(parts(), 7, "chunks younger than the orphan age were removed");
        let sweeper = open(&options(&address, &name).orphan_age(Duration::ZERO));
        assert_eq!(block_on(sweeper.sweep()).unwrap().unreferenced, 2);
        assert_eq!(parts(), 3);
        assert!(block_on(store.get("kept")).unwrap() == Some(value));
        assert_eq!(block_on(store.get("lost")).unwrap(), None);
    }

    /// R-FWK-38: a document whose parts were swept before it was put is rejected, never put without them.
    #[test]
    fn a_value_is_never_put_without_its_parts() {
        let address = emulator();
        let name = collection();
        let sweeper = open(&options(&address, &name).orphan_age(Duration::ZERO));
        let slow = Server::start(Some(&address), move |request| {
            if request.is("commit") && request.text().contains("\"writer\"") {
                block_on(sweeper.sweep()).unwrap();
            }
            ProxyAction::Pass
        });
        let store = open(&options(&slow.address, &name).retry_timeout(Duration::from_secs(6)));
        let error = block_on(store.put("key", &long(1_000_000, 1), PutOptions::default())).unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert_eq!(block_on(store.get("key")).unwrap(), None);
        assert_eq!(count(&address, &format!("{name}-parts")), 0);
    }
}
