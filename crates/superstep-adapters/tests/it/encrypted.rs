//! Encrypted values: nothing is readable in the wrapped checkpointer, and the behavior is unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::core::change::Change;
use superstep::core::checkpoint::{
    CheckpointNamespace, FORMAT_VERSION, FieldChange, StoredSend, StoredTask, StoredTrigger, TriggerKind,
};
use superstep::core::id::{CheckpointId, RunId};
use superstep::core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, HistoryQuery, Lease, SharedCheckpointer,
};
use superstep::core::value::AnyValue;
use superstep::prelude::*;
use superstep::{CompiledGraph, Durability, ErrorCode, Outcome, ToParent};
use superstep_adapters::encrypted::{EncryptedCheckpointer, EncryptionKey};

mod tampered;

use tampered::TamperingCheckpointer;

mod conformance {
    superstep_core::checkpointer_conformance!(crate::encrypted::empty);
}

/// R-FWK-36, R-FWK-41, R-FWK-48: encrypted and compressed, in a file.
#[cfg(feature = "sqlite")]
mod in_sqlite {
    use superstep_adapters::sqlite::SqliteCheckpointer;

    use super::*;

    superstep_core::checkpointer_conformance!(|| {
        EncryptedCheckpointer::new(SqliteCheckpointer::open(crate::sqlite::folder().join("sealed.db")).unwrap(), key(1))
    });
}

/// R-FWK-37, R-FWK-41, R-FWK-48: encrypted and compressed, in PostgreSQL.
#[cfg(feature = "postgres")]
mod in_postgres {
    use super::*;

    superstep_core::checkpointer_conformance!(|| EncryptedCheckpointer::new(crate::postgres::open(), key(1)));
}

fn empty() -> EncryptedCheckpointer<MemoryCheckpointer> {
    EncryptedCheckpointer::new(MemoryCheckpointer::new(), key(1))
}

fn key(number: u8) -> EncryptionKey {
    EncryptionKey::from_bytes([number; 32])
}

/// All texts that must not be found in the wrapped checkpointer.
const SECRETS: [&str; 12] = [
    "S3CRET-patient",
    "S3CRET-page",
    "S3CRET-key",
    "S3CRET-note",
    "S3CRET-once",
    "S3CRET-value",
    "S3CRET-text",
    "S3CRET-schema",
    "S3CRET-answer",
    "S3CRET-outside",
    "S3CRET-error",
    "S3CRET-sent",
];

#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    patient: String,
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(merge)]
    notes: BTreeMap<String, String>,
    #[reduce(add)]
    rounds: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Page {
    text: String,
}

/// Builds a subgraph that records a result, interrupts, and updates the parent graph.
fn ward() -> CompiledGraph<Case> {
    let mut graph = StateGraph::<Case>::new("ward");
    let note = graph.add_node("note", || Case::update().notes(("S3CRET-key".to_owned(), "S3CRET-note".to_owned())));
    let confirm = graph.add_node("confirm", |interrupts: Interrupts, cx: TaskContext| async move {
        let recorded: String = cx.once("number", async { Ok::<_, NodeError>("S3CRET-once".to_owned()) }).await?;
        let schema = json!({ "type": "string", "title": "S3CRET-schema" });
        let answer = interrupts
            .raise_with_schema("approve", json!({ "shown": "S3CRET-value" }), "S3CRET-text?", Some(schema))
            .await?;
        Ok::<_, NodeError>(Case::update().log(recorded).log(answer.as_str().unwrap_or_default().to_owned()))
    });
    let to_parent = graph.add_node("tell", || {
        let update = json!({ "log": ["S3CRET-outside"] });
        ToParent(Command::<Case>::new().update(update).send(SendTo::new("last", json!({ "text": "S3CRET-sent" }))))
    });
    // A parallel task, so that the command is stored as a pending entry before the superstep is complete.
    let sibling = graph.add_node("sibling", || ());
    graph.add_sequence([START, note.into(), confirm.into(), to_parent.into(), END]);
    graph.add_edge(confirm, sibling).add_edge(sibling, END);
    graph.compile().unwrap()
}

/// Builds a graph with sends, two parallel tasks of which one fails the first time, and a subgraph.
fn case(store: impl Into<SharedCheckpointer>) -> CompiledGraph<Case> {
    let mut graph = StateGraph::<Case>::new("case");
    let inspect = graph.add_node("look", |page: SendPayload<Page>, cx: TaskContext| async move {
        match page.text.as_str() {
            "fails" if cx.configurable("fail").is_some() => Err(NodeError::new("S3CRET-error")),
            text => Ok(Case::update().notes((format!("key {text}"), text.to_owned()))),
        }
    });
    let last = graph.add_node("last", |page: SendPayload<Page>| Case::update().log(page.text.clone()));
    let ward = graph.add_node("ward", ward());
    graph.set_conditional_entry_point(
        move |_: &Case| ["S3CRET-page", "fails"].map(|text| SendTo::new(inspect, Page { text: text.into() })).to_vec(),
        [inspect],
    );
    graph
        .add_edge(inspect, ward)
        .add_conditional_edges(ward, |_: &Case| END, [last.into(), END])
        .add_edge(last, END)
        .checkpointer(store);
    graph.compile().unwrap()
}

/// Runs a thread that fails, continues, is interrupted, is resumed and ends; each step uses a newly opened
/// checkpointer.
async fn run_through(open: impl Fn() -> SharedCheckpointer, durability: Durability) -> Outcome<Case> {
    let failed = case(open()).invoke(Case::input().patient("S3CRET-patient")).thread("t").durability(durability);
    let error = failed.configurable("fail", true).await.unwrap_err();
    assert!(error.to_string().contains("S3CRET-error"), "{error}");
    let paused = case(open()).continue_thread("t").durability(durability).await.unwrap();
    let question = &paused.interrupts()[0];
    assert_eq!((&question.value["shown"], question.prompt.as_deref()), (&json!("S3CRET-value"), Some("S3CRET-text?")));
    case(open()).resume("t", "S3CRET-answer").durability(durability).await.unwrap()
}

/// Returns all stored data of a thread as text.
pub(crate) async fn everything(store: &impl Checkpointer, thread: &str) -> String {
    let mut text = String::new();
    for namespace in store.namespaces(&thread.into()).await.unwrap() {
        for loaded in store.history(&thread.into(), &namespace, &HistoryQuery::default()).await.unwrap() {
            let CheckpointTuple { checkpoint, fields, pending } = loaded;
            text += &json!({ "checkpoint": *checkpoint, "fields": fields, "pending": pending }).to_string();
            text.push('\n');
        }
    }
    text
}

async fn newest(store: &impl Checkpointer) -> CheckpointTuple {
    store.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest).await.unwrap().unwrap()
}

/// R-REF-64: an encrypted run has the same result as a plain one, with each durability and each newly opened
/// checkpointer, and none of its values is readable in the wrapped checkpointer.
#[tokio::test]
async fn an_encrypted_run_ends_as_a_plain_one_and_nothing_of_it_is_readable() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (plain, wrapped) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
        let expected = run_through(|| plain.clone().into(), durability).await;
        let encrypted = run_through(|| EncryptedCheckpointer::new(wrapped.clone(), key(1)).into(), durability).await;
        assert_eq!(*encrypted.state, *expected.state);
        assert_eq!(encrypted.state.log, ["S3CRET-outside", "S3CRET-sent"]);
        let (readable, hidden) = (everything(&plain, "t").await, everything(&wrapped, "t").await);
        for secret in SECRETS {
            assert!(readable.contains(secret), "{durability:?}: `{secret}` is not readable without encryption");
            assert!(!hidden.contains(secret), "{durability:?}: `{secret}` is readable");
        }
        assert!(!hidden.contains("S3CRET"));
        let reopened = EncryptedCheckpointer::new(wrapped, key(1));
        let opened = everything(&reopened, "t").await;
        assert!(SECRETS.iter().all(|secret| opened.contains(secret)));
    }
}

/// R-REF-64: full values that a checkpointer stores instead of many changes are encrypted as well.
#[tokio::test]
async fn full_copies_are_encrypted() {
    let wrapped = MemoryCheckpointer::new();
    let mut graph = StateGraph::<Case>::new("loop");
    let round = graph.add_node("round", |case: View<Case>| {
        Case::update().notes(("S3CRET-key".to_owned(), format!("S3CRET-{}", case.rounds))).rounds(1_u64)
    });
    let route = move |case: &Case| if case.rounds < 60 { Goto::node(round) } else { Goto::end() };
    graph.add_edge(START, round).add_conditional_edges(round, route, [round.into(), END]);
    let compiled = graph.checkpointer(EncryptedCheckpointer::new(wrapped.clone(), key(1))).compile().unwrap();
    let done = compiled.invoke(Case::input().patient("S3CRET")).thread("t").recursion_limit(100).await.unwrap();
    assert_eq!(done.state.notes["S3CRET-key"], "S3CRET-59");
    let (_, log) = newest(&wrapped).await.fields.into_iter().find(|(field, _)| **field == *"notes").unwrap();
    assert!(log.len() < 40, "{} changes: the store has put a whole value between them", log.len());
    assert!(!everything(&wrapped, "t").await.contains("S3CRET"));
    assert_eq!(*compiled.threads().get_state("t").await.unwrap().state, *done.state);
}

/// R-REF-64: values saved before encryption was enabled are rejected with help, are readable if allowed, and later
/// values are encrypted.
#[tokio::test]
async fn plaintext_rows_are_rejected_unless_allowed() {
    let wrapped = MemoryCheckpointer::new();
    case(wrapped.clone()).invoke(Case::input().patient("S3CRET-patient")).thread("t").await.unwrap();
    let before = everything(&wrapped, "t").await;
    assert!(before.contains("S3CRET-patient") && !before.contains("__sealed__"));

    let strict = EncryptedCheckpointer::new(wrapped.clone(), key(1));
    let error = case(strict.clone()).resume("t", "S3CRET-answer").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    assert!(error.message().contains("is not encrypted"), "{error}");
    assert!(error.help().unwrap().contains("`allow_plaintext(true)`"), "{error}");
    assert_eq!(everything(&wrapped, "t").await, before);

    let done = case(strict.clone().allow_plaintext(true)).resume("t", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    let after = everything(&wrapped, "t").await;
    assert!(!after.contains("S3CRET-answer") && !after.contains("S3CRET-outside"), "new values are not encrypted");
    assert_eq!(*case(strict.allow_plaintext(true)).threads().get_state("t").await.unwrap().state, *done.state);
}

/// Returns an interrupted thread encrypted with the first key.
async fn interrupted_thread() -> MemoryCheckpointer {
    let wrapped = MemoryCheckpointer::new();
    case(EncryptedCheckpointer::new(wrapped.clone(), key(1)))
        .invoke(Case::input().patient("S3CRET-patient"))
        .thread("t")
        .await
        .unwrap();
    wrapped
}

/// R-REF-64: a missing key results in an error with its id; an old key decrypts, and the new one encrypts.
#[tokio::test]
async fn keys_can_change_and_a_wrong_one_is_named() {
    let wrapped = interrupted_thread().await;
    let other = EncryptedCheckpointer::new(wrapped.clone(), key(2));
    let error = case(other.clone()).threads().get_state("t").await.unwrap_err();
    let id = newest(&wrapped).await.checkpoint.id.to_string();
    assert_eq!((error.code(), error.location().thread.clone()), (ErrorCode::CheckpointCorrupt, Some("t".into())));
    for part in ["thread `t`", &id, "field `patient`", "encrypted with key id `"] {
        assert!(error.message().contains(part), "{error}");
    }
    let done = case(other.clone().with_decryption_key(key(1))).resume("t", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    let error = case(EncryptedCheckpointer::new(wrapped.clone(), key(1))).threads().get_state("t").await.unwrap_err();
    assert!(
        error.message().contains("encrypted with key id `"),
        "the newest rows are not encrypted with the new key: {error}"
    );
    let debug_text = format!("{:?}", key(2));
    assert!(
        debug_text.starts_with("EncryptionKey(id ") && !debug_text.contains("2, 2") && !debug_text.contains("0202"),
        "{debug_text}"
    );
}

/// R-FWK-48: rows of one thread cannot be decrypted as rows of another, and the error names their location.
#[tokio::test]
async fn rows_that_were_moved_to_another_thread_are_rejected() {
    let wrapped = interrupted_thread().await;
    wrapped.copy_thread(&"t".into(), &"moved".into()).await.unwrap();
    let error = case(EncryptedCheckpointer::new(wrapped, key(1))).threads().get_state("moved").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    for part in ["thread `moved`, checkpoint ", "field `patient`", "belongs to another location"] {
        assert!(error.message().contains(part), "{error}");
    }
}

/// R-FWK-48: a copy is encrypted with the newest key: the old one is no longer needed, and the copy can be resumed.
#[tokio::test]
async fn a_copy_is_encrypted_with_the_newest_key() {
    let wrapped = interrupted_thread().await;
    let both = EncryptedCheckpointer::new(wrapped.clone(), key(2)).with_decryption_key(key(1));
    both.copy_thread(&"t".into(), &"copy".into()).await.unwrap();
    let done = case(EncryptedCheckpointer::new(wrapped.clone(), key(2))).resume("copy", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    assert!(!everything(&wrapped, "copy").await.contains("S3CRET"));
    assert!(
        case(EncryptedCheckpointer::new(wrapped, key(2))).threads().get_state("t").await.is_err(),
        "the first still has the old key"
    );
}

/// R-FWK-48: an unknown key is looked up by its id once.
#[tokio::test]
async fn a_missing_key_is_looked_up_by_its_number() {
    let wrapped = interrupted_thread().await;
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = lookups.clone();
    let lookup = move |number: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(key(1)).filter(|key| key.key_id() == number)
    };
    let encrypted = EncryptedCheckpointer::new(wrapped, key(2)).key_lookup(lookup);
    for _ in 0..2 {
        assert_eq!(case(encrypted.clone()).threads().get_state("t").await.unwrap().state.patient, "S3CRET-patient");
    }
    assert_eq!(lookups.load(Ordering::Relaxed), 1);
}

/// R-FWK-41, R-FWK-48: a long value is compressed before it is encrypted.
#[tokio::test]
async fn long_values_are_compressed_before_they_are_encrypted() {
    let wrapped = MemoryCheckpointer::new();
    let long = "what was said before is said again, ".repeat(500);
    let compiled = case(EncryptedCheckpointer::new(wrapped.clone(), key(1)));
    compiled.invoke(Case::input().patient(long.clone())).thread("t").await.unwrap();
    let (_, log) = newest(&wrapped).await.fields.into_iter().find(|(field, _)| **field == *"patient").unwrap();
    let stored = log[0].1.to_json().unwrap().to_string();
    assert!(stored.len() * 10 < long.len(), "{} of {}", stored.len(), long.len());
    assert_eq!(compiled.threads().get_state("t").await.unwrap().state.patient, long);
}

/// R-REF-64: a changed byte, a truncated value, a value at another location and a plaintext value are rejected with
/// their name.
#[tokio::test]
async fn values_changed_in_the_wrapped_store_are_rejected() {
    let wrapped = interrupted_thread().await;
    for (tamper, slot) in tampered::MODIFICATIONS {
        let encrypted = EncryptedCheckpointer::new(
            TamperingCheckpointer { store: wrapped.clone(), tamper: Arc::new(tamper) },
            key(1),
        );
        let ward = encrypted.namespaces(&"t".into()).await.unwrap().pop().unwrap();
        let mut errors = Vec::new();
        for namespace in [&CheckpointNamespace::root(), &ward] {
            let query = HistoryQuery::default();
            errors.extend(encrypted.history(&"t".into(), namespace, &query).await.err());
        }
        assert!(!errors.is_empty(), "{slot}: the change was not detected");
        for error in errors {
            assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{error}");
            assert!(error.message().starts_with("thread `t`, checkpoint "), "{error}");
            assert!(error.message().contains(slot), "{slot}: {error}");
        }
    }
    let snapshot = case(EncryptedCheckpointer::new(wrapped, key(1))).threads().get_state("t").await.unwrap();
    assert_eq!(snapshot.state.patient, "S3CRET-patient");
}

/// R-REF-64: a value in a later format is rejected as such.
#[tokio::test]
async fn a_newer_format_is_rejected_as_newer() {
    let later = |loaded: &mut CheckpointTuple| {
        for (_, log) in &mut loaded.fields {
            log[0].1 = AnyValue::json(json!({ "__sealed__": "AwAAAAA" }));
        }
    };
    let encrypted = EncryptedCheckpointer::new(
        TamperingCheckpointer { store: interrupted_thread().await, tamper: Arc::new(later) },
        key(1),
    );
    let error =
        encrypted.load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew, "{error}");
}

/// Returns a first checkpoint with a scheduled send and keys changed since the input.
fn first_commit(lease: &Lease, payload: &str, key: &str) -> Commit {
    let send = StoredSend { index: 0, payload: AnyValue::json(json!(payload)), timeout: None };
    let trigger = StoredTrigger { kind: TriggerKind::Send, from: None };
    let merged = Change::Merged { set: vec![key.to_owned()], removed: Vec::new() };
    let checkpoint = json!({
        "format": FORMAT_VERSION, "id": CheckpointId::from_bits(1), "parent": null, "thread": "t", "namespace": "",
        "step": 0, "source": "input", "run": RunId::from_bits(1), "time": 0, "graph": "g", "schema_version": 1,
        "due": [StoredTask { node: "look".into(), trigger, send: Some(send), scheduled_at: None }],
        "since_input": [["notes", merged]],
    });
    let part = AnyValue::json(json!({ key: payload }));
    let changes = [FieldChange { field: "notes".into(), change: Change::Set, delta: part }];
    let checkpoint = Some(Arc::new(serde_json::from_value(checkpoint).unwrap()));
    Commit {
        checkpoint,
        changes: changes.into_iter().collect(),
        ..Commit::empty(lease.clone(), CheckpointNamespace::root())
    }
}

/// R-REF-64: a repeated equal commit is recognized although no two ciphertexts are equal; a different one is
/// rejected.
#[tokio::test]
async fn an_equal_commit_is_the_same_and_another_is_rejected() {
    let wrapped = MemoryCheckpointer::new();
    let encrypted = EncryptedCheckpointer::new(wrapped.clone(), key(1));
    let lease = encrypted.acquire(&"t".into(), RunId::from_bits(1)).await.unwrap();
    encrypted.commit(&first_commit(&lease, "S3CRET-sent", "S3CRET-key")).await.unwrap();
    let before = everything(&wrapped, "t").await;
    encrypted.commit(&first_commit(&lease, "S3CRET-sent", "S3CRET-key")).await.unwrap();
    for (payload, key) in [("another", "S3CRET-key"), ("S3CRET-sent", "another")] {
        assert!(encrypted.commit(&first_commit(&lease, payload, key)).await.is_err());
    }
    assert_eq!(everything(&wrapped, "t").await, before);
    assert!(!before.contains("S3CRET"));
    let loaded = newest(&encrypted).await;
    let expected = first_commit(&lease, "S3CRET-sent", "S3CRET-key");
    assert_eq!(
        (Some(&loaded.checkpoint), &loaded.fields[0].1[0].1),
        (expected.checkpoint.as_ref(), &expected.changes[0].delta)
    );
}

/// R-REF-64: a value that looks encrypted is stored like any other.
#[tokio::test]
async fn a_value_that_looks_encrypted_is_read_back() {
    let text = r#"{"__sealed__":"AQ"}"#;
    let compiled = case(empty());
    let input = Case::input().patient("__sealed__:AQ").notes((text.to_owned(), text.to_owned()));
    compiled.invoke(input).thread("t").await.unwrap();
    let case = compiled.threads().get_state("t").await.unwrap().state;
    assert_eq!((case.patient.as_str(), case.notes[text].as_str()), ("__sealed__:AQ", text));
}
