//! Several servers on one storage: an orphaned run is recovered by another server, once; a run whose process is
//! alive is left alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use superstep::core::id::{InterruptId, ThreadId};
use superstep::store::SearchOp;
use superstep_server::{
    RecoveryMode, RunInput, RunRequest, RunService, RunStatus, ServerConfig, StopMode, Storage, serve,
};
use tokio::sync::Semaphore;

use crate::faulty_storage::{FaultController, order};
use crate::shutdown_and_restart::{killed_in_the_third_round, on_file, short_lease, words};
use crate::support::{TempFile, TestServer, app, client, start_server};

/// Waits until the last run of a thread has this persisted status.
async fn until(runs: &RunService, thread: &str, status: RunStatus) {
    let wait = async {
        while runs.find_thread(&thread.into()).await.unwrap().is_none_or(|record| record.status != status) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(40), wait).await.unwrap();
}

/// Writes the record of a running run, as left behind by a process that died.
async fn died(stores: &Storage, order: &RunRequest) {
    let record = json!({"version": 1, "order": order, "status": "running", "started_at": ""});
    let listed = json!({"version": 1, "run": order.run, "thread": order.thread, "graph": order.graph, "taken_up": 0});
    stores.store.put(["server", "runs"], order.run.to_string(), record).await.unwrap();
    stores.store.put(["server", "unfinished"], order.run.to_string(), listed).await.unwrap();
}

fn story_request(thread: &str, options: serde_json::Value) -> RunRequest {
    RunRequest::new("tale", thread, RunInput::Input(json!({"topic": "sea", "rounds": 3}))).context(options)
}

/// R-SRV-19, R-SRV-20: a process is killed while another server is up; its run continues within twenty seconds, and
/// no round runs twice.
#[tokio::test]
async fn a_run_whose_process_is_killed_is_recovered_by_a_running_server() {
    let scratch = TempFile::new();
    let served = start_server(ServerConfig::new(short_lease(&scratch.file()).await)).await;
    killed_in_the_third_round(&scratch).await;
    let died = Instant::now();
    served.gate.add_permits(5);
    until(served.server.run_service(), "t1", RunStatus::Succeeded).await;
    assert!(died.elapsed() < Duration::from_secs(20), "{:?}", died.elapsed());
    // Rounds three to five.
    assert_eq!((words(&served, "t1").await, served.gate.available_permits()), (5, 2));
    let record = served.server.run_service().get_thread(&"t1".into()).await.unwrap();
    assert_eq!(served.server.run_service().find_run(record.run).await.unwrap().unwrap().recoveries, 1);
}

/// R-SRV-20: a run of a live server is neither recovered nor marked by another, however often that one scans.
#[tokio::test]
async fn a_run_of_a_live_server_is_not_recovered() {
    for (resume, status) in
        [(RecoveryMode::Automatic, RunStatus::Succeeded), (RecoveryMode::Manual, RunStatus::Orphaned)]
    {
        let scratch = TempFile::new();
        let mut config = on_file(&scratch).await;
        // It has no slot for the run that the other server must find.
        config.max_concurrent_runs = 1;
        let first = start_server(config).await;
        let mut config = on_file(&scratch).await;
        config.recovery = resume;
        let second = start_server(config).await;
        let id = first.start_story(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
        let thread = ThreadId::from(id.as_str());
        first.gate.add_permits(1);
        first.reader(&id, None).await.until("on_chain_end", "turn").await;
        // This run is found by a scan, so the live run has been scanned at least as often.
        died(&on_file(&scratch).await.storage, &story_request("dead", json!({}))).await;
        until(second.server.run_service(), "dead", status).await;
        let run = first.server.run_service().active_run(&thread).expect("it runs where it began");
        let record = first.server.run_service().find_run(run).await.unwrap().unwrap();
        assert_eq!((record.status, record.recoveries), (RunStatus::Running, 0));
        assert_eq!(second.server.run_service().active_run(&thread), None);
        first.gate.add_permits(2);
        until(first.server.run_service(), &id, RunStatus::Succeeded).await;
        let record = first.server.run_service().find_run(run).await.unwrap().unwrap();
        assert_eq!((words(&first, &id).await, record.status, record.recoveries), (3, RunStatus::Succeeded, 0));
    }
}

/// R-SRV-20: of several servers that find the same orphaned runs, some running and one starting, exactly one
/// recovers each run.
#[tokio::test]
async fn an_orphaned_run_is_recovered_by_one_of_several_servers() {
    let scratch = TempFile::new();
    let gate = Arc::new(Semaphore::new(0));
    let server = async |config: ServerConfig| {
        let server = serve(vec![app(&gate)], config.port(0)).await.unwrap();
        TestServer { server, client: client(), gate: gate.clone() }
    };
    let (first, second) = (server(on_file(&scratch).await).await, server(on_file(&scratch).await).await);
    let stores = on_file(&scratch).await.storage;
    let mut third = None;
    for starts in [false, true] {
        let name = |number: u32| format!("dead-{starts}-{number}");
        let dead: Vec<RunRequest> = (0..8).map(|number| story_request(&name(number), json!({"gated": true}))).collect();
        for order in &dead {
            died(&stores, order).await;
        }
        if starts {
            third = Some(server(on_file(&scratch).await).await);
        }
        gate.add_permits(3 * dead.len());
        for order in &dead {
            until(first.server.run_service(), order.thread.as_str(), RunStatus::Succeeded).await;
            let record = second.server.run_service().find_run(order.run).await.unwrap().unwrap();
            assert_eq!((record.status, record.recoveries), (RunStatus::Succeeded, 1));
            assert_eq!(words(&second, order.thread.as_str()).await, 3);
        }
        // A round executed by two of them would have taken one more permit.
        assert_eq!(gate.available_permits(), 0);
        assert!(stores.store.search(SearchOp::new(["server", "unfinished"])).await.unwrap().is_empty());
    }
    drop(third);
}

/// R-SRV-20: a process that was wrongly considered dead does not overwrite the record of the process that recovered
/// its run.
#[tokio::test]
async fn a_run_that_was_recovered_elsewhere_is_not_overwritten() {
    let bench = FaultController::new();
    let server = bench.serve(bench.config()).await;
    let (runs, request) = (server.run_service(), order("t", json!({"gated": true})));
    runs.start(request.clone()).await.unwrap();
    bench.wait_until_emitted().await;
    bench
        .overwrite(request.run, |record| {
            (record["status"], record["taken_up"]) = (json!("stopped"), json!(1));
        })
        .await;
    bench.continue_run();
    while runs.active_run(&"t".into()).is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let record = runs.find_run(request.run).await.unwrap().unwrap();
    assert_eq!((record.status, record.recoveries), (RunStatus::Cancelled, 1));
}

/// R-SRV-19: an orphaned run is reported as one that can be continued, and is continued or stopped on request; a
/// run of another live server is reported as running.
#[tokio::test]
async fn an_orphaned_run_is_continued_or_stopped_on_request() {
    let bench = FaultController::new();
    let (first, second) = (bench.serve(bench.config()).await, bench.serve(bench.config()).await);
    let (here, there) = (first.run_service(), second.run_service());
    here.start(order("lives", json!({"gated": true}))).await.unwrap();
    bench.wait_until_emitted().await;
    let record = there.get_thread(&"lives".into()).await.unwrap();
    assert_eq!(there.current_status(&record).await.unwrap(), RunStatus::Running);
    assert_eq!(there.cancel(&"lives".into(), StopMode::Cancel).await.unwrap_err().status(), 409);
    assert_eq!(there.start(RunRequest::new("work", "lives", RunInput::Continue)).await.unwrap_err().status(), 409);
    assert_eq!(here.current_status(&record).await.unwrap(), RunStatus::Running);
    here.cancel(&"lives".into(), StopMode::Cancel).await.unwrap();
    until(there, "lives", RunStatus::Cancelled).await;

    for thread in ["goes on", "stops"].map(|name| name.replace(' ', "-")) {
        here.start(order(&thread, json!({}))).await.unwrap();
        until(here, &thread, RunStatus::Succeeded).await;
    }
    bench.reset_ends().await;
    let record = there.get_thread(&"goes-on".into()).await.unwrap();
    assert_eq!(
        (record.status, there.current_status(&record).await.unwrap()),
        (RunStatus::Running, RunStatus::Orphaned)
    );
    there.cancel(&"stops".into(), StopMode::Cancel).await.unwrap();
    assert_eq!(here.get_thread(&"stops".into()).await.unwrap().status, RunStatus::Cancelled);
    there.start(order("goes-on", json!({}))).await.unwrap();
    until(here, "goes-on", RunStatus::Succeeded).await;
    assert_eq!(there.cancel(&"goes-on".into(), StopMode::Cancel).await.unwrap_err().status(), 409);
}

/// R-SRV-20: a rejected run restores the earlier record, but not over changes of another server.
#[tokio::test]
async fn a_rejected_run_restores_no_outdated_record() {
    for has_later in [false, true] {
        let bench = FaultController::new();
        let (first, second) = (bench.serve(bench.config()).await, bench.serve(bench.config()).await);
        let (before, later) = (order("t", json!({"gated": true})), order("t", json!({})));
        first.run_service().start(before.clone()).await.unwrap();
        bench.wait_until_emitted().await;
        bench.hold_taking();
        let rejected = RunRequest::new("work", "t", RunInput::Resume([(InterruptId::from_bits(7), json!(1))].into()));
        let rejection = tokio::spawn({
            let (runs, rejected) = (second.run_service().clone(), rejected.clone());
            async move { runs.start(rejected).await }
        });
        bench.held().await;
        assert_eq!(first.run_service().get_thread(&"t".into()).await.unwrap().run, rejected.run);
        bench.continue_run();
        while first.run_service().active_run(&"t".into()).is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if has_later {
            first.run_service().start(later.clone()).await.unwrap();
            until(first.run_service(), "t", RunStatus::Succeeded).await;
        }
        bench.release();
        rejection.await.unwrap().unwrap_err();
        let record = second.run_service().get_thread(&"t".into()).await.unwrap();
        let last = if has_later { later.run } else { before.run };
        assert_eq!((record.run, record.status), (last, RunStatus::Succeeded));
        assert_eq!(second.run_service().find_run(rejected.run).await.unwrap(), None);
        assert_eq!(second.run_service().find_run(before.run).await.unwrap().unwrap().status, RunStatus::Succeeded);
        assert_eq!(bench.listed().await, 0);
    }
}
