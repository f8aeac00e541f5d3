//! Several servers on one storage: an orphaned run is recovered by another server, once; a run whose process is
//! alive is not recovered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use superstep::core::id::{InterruptId, ThreadId};
use superstep::store::SearchOp;
use superstep_server::{
    CancelMode, RecoveryMode, RunInput, RunRequest, RunService, RunStatus, ServerConfig, Storage, serve,
};
use tokio::sync::Semaphore;

use crate::faulty_storage::{FaultController, work_request};
use crate::shutdown_and_restart::{file_config, kill_server_in_third_round, short_lease_storage, word_count};
use crate::support::{TempFile, TestServer, app, client, start_server};

/// Waits until the last run of a thread has this persisted status.
async fn wait_for_status(runs: &RunService, thread: &str, status: RunStatus) {
    let wait = async {
        while runs.find_thread(&thread.into()).await.unwrap().is_none_or(|record| record.status != status) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(40), wait).await.unwrap();
}

/// Writes the record of a running run, as left behind by a process that died.
async fn insert_orphaned_run(storage: &Storage, request: &RunRequest) {
    let record = json!({"version": 1, "order": request, "status": "running", "started_at": ""});
    let list_entry =
        json!({"version": 1, "run": request.run, "thread": request.thread, "graph": request.graph, "taken_up": 0});
    storage.store.put(["server", "runs"], request.run.to_string(), record).await.unwrap();
    storage.store.put(["server", "unfinished"], request.run.to_string(), list_entry).await.unwrap();
}

fn story_request(thread: &str, context: serde_json::Value) -> RunRequest {
    RunRequest::new("tale", thread, RunInput::Input(json!({"topic": "sea", "rounds": 3}))).context(context)
}

/// R-SRV-19, R-SRV-20: a process is killed while another server is up; its run continues within twenty seconds, and
/// no round runs twice.
#[tokio::test]
async fn a_run_whose_process_is_killed_is_recovered_by_a_running_server() {
    let scratch = TempFile::new();
    let server = start_server(ServerConfig::new(short_lease_storage(&scratch.file()).await)).await;
    kill_server_in_third_round(&scratch).await;
    let killed_at = Instant::now();
    server.gate.add_permits(5);
    wait_for_status(server.run_service(), "t1", RunStatus::Succeeded).await;
    assert!(killed_at.elapsed() < Duration::from_secs(20), "{:?}", killed_at.elapsed());
    // Rounds three to five.
    assert_eq!((word_count(&server, "t1").await, server.gate.available_permits()), (5, 2));
    let record = server.run_service().get_thread(&"t1".into()).await.unwrap();
    assert_eq!(server.run_service().find_run(record.run).await.unwrap().unwrap().recoveries, 1);
}

/// R-SRV-20: a run of a live server is neither recovered nor marked as orphaned by another server, however often that
/// server scans.
#[tokio::test]
async fn a_run_of_a_live_server_is_not_recovered() {
    for (recovery, status) in
        [(RecoveryMode::Automatic, RunStatus::Succeeded), (RecoveryMode::Manual, RunStatus::Orphaned)]
    {
        let scratch = TempFile::new();
        let mut config = file_config(&scratch).await;
        // It has no slot for the run that the other server must find.
        config.max_concurrent_runs = 1;
        let first = start_server(config).await;
        let mut config = file_config(&scratch).await;
        config.recovery = recovery;
        let second = start_server(config).await;
        let id = first.start_story(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
        let thread = ThreadId::from(id.as_str());
        first.gate.add_permits(1);
        first.reader(&id, None).await.read_until("on_chain_end", "turn").await;
        // This run is found by a scan, so the live run has been scanned at least as often.
        insert_orphaned_run(&file_config(&scratch).await.storage, &story_request("orphaned", json!({}))).await;
        wait_for_status(second.run_service(), "orphaned", status).await;
        let run = first.run_service().active_run(&thread).expect("the run stays on the first server");
        let record = first.run_service().find_run(run).await.unwrap().unwrap();
        assert_eq!((record.status, record.recoveries), (RunStatus::Running, 0));
        assert_eq!(second.run_service().active_run(&thread), None);
        first.gate.add_permits(2);
        wait_for_status(first.run_service(), &id, RunStatus::Succeeded).await;
        let record = first.run_service().find_run(run).await.unwrap().unwrap();
        assert_eq!((word_count(&first, &id).await, record.status, record.recoveries), (3, RunStatus::Succeeded, 0));
    }
}

/// R-SRV-20: of several servers that find the same orphaned runs, some running and one starting, exactly one
/// recovers each run.
#[tokio::test]
async fn an_orphaned_run_is_recovered_by_one_of_several_servers() {
    let scratch = TempFile::new();
    let gate = Arc::new(Semaphore::new(0));
    let start = async |config: ServerConfig| {
        let server = serve(vec![app(&gate)], config.port(0)).await.unwrap();
        TestServer { inner: server, client: client(), gate: gate.clone() }
    };
    let (first, second) = (start(file_config(&scratch).await).await, start(file_config(&scratch).await).await);
    let storage = file_config(&scratch).await.storage;
    let mut third = None;
    for starts_third in [false, true] {
        let name = |number: u32| format!("orphaned-{starts_third}-{number}");
        let orphaned: Vec<RunRequest> =
            (0..8).map(|number| story_request(&name(number), json!({"gated": true}))).collect();
        for request in &orphaned {
            insert_orphaned_run(&storage, request).await;
        }
        if starts_third {
            third = Some(start(file_config(&scratch).await).await);
        }
        gate.add_permits(3 * orphaned.len());
        for request in &orphaned {
            wait_for_status(first.run_service(), request.thread.as_str(), RunStatus::Succeeded).await;
            let record = second.run_service().find_run(request.run).await.unwrap().unwrap();
            assert_eq!((record.status, record.recoveries), (RunStatus::Succeeded, 1));
            assert_eq!(word_count(&second, request.thread.as_str()).await, 3);
        }
        // A round executed by two of them would have taken one more permit.
        assert_eq!(gate.available_permits(), 0);
        assert!(storage.store.search(SearchOp::new(["server", "unfinished"])).await.unwrap().is_empty());
    }
    drop(third);
}

/// R-SRV-20: a process that was wrongly considered dead does not overwrite the record of the process that recovered
/// its run.
#[tokio::test]
async fn a_run_that_was_recovered_elsewhere_is_not_overwritten() {
    let faults = FaultController::new();
    let server = faults.serve(faults.config()).await;
    let (runs, request) = (server.run_service(), work_request("t", json!({"gated": true})));
    runs.start(request.clone()).await.unwrap();
    faults.wait_until_emitted().await;
    faults
        .update_record(request.run, |record| {
            (record["status"], record["taken_up"]) = (json!("stopped"), json!(1));
        })
        .await;
    faults.continue_run();
    while runs.active_run(&"t".into()).is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let record = runs.find_run(request.run).await.unwrap().unwrap();
    assert_eq!((record.status, record.recoveries), (RunStatus::Cancelled, 1));
}

/// R-SRV-19: an orphaned run is reported as one that can be continued, and is continued or cancelled on request; a
/// run of another live server is reported as running.
#[tokio::test]
async fn an_orphaned_run_is_continued_or_cancelled_on_request() {
    let faults = FaultController::new();
    let (first, second) = (faults.serve(faults.config()).await, faults.serve(faults.config()).await);
    let (local, remote) = (first.run_service(), second.run_service());
    local.start(work_request("live", json!({"gated": true}))).await.unwrap();
    faults.wait_until_emitted().await;
    let record = remote.get_thread(&"live".into()).await.unwrap();
    assert_eq!(remote.current_status(&record).await.unwrap(), RunStatus::Running);
    assert_eq!(remote.cancel(&"live".into(), CancelMode::Immediate).await.unwrap_err().status(), 409);
    assert_eq!(remote.start(RunRequest::new("work", "live", RunInput::Continue)).await.unwrap_err().status(), 409);
    assert_eq!(local.current_status(&record).await.unwrap(), RunStatus::Running);
    local.cancel(&"live".into(), CancelMode::Immediate).await.unwrap();
    wait_for_status(remote, "live", RunStatus::Cancelled).await;

    for thread in ["continued", "cancelled"] {
        local.start(work_request(thread, json!({}))).await.unwrap();
        wait_for_status(local, thread, RunStatus::Succeeded).await;
    }
    faults.reset_ends().await;
    let record = remote.get_thread(&"continued".into()).await.unwrap();
    assert_eq!(
        (record.status, remote.current_status(&record).await.unwrap()),
        (RunStatus::Running, RunStatus::Orphaned)
    );
    remote.cancel(&"cancelled".into(), CancelMode::Immediate).await.unwrap();
    assert_eq!(local.get_thread(&"cancelled".into()).await.unwrap().status, RunStatus::Cancelled);
    remote.start(work_request("continued", json!({}))).await.unwrap();
    wait_for_status(local, "continued", RunStatus::Succeeded).await;
    assert_eq!(remote.cancel(&"continued".into(), CancelMode::Immediate).await.unwrap_err().status(), 409);
}

/// R-SRV-20: a rejected run restores the earlier record, but not over changes of another server.
#[tokio::test]
async fn a_rejected_run_restores_no_outdated_record() {
    for has_later in [false, true] {
        let faults = FaultController::new();
        let (first, second) = (faults.serve(faults.config()).await, faults.serve(faults.config()).await);
        let (before, later) = (work_request("t", json!({"gated": true})), work_request("t", json!({})));
        first.run_service().start(before.clone()).await.unwrap();
        faults.wait_until_emitted().await;
        faults.delay_next_acquire();
        let rejected = RunRequest::new("work", "t", RunInput::Resume([(InterruptId::from_bits(7), json!(1))].into()));
        let rejection = tokio::spawn({
            let (runs, rejected) = (second.run_service().clone(), rejected.clone());
            async move { runs.start(rejected).await }
        });
        faults.wait_until_delayed().await;
        assert_eq!(first.run_service().get_thread(&"t".into()).await.unwrap().run, rejected.run);
        faults.continue_run();
        while first.run_service().active_run(&"t".into()).is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if has_later {
            first.run_service().start(later.clone()).await.unwrap();
            wait_for_status(first.run_service(), "t", RunStatus::Succeeded).await;
        }
        faults.release();
        rejection.await.unwrap().unwrap_err();
        let record = second.run_service().get_thread(&"t".into()).await.unwrap();
        let last = if has_later { later.run } else { before.run };
        assert_eq!((record.run, record.status), (last, RunStatus::Succeeded));
        assert_eq!(second.run_service().find_run(rejected.run).await.unwrap(), None);
        assert_eq!(second.run_service().find_run(before.run).await.unwrap().unwrap().status, RunStatus::Succeeded);
        assert_eq!(faults.unfinished_count().await, 0);
    }
}
