//! Values: every value is returned as it was saved.

use serde_json::{Value, json};

use super::writer::{Writer, plain, typed};
use crate::port::{CheckpointSelector, SharedCheckpointer};

/// Saves values of every kind of field, dynamic and typed, in one history and reads each checkpoint.
async fn check_round_trip(checkpointer: SharedCheckpointer, values: Vec<Value>) {
    for (thread, schema) in [("plain", plain()), ("typed", typed())] {
        let mut writer = Writer::with_schema(&checkpointer, thread, schema).await;
        let mut expected = Vec::new();
        for value in &values {
            let saved = writer.step(json!({ "data": value, "notes": { "key": value } })).await;
            expected.push((saved, writer.values()));
            assert_eq!(writer.values()["data"], *value, "the suite itself keeps the value");
        }
        for (saved, values) in expected {
            assert_eq!(writer.stored(CheckpointSelector::Id(saved)).await, values, "{thread}");
        }
    }
}

/// R-FWK-50: values of every JSON kind are returned.
pub async fn values_of_every_kind_round_trip(checkpointer: SharedCheckpointer) {
    check_round_trip(
        checkpointer,
        vec![json!(null), json!(true), json!(false), json!(1), json!("a"), json!([1]), json!({ "a": 1 })],
    )
    .await;
}

/// R-FWK-50: 64-bit integers are returned exactly.
pub async fn integers_of_64_bits_round_trip_exactly(checkpointer: SharedCheckpointer) {
    let exact = 1_i64 << 53;
    let numbers = [i64::MIN, i64::MIN + 1, -exact - 1, -1, 0, exact + 1, i64::MAX - 1, i64::MAX].map(Value::from);
    check_round_trip(checkpointer, numbers.into_iter().chain([json!(u64::MAX), json!(u64::MAX - 1)]).collect()).await;
}

/// R-FWK-50: floats are returned exactly, and a float with an integer value stays a float.
pub async fn floating_point_numbers_round_trip_exactly(checkpointer: SharedCheckpointer) {
    let numbers = [0.1, 1.0, -2.5, 1e21, f64::MAX, f64::MIN_POSITIVE, 0.1 + 0.2];
    check_round_trip(checkpointer, numbers.map(Value::from).to_vec()).await;
}

/// R-FWK-50: text outside ASCII and with control characters is returned.
pub async fn text_outside_ascii_round_trips(checkpointer: SharedCheckpointer) {
    let texts =
        ["Zürich", "naïve", "日本語", "🦀👩‍👩‍👧", "\u{0}", "a\u{0}b", "\u{7f}\u{feff}\u{2028}", "\"\\/\n\r\t", "%_'; --"];
    check_round_trip(checkpointer, texts.map(Value::from).to_vec()).await;
}

/// R-FWK-50: empty values are returned empty, and are not confused with absent ones.
pub async fn empty_values_round_trip(checkpointer: SharedCheckpointer) {
    let nested = json!({ "text": "", "list": [], "map": {}, "null": null, "": 0 });
    check_round_trip(checkpointer, vec![json!(""), json!([]), json!({}), json!([[], {}, null, ""]), nested]).await;
}

/// R-FWK-50: nested values are returned in full.
pub async fn nested_values_round_trip(checkpointer: SharedCheckpointer) {
    let deep = (0..50).fold(json!("core"), |inner, level| json!({ "level": level, "inner": [inner, level] }));
    check_round_trip(checkpointer, vec![deep, json!([[[1, [2]], { "a": [{ "b": null }] }], -1])]).await;
}

/// R-FWK-50: dates and text that looks like another kind of value are returned as text.
pub async fn text_that_looks_like_something_else_stays_text(checkpointer: SharedCheckpointer) {
    let texts = ["2026-02-28T12:00:00.000001Z", "1", "1.0", "true", "null", "{}", "[1]", "__remove__"];
    check_round_trip(checkpointer, texts.map(Value::from).to_vec()).await;
}

/// R-FWK-33: a value of five megabytes is returned.
pub async fn a_value_of_five_megabytes_round_trips(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let text: String = (0..5_000_000_u32).map(|index| char::from(b'a' + (index % 26) as u8)).collect();
    let saved = writer.step(json!({ "data": text })).await;
    writer.step(json!({ "count": 1 })).await;
    for at in [CheckpointSelector::Latest, CheckpointSelector::Id(saved)] {
        let stored = writer.stored(at).await;
        assert!(stored["data"].as_str() == Some(&*text), "the value is as it was");
    }
}

/// R-FWK-33: a list of many items of different sizes is returned.
pub async fn a_list_of_many_items_round_trips(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let items: Vec<String> = (0..5_000).map(|index| "é".repeat(index % 100)).collect();
    writer.step(json!({ "log": items })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-50: messages of every kind of content are returned.
pub async fn messages_round_trip(checkpointer: SharedCheckpointer) {
    for (thread, schema) in [("plain", plain()), ("typed", typed())] {
        let mut writer = Writer::with_schema(&checkpointer, thread, schema).await;
        writer.step(json!({ "chat": [{ "role": "user", "content": "Grüße", "id": "1" }] })).await;
        let call = json!({ "id": "c1", "name": "search", "args": { "q": "🦀", "n": i64::MAX } });
        writer.step(json!({ "chat": [{ "role": "assistant", "content": "", "id": "2", "tool_calls": [call] }] })).await;
        writer.step(json!({ "chat": [{ "role": "tool", "content": "[]", "id": "3", "tool_call_id": "c1" }] })).await;
        assert_eq!(writer.values()["chat"].as_array().map(Vec::len), Some(3));
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values(), "{thread}");
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_values {
    ($open:expr, $drive:expr) => {
        mod values {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, values as checks};

            /// R-FWK-50: values of every JSON kind are returned.
            #[test]
            fn values_of_every_kind_round_trip() {
                check($open, $drive, checks::values_of_every_kind_round_trip);
            }

            /// R-FWK-50: 64-bit integers are returned exactly.
            #[test]
            fn integers_of_64_bits_round_trip_exactly() {
                check($open, $drive, checks::integers_of_64_bits_round_trip_exactly);
            }

            /// R-FWK-50: floats are returned exactly, and a float with an integer value stays a float.
            #[test]
            fn floating_point_numbers_round_trip_exactly() {
                check($open, $drive, checks::floating_point_numbers_round_trip_exactly);
            }

            /// R-FWK-50: text outside ASCII and with control characters is returned.
            #[test]
            fn text_outside_ascii_round_trips() {
                check($open, $drive, checks::text_outside_ascii_round_trips);
            }

            /// R-FWK-50: empty values are returned empty, and are not confused with absent ones.
            #[test]
            fn empty_values_round_trip() {
                check($open, $drive, checks::empty_values_round_trip);
            }

            /// R-FWK-50: nested values are returned in full.
            #[test]
            fn nested_values_round_trip() {
                check($open, $drive, checks::nested_values_round_trip);
            }

            /// R-FWK-50: dates and text that looks like another kind of value are returned as text.
            #[test]
            fn text_that_looks_like_something_else_stays_text() {
                check($open, $drive, checks::text_that_looks_like_something_else_stays_text);
            }

            /// R-FWK-33: a value of five megabytes is returned.
            #[test]
            fn a_value_of_five_megabytes_round_trips() {
                check($open, $drive, checks::a_value_of_five_megabytes_round_trips);
            }

            /// R-FWK-33: a list of many items of different sizes is returned.
            #[test]
            fn a_list_of_many_items_round_trips() {
                check($open, $drive, checks::a_list_of_many_items_round_trips);
            }

            /// R-FWK-50: messages of every kind of content are returned.
            #[test]
            fn messages_round_trip() {
                check($open, $drive, checks::messages_round_trip);
            }
        }
    };
}
