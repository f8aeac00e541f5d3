//! Encrypted events: the wrapped checkpointer sees no plaintext, and each event is bound to its location.

use serde_json::json;
use superstep::MemoryCheckpointer;
use superstep::core::error::ErrorCode;
use superstep::core::port::StoredEvent;
use superstep::core::value::AnyValue;
use superstep_adapters::encrypted::{EncryptedCheckpointer, EncryptionKey};

use super::{acquire, commit_events, event, read_events};

fn key(number: u8) -> EncryptionKey {
    EncryptionKey::from_bytes([number; 32])
}

/// Returns a checkpointer with these events on a thread, stored unchanged.
async fn store_with_events(thread: &str, events: Vec<StoredEvent>) -> MemoryCheckpointer {
    let store = MemoryCheckpointer::new();
    let lease = acquire(&store, thread).await;
    commit_events(&store, &lease, events).await.unwrap();
    store
}

/// R-FWK-48, R-REF-64: events are encrypted and bound to thread and number; a changed or moved event results in an
/// error with its number.
#[tokio::test]
async fn an_event_that_was_changed_or_moved_is_rejected_by_number() {
    let wrapped = MemoryCheckpointer::new();
    let encrypted = EncryptedCheckpointer::new(wrapped.clone(), key(1));
    let lease = acquire(&encrypted, "t").await;
    let committed = vec![event(1, json!("S3CRET one")), event(2, json!({ "S3CRET": "two" }))];
    commit_events(&encrypted, &lease, committed.clone()).await.unwrap();
    assert_eq!(read_events(&encrypted, "t").await.unwrap(), committed);
    let hidden = read_events(&wrapped, "t").await.unwrap();
    assert!(!format!("{hidden:?}").contains("S3CRET"));

    let [one, two] = &hidden[..] else { panic!("{hidden:?}") };
    let moved = |from: &StoredEvent, number: u64| StoredEvent { number, ..from.clone() };
    let mut text = one.payload.to_json().unwrap()["__sealed__"].as_str().unwrap().to_owned();
    let middle = text.len() / 2;
    text.replace_range(middle..=middle, if text[middle..].starts_with('A') { "B" } else { "A" });
    let changed = StoredEvent { payload: AnyValue::json(json!({ "__sealed__": text })), ..one.clone() };
    let rows = [
        ("t", vec![moved(two, 1), two.clone()], "event `1`"),
        ("t", vec![one.clone(), moved(one, 2)], "event `2`"),
        ("u", vec![one.clone()], "event `1`"),
        ("t", vec![changed], "event `1`"),
        ("t", vec![one.clone(), event(2, json!("plain"))], "event `2`"),
    ];
    for (thread, events, named) in rows {
        let error = read_events(&EncryptedCheckpointer::new(store_with_events(thread, events).await, key(1)), thread)
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
        assert!(error.message().starts_with(&format!("thread `{thread}`: {named} ")), "{error}");
    }
    assert!(
        read_events(&EncryptedCheckpointer::new(wrapped.clone(), key(2)), "t").await.is_err(),
        "another key opens nothing"
    );
    let rotated = EncryptedCheckpointer::new(wrapped, key(2)).with_decryption_key(key(1));
    assert_eq!(read_events(&rotated, "t").await.unwrap(), committed);
}
