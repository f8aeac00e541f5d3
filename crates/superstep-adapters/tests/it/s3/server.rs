//! The guarantees of the key-value port and the adapters built on it, on a server with the real protocol.

use std::time::Duration;

use superstep_adapters::s3::S3KeyValue;
use superstep_cluster::s3_server::{BUCKET, KEY_ID, SECRET};
use superstep_core::error::{Error, ErrorCode};
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::{DedicatedS3, ONLY_NEW, empty, open, options, own_folder, shared};

mod keys {
    superstep_core::key_value_conformance!(crate::s3::empty);
}

/// The conformance suite for checkpointers, without the groups that send thousands of requests, such as growth,
/// parallel and pruning: they take minutes on this server, and other key-value stores run them.
#[cfg(feature = "key-value")]
mod checkpoints {
    use superstep_adapters::key_value::KeyValueCheckpointer;
    use superstep_adapters::s3::S3KeyValue;
    use superstep_core::testing::block_on;

    fn store() -> KeyValueCheckpointer<S3KeyValue> {
        KeyValueCheckpointer::open(crate::s3::empty()).unwrap()
    }

    superstep_core::checkpointer_atomic!(store, block_on);
    superstep_core::checkpointer_copy_thread!(store, block_on);
    superstep_core::checkpointer_history!(store, block_on);
    superstep_core::checkpointer_leases!(store, block_on);
    superstep_core::checkpointer_forks!(store, block_on);
    superstep_core::checkpointer_pending_entries!(store, block_on);
    superstep_core::checkpointer_metadata!(store, block_on);
    superstep_core::checkpointer_retention!(store, block_on);
    superstep_core::checkpointer_prune_runs!(store, block_on);
    superstep_core::checkpointer_threads!(store, block_on);
    superstep_core::checkpointer_values!(store, block_on);
}

#[cfg(feature = "offloaded")]
mod offloading {
    use superstep::prelude::*;
    use superstep_adapters::offloaded::{CollectReport, OffloadedCheckpointer};
    use superstep_core::port::{Checkpointer, KeyValue};

    #[derive(GraphState, Clone, Serialize, Deserialize)]
    struct Page {
        text: String,
    }

    /// R-FWK-40: large values are stored in the bucket once, are read back, and are removed when unreferenced.
    #[test]
    fn large_values_are_stored_in_the_bucket_and_round_trip() {
        let (store, values) = (MemoryCheckpointer::new(), crate::s3::empty());
        let offloaded = OffloadedCheckpointer::new(store, values.clone()).threshold_bytes(100_000);
        let mut graph = StateGraph::<Page>::new("page");
        let read = graph.add_node("read", |page: View<Page>| assert!(page.text.len() > 100_000));
        graph.add_edge(START, read).add_edge(read, END).checkpointer(offloaded.clone());
        let graph = graph.compile().unwrap();
        let text = "a long page, ".repeat(80_000);
        for thread in ["one", "two"] {
            graph.invoke(Page::input().text(text.clone())).thread(thread).wait_blocking().unwrap();
        }
        superstep_core::testing::block_on(async {
            assert_eq!(graph.threads().get_state("two").await.unwrap().state.text, text);
            let keys = values.list("superstep/value/", None, 10).await.unwrap();
            assert_eq!(keys.len(), 1, "{keys:?}");
            for thread in ["one", "two"] {
                offloaded.delete_thread(&thread.into()).await.unwrap();
            }
            let wait = std::time::Duration::from_millis(1);
            assert_eq!(offloaded.collect_garbage(wait).await.unwrap().marked, 1);
            while offloaded.collect_garbage(wait).await.unwrap() != CollectReport::default() {}
            assert!(values.list("superstep/value/", None, 10).await.unwrap().is_empty());
        });
    }
}

/// R-FWK-40: more objects than fit in one page are listed, including those with a time to live.
#[test]
fn many_keys_take_several_lists() {
    let store = empty();
    let all: Vec<String> = (0..1_050).map(|number| format!("n/{number:04}")).collect();
    let put = |key: &str, number: usize| {
        let ttl = number.is_multiple_of(20).then_some(Duration::from_secs(3_600));
        assert!(block_on(store.put(key, b"1", PutOptions { if_absent: true, ttl })).unwrap());
    };
    std::thread::scope(|scope| {
        for chunk in all.chunks(150) {
            scope.spawn(|| chunk.iter().enumerate().for_each(|(number, key)| put(key, number)));
        }
    });
    block_on(async {
        assert_eq!(store.list("n/", None, usize::MAX).await.unwrap(), all);
        assert_eq!(store.list("n/", None, 1_020).await.unwrap(), all[..1_020]);
        assert_eq!(store.list("n/", Some("n/0009"), 1_000).await.unwrap(), all[10..1_010]);
        store.delete(&all).await.unwrap();
        assert_eq!(store.list("", None, 10).await.unwrap(), Vec::<String>::new());
    });
}

/// R-FWK-40: of several clients that take an expired lock one succeeds, even if all write the same value.
#[test]
fn an_expired_lock_is_acquired_once() {
    let (endpoint, folder) = (shared().url(), own_folder());
    let stores = [(); 4].map(|()| open(&options(&endpoint, &folder)));
    let acquire = |store: &S3KeyValue, ttl| {
        block_on(store.put("lock", b"locked", PutOptions { if_absent: true, ttl: Some(ttl) }))
    };
    for _ in 0..5 {
        block_on(stores[0].delete(&["lock".to_owned()])).unwrap();
        assert!(acquire(&stores[0], Duration::from_millis(1)).unwrap());
        while block_on(stores[0].get("lock")).unwrap().is_some() {}
        let acquired = std::thread::scope(|scope| {
            let racers =
                stores.each_ref().map(|store| scope.spawn(|| acquire(store, Duration::from_secs(3_600)).unwrap()));
            racers.map(|racer| racer.join().unwrap())
        });
        assert_eq!(acquired.iter().filter(|acquired| **acquired).count(), 1, "{acquired:?}");
    }
}

/// R-FWK-40: folders of one bucket are separate, even if one is the beginning of another.
#[test]
fn folders_are_isolated() {
    let (endpoint, folder) = (shared().url(), own_folder());
    let stores =
        [folder.clone(), format!("{folder}-a"), format!("{folder}.b")].map(|folder| open(&options(&endpoint, &folder)));
    for store in &stores {
        assert!(block_on(store.put("a", b"x", ONLY_NEW)).unwrap());
        assert_eq!(block_on(store.list("", None, 10)).unwrap(), ["a"]);
    }
    block_on(stores[0].delete(&["a".to_owned()])).unwrap();
    assert_eq!(block_on(stores[1].get("a")).unwrap(), Some(b"x".to_vec()));
}

/// R-FWK-40: a permanent error is returned immediately with help and without secrets.
#[test]
fn permanent_errors_are_reported() {
    let endpoint = shared().url();
    let folder = own_folder();
    let valid_options = options(&endpoint, &folder);
    for (options, message) in [
        (valid_options.clone().credentials("nobody", SECRET), "does not know the access key"),
        (valid_options.clone().credentials(KEY_ID, "so/wrong"), "rejected the secret"),
        (S3KeyValue::options("no-such-bucket").endpoint(&endpoint).credentials(KEY_ID, SECRET), "has no such bucket"),
    ] {
        let error = block_on(options.connect()).unwrap_err();
        let text = format!("{error} {error:?} {options:?}");
        assert!(text.contains(message) && text.contains("help: "), "{text}");
        assert!(!text.contains(SECRET) && !text.contains("so/wrong"), "{text}");
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, false));
    }
    let store = format!("{:?} {valid_options:?}", open(&valid_options));
    assert!(store.contains(BUCKET) && !store.contains(SECRET), "{store}");
}

/// R-FWK-40: an unreachable server results in a retryable error.
#[test]
fn an_unreachable_server_is_a_retryable_error() {
    let server = DedicatedS3::start("gone");
    // Long enough for the first responses of a server on a busy machine.
    let options = options(&server.0.url(), "f").retry_timeout(Duration::from_secs(9));
    let store = open(&options);
    assert!(block_on(store.put("a", b"1", ONLY_NEW)).unwrap());
    drop(server);
    let attempts: [&(dyn Fn() -> Error + Sync); 6] = [
        &|| block_on(store.put("b", b"1", ONLY_NEW)).unwrap_err(),
        &|| block_on(store.put("b", b"1", PutOptions::default())).unwrap_err(),
        &|| block_on(store.get("a")).unwrap_err(),
        &|| block_on(store.list("", None, 1)).unwrap_err(),
        &|| block_on(store.delete(&["a".to_owned()])).unwrap_err(),
        &|| block_on(options.connect()).unwrap_err(),
    ];
    // Each attempt waits for the retry timeout, so they run concurrently.
    std::thread::scope(|scope| {
        for attempt in attempts.map(|attempt| scope.spawn(attempt)) {
            let error = attempt.join().unwrap();
            assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true), "{error}");
            assert!(error.message().contains("could not be reached"), "{error}");
        }
    });
}
