//! Offloaded values: the wrapped checkpointer contains no large values, the behavior is unchanged, and no
//! unreferenced values remain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::error::Result;
use superstep::core::port::{
    CheckpointSelector, Checkpointer, HistoryQuery, KeyValue, PutOptions, Retention, SharedCheckpointer,
};
use superstep::core::schema::{Schema, field};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode};
use superstep_adapters::encrypted::{EncryptedCheckpointer, EncryptionKey};
use superstep_adapters::offloaded::{CollectReport, OffloadedCheckpointer};

use crate::encrypted::everything;

mod conformance {
    superstep_core::checkpointer_conformance!(crate::offloaded::empty);
}

/// Returns a checkpointer that offloads all but the shortest values.
fn empty() -> OffloadedCheckpointer<MemoryCheckpointer, Bucket> {
    OffloadedCheckpointer::new(MemoryCheckpointer::new(), Bucket::default()).threshold_bytes(6)
}

/// A key-value store in memory. Values with a time to live stay until `pass_time`.
#[derive(Clone, Default)]
struct Bucket(Arc<Mutex<Values>>);

type Values = BTreeMap<String, (Vec<u8>, bool)>;

impl Bucket {
    fn values(&self) -> Vec<String> {
        let is_value = |key: &&String| key.starts_with("superstep/value/");
        self.0.lock().unwrap().keys().filter(is_value).cloned().collect()
    }

    fn pass_time(&self) {
        self.0.lock().unwrap().retain(|_, (_, lasts)| !*lasts);
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.0.lock().unwrap().values_mut().next().unwrap().0);
    }
}

impl KeyValue for Bucket {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(key).map(|(value, _)| value.clone()))
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        let mut values = self.0.lock().unwrap();
        if put.if_absent && values.contains_key(key) {
            return Ok(false);
        }
        values.insert(key.to_owned(), (value.to_vec(), put.ttl.is_some()));
        Ok(true)
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let mut values = self.0.lock().unwrap();
        keys.iter().for_each(|key| drop(values.remove(key)));
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let values = self.0.lock().unwrap();
        let is_match = |key: &&String| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after);
        Ok(values.keys().filter(is_match).take(limit).cloned().collect())
    }
}

#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Study {
    text: String,
    #[reduce(merge)]
    notes: BTreeMap<String, String>,
    #[reduce(add)]
    rounds: u64,
}

/// Builds a graph that writes a note in each of a number of rounds.
fn study(store: impl Into<SharedCheckpointer>, rounds: u64) -> CompiledGraph<Study> {
    let mut graph = StateGraph::<Study>::new("study");
    let note = graph.add_node("note", |study: View<Study>| {
        Study::update().notes((format!("note {}", study.rounds % 4), long("note", study.rounds))).rounds(1_u64)
    });
    let route = move |study: &Study| if study.rounds < rounds { Goto::node(note) } else { Goto::end() };
    graph.add_edge(START, note).add_conditional_edges(note, route, [note.into(), END]);
    graph.checkpointer(store).compile().unwrap()
}

fn long(label: &str, number: u64) -> String {
    format!("{label} {number} ").repeat(100)
}

/// R-FWK-40: large values are stored once in the key-value store and are read back, including full values that the
/// wrapped checkpointer requests.
#[tokio::test]
async fn large_values_are_offloaded_and_read_back() {
    let (wrapped, bucket) = (MemoryCheckpointer::new(), Bucket::default());
    let offloaded = OffloadedCheckpointer::new(wrapped.clone(), bucket.clone()).threshold_bytes(500);
    let done = study(offloaded.clone(), 60)
        .invoke(Study::input().text(long("text", 1)))
        .thread("t")
        .recursion_limit(100)
        .await
        .unwrap();
    assert_eq!((done.state.rounds, &done.state.notes["note 3"]), (60, &long("note", 59)));
    assert_eq!(*study(offloaded.clone(), 60).threads().get_state("t").await.unwrap().state, *done.state);
    let plain = MemoryCheckpointer::new();
    study(plain.clone(), 60)
        .invoke(Study::input().text(long("text", 1)))
        .thread("t")
        .recursion_limit(100)
        .await
        .unwrap();
    let (hidden, visible) = (everything(&wrapped, "t").await, everything(&offloaded, "t").await);
    assert!(!hidden.contains("text 1 text 1") && !hidden.contains("note 7 note 7"));
    assert!(visible.contains("text 1 text 1") && visible.contains("note 7 note 7"));
    let newest =
        wrapped.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest).await.unwrap().unwrap();
    let (_, log) = newest.fields.into_iter().find(|(field, _)| **field == *"notes").unwrap();
    assert!(log.len() < 40, "{} changes: a whole value stands between them", log.len());
}

/// R-FWK-40: a missing or changed value results in an error with its name, and never reaches a node.
#[tokio::test]
async fn a_value_that_was_changed_is_rejected_by_name() {
    let changes: [fn(&mut Vec<u8>); 3] =
        [|value| value[40] ^= 1, |value| value.truncate(30), |value| *value = b"\"another\"".to_vec()];
    for change in changes {
        let (wrapped, bucket) = (MemoryCheckpointer::new(), Bucket::default());
        let offloaded = OffloadedCheckpointer::new(wrapped, bucket.clone()).threshold_bytes(500);
        let compiled = study(offloaded.clone(), 0);
        compiled.invoke(Study::input().text(long("text", 1))).thread("t").await.unwrap();
        bucket.change(change);
        let message = history_error(&offloaded).await;
        assert!(message.contains("was changed"), "{message}");
        for part in ["thread `t`, checkpoint ", "field `", "superstep/value/"] {
            assert!(message.contains(part), "{message}");
        }
    }
    let bucket = Bucket::default();
    let offloaded = OffloadedCheckpointer::new(MemoryCheckpointer::new(), bucket.clone()).threshold_bytes(500);
    study(offloaded.clone(), 0).invoke(Study::input().text(long("text", 1))).thread("t").await.unwrap();
    bucket.delete(&bucket.values()).await.unwrap();
    let message = history_error(&offloaded).await;
    assert!(message.contains("is missing"), "{message}");
}

async fn history_error(store: &impl Checkpointer) -> String {
    let listed = store.history(&"t".into(), &CheckpointNamespace::root(), &HistoryQuery::default()).await;
    let error = listed.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    error.to_string()
}

/// R-FWK-40: values that look like references are stored like any other.
#[tokio::test]
async fn values_that_look_like_references_round_trip() {
    let schema = Schema::builder("odd").field(field("odd")).build().unwrap();
    let mut graph = StateGraph::<DynamicState>::with_schema("odd", schema);
    let node = graph.add_node("node", || ());
    graph.add_edge(START, node).add_edge(node, END).checkpointer(empty());
    let compiled = graph.compile().unwrap();
    let zeros = "0".repeat(64);
    let rows = [
        json!({ "__spilled__": { "sha256": zeros, "copy": 0 } }),
        json!({ "__spilled__": 1 }),
        json!({ "__kept__": { "__kept__": 1 } }),
        json!({ "__kept__": 1, "more": 2 }),
    ];
    for (number, odd) in rows.into_iter().enumerate() {
        let thread = format!("t{number}");
        compiled.invoke(json!({ "odd": odd })).thread(&*thread).await.unwrap();
        let state = compiled.threads().get_state(&*thread).await.unwrap().state;
        assert_eq!(state.to_json()["odd"], odd);
    }
}

/// R-FWK-40: unreferenced values are removed after a time; referenced values are not, nor values that are referenced
/// again meanwhile.
#[tokio::test]
async fn unreferenced_values_are_removed_in_two_rounds() {
    let hour = Duration::from_secs(3_600);
    let bucket = Bucket::default();
    let offloaded = OffloadedCheckpointer::new(MemoryCheckpointer::new(), bucket.clone()).threshold_bytes(500);
    for thread in ["kept", "gone"] {
        study(offloaded.clone(), 0).invoke(Study::input().text(long(thread, 1))).thread(thread).await.unwrap();
    }
    let all = bucket.values().len();
    assert_eq!(
        offloaded.collect_garbage(hour).await.unwrap(),
        CollectReport { referenced: all, marked: 0, removed: 0 }
    );
    offloaded.delete_thread(&"gone".into()).await.unwrap();
    let first = offloaded.collect_garbage(hour).await.unwrap();
    assert!(first.marked > 0 && first.removed == 0 && first.referenced + first.marked == all, "{first:?}");
    assert_eq!(offloaded.collect_garbage(hour).await.unwrap(), first, "a value was removed before its grace period");

    // The same text again, while the value is marked for removal.
    study(offloaded.clone(), 0).invoke(Study::input().text(long("gone", 1))).thread("again").await.unwrap();
    bucket.pass_time();
    let second = offloaded.collect_garbage(hour).await.unwrap();
    assert_eq!((second.removed, second.marked), (first.marked, 0));
    for (thread, text) in [("kept", "kept"), ("again", "gone")] {
        let state = study(offloaded.clone(), 0).threads().get_state(thread).await.unwrap().state;
        assert_eq!(state.text, long(text, 1));
    }
    offloaded.prune(&"kept".into(), &Retention { keep_last: 1, ..Retention::default() }).await.unwrap();
    assert_eq!(offloaded.collect_garbage(hour).await.unwrap().removed, 0);
}

/// R-FWK-40: two concurrent rounds with a writer in between remove no referenced value.
#[tokio::test]
async fn concurrent_rounds_remove_no_referenced_value() {
    let hour = Duration::from_secs(3_600);
    let bucket = Bucket::default();
    let offloaded = OffloadedCheckpointer::new(MemoryCheckpointer::new(), bucket.clone()).threshold_bytes(500);
    study(offloaded.clone(), 0).invoke(Study::input().text(long("text", 1))).thread("gone").await.unwrap();
    offloaded.delete_thread(&"gone".into()).await.unwrap();
    offloaded.collect_garbage(hour).await.unwrap();
    bucket.pass_time();
    let first = offloaded.collect_garbage(hour).await.unwrap();
    assert!(first.removed > 0 && bucket.values().is_empty(), "{first:?}");
    // The same value again is stored as another copy, because another round may still remove the first one.
    study(offloaded.clone(), 0).invoke(Study::input().text(long("text", 1))).thread("again").await.unwrap();
    assert!(bucket.values().iter().all(|key| key.ends_with(".1")), "{:?}", bucket.values());
    bucket.pass_time();
    assert_eq!(offloaded.collect_garbage(hour).await.unwrap().removed, 0);
    assert_eq!(study(offloaded, 0).threads().get_state("again").await.unwrap().state.text, long("text", 1));
}

/// R-FWK-40, R-FWK-48: with encryption around it, offloaded values are encrypted.
#[tokio::test]
async fn encrypted_values_are_encrypted_in_the_offload_store() {
    let (wrapped, bucket) = (MemoryCheckpointer::new(), Bucket::default());
    let store = EncryptedCheckpointer::new(
        OffloadedCheckpointer::new(wrapped, bucket.clone()).threshold_bytes(100),
        EncryptionKey::from_bytes([1; 32]),
    );
    let compiled = study(store, 0);
    compiled.invoke(Study::input().text(long("text", 1))).thread("t").await.unwrap();
    assert!(!bucket.values().is_empty());
    for key in bucket.values() {
        let value = bucket.get(&key).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&value).contains("text 1"));
    }
    assert_eq!(compiled.threads().get_state("t").await.unwrap().state.text, long("text", 1));
}
