//! Changes of fields: only the changes are stored, and the full value is returned on read.

use std::sync::Arc;

use serde_json::{Value, json};

use super::writer::{Writer, plain, stored_values, typed};
use crate::change::Change;
use crate::json_reducer::remove_marker;
use crate::port::{CheckpointSelector, HistoryQuery, SharedCheckpointer};
use crate::schema::Schema;

/// Saves one step for each update, dynamic and typed, and compares every checkpoint with the state in memory.
async fn check_changes(checkpointer: SharedCheckpointer, updates: Vec<Value>, is_expected: fn(&Change) -> bool) {
    for (thread, schema) in [("plain", plain()), ("typed", typed())] {
        let mut writer = Writer::with_schema(&checkpointer, thread, schema).await;
        let (mut expected, mut has_expected) = (Vec::new(), false);
        for update in &updates {
            let commit = writer.build_commit(update.clone());
            has_expected |= commit.changes.iter().any(|change| is_expected(&change.change));
            let saved = writer.send(commit).await;
            expected.push((saved, writer.values()));
            assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values(), "{thread}: {update}");
        }
        assert!(has_expected, "the updates make the change this check is about");
        for (saved, values) in expected {
            assert_eq!(writer.stored(CheckpointSelector::Id(saved)).await, values, "{thread}: an older checkpoint");
        }
    }
}

/// R-FWK-42: values that are set are returned.
pub async fn set_values_round_trip(checkpointer: SharedCheckpointer) {
    let updates = ["a", "b", "", "é"].map(|title| json!({ "title": title })).to_vec();
    check_changes(checkpointer, updates, |change| *change == Change::Set).await;
}

/// R-FWK-42: lists that only grow are stored as their growth and returned in full.
pub async fn appended_items_round_trip(checkpointer: SharedCheckpointer) {
    let updates = (0..40).map(|index| json!({ "log": vec![format!("item {index}"); index % 3 + 1] })).collect();
    check_changes(checkpointer, updates, |change| matches!(change, Change::Appended { .. })).await;
}

/// R-FWK-42: splices of lists are replayed.
pub async fn spliced_items_round_trip(checkpointer: SharedCheckpointer) {
    let updates = (0..40).map(|index| json!({ "recent": vec![format!("item {index}"); index % 5] })).collect();
    check_changes(checkpointer, updates, |change| matches!(change, Change::Spliced { .. })).await;
}

/// R-FWK-42: keys that are set and removed are replayed.
pub async fn merged_and_removed_keys_round_trip(checkpointer: SharedCheckpointer) {
    let update = |index: u64| {
        let (set, removed) = (format!("key {}", index % 7), format!("key {}", (index + 3) % 7));
        json!({ "notes": { set: index, removed: remove_marker() } })
    };
    check_changes(checkpointer, (0..40).map(update).collect(), |change| matches!(change, Change::Merged { .. })).await;
}

/// R-FWK-42: messages that are added, replaced and removed are replayed.
pub async fn edited_messages_round_trip(checkpointer: SharedCheckpointer) {
    let update = |index: u64| {
        let (id, text) = ((index % 5).to_string(), format!("message {index}"));
        json!({ "chat": [{ "role": "user", "content": text, "id": id }] })
    };
    check_changes(checkpointer, (0..40).map(update).collect(), |change| !matches!(change, Change::Set)).await;
}

/// R-FWK-42: a list that is replaced after it grew, and then grows again, is returned in full.
pub async fn a_set_after_growth_starts_a_new_value(checkpointer: SharedCheckpointer) {
    let mut updates: Vec<Value> = (0..30).map(|index| json!({ "log": [format!("{index}")] })).collect();
    updates.insert(20, json!({ "log": { "__overwrite__": ["new"] } }));
    check_changes(checkpointer, updates, |change| matches!(change, Change::Appended { .. })).await;
}

/// R-FWK-42: fields that did not change keep their values, and a step without changes keeps all.
pub async fn fields_that_did_not_change_keep_their_values(checkpointer: SharedCheckpointer) {
    let mut updates = vec![json!({ "title": "first", "log": ["a"], "notes": { "k": 1 }, "data": { "d": [1] } })];
    updates.extend((0..20).map(|_| json!({ "count": 1 })));
    updates.insert(10, json!({}));
    check_changes(checkpointer, updates, |change| *change == Change::Set).await;
}

/// R-FWK-42, R-REF-69: a history of mixed changes equals the state in memory at every checkpoint.
pub async fn a_history_of_mixed_changes_reads_as_folded(checkpointer: SharedCheckpointer) {
    let mut random = 42_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut update = || match next(8) {
        0 => json!({ "title": format!("title {}", next(9)), "count": 1 }),
        1 => json!({ "data": { "n": next(1_000) } }),
        2 | 3 => json!({ "log": vec!["x"; next(4) as usize] }),
        4 => json!({ "recent": ["r"], "log": ["y"] }),
        5 => json!({ "notes": { format!("k{}", next(5)): next(100) } }),
        6 => json!({ "notes": { format!("k{}", next(5)): remove_marker() } }),
        _ => json!({ "chat": [{ "role": "user", "content": "hi", "id": next(6).to_string() }] }),
    };
    let updates = (0..200).map(|_| update()).collect();
    check_changes(checkpointer, updates, |change| matches!(change, Change::Merged { .. })).await;
}

/// R-FWK-33: the changes of each field begin with a full value.
pub async fn the_changes_of_a_field_begin_with_a_full_value(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 0..50 {
        writer.step(json!({ "log": [index], "recent": [index], "notes": { "k": index } })).await;
    }
    for loaded in writer.history(&HistoryQuery::default()).await {
        assert_eq!(loaded.fields.len(), writer.schema.fields().len());
        for (field, log) in &loaded.fields {
            let first = log.first().map(|(change, _)| change.clone());
            assert_eq!(first, Some(Change::Set), "field `{field}` of {}", loaded.checkpoint.id);
        }
    }
}

/// R-FWK-42: a field that was added to the schema later is stored in full when it first changes.
pub async fn a_field_added_later_is_stored_in_full(checkpointer: SharedCheckpointer) {
    let old = Schema::from_json("old", &json!({ "count": { "type": "integer", "reducer": "add", "default": 0 } }));
    let mut writer = Writer::with_schema(&checkpointer, "thread", old.expect("the schema is valid")).await;
    let before = writer.steps(2).await;
    let mut later = Writer { schema: plain(), state: plain().initial_state(), ..writer.clone() };
    later.step(json!({ "count": 2, "log": ["first"] })).await;
    later.step(json!({ "log": ["second"] })).await;
    let stored = later.stored(CheckpointSelector::Latest).await;
    assert_eq!((&stored["count"], &stored["log"]), (&json!(2), &json!(["first", "second"])));
    assert_eq!(writer.stored(CheckpointSelector::Id(before[1])).await, json!({ "count": 2 }));
}

/// R-FWK-42: loading after a thousand steps that each add one item reads at most twice the items.
pub async fn a_thousand_appends_load_at_most_twice_the_items(checkpointer: SharedCheckpointer) {
    for (thread, schema) in [("plain", plain()), ("typed", typed())] {
        let mut writer = Writer::with_schema(&checkpointer, thread, schema).await;
        for index in 0..1_000 {
            writer.step(json!({ "log": [index.to_string()] })).await;
        }
        let loaded = writer.loaded(CheckpointSelector::Latest).await;
        let changes: usize = loaded.fields.iter().map(|(_, log)| log.len()).sum();
        assert!(changes <= 2_000, "{changes} changes for 1,000 items");
        assert_eq!(stored_values(&writer.schema, &loaded), writer.values());
    }
}

/// R-FWK-42: a short list that is edited a thousand times does not need a thousand changes to be read.
pub async fn a_short_list_edited_a_thousand_times_loads_few_changes(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 0..1_000 {
        writer.step(json!({ "recent": [index] })).await;
    }
    let loaded = writer.loaded(CheckpointSelector::Latest).await;
    let changes = loaded.fields.iter().find(|(name, _)| &**name == "recent").map_or(0, |(_, log)| log.len());
    assert!(changes <= 100, "{changes} changes for 3 items");
    assert_eq!(stored_values(&writer.schema, &loaded), writer.values());
}

/// R-FWK-42: each step changes one of many fields, and every checkpoint has all of them.
pub async fn many_fields_round_trip_when_one_changes_at_a_time(checkpointer: SharedCheckpointer) {
    let options = json!({ "type": "integer", "default": 0 });
    let fields: serde_json::Map<String, Value> = (0..300).map(|index| (format!("f{index}"), options.clone())).collect();
    let schema: Arc<Schema> = Schema::from_json("wide", &Value::Object(fields)).expect("the schema is valid");
    let mut writer = Writer::with_schema(&checkpointer, "thread", schema).await;
    let mut expected = Vec::new();
    for index in 0..400 {
        let saved = writer.step(json!({ format!("f{}", index * 7 % 300): index })).await;
        expected.push((saved, writer.values()));
    }
    for (saved, values) in expected.into_iter().step_by(23) {
        assert_eq!(writer.stored(CheckpointSelector::Id(saved)).await, values);
    }
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_field_changes {
    ($open:expr, $drive:expr) => {
        mod field_changes {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, field_changes as checks};

            /// R-FWK-42: values that are set are returned.
            #[test]
            fn set_values_round_trip() {
                check($open, $drive, checks::set_values_round_trip);
            }

            /// R-FWK-42: lists that only grow are stored as their growth and returned in full.
            #[test]
            fn appended_items_round_trip() {
                check($open, $drive, checks::appended_items_round_trip);
            }

            /// R-FWK-42: splices of lists are replayed.
            #[test]
            fn spliced_items_round_trip() {
                check($open, $drive, checks::spliced_items_round_trip);
            }

            /// R-FWK-42: keys that are set and removed are replayed.
            #[test]
            fn merged_and_removed_keys_round_trip() {
                check($open, $drive, checks::merged_and_removed_keys_round_trip);
            }

            /// R-FWK-42: messages that are added, replaced and removed are replayed.
            #[test]
            fn edited_messages_round_trip() {
                check($open, $drive, checks::edited_messages_round_trip);
            }

            /// R-FWK-42: a list that is replaced after it grew, and then grows again, is returned in full.
            #[test]
            fn a_set_after_growth_starts_a_new_value() {
                check($open, $drive, checks::a_set_after_growth_starts_a_new_value);
            }

            /// R-FWK-42: fields that did not change keep their values, and a step without changes keeps all.
            #[test]
            fn fields_that_did_not_change_keep_their_values() {
                check($open, $drive, checks::fields_that_did_not_change_keep_their_values);
            }

            /// R-FWK-42, R-REF-69: a history of mixed changes equals the state in memory at every checkpoint.
            #[test]
            fn a_history_of_mixed_changes_reads_as_folded() {
                check($open, $drive, checks::a_history_of_mixed_changes_reads_as_folded);
            }

            /// R-FWK-33: the changes of each field begin with a full value.
            #[test]
            fn the_changes_of_a_field_begin_with_a_full_value() {
                check($open, $drive, checks::the_changes_of_a_field_begin_with_a_full_value);
            }

            /// R-FWK-42: a field that was added to the schema later is stored in full when it first changes.
            #[test]
            fn a_field_added_later_is_stored_in_full() {
                check($open, $drive, checks::a_field_added_later_is_stored_in_full);
            }

            /// R-FWK-42: loading after a thousand steps that each add one item reads at most twice the items.
            #[test]
            fn a_thousand_appends_load_at_most_twice_the_items() {
                check($open, $drive, checks::a_thousand_appends_load_at_most_twice_the_items);
            }

            /// R-FWK-42: a short list that is edited a thousand times does not need a thousand changes to be read.
            #[test]
            fn a_short_list_edited_a_thousand_times_loads_few_changes() {
                check($open, $drive, checks::a_short_list_edited_a_thousand_times_loads_few_changes);
            }

            /// R-FWK-42: each step changes one of many fields, and every checkpoint has all of them.
            #[test]
            fn many_fields_round_trip_when_one_changes_at_a_time() {
                check($open, $drive, checks::many_fields_round_trip_when_one_changes_at_a_time);
            }
        }
    };
}
