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

use crate::faulty_storage::{FaultController, collect_events, work_request};
use crate::shutdown_and_restart::wait_for_status;

const TIMEOUT: Duration = Duration::from_secs(30);

async fn thread_record(runs: &RunService, thread: &str) -> ThreadRecord {
    runs.get_thread(&thread.into()).await.unwrap()
}

fn count(events: &[(u64, String)], event_type: &str) -> usize {
    events.iter().filter(|(_, actual_type)| actual_type == event_type).count()
}

/// R-SRV-9: events that are not persisted stay buffered beyond the buffer size, for clients that reconnect.
#[tokio::test]
async fn unsaved_events_stay_buffered_for_reconnecting_clients() {
    let faults = FaultController::new();
    let mut config = faults.config();
    config.replay_buffer = ReplayBufferConfig { max_events: 20, ..ReplayBufferConfig::default() };
    let server = faults.serve(config).await;
    let runs = server.run_service();
    runs.start(work_request("t", json!({"event_count": 200, "gated": true}))).await.unwrap();
    let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut first = Vec::new();
    while count(&first, "on_custom_event") < 200 {
        let event = timeout(TIMEOUT, subscription.next()).await.unwrap().expect("unsaved events stay buffered");
        first.push((event.number(), event.event_type().to_owned()));
    }
    // None of these events is persisted: the superstep has not finished.
    let mut resumed = runs.subscribe(&"t".into(), Some(first[3].0)).await.unwrap();
    for expected in &first[4..] {
        let event = timeout(TIMEOUT, resumed.next()).await.unwrap().unwrap();
        assert_eq!((event.number(), event.event_type()), (expected.0, expected.1.as_str()));
    }
    faults.continue_run();
    let all = collect_events(runs, "t", None).await;
    assert_eq!(all[..first.len()], first);
    assert_eq!(all.last().unwrap().1, "on_chain_end");
}

/// R-SRV-9: beyond the hard limit a client receives a request to wait, and then receives every event.
#[tokio::test]
async fn a_reader_fails_when_events_exceed_buffer_and_store() {
    let faults = FaultController::new();
    let mut config = faults.config();
    config.replay_buffer = ReplayBufferConfig { max_events: 2, ..ReplayBufferConfig::default() };
    let server = faults.serve(config).await;
    let runs = server.run_service();
    runs.start(work_request("t", json!({"event_count": 1000, "gated": true}))).await.unwrap();
    faults.wait_until_emitted().await;
    let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut received = Vec::new();
    while let Some(event) = timeout(TIMEOUT, subscription.next()).await.unwrap() {
        received.push((event.number(), event.event_type().to_owned()));
    }
    let Some(SubscriptionEnd::Failed(problem)) = subscription.end() else { panic!("{:?}", subscription.end()) };
    assert_eq!((problem.status(), problem.is_retryable()), (503, true));
    faults.continue_run();
    wait_for_status(runs, &"t".into(), RunStatus::Succeeded).await;
    received.extend(collect_events(runs, "t", received.last().map(|(number, _)| *number)).await);
    assert_eq!(count(&received, "on_custom_event"), 1000);
    let numbers: Vec<u64> = received.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// R-SRV-9: later events do not overtake an event that takes long to be persisted.
#[tokio::test]
async fn later_events_do_not_overtake_unsaved_events() {
    let faults = FaultController::new();
    let server = faults.serve(faults.config()).await;
    let runs = server.run_service();
    faults.delay_operations();
    runs.start(work_request("t", json!({"event_count": 3, "gated": true, "waits_for_delay": true}))).await.unwrap();
    let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
    let mut live = Vec::new();
    faults.wait_until_emitted().await;
    // Longer than the timeout for a missing event.
    while let Ok(Some(event)) = timeout(Duration::from_millis(700), subscription.next()).await {
        live.push((event.number(), event.event_type().to_owned()));
    }
    assert_eq!(count(&live, "on_custom_event"), 0);
    faults.release();
    faults.continue_run();
    while let Some(event) = timeout(TIMEOUT, subscription.next()).await.unwrap() {
        live.push((event.number(), event.event_type().to_owned()));
    }
    assert_eq!(count(&live, "on_custom_event"), 3);
    let graph = runs.graph("work").unwrap();
    let persisted = graph.events(&"t".into(), &superstep::EventsQuery::default()).await.unwrap();
    let persisted =
        persisted.into_iter().map(|event| (event.number, event.event["event"].as_str().unwrap().to_owned()));
    assert_eq!(live, persisted.collect::<Vec<_>>());
}

/// R-SRV-19: a run that cannot be recovered has an error, and one call continues it once the cause is fixed.
#[tokio::test]
async fn a_run_that_cannot_be_recovered_has_an_error_and_continues_on_request() {
    let faults = FaultController::new();
    faults.insert_orphaned_run(&work_request("t", json!({"event_count": 1}))).await;
    faults.set_key(false);
    let server = faults.serve(faults.config()).await;
    let runs = server.run_service();
    let record = thread_record(runs, "t").await;
    assert_eq!(record.status, RunStatus::Orphaned);
    assert_eq!(record.error.unwrap().message, "the model has no key");
    faults.set_key(true);
    runs.start(RunRequest::new("work", "t", RunInput::Continue)).await.unwrap();
    assert_eq!(count(&collect_events(runs, "t", None).await, "on_custom_event"), 1);
    let record = thread_record(runs, "t").await;
    assert_eq!((record.status, record.error), (RunStatus::Succeeded, None));
}

/// R-SRV-19: a short storage outage during recovery does not fail the run; recovery is tried again.
#[tokio::test]
async fn a_run_is_recovered_when_the_store_is_back() {
    let faults = FaultController::new();
    let orphaned = work_request("t", json!({"event_count": 1}));
    faults.insert_orphaned_run(&orphaned).await;
    faults.fail_acquires(1);
    let server = faults.serve(faults.config()).await;
    let runs = server.run_service();
    assert_eq!(server.recovered_runs(), 1);
    assert_eq!(runs.find_run(orphaned.run).await.unwrap().unwrap().status, RunStatus::Running);
    timeout(TIMEOUT, faults.wait_until_emitted()).await.unwrap();
    wait_for_status(runs, &"t".into(), RunStatus::Succeeded).await;
}

/// R-SRV-19: the record of an unfinished run is closed once another run has started on its thread.
#[tokio::test]
async fn a_run_that_did_not_end_is_closed_by_the_next_one() {
    let faults = FaultController::new();
    let server = faults.serve(faults.config()).await;
    let (runs, older, newer) = (server.run_service(), work_request("t", json!({})), work_request("t", json!({})));
    runs.start(older.clone()).await.unwrap();
    collect_events(runs, "t", None).await;
    faults.reset_ends().await;
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
    let faults = FaultController::new();
    for thread in ["t1", "t2"] {
        faults.insert_orphaned_run(&work_request(thread, json!({"gated": true}))).await;
    }
    let mut config = faults.config();
    config.max_concurrent_runs = 1;
    let server = faults.serve(config).await;
    assert_eq!(server.recovered_runs(), 2);
    faults.wait_until_emitted().await;
    for _ in 0..2 {
        faults.continue_run();
    }
    for thread in ["t1", "t2"] {
        let succeeded = async {
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
        timeout(TIMEOUT, succeeded).await.unwrap();
    }
}

/// R-SRV-19: the record of an older run that was never closed is closed, and the run is not recovered.
#[tokio::test]
async fn an_older_run_that_did_not_end_is_closed_and_not_recovered() {
    let faults = FaultController::new();
    let old = work_request("t", json!({"event_count": 1}));
    let server = faults.serve(faults.config()).await;
    server.run_service().start(work_request("t", json!({}))).await.unwrap();
    let before = collect_events(server.run_service(), "t", None).await;
    let newest = thread_record(server.run_service(), "t").await;
    server.shutdown().await;
    faults.insert_orphaned_run(&old).await;
    let server = faults.serve(faults.config()).await;
    let runs = server.run_service();
    assert_eq!(runs.find_run(old.run).await.unwrap().unwrap().status, RunStatus::Cancelled);
    assert_eq!(thread_record(runs, "t").await, newest);
    assert_eq!(collect_events(runs, "t", None).await, before);
}

/// R-SRV-19: the end of a run is persisted despite a short storage outage.
#[tokio::test]
async fn the_end_of_a_run_is_saved_when_the_store_is_back() {
    let faults = FaultController::new();
    let server = faults.serve(faults.config()).await;
    let runs = server.run_service();
    runs.start(work_request("t", json!({"gated": true}))).await.unwrap();
    let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
    faults.fail_batches(1);
    faults.continue_run();
    while timeout(TIMEOUT, subscription.next()).await.unwrap().is_some() {}
    assert_eq!(thread_record(runs, "t").await.status, RunStatus::Succeeded);
    assert_eq!(runs.active_run(&"t".into()), None);
}

/// R-SRV-19: a thread has records of its newest runs only, and none after its deletion; no run starts during the
/// deletion.
#[tokio::test]
async fn run_records_are_limited_and_deleted_with_their_thread() {
    let faults = FaultController::new();
    let server = faults.serve(faults.config()).await;
    let service = server.run_service();
    service.start(work_request("t", json!({}))).await.unwrap();
    let first = collect_events(service, "t", None).await;
    for _ in 0..24 {
        service.start(work_request("t", json!({}))).await.unwrap();
        collect_events(service, "t", None).await;
    }
    service.start(work_request("other", json!({}))).await.unwrap();
    collect_events(service, "other", None).await;
    let runs = faults.runs().await;
    assert_eq!(runs.iter().filter(|run| run["order"]["thread"] == "t").count(), 20);
    let newest = thread_record(service, "t").await.run.to_string();
    assert!(runs.iter().any(|run| run["order"]["run"] == json!(newest)));

    faults.delay_operations();
    let deletion = tokio::spawn({
        let service = service.clone();
        async move { service.delete_thread(&"t".into()).await }
    });
    faults.wait_until_delayed().await;
    assert_eq!(service.start(work_request("t", json!({}))).await.unwrap_err().status(), 409);
    faults.release();
    deletion.await.unwrap().unwrap();
    assert_eq!((faults.runs().await.len(), faults.unfinished_count().await), (1, 0));
    assert_eq!(service.subscribe(&"t".into(), None).await.err().unwrap().status(), 404);
    // A new thread with the same id starts with an empty state.
    service.start(work_request("t", json!({}))).await.unwrap();
    assert_eq!(collect_events(service, "t", None).await, first);
}

/// R-SRV-19: application data of a thread is deleted with the thread, in any amount, and data of other threads
/// stays.
#[tokio::test]
async fn thread_data_is_deleted_with_its_thread() {
    let faults = FaultController::new();
    let config = faults.config();
    let store = config.storage.store.clone();
    let server = faults.serve(config).await;
    let runs = server.run_service();
    for thread in ["a.b", "a", "a.b.c"] {
        runs.start(work_request(thread, json!({}))).await.unwrap();
        collect_events(runs, thread, None).await;
        for key in 0..45 {
            store.put(thread_data_namespace(&thread.into()), key.to_string(), json!("long")).await.unwrap();
        }
    }
    runs.delete_thread(&"a.b".into()).await.unwrap();
    for (thread, expected) in [("a.b", 0), ("a", 45), ("a.b.c", 45)] {
        let hits = store.search(SearchOp::new(thread_data_namespace(&thread.into())).limit(100)).await.unwrap();
        assert_eq!(hits.len(), expected, "{thread}");
    }
}

/// R-SRV-19: with `recovery = "manual"` too, a run that died before its input was saved starts with its input.
#[tokio::test]
async fn a_run_that_had_saved_nothing_continues_with_its_input() {
    let faults = FaultController::new();
    let orphaned = work_request("t", json!({"event_count": 2})).metadata("colour", "red");
    faults.insert_orphaned_run(&orphaned).await;
    let mut config = faults.config();
    config.recovery = RecoveryMode::Manual;
    let server = faults.serve(config).await;
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
    for recovery in [RecoveryMode::Automatic, RecoveryMode::Manual] {
        let faults = FaultController::new();
        let server = faults.serve(faults.config()).await;
        faults.lose_end(true);
        server.run_service().start(work_request("t", json!({}))).await.unwrap();
        let all = collect_events(server.run_service(), "t", None).await;
        server.shutdown().await;
        faults.lose_end(false);
        faults.reset_ends().await;
        let mut config = faults.config();
        config.recovery = recovery;
        let server = faults.serve(config).await;
        let runs = server.run_service();
        assert_eq!(thread_record(runs, "t").await.status, RunStatus::Succeeded);
        let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
        let mut events = Vec::new();
        while let Some(next) = subscription.next().await {
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
        faults.reset_ends().await;
        let server = faults.serve(faults.config()).await;
        assert_eq!(collect_events(server.run_service(), "t", None).await.len(), events.len());
    }
}
