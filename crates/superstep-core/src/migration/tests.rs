//! Tests of migrations on a checkpoint, without a checkpointer: kept changes and removed names.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Migration, Migrations, migrate};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, PendingEntry, StoredOutput, StoredWrite, TaskEntry};
use crate::error::Result;
use crate::id::{CheckpointId, TaskId};
use crate::port::{CheckpointTuple, FieldLog};
use crate::schema::Schema;
use crate::value::AnyValue;

fn schema(version: u32, fields: Value) -> Arc<Schema> {
    Schema::builder("state").fields_from_json(&fields).version(version).build().expect("a good schema")
}

fn log(parts: Vec<(Change, Value)>) -> FieldLog {
    parts.into_iter().map(|(change, part)| (change, AnyValue::json(part))).collect()
}

fn loaded(version: u32, fields: Vec<(&str, FieldLog)>) -> CheckpointTuple {
    let checkpoint = serde_json::from_value::<Checkpoint>(json!({
        "format": 1, "id": CheckpointId::from_bits(7), "parent": null, "thread": "t", "namespace": "", "step": 3,
        "source": "loop", "run": CheckpointId::from_bits(1), "time": 0, "graph": "g", "schema_version": version,
        "due": [], "written": ["list", "gone"],
        "since_input": [["list", { "kind": "appended", "from": 1 }], ["gone", { "kind": "set" }]],
    }));
    let fields = fields.into_iter().map(|(name, log)| (name.into(), log)).collect();
    let write = |field: &str| StoredWrite { field: field.into(), overwrite: false, value: AnyValue::json(json!(1)) };
    let entry = TaskEntry::Done(StoredOutput { writes: vec![write("list"), write("gone")], ..StoredOutput::default() });
    let (checkpoint, task) = (Arc::new(checkpoint.expect("a good checkpoint")), TaskId::from_bits(2));
    let pending = vec![PendingEntry { checkpoint: checkpoint.id, task, node: "a".into(), entry }];
    CheckpointTuple { checkpoint, fields, pending }
}

fn names(loaded: &CheckpointTuple) -> Vec<&str> {
    let mut names: Vec<&str> = loaded.fields.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names
}

fn grown() -> FieldLog {
    log(vec![(Change::Set, json!([1])), (Change::Appended { from: 1 }, json!([2, 3]))])
}

fn one(from: u32, migration: Migration) -> Migrations {
    let mut migrations = Migrations::default();
    migrations.add(from, migration);
    migrations
}

/// R-FWK-47: a renamed field keeps its stored changes; everything else that has its name follows.
#[test]
fn a_renamed_field_keeps_its_changes() {
    let schema = schema(2, json!({ "items": { "type": "array", "reducer": "append" } }));
    let migrations = one(1, Migration::to_version(2).rename("list", "items").remove("gone"));
    let migrated = migrate(&migrations, &schema, loaded(1, vec![("list", grown()), ("gone", grown())])).unwrap();
    assert_eq!((migrated.from, names(&migrated.loaded)), (Some(1), vec!["items"]));
    assert_eq!(migrated.loaded.fields[0].1, grown());
    assert_eq!(migrated.changed.iter().map(|name| &**name).collect::<Vec<_>>(), ["items"]);
    let checkpoint = &migrated.loaded.checkpoint;
    assert_eq!((&checkpoint.written_fields[..], checkpoint.schema_version), (&["items".into()][..], 1));
    assert_eq!(checkpoint.changes_since_input, Some(vec![("items".into(), Change::Appended { from: 1 })]));
    let TaskEntry::Done(output) = &migrated.loaded.pending[0].entry else { panic!("it is done") };
    assert_eq!(output.writes.iter().map(|write| &*write.field).collect::<Vec<_>>(), ["items"]);
}

/// R-FWK-47: a converted field has one full value, and its earlier changes are dropped.
#[test]
fn a_converted_field_has_one_full_value() {
    let schema = schema(2, json!({ "list": null, "more": null }));
    let count = |old: Value| -> Result<Value> { Ok(old.as_array().map_or(json!(0), |items| json!(items.len()))) };
    let migrations =
        one(1, Migration::to_version(2).convert("list", count).remove("gone").add("more", "x").convert("more", count));
    let migrated = migrate(&migrations, &schema, loaded(1, vec![("list", grown())])).unwrap();
    assert_eq!(migrated.loaded.fields[0].1, log(vec![(Change::Set, json!(3))]));
    assert_eq!(migrated.loaded.fields[1].1, log(vec![(Change::Set, json!(0))]));
    assert_eq!(migrated.loaded.checkpoint.changes_since_input, Some(vec![("list".into(), Change::Set)]));
}

/// R-FWK-47: removed names stay hidden until a migration uses them again.
#[test]
fn removed_names_are_dropped() {
    let schema = schema(4, json!({ "a": null, "b": null }));
    let mut migrations = one(1, Migration::to_version(2).rename("a", "b"));
    migrations.add(2, Migration::to_version(3).remove("c"));
    migrations.add(3, Migration::to_version(4).add("a", 0));
    let all = || vec![("a", grown()), ("b", grown()), ("c", grown())];
    let migrate_from = |version| {
        let migrated = migrate(&migrations, &schema, loaded(version, all())).unwrap();
        let log_length = migrated.loaded.fields.iter().find(|(name, _)| **name == *"a").map(|(_, log)| log.len());
        (names(&migrated.loaded).join(" "), log_length, migrated.from)
    };
    assert_eq!(migrate_from(1), ("a b".to_owned(), Some(1), Some(1)));
    assert_eq!(migrate_from(2), ("a b".to_owned(), Some(1), Some(2)));
    assert_eq!(migrate_from(3), ("a b".to_owned(), Some(1), Some(3)));
    assert_eq!(migrate_from(4), ("a b".to_owned(), Some(2), None), "today's thread is as it is stored");
}
