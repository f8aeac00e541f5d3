//! Connecting: creation of the tables, rejected settings, warnings, and unusual names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::ErrorCode;
use superstep::core::change::Change;
use superstep::core::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, FORMAT_VERSION, FieldChange, PendingEntry, TaskEntry,
};
use superstep::core::id::{CheckpointId, RunId, TaskId};
use superstep::core::port::{CheckpointSelector, Checkpointer, Commit, Lease};
use superstep::core::value::AnyValue;
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::{open, options, schema};

/// R-FWK-37: concurrent processes create the tables once.
#[test]
fn tables_are_made_once() {
    let (cluster, name) = (Cluster::shared(), schema());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (options, url) = (PostgresCheckpointer::options().schema(&name), cluster.url());
            std::thread::spawn(move || block_on(options.connect(&url)).map(drop))
        })
        .collect();
    threads.into_iter().for_each(|connecting| connecting.join().unwrap().unwrap());
    assert_eq!(cluster.query(&format!("SELECT number FROM {name}.version")), "3");
}

/// R-FWK-47: tables of a newer program are rejected and not changed.
#[test]
fn newer_tables_are_rejected() {
    let (cluster, name) = (Cluster::shared(), schema());
    let options = PostgresCheckpointer::options().schema(&name);
    drop(block_on(options.connect(&cluster.url())).unwrap());
    cluster.query(&format!("UPDATE {name}.version SET number = 99"));
    let error = block_on(options.connect(&cluster.url())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
    assert!(error.to_string().contains("version 99, which is newer than the supported version 3"), "{error}");
}

/// R-FWK-37: a schema with tables of another program is rejected and not changed.
#[test]
fn tables_of_another_program_are_not_changed() {
    let (cluster, name) = (Cluster::shared(), schema());
    cluster.query(&format!("CREATE SCHEMA {name}; CREATE TABLE {name}.thread (theirs text)"));
    let error = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    assert!(error.to_string().contains("another program"), "{error}");
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{name}'");
    assert_eq!(cluster.query(&tables), "1");
}

/// R-FWK-37: an unsupported or invalid URL is rejected.
#[test]
fn an_invalid_url_is_reported() {
    let url = Cluster::shared().url();
    let cases = [
        (url.replace("disable", "require"), "sslmode"),
        (url.replace("disable", "maybe"), "`maybe` is not an `sslmode`"),
        (url.replace("/postgres?", "/nowhere?"), "does not exist"),
        (url.replace("postgres@", "nobody:secret@"), "rejected the user"),
        ("postgres://a:secret@[::1".to_owned(), "is invalid"),
    ];
    for (url, expected) in cases {
        let error = block_on(options().connect(&url)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error:?}");
        let text = format!("{error:?}");
        assert!(text.contains(expected) && !text.contains("secret"), "{text}");
    }
}

/// R-FWK-37: a connection attempt to an unreachable server fails after the retry timeout.
#[test]
fn an_unreachable_server_is_reported() {
    let url = "postgres://postgres@127.0.0.1:1/postgres";
    let error = block_on(options().retry_timeout(Duration::from_millis(100)).connect(url)).unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true));
    assert!(error.to_string().contains("`127.0.0.1:1/postgres`, schema `test_"), "{error}");
}

/// R-FWK-37: server settings that weaken the guarantees result in warnings.
#[test]
fn weak_settings_are_named() {
    let cluster = Cluster::shared();
    let store = open();
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    let url = format!("{}&options=-c%20synchronous_commit%3Doff", cluster.url());
    let store = block_on(options().connect(&url)).unwrap();
    assert!(store.warnings()[0].contains("`synchronous_commit` is off"), "{:?}", store.warnings());
    let url = cluster.url().replace("postgres@", "postgres:secret@");
    let text = format!("{:?}", block_on(options().connect(&url)).unwrap());
    assert!(text.starts_with("PostgresCheckpointer(`127.0.0.1:") && !text.contains("secret"), "{text}");
}

fn checkpoint(lease: &Lease, namespace: &CheckpointNamespace) -> Checkpoint {
    Checkpoint {
        format: FORMAT_VERSION,
        id: CheckpointId::from_bits(1),
        parent: None,
        thread: lease.thread.clone(),
        namespace: namespace.clone(),
        step: 0,
        source: CheckpointSource::Input,
        run: RunId::from_bits(1),
        time: 0,
        graph: "g\0".into(),
        schema_version: 1,
        next_tasks: Vec::new(),
        joins: Vec::new(),
        deferred: Vec::new(),
        written_fields: Vec::new(),
        parent_task: None,
        changes_since_input: None,
        metadata: Arc::new(BTreeMap::from([("k\0".to_owned(), json!("\0"))])),
    }
}

/// R-FWK-37: names and values may contain characters that PostgreSQL text does not support, and may be long.
#[test]
fn names_may_contain_any_character() {
    let store = open();
    let lease = block_on(store.acquire(&"t".into(), RunId::from_bits(1))).unwrap();
    for namespace in ["a\0b".to_owned(), "\u{10ffff}'\"\\".to_owned(), "long".repeat(10_000)] {
        let namespace = CheckpointNamespace::from(namespace.as_str());
        let mut commit = Commit::empty(lease.clone(), namespace.clone());
        let saved = Arc::new(checkpoint(&lease, &namespace));
        commit.checkpoint = Some(saved.clone());
        let part = AnyValue::json(json!({ "\0": "\0" }));
        commit.changes.push(FieldChange { field: "f\0".into(), change: Change::Set, delta: part.clone() });
        let entry = |key: String| TaskEntry::Recorded { key, value: json!("\0").into() };
        for key in ["k\0", "k\0\0", "k"].map(str::to_owned).into_iter().chain(["x".repeat(100_000)]) {
            let (checkpoint, task) = (CheckpointId::from_bits(1), TaskId::from_bits(1));
            commit.pending.push(PendingEntry { checkpoint, task, node: "n\0".into(), entry: entry(key) });
        }
        block_on(store.commit(&commit)).unwrap();
        // The same commit again, as after a lost connection.
        block_on(store.commit(&commit)).unwrap();
        let loaded = block_on(store.load(&"t".into(), &namespace, CheckpointSelector::Latest)).unwrap().unwrap();
        assert_eq!(loaded.checkpoint, saved);
        assert_eq!(format!("{:?}", loaded.pending), format!("{:?}", commit.pending));
        assert_eq!(loaded.fields, [("f\0".into(), vec![(Change::Set, part)])]);
        assert!(block_on(store.namespaces(&"t".into())).unwrap().contains(&namespace));
    }
}

/// R-FWK-46a: a modified row is an error that names its checkpoint, and the earlier checkpoint stays readable.
#[test]
fn corruption_is_detected() {
    let (cluster, name) = (Cluster::shared(), schema());
    let store = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap();
    let lease = block_on(store.acquire(&"t".into(), RunId::from_bits(1))).unwrap();
    let namespace = CheckpointNamespace::from("");
    let first = checkpoint(&lease, &namespace);
    let (id, source) = (CheckpointId::from_bits(2), CheckpointSource::Loop);
    let second = Checkpoint { id, parent: Some(first.id), step: 1, source, ..first.clone() };
    for saved in [&first, &second] {
        let mut commit = Commit::empty(lease.clone(), namespace.clone());
        commit.checkpoint = Some(Arc::new(saved.clone()));
        block_on(store.commit(&commit)).unwrap();
    }
    cluster.query(&format!("UPDATE {name}.checkpoint SET step = 7 WHERE step = 1"));
    let load = |at: CheckpointSelector| block_on(store.load(&"t".into(), &namespace, at));
    let error = load(CheckpointSelector::Latest).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    assert!(error.message().contains(&second.id.to_string()), "{error}");
    let earlier = load(CheckpointSelector::Id(first.id)).unwrap().unwrap();
    assert_eq!(*earlier.checkpoint, first);
}
