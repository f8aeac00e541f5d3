//! Export and import of threads between all checkpointers: the result is identical byte by byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use superstep::MemoryCheckpointer;
use superstep::core::change::{Change, Splice};
use superstep::core::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, FORMAT_VERSION, FieldChange, Interrupt, PendingEntry,
    ResumeValue, StoredJoin, StoredOutput, StoredSend, StoredTask, StoredTrigger, StoredWrite, TaskEntry, TriggerKind,
};
use superstep::core::id::{CheckpointId, InterruptId, RunId, TaskId};
use superstep::core::json_reducer;
use superstep::core::port::{CheckpointTuple, Commit, HistoryQuery, Lease, SharedCheckpointer, StateRef, ThreadStatus};
use superstep::core::schema::Schema;
use superstep::core::testing::block_on;
use superstep::core::value::AnyValue;
use superstep::transfer::{self, ImportName};
use superstep_adapters::encrypted::{EncryptedCheckpointer, EncryptionKey};
use superstep_adapters::sqlite::SqliteCheckpointer;

/// A random checkpoint.
#[derive(Debug, Clone)]
struct Step {
    graph: u8,
    /// Selects the parent among the earlier checkpoints; most follow the newest.
    parent: Option<Index>,
    changes: Vec<(u8, u16)>,
    entries: Vec<(Index, u8)>,
    carries_state: bool,
}

fn steps(max: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..4_u8,
        prop::option::weighted(0.2, any::<Index>()),
        prop::collection::vec((0..5_u8, any::<u16>()), 0..4),
        prop::collection::vec((any::<Index>(), 0..7_u8), 0..3),
        any::<bool>(),
    );
    let step = step.prop_map(|(graph, parent, changes, entries, carries_state)| Step {
        graph,
        parent,
        changes,
        entries,
        carries_state,
    });
    prop::collection::vec(step, 1..max)
}

type Values = BTreeMap<&'static str, Value>;

/// Writes random histories through the port.
struct Writer {
    store: SharedCheckpointer,
    lease: Lease,
    /// Checkpoints of each namespace with their values.
    histories: BTreeMap<u8, Vec<(CheckpointId, Values)>>,
    next: u128,
}

impl Writer {
    fn open(store: &SharedCheckpointer) -> Self {
        let lease = block_on(store.acquire(&"t".into(), RunId::from_bits(1))).unwrap();
        Self { store: store.clone(), lease, histories: BTreeMap::new(), next: 1 }
    }

    fn step(&mut self, step: &Step) {
        let history = self.histories.entry(step.graph).or_default();
        let parent = match (&step.parent, history.len()) {
            (_, 0) => None,
            (Some(index), _) => Some(&history[index.index(history.len())]),
            (None, _) => history.last(),
        };
        let (parent, mut values) = parent.map_or((None, Values::new()), |(id, values)| (Some(*id), values.clone()));
        let mut changes: BTreeMap<&str, FieldChange> = BTreeMap::new();
        for (kind, number) in &step.changes {
            let (field, change, part) = change(*kind, *number, &values);
            if changes.contains_key(field) {
                continue;
            }
            json_reducer::apply_delta(values.entry(field).or_default(), &change, &part).unwrap();
            changes.insert(field, FieldChange { field: field.into(), change, delta: AnyValue::json(part) });
        }
        let id = CheckpointId::from_bits(self.next);
        self.next += 1;
        history.push((id, values.clone()));
        let ids: Vec<CheckpointId> = history.iter().map(|(id, _)| *id).collect();
        let entries = step.entries.iter().map(|(index, kind)| entry(ids[index.index(ids.len())], *kind));
        let pending = entries.collect();
        let checkpoint = self.checkpoint(step, id, parent);
        let copy = move |field: &str| values.get(field).cloned().map(AnyValue::json);
        let state = step.carries_state.then(|| StateRef::from_full_values(schema(), copy));
        let (lease, namespace) = (self.lease.clone(), checkpoint.namespace.clone());
        let (checkpoint, changes) = (Some(Arc::new(checkpoint)), changes.into_values().rev().collect());
        let commit = Commit { checkpoint, changes, state, pending, ..Commit::empty(lease, namespace) };
        block_on(self.store.commit(&commit)).unwrap();
    }

    fn checkpoint(&self, step: &Step, id: CheckpointId, parent: Option<CheckpointId>) -> Checkpoint {
        let number = id.bits() as u64;
        let send = StoredSend { index: 0, payload: AnyValue::json(json!({ "n": number })), timeout: None };
        let trigger = StoredTrigger { kind: TriggerKind::Send, from: Some("é".into()) };
        Checkpoint {
            format: FORMAT_VERSION,
            id,
            parent,
            thread: self.lease.thread.clone(),
            namespace: namespace(step.graph),
            step: number as i64 - 1,
            source: [CheckpointSource::Input, CheckpointSource::Loop, CheckpointSource::Update, CheckpointSource::Fork]
                [number as usize % 4],
            run: RunId::from_bits(u128::from(number / 5)),
            time: 1_700_000_000_000_000 + number as i64,
            graph: "random".into(),
            schema_version: 1,
            next_tasks: vec![StoredTask {
                node: "n".into(),
                trigger,
                send: Some(send),
                scheduled_at: parent.map(|id| (id, 3)),
            }],
            joins: vec![StoredJoin {
                target: "j".into(),
                sources: vec!["a".into(), "b".into()],
                arrived: vec!["a".into()],
            }],
            deferred: vec!["d".into()],
            written_fields: vec!["log".into()],
            parent_task: (step.graph > 0).then(|| TaskId::from_bits(4)),
            changes_since_input: (step.graph > 0).then(|| vec![("log".into(), Change::Appended { from: 1 })]),
            metadata: Arc::new([("user".to_owned(), json!({ "é": number / 7 }))].into()),
        }
    }
}

fn namespace(graph: u8) -> CheckpointNamespace {
    let root = CheckpointNamespace::root();
    match graph {
        0 => root,
        1 => root.child("child:1"),
        2 => root.child("child:2"),
        _ => root.child("child:1").child("deep:é"),
    }
}

fn schema() -> Arc<Schema> {
    Schema::from_json("any", &json!({ "log": { "type": "array", "default": [] } })).unwrap()
}

/// Returns a change that a reducer could make to these values.
fn change(kind: u8, number: u16, values: &Values) -> (&'static str, Change, Value) {
    let text = json!("x".repeat(usize::from(number % 700)));
    let length = |field| values.get(field).and_then(Value::as_array).map_or(0, Vec::len);
    let exists = |field| values.contains_key(field);
    match kind {
        0 if exists("log") => ("log", Change::Appended { from: length("log") }, json!([text, number])),
        1 if length("recent") > 1 => {
            let edits = vec![Splice { at: 0, removed: 1, inserted: 0 }, Splice { at: 1, removed: 0, inserted: 1 }];
            ("recent", Change::Spliced { edits }, json!([text]))
        }
        2 if exists("notes") => {
            let (set, removed) = (vec![format!("k{}", number % 5)], vec![format!("k{}", (number + 1) % 5)]);
            let part = json!({ set[0].clone(): text });
            ("notes", Change::Merged { set, removed }, part)
        }
        0 => ("log", Change::Set, json!([])),
        1 => ("recent", Change::Set, json!([1, 2.5, null])),
        2 => ("notes", Change::Set, json!({ "k0": { "deep": [number] } })),
        3 => ("title", Change::Set, text),
        _ => ("late", Change::Set, json!(f64::from(number) / 3.0)),
    }
}

fn entry(checkpoint: CheckpointId, kind: u8) -> PendingEntry {
    let id = InterruptId::from_bits(7);
    let value = AnyValue::json(json!([kind]));
    let entry = match kind {
        0 => TaskEntry::Interrupt(Interrupt {
            id,
            node: "n".into(),
            namespace: CheckpointNamespace::root(),
            name: "sure?".to_owned(),
            value: json!({ "é": 1 }),
            resume_schema: Some(json!({ "type": "boolean" })),
            prompt: Some("Is it?".to_owned()),
        }),
        1 => TaskEntry::Resume(ResumeValue { id, value: json!(true), time: 5 }),
        2 => TaskEntry::Recorded { key: "paid".to_owned(), value },
        3 => {
            TaskEntry::Failed((&superstep::Error::new(superstep::ErrorCode::NodeFailed, "no").with_thread(None)).into())
        }
        4 => TaskEntry::Skipped,
        _ => {
            let writes = vec![StoredWrite { field: "log".into(), overwrite: kind == 5, value }];
            TaskEntry::Done(StoredOutput { writes, follow_edges: true, ..StoredOutput::default() })
        }
    };
    PendingEntry { checkpoint, task: TaskId::from_bits(u128::from(kind)), node: "n".into(), entry }
}

fn write(store: &SharedCheckpointer, steps: &[Step], status: ThreadStatus) {
    let mut writer = Writer::open(store);
    steps.iter().for_each(|step| writer.step(step));
    let lease = writer.lease.clone();
    let status_commit = Commit { status: Some(status), ..Commit::empty(lease.clone(), CheckpointNamespace::root()) };
    block_on(store.commit(&status_commit)).unwrap();
    store.release(&lease);
}

fn exported(store: &SharedCheckpointer, thread: &str) -> Vec<u8> {
    let mut file = Vec::new();
    block_on(transfer::export(store.clone(), thread, &mut file)).unwrap();
    file
}

/// Returns all stored data of a thread, with full values.
fn everything(store: &SharedCheckpointer, thread: &str) -> Value {
    let thread = thread.into();
    let mut namespaces = block_on(store.namespaces(&thread)).unwrap();
    namespaces.sort();
    let row = |loaded: CheckpointTuple| {
        let fields = loaded.fields.iter().map(|(field, log)| {
            let mut value = Value::Null;
            for (change, part) in log {
                json_reducer::apply_delta(&mut value, change, &part.to_json().unwrap()).unwrap();
            }
            (field.to_string(), value)
        });
        json!([*loaded.checkpoint, fields.collect::<BTreeMap<_, _>>(), loaded.pending])
    };
    let histories = namespaces.iter().map(|namespace| {
        let history = block_on(store.history(&thread, namespace, &HistoryQuery::default())).unwrap();
        json!([namespace, history.into_iter().map(row).collect::<Vec<_>>()])
    });
    json!([block_on(store.status(&thread)).unwrap(), histories.collect::<Vec<_>>()])
}

type Open = fn() -> SharedCheckpointer;

fn key() -> EncryptionKey {
    EncryptionKey::from_bytes([3; 32])
}

const STORES: [(&str, Open); 4] = [
    ("memory", || MemoryCheckpointer::new().into()),
    ("sqlite", || SqliteCheckpointer::open(":memory:").unwrap().into()),
    ("sealed memory", || EncryptedCheckpointer::new(MemoryCheckpointer::new(), key()).into()),
    ("sealed sqlite", || EncryptedCheckpointer::new(SqliteCheckpointer::open(":memory:").unwrap(), key()).into()),
];

fn status(number: usize) -> ThreadStatus {
    [ThreadStatus::Idle, ThreadStatus::Interrupted, ThreadStatus::Error][number % 3]
}

fn assert_moves(from: (&str, Open), to: &[(&str, Open)], steps: &[Step]) {
    let source = from.1();
    write(&source, steps, status(steps.len()));
    let (file, before) = (exported(&source, "t"), everything(&source, "t"));
    for (name, open) in to {
        let target = open();
        let report = block_on(transfer::import(target.clone(), &file[..], ImportName::Same)).unwrap();
        assert_eq!(report.checkpoints, steps.len());
        assert_eq!(everything(&target, "t"), before, "from {} to {name}", from.0);
        assert_eq!(exported(&target, "t"), file, "from {} to {name}", from.0);
    }
}

/// R-FWK-49: a thread and its file stay the same between any two checkpointers.
#[test]
fn a_thread_moves_between_any_two_stores() {
    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&steps(40), |steps| {
            STORES.iter().for_each(|from| assert_moves(*from, &STORES, &steps));
            Ok(())
        })
        .unwrap();
}

/// R-FWK-49: the same for a history longer than a page, with full values between the changes.
#[test]
fn a_long_history_moves_between_any_two_stores() {
    let step = |number: usize| Step {
        graph: 0,
        parent: None,
        changes: vec![(0, 600), (2, number as u16), (1, number as u16)],
        entries: Vec::new(),
        carries_state: true,
    };
    let steps: Vec<Step> = (0..70).map(step).collect();
    STORES.iter().for_each(|from| assert_moves(*from, &STORES, &steps));
}

/// R-FWK-49: the same to PostgreSQL and back.
#[cfg(feature = "postgres")]
#[test]
fn a_thread_moves_to_postgres_and_back() {
    let postgres: (&str, Open) = ("postgres", || crate::postgres::open().into());
    let config = Config { cases: 6, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&steps(30), |steps| {
            assert_moves(STORES[0], &[postgres], &steps);
            assert_moves(postgres, &[STORES[0], STORES[1], postgres], &steps);
            Ok(())
        })
        .unwrap();
}

/// R-FWK-49: the export of an encrypted thread contains plaintext values, so that any checkpointer can import it.
#[test]
fn a_file_of_an_encrypted_store_is_readable() {
    let step = Step { graph: 0, parent: None, changes: vec![(3, 600)], entries: Vec::new(), carries_state: false };
    let encrypted = STORES[2].1();
    write(&encrypted, &[step], ThreadStatus::Idle);
    let file = String::from_utf8(exported(&encrypted, "t")).unwrap();
    assert!(file.contains("xxxxxxxx") && !file.contains("__sealed__"));
}
