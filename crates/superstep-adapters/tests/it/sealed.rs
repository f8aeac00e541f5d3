//! Values sealed on their way to a store: nothing readable below, everything as before above.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::core::change::Change;
use superstep::core::checkpoint::{FORMAT_VERSION, FieldChange, Namespace, StoredDue, StoredSend, StoredWhy, WhyKind};
use superstep::core::datum::Datum;
use superstep::core::id::{CheckpointId, RunId};
use superstep::core::port::{At, Checkpointer, Commit, HistoryQuery, Lease, Loaded, SharedCheckpointer};
use superstep::prelude::*;
use superstep::{Code, Compiled, Durability, Outcome, ToParent};
use superstep_adapters::sealed::{Key, Sealed};

mod bent;

use bent::Bent;

mod conformance {
    superstep_core::checkpointer_conformance!(crate::sealed::empty);
}

/// R-FWK-36, R-FWK-41, R-FWK-48: encrypted and squeezed, in a file.
#[cfg(feature = "sqlite")]
mod in_sqlite {
    use superstep_adapters::sqlite::Sqlite;

    use super::*;

    superstep_core::checkpointer_conformance!(|| {
        Sealed::new(Sqlite::open(crate::sqlite::folder().join("sealed.db")).unwrap(), key(1))
    });
}

/// R-FWK-37, R-FWK-41, R-FWK-48: encrypted and squeezed, on a server.
#[cfg(feature = "postgres")]
mod in_postgres {
    use super::*;

    superstep_core::checkpointer_conformance!(|| Sealed::new(crate::postgres::open(), key(1)));
}

fn empty() -> Sealed<Memory> {
    Sealed::new(Memory::new(), key(1))
}

fn key(number: u8) -> Key {
    Key::from_bytes([number; 32])
}

/// Every text that must not be found below.
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

#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Inside: record something once, ask, and tell the graph around.
fn ward() -> Compiled<Case> {
    let mut graph = Graph::<Case>::new("ward");
    let note = graph.node("note", || Case::update().notes(("S3CRET-key".to_owned(), "S3CRET-note".to_owned())));
    let confirm = graph.node("confirm", |ask: Ask, cx: Cx| async move {
        let once: String = cx.once("number", async { Ok::<_, NodeError>("S3CRET-once".to_owned()) }).await?;
        let schema = json!({ "type": "string", "title": "S3CRET-schema" });
        let answer = ask.with("approve", json!({ "shown": "S3CRET-value" }), "S3CRET-text?", Some(schema)).await?;
        Ok::<_, NodeError>(Case::update().log(once).log(answer.as_str().unwrap_or_default().to_owned()))
    });
    let tell = graph.node("tell", || {
        let update = json!({ "log": ["S3CRET-outside"] });
        ToParent(Command::<Case>::new().update(update).send(Send::new("last", json!({ "text": "S3CRET-sent" }))))
    });
    // A sibling, so that the command is kept as the result of a task before the superstep is whole.
    let sibling = graph.node("sibling", || ());
    graph.sequence([START, note.into(), confirm.into(), tell.into(), END]);
    graph.edge(confirm, sibling).edge(sibling, END);
    graph.compile().unwrap()
}

/// Sends, two siblings of which one fails the first time, and a graph inside.
fn case(store: impl Into<SharedCheckpointer>) -> Compiled<Case> {
    let mut graph = Graph::<Case>::new("case");
    let look = graph.node("look", |page: Sent<Page>, cx: Cx| async move {
        match page.text.as_str() {
            "fails" if cx.configurable("fail").is_some() => Err(NodeError::new("S3CRET-error")),
            text => Ok(Case::update().notes((format!("key {text}"), text.to_owned()))),
        }
    });
    let last = graph.node("last", |page: Sent<Page>| Case::update().log(page.text.clone()));
    let ward = graph.node("ward", ward());
    graph.entry_by(
        move |_: &Case| ["S3CRET-page", "fails"].map(|text| Send::new(look, Page { text: text.into() })).to_vec(),
        [look],
    );
    graph.edge(look, ward).route(ward, |_: &Case| END, [last.into(), END]).edge(last, END).checkpointer(store);
    graph.compile().unwrap()
}

/// Fails, goes on, asks, is answered, ends; each time as a new program over the same store.
async fn run_through(open: impl Fn() -> SharedCheckpointer, durability: Durability) -> Outcome<Case> {
    let failed = case(open()).run(Case::input().patient("S3CRET-patient")).thread("t").durability(durability);
    let error = failed.configurable("fail", true).await.unwrap_err();
    assert!(error.to_string().contains("S3CRET-error"), "{error}");
    let paused = case(open()).go_on("t").durability(durability).await.unwrap();
    let question = &paused.questions()[0];
    assert_eq!((&question.value["shown"], question.text.as_deref()), (&json!("S3CRET-value"), Some("S3CRET-text?")));
    case(open()).resume("t", "S3CRET-answer").durability(durability).await.unwrap()
}

/// All that a store holds of a thread, as text.
pub(crate) async fn everything(store: &impl Checkpointer, thread: &str) -> String {
    let mut text = String::new();
    for namespace in store.namespaces(&thread.into()).await.unwrap() {
        for loaded in store.history(&thread.into(), &namespace, &HistoryQuery::default()).await.unwrap() {
            let Loaded { checkpoint, fields, pending } = loaded;
            text += &json!({ "checkpoint": *checkpoint, "fields": fields, "pending": pending }).to_string();
            text.push('\n');
        }
    }
    text
}

async fn newest(store: &impl Checkpointer) -> Loaded {
    store.load(&"t".into(), &Namespace::root(), At::Latest).await.unwrap().unwrap()
}

/// R-REF-64: what is given to a sealed store comes back, in each durability and for each new program that opens it, and
/// nothing of it is readable below.
#[tokio::test]
async fn a_sealed_run_ends_as_a_plain_one_and_nothing_of_it_is_readable() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (plain, below) = (Memory::new(), Memory::new());
        let expected = run_through(|| plain.clone().into(), durability).await;
        let sealed = run_through(|| Sealed::new(below.clone(), key(1)).into(), durability).await;
        assert_eq!(*sealed.state, *expected.state);
        assert_eq!(sealed.state.log, ["S3CRET-outside", "S3CRET-sent"]);
        let (readable, hidden) = (everything(&plain, "t").await, everything(&below, "t").await);
        for secret in SECRETS {
            assert!(readable.contains(secret), "{durability:?}: without sealing `{secret}` is there to be found");
            assert!(!hidden.contains(secret), "{durability:?}: `{secret}` is readable");
        }
        assert!(!hidden.contains("S3CRET"));
        let again = Sealed::new(below, key(1));
        let opened = everything(&again, "t").await;
        assert!(SECRETS.iter().all(|secret| opened.contains(secret)));
    }
}

/// R-REF-64: whole values that a store keeps in place of many changes are sealed, too.
#[tokio::test]
async fn whole_copies_are_sealed() {
    let below = Memory::new();
    let mut graph = Graph::<Case>::new("loop");
    let round = graph.node("round", |case: View<Case>| {
        Case::update().notes(("S3CRET-key".to_owned(), format!("S3CRET-{}", case.rounds))).rounds(1_u64)
    });
    let onward = move |case: &Case| if case.rounds < 60 { Go::to(round) } else { Go::end() };
    graph.edge(START, round).route(round, onward, [round.into(), END]);
    let compiled = graph.checkpointer(Sealed::new(below.clone(), key(1))).compile().unwrap();
    let done = compiled.run(Case::input().patient("S3CRET")).thread("t").recursion_limit(100).await.unwrap();
    assert_eq!(done.state.notes["S3CRET-key"], "S3CRET-59");
    let (_, log) = newest(&below).await.fields.into_iter().find(|(field, _)| **field == *"notes").unwrap();
    assert!(log.len() < 40, "{} changes: the store has put a whole value between them", log.len());
    assert!(!everything(&below, "t").await.contains("S3CRET"));
    assert_eq!(*compiled.threads().state("t").await.unwrap().state, *done.state);
}

/// R-REF-64: what was saved before there was a key is refused with the way out, read when allowed, and what follows is
/// sealed.
#[tokio::test]
async fn rows_in_the_clear_are_refused_unless_allowed() {
    let below = Memory::new();
    case(below.clone()).run(Case::input().patient("S3CRET-patient")).thread("t").await.unwrap();
    let before = everything(&below, "t").await;
    assert!(before.contains("S3CRET-patient") && !before.contains("__sealed__"));

    let strict = Sealed::new(below.clone(), key(1));
    let error = case(strict.clone()).resume("t", "S3CRET-answer").await.unwrap_err();
    assert_eq!(error.code(), Code::CheckpointCorrupt);
    assert!(error.message().contains("is stored in the clear"), "{error}");
    assert!(error.advice().unwrap().contains("`reads_plain(true)`"), "{error}");
    assert_eq!(everything(&below, "t").await, before);

    let done = case(strict.clone().reads_plain(true)).resume("t", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    let after = everything(&below, "t").await;
    assert!(!after.contains("S3CRET-answer") && !after.contains("S3CRET-outside"), "what is new is sealed");
    assert_eq!(*case(strict.reads_plain(true)).threads().state("t").await.unwrap().state, *done.state);
}

/// A thread that waits for an answer, sealed with the first key.
async fn waiting() -> Memory {
    let below = Memory::new();
    case(Sealed::new(below.clone(), key(1))).run(Case::input().patient("S3CRET-patient")).thread("t").await.unwrap();
    below
}

/// R-REF-64: a key that is not in the ring opens nothing and says which one is missing; an old key opens, and the new
/// one seals.
#[tokio::test]
async fn keys_can_change_and_a_wrong_one_is_named() {
    let below = waiting().await;
    let other = Sealed::new(below.clone(), key(2));
    let error = case(other.clone()).threads().state("t").await.unwrap_err();
    let id = newest(&below).await.checkpoint.id.to_string();
    assert_eq!((error.code(), error.place().thread.clone()), (Code::CheckpointCorrupt, Some("t".into())));
    for part in ["thread `t`", &id, "field `patient`", "key of number"] {
        assert!(error.message().contains(part), "{error}");
    }
    let done = case(other.clone().with_old_key(key(1))).resume("t", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    let error = case(Sealed::new(below.clone(), key(1))).threads().state("t").await.unwrap_err();
    assert!(error.message().contains("key of number"), "the newest rows have the new key: {error}");
    let shown = format!("{:?}", key(2));
    assert!(shown.starts_with("Key(number ") && !shown.contains("2, 2") && !shown.contains("0202"), "{shown}");
}

/// R-FWK-48: the rows of one thread do not open as those of another, and the error names where they were found.
#[tokio::test]
async fn rows_that_were_moved_to_another_thread_are_refused() {
    let below = waiting().await;
    below.copy_thread(&"t".into(), &"moved".into()).await.unwrap();
    let error = case(Sealed::new(below, key(1))).threads().state("moved").await.unwrap_err();
    assert_eq!(error.code(), Code::CheckpointCorrupt);
    for part in ["thread `moved`, checkpoint ", "field `patient`", "belongs to another place"] {
        assert!(error.message().contains(part), "{error}");
    }
}

/// R-FWK-48: a copy is sealed anew with the newest key: the old one is not needed for it any more, and it can be resumed.
#[tokio::test]
async fn a_copy_is_sealed_with_the_newest_key() {
    let below = waiting().await;
    let both = Sealed::new(below.clone(), key(2)).with_old_key(key(1));
    both.copy_thread(&"t".into(), &"copy".into()).await.unwrap();
    let done = case(Sealed::new(below.clone(), key(2))).resume("copy", "S3CRET-answer").await.unwrap();
    assert_eq!(done.state.log, ["S3CRET-outside", "S3CRET-sent"]);
    assert!(!everything(&below, "copy").await.contains("S3CRET"));
    assert!(case(Sealed::new(below, key(2))).threads().state("t").await.is_err(), "the first still has the old key");
}

/// R-FWK-48: a key that the store does not have is asked for by its number, once.
#[tokio::test]
async fn a_missing_key_is_asked_for_by_its_number() {
    let below = waiting().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let vault = move |number: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(key(1)).filter(|key| key.number() == number)
    };
    let sealed = Sealed::new(below, key(2)).find_key(vault);
    for _ in 0..2 {
        assert_eq!(case(sealed.clone()).threads().state("t").await.unwrap().state.patient, "S3CRET-patient");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// R-FWK-41, R-FWK-48: a long value is squeezed before it is sealed.
#[tokio::test]
async fn long_values_are_squeezed_before_they_are_sealed() {
    let below = Memory::new();
    let long = "what was said before is said again, ".repeat(500);
    let compiled = case(Sealed::new(below.clone(), key(1)));
    compiled.run(Case::input().patient(long.clone())).thread("t").await.unwrap();
    let (_, log) = newest(&below).await.fields.into_iter().find(|(field, _)| **field == *"patient").unwrap();
    let stored = log[0].1.to_json().unwrap().to_string();
    assert!(stored.len() * 10 < long.len(), "{} of {}", stored.len(), long.len());
    assert_eq!(compiled.threads().state("t").await.unwrap().state.patient, long);
}

/// R-REF-64: a changed byte, a cut, a value in another place and a value in the clear are refused by name.
#[tokio::test]
async fn what_was_changed_below_is_refused() {
    let below = waiting().await;
    for (bend, slot) in bent::WAYS {
        let sealed = Sealed::new(Bent { store: below.clone(), bend: Arc::new(bend) }, key(1));
        let ward = sealed.namespaces(&"t".into()).await.unwrap().pop().unwrap();
        let mut refusals = Vec::new();
        for namespace in [&Namespace::root(), &ward] {
            let query = HistoryQuery::default();
            refusals.extend(sealed.history(&"t".into(), namespace, &query).await.err());
        }
        assert!(!refusals.is_empty(), "{slot}: the change was not seen");
        for error in refusals {
            assert_eq!(error.code(), Code::CheckpointCorrupt, "{error}");
            assert!(error.message().starts_with("thread `t`, checkpoint "), "{error}");
            assert!(error.message().contains(slot), "{slot}: {error}");
        }
    }
    let kept = case(Sealed::new(below, key(1))).threads().state("t").await.unwrap();
    assert_eq!(kept.state.patient, "S3CRET-patient");
}

/// R-REF-64: a sealed form of a later version is refused as such.
#[tokio::test]
async fn a_newer_form_is_refused_as_newer() {
    let later = |loaded: &mut Loaded| {
        for (_, log) in &mut loaded.fields {
            log[0].1 = Datum::json(json!({ "__sealed__": "AwAAAAA" }));
        }
    };
    let sealed = Sealed::new(Bent { store: waiting().await, bend: Arc::new(later) }, key(1));
    let error = sealed.load(&"t".into(), &Namespace::root(), At::Latest).await.unwrap_err();
    assert_eq!(error.code(), Code::CheckpointTooNew, "{error}");
}

/// A first checkpoint with a task that is due with an input of its own, and keys that changed since the input.
fn draft(lease: &Lease, payload: &str, key: &str) -> Commit {
    let send = StoredSend { index: 0, payload: Datum::json(json!(payload)), timeout: None };
    let why = StoredWhy { kind: WhyKind::Send, from: None };
    let merged = Change::Merged { set: vec![key.to_owned()], removed: Vec::new() };
    let checkpoint = json!({
        "format": FORMAT_VERSION, "id": CheckpointId::from_bits(1), "parent": null, "thread": "t", "namespace": "",
        "step": 0, "source": "input", "run": RunId::from_bits(1), "time": 0, "graph": "g", "schema_version": 1,
        "due": [StoredDue { node: "look".into(), why, send: Some(send), since: None }],
        "since_input": [["notes", merged]],
    });
    let part = Datum::json(json!({ key: payload }));
    let changes = [FieldChange { field: "notes".into(), change: Change::Set, part }];
    let checkpoint = Some(Arc::new(serde_json::from_value(checkpoint).unwrap()));
    Commit { checkpoint, changes: changes.into_iter().collect(), ..Commit::empty(lease.clone(), Namespace::root()) }
}

/// R-REF-64: a commit that is made again from equal parts is taken as the same although no two seals are equal; another
/// one is refused.
#[tokio::test]
async fn an_equal_commit_is_the_same_and_another_is_refused() {
    let below = Memory::new();
    let sealed = Sealed::new(below.clone(), key(1));
    let lease = sealed.acquire(&"t".into(), RunId::from_bits(1)).await.unwrap();
    sealed.commit(&draft(&lease, "S3CRET-sent", "S3CRET-key")).await.unwrap();
    let before = everything(&below, "t").await;
    sealed.commit(&draft(&lease, "S3CRET-sent", "S3CRET-key")).await.unwrap();
    for (payload, key) in [("another", "S3CRET-key"), ("S3CRET-sent", "another")] {
        assert!(sealed.commit(&draft(&lease, payload, key)).await.is_err());
    }
    assert_eq!(everything(&below, "t").await, before);
    assert!(!before.contains("S3CRET"));
    let loaded = newest(&sealed).await;
    let expected = draft(&lease, "S3CRET-sent", "S3CRET-key");
    assert_eq!(
        (Some(&loaded.checkpoint), &loaded.fields[0].1[0].1),
        (expected.checkpoint.as_ref(), &expected.changes[0].part)
    );
}

/// R-REF-64: a value that looks sealed is a value like any other.
#[tokio::test]
async fn a_value_that_looks_sealed_comes_back() {
    let odd = r#"{"__sealed__":"AQ"}"#;
    let compiled = case(empty());
    let input = Case::input().patient("__sealed__:AQ").notes((odd.to_owned(), odd.to_owned()));
    compiled.run(input).thread("t").await.unwrap();
    let case = compiled.threads().state("t").await.unwrap().state;
    assert_eq!((case.patient.as_str(), case.notes[odd].as_str()), ("__sealed__:AQ", odd));
}
