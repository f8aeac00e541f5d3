//! Long events with their own keys, and the remaining data after events are deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
#[cfg(feature = "offloaded")]
use std::time::Duration;

use serde_json::json;
use superstep::core::error::{ErrorCode, Result};
use superstep::core::port::{Checkpointer, KeyValue, PutOptions};
use superstep_adapters::key_value::KeyValueCheckpointer;

use super::{acquire, commit_events, event, read_events};

/// A key-value store in memory.
#[derive(Clone, Default)]
struct Bucket(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Bucket {
    fn keys(&self, part: &str) -> Vec<String> {
        self.0.lock().unwrap().keys().filter(|key| key.contains(part)).cloned().collect()
    }

    /// Returns the format versions of the stored records.
    fn versions(&self) -> Vec<u8> {
        let values = self.0.lock().unwrap();
        values.iter().filter(|(key, _)| key.contains("/log/")).map(|(_, value)| value[3]).collect()
    }
}

impl KeyValue for Bucket {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        let mut values = self.0.lock().unwrap();
        if put.if_absent && values.contains_key(key) {
            return Ok(false);
        }
        values.insert(key.to_owned(), value.to_vec());
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

/// Returns a text that compresses badly.
fn noise(seed: u32) -> String {
    (0..2_000_u32).map(|index| format!("{:x}", index.wrapping_add(seed).wrapping_mul(2_654_435_761))).collect()
}

/// R-FWK-39: long events are separate values, which are deleted with their events; the next process reads the
/// remaining events, and only records with events have the format version that introduced them.
#[tokio::test]
async fn values_are_deleted_with_their_events() {
    let bucket = Bucket::default();
    let store = KeyValueCheckpointer::open(bucket.clone()).unwrap();
    let lease = acquire(&store, "t").await;
    let events = [event(1, json!(noise(1))), event(2, json!("short")), event(3, json!(noise(3)))];
    commit_events(&store, &lease, events.to_vec()).await.unwrap();
    assert_eq!((bucket.keys("/part/").len(), bucket.versions()), (2, vec![1, 2]));
    let other = KeyValueCheckpointer::open(bucket.clone()).unwrap();
    assert_eq!(read_events(&other, "t").await.unwrap(), events);
    store.delete_events(&"t".into(), 2).await.unwrap();
    assert_eq!(bucket.keys("/part/").len(), 1);
    assert_eq!(read_events(&other, "t").await.unwrap(), events[2..]);

    let lost = bucket.keys("/part/");
    bucket.delete(&lost).await.unwrap();
    let error = read_events(&other, "t").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
    store.delete_events(&"t".into(), 3).await.unwrap();
    assert_eq!(
        (read_events(&other, "t").await.unwrap(), other.last_event_number(&"t".into()).await.unwrap()),
        (Vec::new(), 3)
    );
}

/// R-FWK-39: compacting the log of a thread with many events keeps all events that were not deleted.
#[tokio::test]
async fn condensing_keeps_events() {
    let bucket = Bucket::default();
    let store = KeyValueCheckpointer::open(bucket.clone()).unwrap();
    let lease = acquire(&store, "t").await;
    for number in 1..=60 {
        commit_events(&store, &lease, vec![event(number, json!(number))]).await.unwrap();
    }
    store.delete_events(&"t".into(), 50).await.unwrap();
    assert!(bucket.keys("/log/").len() < 3, "{:?}", bucket.keys("/log/"));
    commit_events(&store, &lease, vec![event(61, json!(61))]).await.unwrap();
    let other = KeyValueCheckpointer::open(bucket).unwrap();
    let events: Vec<_> = (51..=61).map(|number| event(number, json!(number))).collect();
    assert_eq!(read_events(&other, "t").await.unwrap(), events);
    assert_eq!(other.last_event_number(&"t".into()).await.unwrap(), 61);
}

/// R-FWK-40: a large event is offloaded, its value is kept as long as the event exists, and a changed value results
/// in an error with the event number.
#[cfg(feature = "offloaded")]
#[tokio::test]
async fn large_events_are_offloaded_until_they_are_deleted() {
    use superstep::MemoryCheckpointer;
    use superstep_adapters::offloaded::OffloadedCheckpointer;

    let (wrapped, bucket) = (MemoryCheckpointer::new(), Bucket::default());
    let offloaded = OffloadedCheckpointer::new(wrapped.clone(), bucket.clone()).threshold_bytes(500);
    let lease = acquire(&offloaded, "t").await;
    let events = [event(1, json!(noise(1))), event(2, json!("short"))];
    commit_events(&offloaded, &lease, events.to_vec()).await.unwrap();
    assert_eq!(read_events(&offloaded, "t").await.unwrap(), events);
    assert!(!format!("{:?}", read_events(&wrapped, "t").await.unwrap()).contains(&noise(1)));
    let round = async || offloaded.collect_garbage(Duration::from_secs(60)).await.unwrap();
    assert_eq!((round().await.referenced, round().await.marked), (1, 0));

    let values = bucket.keys("superstep/value/");
    let original = bucket.0.lock().unwrap().insert(values[0].clone(), b"\"another\"".to_vec()).unwrap();
    let error = read_events(&offloaded, "t").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
    assert!(error.message().starts_with("thread `t`, event `1`: "), "{error}");
    bucket.0.lock().unwrap().insert(values[0].clone(), original);

    offloaded.delete_events(&"t".into(), 1).await.unwrap();
    assert_eq!(round().await.marked, 1);
    bucket.delete(&bucket.keys("superstep/waiting/")).await.unwrap();
    assert_eq!((round().await.removed, bucket.keys("superstep/value/").len()), (1, 0));
    assert_eq!(read_events(&offloaded, "t").await.unwrap(), events[1..]);
}
