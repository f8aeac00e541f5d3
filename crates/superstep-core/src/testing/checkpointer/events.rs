//! Journaled events: stored in order, with the checkpoint of their commit, and once. Deletion is tested in
//! `delete_events`.

use serde_json::{Value, json};

use super::writer::{Writer, id, pending_entry, run};
use crate::checkpoint::TaskEntry;
use crate::error::ErrorCode;
use crate::port::{
    CheckpointSelector, Commit, EventsQuery, SharedCheckpointer, StoredEvent, ThreadStatus, ThreadsQuery,
};
use crate::value::AnyValue;

pub(super) fn event(number: u64, run_number: u128, body: Value) -> StoredEvent {
    StoredEvent { number, run: run(run_number), payload: AnyValue::json(body) }
}

pub(super) fn numbers(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.number).collect()
}

/// Commits a step with these events.
pub(super) async fn commit_events(writer: &mut Writer, events: &[StoredEvent]) {
    let commit = Commit { events: events.to_vec(), ..writer.build_commit(json!({ "count": 1 })) };
    writer.send(commit).await;
}

async fn read_events(writer: &Writer, query: &EventsQuery) -> Vec<StoredEvent> {
    writer.checkpointer.events(writer.thread(), query).await.expect("failed to read events")
}

/// Returns all stored events.
pub(super) async fn all_events(writer: &Writer) -> Vec<StoredEvent> {
    read_events(writer, &EventsQuery::default()).await
}

pub(super) async fn last_number(writer: &Writer) -> u64 {
    writer.checkpointer.last_event_number(writer.thread()).await.expect("failed to read the last event number")
}

/// R-FWK-33: events are returned in the order of their numbers, with their runs and bodies.
pub async fn events_are_ordered_by_number(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let events = [event(1, 1, json!("begun")), event(2, 1, json!({ "step": 1 })), event(7, 2, json!([null, 1.5, -3]))];
    commit_events(&mut writer, &events[..2]).await;
    commit_events(&mut writer, &events[2..]).await;
    assert_eq!(all_events(&writer).await, events);
    assert_eq!(last_number(&writer).await, 7);
}

/// R-FWK-33: a thread without events returns none, and neither does one that does not exist.
pub async fn a_thread_without_events_has_none(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(2).await;
    assert_eq!((all_events(&writer).await, last_number(&writer).await), (Vec::new(), 0));
    let unknown = "nobody".into();
    assert_eq!(checkpointer.events(&unknown, &EventsQuery::default()).await.expect("failed to read events"), []);
    assert_eq!(checkpointer.last_event_number(&unknown).await.expect("failed to read the last event number"), 0);
    checkpointer.delete_events(&unknown, 9).await.expect("there is nothing to do");
    assert!(checkpointer.threads(&ThreadsQuery::default()).await.expect("listing works").len() == 1);
}

/// R-FWK-33: a reader that requests events after its last number gets all later ones, in pages.
pub async fn a_reader_continues_after_its_last_number(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=20 {
        commit_events(&mut writer, &[event(number * 3, 1, json!(number))]).await;
    }
    let (mut events, mut query) = (Vec::new(), EventsQuery { limit: Some(7), ..EventsQuery::default() });
    loop {
        let page = read_events(&writer, &query).await;
        assert!(page.len() <= 7);
        let Some(last_event) = page.last() else { break };
        query.after = Some(last_event.number);
        events.extend(page);
    }
    assert_eq!(numbers(&events), (1..=20).map(|number| number * 3).collect::<Vec<u64>>());
    let after = |after: u64| EventsQuery { after: Some(after), ..EventsQuery::default() };
    assert_eq!(numbers(&read_events(&writer, &after(55)).await), [57, 60], "the number need not be one that there was");
    for past in [60, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(read_events(&writer, &after(past)).await, []);
    }
    assert_eq!(read_events(&writer, &EventsQuery { limit: Some(0), ..EventsQuery::default() }).await, []);
}

/// R-FWK-33: events can be filtered by run.
pub async fn events_of_one_run_are_distinguished(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=12 {
        commit_events(&mut writer, &[event(number, u128::from(number % 3), json!(number))]).await;
    }
    let of_run = |number: u128| EventsQuery { run: Some(run(number)), ..EventsQuery::default() };
    assert_eq!(numbers(&read_events(&writer, &of_run(2)).await), [2, 5, 8, 11]);
    assert_eq!(numbers(&read_events(&writer, &EventsQuery { after: Some(5), limit: Some(1), ..of_run(2) }).await), [8]);
    assert_eq!(read_events(&writer, &of_run(9)).await, []);
}

/// R-FWK-33: a rejected commit leaves no event.
pub async fn a_rejected_commit_leaves_no_event(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    commit_events(&mut writer, &[event(1, 1, json!("kept"))]).await;
    let mut orphan = Writer { latest: Some(id(77)), ..writer.clone() };
    let commit = Commit { events: vec![event(2, 1, json!("lost"))], ..orphan.build_commit(json!({ "count": 1 })) };
    checkpointer.commit(&commit).await.expect_err("the parent is not there");
    let stale = writer.clone();
    writer.close();
    let lease = checkpointer.acquire(&"thread".into(), run(2)).await.expect("the lease was released");
    let commit = Commit { events: vec![event(2, 1, json!("late"))], ..stale.entries_commit(Vec::new(), None) };
    let error = checkpointer.commit(&commit).await.expect_err("another run holds the lease");
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    assert_eq!((numbers(&all_events(&stale).await), last_number(&stale).await), (vec![1], 1));
    let next = Writer { lease, ..stale };
    let commit = Commit { events: vec![event(2, 2, json!("next"))], ..next.entries_commit(Vec::new(), None) };
    checkpointer.commit(&commit).await.expect("nothing of the others was written");
    assert_eq!(all_events(&next).await, [event(1, 1, json!("kept")), event(2, 2, json!("next"))]);
}

/// R-FWK-33: a commit whose events do not come after the last one is rejected as a whole.
pub async fn a_rejected_event_leaves_no_checkpoint(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.step(json!({ "log": ["a"] })).await;
    commit_events(&mut writer, &[event(4, 1, json!("four")), event(5, 1, json!("five"))]).await;
    let before = writer.loaded(CheckpointSelector::Latest).await.checkpoint.id;
    for late in [5, 4, 2, 1] {
        let mut commit = writer.clone().build_commit(json!({ "log": ["b"] }));
        commit.events = vec![event(late, 1, json!("another")), event(6, 1, json!("six"))];
        commit.status = Some(ThreadStatus::Error);
        assert_eq!(checkpointer.commit(&commit).await.expect_err("it is late").code(), ErrorCode::Internal, "{late}");
        let alone =
            Commit { events: vec![event(late, 1, json!("another"))], ..writer.entries_commit(Vec::new(), None) };
        assert_eq!(
            checkpointer.commit(&alone).await.expect_err("it is late").code(),
            ErrorCode::Internal,
            "{late} alone"
        );
    }
    assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.id, before);
    assert_ne!(
        checkpointer.status(writer.thread()).await.expect("failed to read the status"),
        Some(ThreadStatus::Error)
    );
    assert_eq!((numbers(&all_events(&writer).await), last_number(&writer).await), (vec![4, 5], 5));
    writer.step(json!({ "log": ["c"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await["log"], json!(["a", "c"]));
}

/// R-FWK-33: two events of one commit have two numbers, and none is 0.
pub async fn numbers_of_one_commit_differ(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(1).await;
    let bad = [[1, 1], [0, 1]];
    for pair in bad {
        let events = pair.map(|number| event(number, 1, json!("x"))).to_vec();
        let commit = Commit { events, ..writer.entries_commit(Vec::new(), None) };
        assert_eq!(checkpointer.commit(&commit).await.expect_err("it is numbered wrongly").code(), ErrorCode::Internal);
    }
    assert_eq!((all_events(&writer).await, last_number(&writer).await), (Vec::new(), 0));
}

/// R-FWK-33: a repeated commit adds no event twice, with or without a checkpoint.
pub async fn a_commit_sent_again_adds_no_event_twice(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let first = Commit { events: vec![event(1, 1, json!("one"))], ..writer.build_commit(json!({ "log": ["a"] })) };
    writer.send(first.clone()).await;
    checkpointer.commit(&first).await.expect("a valid commit is accepted");
    let second = Commit { events: vec![event(2, 1, json!("two"))], ..writer.build_commit(json!({ "log": ["b"] })) };
    writer.send(second.clone()).await;
    for repeated in [&first, &second] {
        checkpointer.commit(repeated).await.expect("a valid commit is accepted");
    }
    let alone = Commit { events: vec![event(3, 1, json!("three"))], ..writer.entries_commit(Vec::new(), None) };
    for _ in 0..3 {
        checkpointer.commit(&alone).await.expect("a repeated commit is detected by content");
    }
    let events = [event(1, 1, json!("one")), event(2, 1, json!("two")), event(3, 1, json!("three"))];
    assert_eq!(all_events(&writer).await, events);
}

/// R-FWK-33: a commit may consist of events alone, and creates the thread.
pub async fn a_commit_of_events_alone_creates_the_thread(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let commit = Commit { events: vec![event(1, 1, json!("hello"))], ..writer.entries_commit(Vec::new(), None) };
    checkpointer.commit(&commit).await.expect("events are enough");
    assert_eq!(
        checkpointer.status(writer.thread()).await.expect("failed to read the status"),
        Some(ThreadStatus::Idle)
    );
    assert!(checkpointer.namespaces(writer.thread()).await.expect("failed to list namespaces").is_empty());
    assert!(writer.find(CheckpointSelector::Latest).await.expect("loading works").is_none());
    writer.step(json!({ "log": ["a"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await["log"], json!(["a"]));
    assert_eq!(numbers(&all_events(&writer).await), [1]);
}

/// R-FWK-33: events become visible with the checkpoint of their commit and with its pending entries.
pub async fn events_come_with_their_checkpoint(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in 1..=5 {
        let mut commit = writer.build_commit(json!({ "log": [number] }));
        commit.pending = vec![pending_entry(id(number.into()), 1, TaskEntry::Skipped)];
        commit.events = vec![event(number, 1, json!(number))];
        writer.send(commit).await;
        assert_eq!(
            (last_number(&writer).await, writer.loaded(CheckpointSelector::Latest).await.pending.len()),
            (number, 1)
        );
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    }
}

/// R-FWK-33: events of subgraphs belong to the thread, whichever part of the commit contains which number.
pub async fn events_of_subgraphs_belong_to_the_thread(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut subgraph = writer.subgraph("child");
    let child = Commit { events: vec![event(2, 1, json!("in"))], ..subgraph.build_commit(json!({ "log": ["i"] })) };
    let bare = Commit { events: vec![event(3, 1, json!("bare"))], ..subgraph.entries_commit(Vec::new(), None) };
    let mut commit = writer.build_commit(json!({ "log": ["a"] }));
    commit.events = vec![event(1, 1, json!("out")), event(4, 1, json!("out again"))];
    commit.subgraph_commits = vec![child, bare];
    writer.send(commit.clone()).await;
    let events = [
        event(1, 1, json!("out")),
        event(2, 1, json!("in")),
        event(3, 1, json!("bare")),
        event(4, 1, json!("out again")),
    ];
    assert_eq!(all_events(&writer).await, events);
    checkpointer.commit(&commit).await.expect("a valid commit is accepted");
    assert_eq!(all_events(&writer).await, events);
    let mut doubled = writer.entries_commit(Vec::new(), None);
    doubled.events = vec![event(5, 1, json!("x"))];
    doubled.subgraph_commits =
        vec![Commit { events: vec![event(5, 1, json!("y"))], ..subgraph.entries_commit(Vec::new(), None) }];
    assert_eq!(checkpointer.commit(&doubled).await.expect_err("one number, two events").code(), ErrorCode::Internal);
    assert_eq!(all_events(&writer).await, events);
}

/// R-FWK-33: of a commit that was partly saved before, the new parts are saved with their events.
pub async fn the_rest_of_a_repeated_commit_is_saved(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut subgraph = writer.subgraph("child");
    let child = Commit { events: vec![event(1, 1, json!("in"))], ..subgraph.build_commit(json!({ "log": ["i"] })) };
    checkpointer.commit(&child).await.expect("a valid commit is accepted");
    let mut commit = writer.build_commit(json!({ "log": ["a"] }));
    commit.events = vec![event(2, 1, json!("out"))];
    commit.subgraph_commits = vec![child];
    writer.send(commit).await;
    assert_eq!(all_events(&writer).await, [event(1, 1, json!("in")), event(2, 1, json!("out"))]);
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_events {
    ($open:expr, $drive:expr) => {
        mod events {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, events as checks};

            /// R-FWK-33: events are returned in the order of their numbers, with their runs and bodies.
            #[test]
            fn events_are_ordered_by_number() {
                check($open, $drive, checks::events_are_ordered_by_number);
            }

            /// R-FWK-33: a thread without events returns none, and neither does one that does not exist.
            #[test]
            fn a_thread_without_events_has_none() {
                check($open, $drive, checks::a_thread_without_events_has_none);
            }

            /// R-FWK-33: a reader that requests events after its last number gets all later ones, in pages.
            #[test]
            fn a_reader_continues_after_its_last_number() {
                check($open, $drive, checks::a_reader_continues_after_its_last_number);
            }

            /// R-FWK-33: events can be filtered by run.
            #[test]
            fn events_of_one_run_are_distinguished() {
                check($open, $drive, checks::events_of_one_run_are_distinguished);
            }

            /// R-FWK-33: a rejected commit leaves no event.
            #[test]
            fn a_rejected_commit_leaves_no_event() {
                check($open, $drive, checks::a_rejected_commit_leaves_no_event);
            }

            /// R-FWK-33: a commit whose events do not come after the last one is rejected as a whole.
            #[test]
            fn a_rejected_event_leaves_no_checkpoint() {
                check($open, $drive, checks::a_rejected_event_leaves_no_checkpoint);
            }

            /// R-FWK-33: two events of one commit have two numbers, and none is 0.
            #[test]
            fn numbers_of_one_commit_differ() {
                check($open, $drive, checks::numbers_of_one_commit_differ);
            }

            /// R-FWK-33: a repeated commit adds no event twice, with or without a checkpoint.
            #[test]
            fn a_commit_sent_again_adds_no_event_twice() {
                check($open, $drive, checks::a_commit_sent_again_adds_no_event_twice);
            }

            /// R-FWK-33: a commit may consist of events alone, and creates the thread.
            #[test]
            fn a_commit_of_events_alone_creates_the_thread() {
                check($open, $drive, checks::a_commit_of_events_alone_creates_the_thread);
            }

            /// R-FWK-33: events become visible with the checkpoint of their commit and with its pending entries.
            #[test]
            fn events_come_with_their_checkpoint() {
                check($open, $drive, checks::events_come_with_their_checkpoint);
            }

            /// R-FWK-33: events of subgraphs belong to the thread, whichever part of the commit contains which
            /// number.
            #[test]
            fn events_of_subgraphs_belong_to_the_thread() {
                check($open, $drive, checks::events_of_subgraphs_belong_to_the_thread);
            }

            /// R-FWK-33: of a commit that was partly saved before, the new parts are saved with their events.
            #[test]
            fn the_rest_of_a_repeated_commit_is_saved() {
                check($open, $drive, checks::the_rest_of_a_repeated_commit_is_saved);
            }
        }
    };
}
