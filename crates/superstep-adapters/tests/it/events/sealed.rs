//! Events sealed on their way to a store: nothing readable below, and each where it belongs.

use serde_json::json;
use superstep::Memory;
use superstep::core::datum::Datum;
use superstep::core::error::Code;
use superstep::core::port::StoredEvent;
use superstep_adapters::sealed::{Key, Sealed};

use super::{event, heard, say, take};

fn key(number: u8) -> Key {
    Key::from_bytes([number; 32])
}

/// A store that has these events, as they are, on a thread.
async fn holding(thread: &str, events: Vec<StoredEvent>) -> Memory {
    let store = Memory::new();
    let lease = take(&store, thread).await;
    say(&store, &lease, events).await.unwrap();
    store
}

/// R-FWK-48, R-REF-64: events are sealed and bound to their thread and number; one that was changed or moved is refused by
/// its number.
#[tokio::test]
async fn an_event_that_was_changed_or_moved_is_refused_by_number() {
    let below = Memory::new();
    let sealed = Sealed::new(below.clone(), key(1));
    let lease = take(&sealed, "t").await;
    let said = vec![event(1, json!("S3CRET one")), event(2, json!({ "S3CRET": "two" }))];
    say(&sealed, &lease, said.clone()).await.unwrap();
    assert_eq!(heard(&sealed, "t").await.unwrap(), said);
    let hidden = heard(&below, "t").await.unwrap();
    assert!(!format!("{hidden:?}").contains("S3CRET"));

    let [one, two] = &hidden[..] else { panic!("{hidden:?}") };
    let moved = |from: &StoredEvent, number: u64| StoredEvent { number, ..from.clone() };
    let mut text = one.body.to_json().unwrap()["__sealed__"].as_str().unwrap().to_owned();
    let middle = text.len() / 2;
    text.replace_range(middle..=middle, if text[middle..].starts_with('A') { "B" } else { "A" });
    let changed = StoredEvent { body: Datum::json(json!({ "__sealed__": text })), ..one.clone() };
    let rows = [
        ("t", vec![moved(two, 1), two.clone()], "event `1`"),
        ("t", vec![one.clone(), moved(one, 2)], "event `2`"),
        ("u", vec![one.clone()], "event `1`"),
        ("t", vec![changed], "event `1`"),
        ("t", vec![one.clone(), event(2, json!("plain"))], "event `2`"),
    ];
    for (thread, events, named) in rows {
        let error = heard(&Sealed::new(holding(thread, events).await, key(1)), thread).await.unwrap_err();
        assert_eq!(error.code(), Code::CheckpointCorrupt, "{error}");
        assert!(error.message().starts_with(&format!("thread `{thread}`: {named} ")), "{error}");
    }
    assert!(heard(&Sealed::new(below.clone(), key(2)), "t").await.is_err(), "another key opens nothing");
    let rotated = Sealed::new(below, key(2)).with_old_key(key(1));
    assert_eq!(heard(&rotated, "t").await.unwrap(), said);
}
