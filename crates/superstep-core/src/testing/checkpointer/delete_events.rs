//! Deletion of events: events stay until they are deleted, however long or many they are, or until their thread is
//! deleted.

use serde_json::json;

use super::events::{all_events, commit_events, event, last_number, numbers};
use super::writer::{Writer, run};
use crate::error::ErrorCode;
use crate::port::{CheckpointSelector, Commit, EventsQuery, Retention, SharedCheckpointer, StoredEvent};
use crate::value::AnyValue;

async fn delete_up_to(writer: &Writer, up_to: u64) {
    writer.checkpointer.delete_events(writer.thread(), up_to).await.expect("deleting works");
}

/// R-FWK-33: deleted events are gone, and no number is used again.
pub async fn deleted_event_numbers_are_not_reused(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=6 {
        commit_events(&mut writer, &[event(number, 1, json!("x".repeat(200 * number as usize)))]).await;
    }
    delete_up_to(&writer, 4).await;
    assert_eq!((numbers(&all_events(&writer).await), last_number(&writer).await), (vec![5, 6], 6));
    delete_up_to(&writer, 2).await;
    assert_eq!(numbers(&all_events(&writer).await), [5, 6], "what is gone stays gone, what stays stays");
    delete_up_to(&writer, u64::MAX).await;
    assert_eq!((all_events(&writer).await, last_number(&writer).await), (Vec::new(), 6));
    let late = Commit { events: vec![event(6, 1, json!("again"))], ..writer.entries_commit(Vec::new(), None) };
    assert_eq!(checkpointer.commit(&late).await.expect_err("the number was used").code(), ErrorCode::Internal);
    commit_events(&mut writer, &[event(7, 1, json!("on"))]).await;
    assert_eq!(all_events(&writer).await, [event(7, 1, json!("on"))]);
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-33: pruning checkpoints leaves events.
pub async fn pruning_leaves_events(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=30 {
        commit_events(
            &mut writer,
            &[event(number, 1, json!({ "n": number, "text": "t".repeat(100 * number as usize) }))],
        )
        .await;
    }
    let before = all_events(&writer).await;
    for count in [5, 1, 0] {
        checkpointer.prune(writer.thread(), &Retention::keep_last(count)).await.expect("pruning works");
    }
    assert_eq!((all_events(&writer).await, last_number(&writer).await), (before, 30));
}

/// R-FWK-33: a copy has the same events under the same numbers, and continues independently.
pub async fn a_copy_has_the_events(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=5 {
        commit_events(&mut writer, &[event(number, 1, json!("e".repeat(700 * number as usize)))]).await;
    }
    delete_up_to(&writer, 2).await;
    checkpointer.copy_thread(writer.thread(), &"copy".into()).await.expect("the target is free");
    let mut copy = writer.clone();
    copy.lease = checkpointer.acquire(&"copy".into(), run(2)).await.expect("no run holds the lease on the copy");
    assert_eq!((all_events(&copy).await, last_number(&copy).await), (all_events(&writer).await, 5));
    commit_events(&mut copy, &[event(6, 2, json!("of the copy"))]).await;
    assert_eq!(
        (numbers(&all_events(&copy).await), numbers(&all_events(&writer).await)),
        (vec![3, 4, 5, 6], vec![3, 4, 5])
    );
    delete_up_to(&writer, 5).await;
    checkpointer.copy_thread(writer.thread(), &"bare".into()).await.expect("the target is free");
    let bare = "bare".into();
    assert_eq!(checkpointer.events(&bare, &EventsQuery::default()).await.expect("failed to read events"), []);
    assert_eq!(checkpointer.last_event_number(&bare).await.expect("failed to read the last event number"), 5);
}

/// R-FWK-33: a deleted thread leaves no event, not even for a new thread with the same id.
pub async fn a_deleted_thread_leaves_no_event(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    commit_events(&mut writer, &[event(8, 1, json!("gone")), event(9, 1, json!("g".repeat(5_000)))]).await;
    let thread = writer.thread().clone();
    writer.close();
    checkpointer.delete_thread(&thread).await.expect("no run holds the lease");
    assert_eq!(checkpointer.events(&thread, &EventsQuery::default()).await.expect("failed to read events"), []);
    assert_eq!(checkpointer.last_event_number(&thread).await.expect("failed to read the last event number"), 0);
    let mut anew = Writer::open(&checkpointer, "thread").await;
    commit_events(&mut anew, &[event(1, 1, json!("new"))]).await;
    assert_eq!(all_events(&anew).await, [event(1, 1, json!("new"))]);
}

/// R-FWK-33: each thread has its own events and numbers.
pub async fn threads_have_events_of_their_own(checkpointer: SharedCheckpointer) {
    let (mut one, mut two) = (Writer::open(&checkpointer, "one").await, Writer::open(&checkpointer, "two").await);
    for number in 1..=4 {
        commit_events(&mut one, &[event(number, 1, json!(["one", number]))]).await;
        commit_events(&mut two, &[event(number * 10, 1, json!(["two", number]))]).await;
    }
    delete_up_to(&one, 3).await;
    assert_eq!((numbers(&all_events(&one).await), numbers(&all_events(&two).await)), (vec![4], vec![10, 20, 30, 40]));
    assert_eq!((last_number(&one).await, last_number(&two).await), (4, 40));
}

/// R-FWK-33: long bodies are returned unchanged.
pub async fn an_event_body_of_one_megabyte_round_trips(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let text: String = (0..150_000_u32).map(|index| format!("{:x}", index.wrapping_mul(2_654_435_761))).collect();
    let events = [event(1, 1, json!({ "text": text })), event(2, 1, json!("s")), event(3, 1, json!(vec![text; 2]))];
    commit_events(&mut writer, &events).await;
    assert_eq!(all_events(&writer).await, events);
    delete_up_to(&writer, 1).await;
    assert_eq!(all_events(&writer).await, events[1..]);
}

/// R-FWK-33: a thousand events are returned, from one commit and from many.
pub async fn a_thousand_events_round_trip(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let all: Vec<StoredEvent> = (1..=1_000).map(|number| event(number, 1, json!({ "number": number }))).collect();
    commit_events(&mut writer, &all[..900]).await;
    for one in all[900..].chunks(5) {
        commit_events(&mut writer, one).await;
    }
    assert_eq!(all_events(&writer).await, all);
    assert_eq!(last_number(&writer).await, 1_000);
}

/// R-FWK-33: text of any script and every kind of value is returned.
pub async fn text_of_any_script_round_trips(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let bodies = [
        json!("Grüße, 你好, שלום, 🦀\u{0}\u{1f}\"\\"),
        json!({ "ключ": ["значение", null, true, 18_446_744_073_709_551_615_u64, -0.5] }),
        json!(null),
        json!(""),
        json!({ "__sealed__": "x" }),
        json!({ "__spilled__": { "sha256": "0", "copy": 0 } }),
    ];
    let events: Vec<StoredEvent> = bodies.into_iter().zip(1..).map(|(body, number)| event(number, 1, body)).collect();
    commit_events(&mut writer, &events).await;
    assert_eq!(all_events(&writer).await, events);
}

/// R-FWK-33: the body of an event may be a native value.
pub async fn native_payloads_are_saved(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let live = StoredEvent { number: 1, run: run(1), payload: AnyValue::native(vec!["a".to_owned(), "b".to_owned()]) };
    commit_events(&mut writer, &[live]).await;
    assert_eq!(all_events(&writer).await[0].payload.to_json().expect("it is plain data"), json!(["a", "b"]));
}

/// R-FWK-33: the statistics count the bytes of events until they are deleted.
pub async fn events_count_as_bytes(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(1).await;
    let bytes = async || checkpointer.stats().await.expect("counting works").bytes;
    let before = bytes().await;
    let events = (1..=200).map(|number| event(number, 1, json!({ "number": number }))).collect();
    let alone = Commit { events, ..writer.entries_commit(Vec::new(), None) };
    checkpointer.commit(&alone).await.expect("events are enough");
    assert!(bytes().await > before + 1_000, "{} after {before}", bytes().await);
    delete_up_to(&writer, 200).await;
    assert_eq!(bytes().await, before);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_delete_events {
    ($open:expr, $drive:expr) => {
        mod delete_events {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, delete_events as checks};

            /// R-FWK-33: deleted events are gone, and no number is used again.
            #[test]
            fn deleted_event_numbers_are_not_reused() {
                check($open, $drive, checks::deleted_event_numbers_are_not_reused);
            }

            /// R-FWK-33: pruning checkpoints leaves events.
            #[test]
            fn pruning_leaves_events() {
                check($open, $drive, checks::pruning_leaves_events);
            }

            /// R-FWK-33: a copy has the same events under the same numbers, and continues independently.
            #[test]
            fn a_copy_has_the_events() {
                check($open, $drive, checks::a_copy_has_the_events);
            }

            /// R-FWK-33: a deleted thread leaves no event, not even for a new thread with the same id.
            #[test]
            fn a_deleted_thread_leaves_no_event() {
                check($open, $drive, checks::a_deleted_thread_leaves_no_event);
            }

            /// R-FWK-33: each thread has its own events and numbers.
            #[test]
            fn threads_have_events_of_their_own() {
                check($open, $drive, checks::threads_have_events_of_their_own);
            }

            /// R-FWK-33: long bodies are returned unchanged.
            #[test]
            fn an_event_body_of_one_megabyte_round_trips() {
                check($open, $drive, checks::an_event_body_of_one_megabyte_round_trips);
            }

            /// R-FWK-33: a thousand events are returned, from one commit and from many.
            #[test]
            fn a_thousand_events_round_trip() {
                check($open, $drive, checks::a_thousand_events_round_trip);
            }

            /// R-FWK-33: text of any script and every kind of value is returned.
            #[test]
            fn text_of_any_script_round_trips() {
                check($open, $drive, checks::text_of_any_script_round_trips);
            }

            /// R-FWK-33: the body of an event may be a native value.
            #[test]
            fn native_payloads_are_saved() {
                check($open, $drive, checks::native_payloads_are_saved);
            }

            /// R-FWK-33: the statistics count the bytes of events until they are deleted.
            #[test]
            fn events_count_as_bytes() {
                check($open, $drive, checks::events_count_as_bytes);
            }
        }
    };
}
