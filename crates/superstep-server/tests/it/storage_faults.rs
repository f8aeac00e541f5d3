//! Tests of guarantees under slow or failing storage, failing recovery, and full replay buffers.

use std::time::Duration;

use serde_json::json;
use superstep::core::id::InterruptId;
use superstep::store::SearchOp;
use superstep_server::{
    RecoveryMode, ReplayBufferConfig, RunInput, RunRequest, RunService, RunStatus, SubscriptionEnd, ThreadRecord,
    thread_data_namespace,
};
use tokio::time::timeout;

use crate::faulty_storage::{FaultController, collect_events, order};
use crate::shutdown_and_restart::until;

const LONG: Duration = Duration::from_secs(30);

async fn thread_record(runs: &RunService, thread: &str) -> ThreadRecord {
    runs.get_thread(&thread.into()).await.unwrap()
}

fn count(events: &[(u64, String)], kind: &str) -> usize {
    events.iter().filter(|(_, event_kind)| event_kind == kind).count()
}

/// R-SRV-9: events that are not persisted stay buffered beyond the buffer size, for clients that reconnect.
#[tokio::test]
async fn unsaved_events_stay_buffered_for_reconnecting_clients() {
    let bench = FaultController::new();
    let mut config = bench.config();
    config.replay_buffer = ReplayBufferConfig { max_events: 20, ..ReplayBufferConfig::default() };
    let server = bench.serve(config).await;
    let runs = server.run_service();
    runs.start(order("t", json!({"says": 200, "gated": true}))).await.unwrap();
    let mut feed = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut first = Vec::new();
    while count(&first, "on_custom_event") < 200 {
        let event = timeout(LONG, feed.next()).await.unwrap().expect("nothing is let go of before it is stored");
        first.push((event.number(), event.event_type().to_owned()));
    }
    // None of these events is persisted: the superstep has not finished.
    let mut back = runs.subscribe(&"t".into(), Some(first[3].0)).await.unwrap();
    for expected in &first[4..] {
        let event = timeout(LONG, back.next()).await.unwrap().unwrap();
        assert_eq!((event.number(), event.event_type()), (expected.0, expected.1.as_str()));
    }
    bench.continue_run();
    let all = collect_events(runs, "t", None).await;
    assert_eq!(all[..first.len()], first);
    assert_eq!(all.last().unwrap().1, "on_chain_end");
}

/// R-SRV-9: beyond the hard limit a client receives a request to wait, and then receives every event.
#[tokio::test]
async fn a_reader_fails_when_events_exceed_buffer_and_store() {
    let bench = FaultController::new();
    let mut config = bench.config();
    config.replay_buffer = ReplayBufferConfig { max_events: 2, ..ReplayBufferConfig::default() };
    let server = bench.serve(config).await;
    let runs = server.run_service();
    runs.start(order("t", json!({"says": 1000, "gated": true}))).await.unwrap();
    bench.wait_until_emitted().await;
    let mut feed = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut received = Vec::new();
    while let Some(event) = timeout(LONG, feed.next()).await.unwrap() {
        received.push((event.number(), event.event_type().to_owned()));
    }
    let Some(SubscriptionEnd::Failed(problem)) = feed.end() else { panic!("{:?}", feed.end()) };
    assert_eq!((problem.status(), problem.is_retryable()), (503, true));
    bench.continue_run();
    until(runs, &"t".into(), RunStatus::Succeeded).await;
    received.extend(collect_events(runs, "t", received.last().map(|(number, _)| *number)).await);
    assert_eq!(count(&received, "on_custom_event"), 1000);
    let numbers: Vec<u64> = received.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// R-SRV-9: later events do not overtake an event that takes long to be persisted.
#[tokio::test]
async fn later_events_do_not_overtake_unsaved_events() {
    let bench = FaultController::new();
    let server = bench.serve(bench.config()).await;
    let runs = server.run_service();
    bench.hold();
    runs.start(order("t", json!({"says": 3, "gated": true, "waits_for_hold": true}))).await.unwrap();
    let mut feed = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut live = Vec::new();
    bench.wait_until_emitted().await;
    // Longer than the timeout for a missing event.
    while let Ok(Some(event)) = timeout(Duration::from_millis(700), feed.next()).await {
        live.push((event.number(), event.event_type().to_owned()));
    }
    assert_eq!(count(&live, "on_custom_event"), 0);
    bench.release();
    bench.continue_run();
    while let Some(event) = timeout(LONG, feed.next()).await.unwrap() {
        live.push((event.number(), event.event_type().to_owned()));
    }
    assert_eq!(count(&live, "on_custom_event"), 3);
    let served = runs.graph("work").unwrap();
    let stored = served.events(&"t".into(), &superstep::EventsQuery::default()).await.unwrap();
    let stored = stored.into_iter().map(|stored| (stored.number, stored.event["event"].as_str().unwrap().to_owned()));
    assert_eq!(live, stored.collect::<Vec<_>>());
}

/// R-SRV-19: a run that cannot be recovered has an error, and one call continues it once the cause is fixed.
#[tokio::test]
async fn a_run_that_cannot_be_recovered_has_an_error_and_continues_on_request() {
    let bench = FaultController::new();
    bench.died(&order("t", json!({"says": 1}))).await;
    bench.set_key(false);
    let server = bench.serve(bench.config()).await;
    let runs = server.run_service();
    let record = thread_record(runs, "t").await;
    assert_eq!(record.status, RunStatus::Orphaned);
    assert_eq!(record.error.unwrap().message, "the model has no key");
    bench.set_key(true);
    runs.start(RunRequest::new("work", "t", RunInput::Continue)).await.unwrap();
    assert_eq!(count(&collect_events(runs, "t", None).await, "on_custom_event"), 1);
    let record = thread_record(runs, "t").await;
    assert_eq!((record.status, record.error), (RunStatus::Succeeded, None));
}

/// R-SRV-19: a short storage outage during recovery does not fail the run; recovery is tried again.
#[tokio::test]
async fn a_run_is_recovered_when_the_store_is_back() {
    let bench = FaultController::new();
    let died = order("t", json!({"says": 1}));
    bench.died(&died).await;
    bench.lock(1);
    let server = bench.serve(bench.config()).await;
    let runs = server.run_service();
    assert_eq!(server.recovered_runs(), 1);
    assert_eq!(runs.find_run(died.run).await.unwrap().unwrap().status, RunStatus::Running);
    timeout(LONG, bench.wait_until_emitted()).await.unwrap();
    until(runs, &"t".into(), RunStatus::Succeeded).await;
}

/// R-SRV-19: the record of an unfinished run is closed once another run has started on its thread.
#[tokio::test]
async fn a_run_that_did_not_end_is_closed_by_the_next_one() {
    let bench = FaultController::new();
    let server = bench.serve(bench.config()).await;
    let (runs, older, newer) = (server.run_service(), order("t", json!({})), order("t", json!({})));
    runs.start(older.clone()).await.unwrap();
    collect_events(runs, "t", None).await;
    bench.reset_ends().await;
    let rejected = RunRequest::new("work", "t", RunInput::Resume([(InterruptId::from_bits(7), json!(1))].into()));
    runs.start(rejected).await.unwrap_err();
    assert_eq!(runs.find_run(older.run).await.unwrap().unwrap().status, RunStatus::Running);
    runs.start(newer.clone()).await.unwrap();
    collect_events(runs, "t", None).await;
    assert_eq!(runs.find_run(older.run).await.unwrap().unwrap().status, RunStatus::Cancelled);
    assert_eq!(runs.find_run(newer.run).await.unwrap().unwrap().status, RunStatus::Succeeded);
}

/// R-SRV-19: recovered runs wait for a free slot if the maximum number of runs is reached.
#[tokio::test]
async fn a_recovered_run_waits_for_a_slot() {
    let bench = FaultController::new();
    for thread in ["t1", "t2"] {
        bench.died(&order(thread, json!({"gated": true}))).await;
    }
    let mut config = bench.config();
    config.max_concurrent_runs = 1;
    let server = bench.serve(config).await;
    assert_eq!(server.recovered_runs(), 2);
    bench.wait_until_emitted().await;
    for _ in 0..2 {
        bench.continue_run();
    }
    for thread in ["t1", "t2"] {
        let done = async {
            while server
                .run_service()
                .find_thread(&thread.into())
                .await
                .unwrap()
                .is_none_or(|record| record.status != RunStatus::Succeeded)
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, done).await.unwrap();
    }
}

/// R-SRV-19: the record of an older run that was never closed is closed, and the run is not recovered.
#[tokio::test]
async fn an_older_run_that_did_not_end_is_closed_and_not_recovered() {
    let bench = FaultController::new();
    let old = order("t", json!({"says": 1}));
    let server = bench.serve(bench.config()).await;
    server.run_service().start(order("t", json!({}))).await.unwrap();
    let before = collect_events(server.run_service(), "t", None).await;
    let newest = thread_record(server.run_service(), "t").await;
    server.shutdown().await;
    bench.died(&old).await;
    let server = bench.serve(bench.config()).await;
    let runs = server.run_service();
    assert_eq!(runs.find_run(old.run).await.unwrap().unwrap().status, RunStatus::Cancelled);
    assert_eq!(thread_record(runs, "t").await, newest);
    assert_eq!(collect_events(runs, "t", None).await, before);
}

/// R-SRV-19: the end of a run is persisted despite a short storage outage.
#[tokio::test]
async fn the_end_of_a_run_is_saved_when_the_store_is_back() {
    let bench = FaultController::new();
    let server = bench.serve(bench.config()).await;
    let runs = server.run_service();
    runs.start(order("t", json!({"gated": true}))).await.unwrap();
    let mut feed = runs.subscribe(&"t".into(), None).await.unwrap();
    bench.fail(1);
    bench.continue_run();
    while timeout(LONG, feed.next()).await.unwrap().is_some() {}
    assert_eq!(thread_record(runs, "t").await.status, RunStatus::Succeeded);
    assert_eq!(runs.active_run(&"t".into()), None);
}

/// R-SRV-19: a thread has records of its newest runs only, and none after its deletion; no run starts during the
/// deletion.
#[tokio::test]
async fn run_records_are_limited_and_deleted_with_their_thread() {
    let bench = FaultController::new();
    let server = bench.serve(bench.config()).await;
    let service = server.run_service();
    service.start(order("t", json!({}))).await.unwrap();
    let first = collect_events(service, "t", None).await;
    for _ in 0..24 {
        service.start(order("t", json!({}))).await.unwrap();
        collect_events(service, "t", None).await;
    }
    service.start(order("other", json!({}))).await.unwrap();
    collect_events(service, "other", None).await;
    let runs = bench.runs().await;
    assert_eq!(runs.iter().filter(|run| run["order"]["thread"] == "t").count(), 20);
    let newest = thread_record(service, "t").await.run.to_string();
    assert!(runs.iter().any(|run| run["order"]["run"] == json!(newest)));

    bench.hold();
    let forgetting = tokio::spawn({
        let service = service.clone();
        async move { service.delete_thread(&"t".into()).await }
    });
    bench.held().await;
    assert_eq!(service.start(order("t", json!({}))).await.unwrap_err().status(), 409);
    bench.release();
    forgetting.await.unwrap().unwrap();
    assert_eq!((bench.runs().await.len(), bench.listed().await), (1, 0));
    assert_eq!(service.subscribe(&"t".into(), None).await.err().unwrap().status(), 404);
    // A new thread of the same name starts from nothing.
    service.start(order("t", json!({}))).await.unwrap();
    assert_eq!(collect_events(service, "t", None).await, first);
}

/// R-SRV-19: application data of a thread is deleted with the thread, in any amount, and data of other threads
/// stays.
#[tokio::test]
async fn thread_data_is_deleted_with_its_thread() {
    let bench = FaultController::new();
    let config = bench.config();
    let store = config.storage.store.clone();
    let server = bench.serve(config).await;
    let runs = server.run_service();
    for thread in ["a.b", "a", "a.b.c"] {
        runs.start(order(thread, json!({}))).await.unwrap();
        collect_events(runs, thread, None).await;
        for key in 0..45 {
            store.put(thread_data_namespace(&thread.into()), key.to_string(), json!("long")).await.unwrap();
        }
    }
    runs.delete_thread(&"a.b".into()).await.unwrap();
    for (thread, left) in [("a.b", 0), ("a", 45), ("a.b.c", 45)] {
        let hits = store.search(SearchOp::new(thread_data_namespace(&thread.into())).limit(100)).await.unwrap();
        assert_eq!(hits.len(), left, "{thread}");
    }
}

/// R-SRV-19: with recovery on request too, a run that died before its input was saved starts with its input.
#[tokio::test]
async fn a_run_that_had_saved_nothing_continues_with_its_input() {
    let bench = FaultController::new();
    let died = order("t", json!({"says": 2})).metadata("colour", "red");
    bench.died(&died).await;
    let mut config = bench.config();
    config.recovery = RecoveryMode::Manual;
    let server = bench.serve(config).await;
    let runs = server.run_service();
    assert_eq!(thread_record(runs, "t").await.status, RunStatus::Orphaned);
    runs.start(RunRequest::new("work", "t", RunInput::Continue)).await.unwrap();
    assert_eq!(count(&collect_events(runs, "t", None).await, "on_custom_event"), 2);
    let state = runs.graph("work").unwrap().state(&"t".into()).await.unwrap();
    assert_eq!((&state.values["topic"], &state.metadata["colour"]), (&json!("sea"), &json!("red")));
}

/// R-SRV-9, R-SRV-19: a run that had finished but died before it saved its last event still has a final event for
/// subscribers.
#[tokio::test]
async fn a_run_that_crashed_before_its_end_was_saved_has_a_final_event() {
    for resume in [RecoveryMode::Automatic, RecoveryMode::Manual] {
        let bench = FaultController::new();
        let server = bench.serve(bench.config()).await;
        bench.lose_end(true);
        server.run_service().start(order("t", json!({}))).await.unwrap();
        let all = collect_events(server.run_service(), "t", None).await;
        server.shutdown().await;
        bench.lose_end(false);
        bench.reset_ends().await;
        let mut config = bench.config();
        config.recovery = resume;
        let server = bench.serve(config).await;
        let runs = server.run_service();
        assert_eq!(thread_record(runs, "t").await.status, RunStatus::Succeeded);
        let mut feed = runs.subscribe(&"t".into(), None).await.unwrap();
        let mut events = Vec::new();
        while let Some(next) = feed.next().await {
            events.push(next);
        }
        let (last, start) = (events.last().unwrap(), events.first().unwrap().event());
        assert_eq!(
            (events.len(), last.event_type(), &last.event()["parent_ids"]),
            (all.len(), "on_chain_end", &json!([]))
        );
        assert!(last.number() > all.last().unwrap().0);
        let event = last.event();
        assert_eq!((&event["run_id"], &event["name"]), (&start["run_id"], &start["name"]));
        assert_eq!(
            (&event["metadata"]["seq"], &event["data"]["output"]["topic"]),
            (&json!(last.number()), &json!("sea"))
        );
        // The final event is not published a second time.
        server.shutdown().await;
        bench.reset_ends().await;
        let server = bench.serve(bench.config()).await;
        assert_eq!(collect_events(server.run_service(), "t", None).await.len(), events.len());
    }
}
