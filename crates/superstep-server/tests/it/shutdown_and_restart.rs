//! Tests of graceful shutdown, and of a restart after a shutdown or a kill.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use superstep::core::id::ThreadId;
use superstep::sqlite::SqliteCheckpointer;
use superstep_server::{RecoveryMode, RunInput, RunRequest, RunService, RunStatus, ServerConfig, Storage, serve};
use tokio::sync::Semaphore;

use crate::support::{SseEvent, SseReader, TempFile, TestServer, app, client, start_server};

pub(crate) async fn file_config(scratch: &TempFile) -> ServerConfig {
    ServerConfig::new(Storage::sqlite(scratch.file()).await.unwrap())
}

pub(crate) async fn word_count(server: &TestServer, id: &str) -> usize {
    server.json(&format!("/api/tales/{id}")).await["state"]["values"]["words"].as_array().unwrap().len()
}

/// Waits until the server rejects new runs.
async fn wait_until_shutting_down(runs: &RunService) {
    while !runs.is_shutting_down() {
        tokio::task::yield_now().await;
    }
}

/// Waits until the run of a thread has this persisted status. A dropped server releases its leases a moment later,
/// so the next one may need two scans.
pub(crate) async fn wait_for_status(runs: &RunService, thread: &ThreadId, status: RunStatus) {
    let wait = async {
        while runs.get_thread(thread).await.unwrap().status != status {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
}

/// R-SRV-18: at shutdown a run finishes and saves its superstep, subscribers are notified, and the next server
/// continues the run.
#[tokio::test]
async fn shutdown_saves_notifies_readers_and_the_next_server_continues() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 4, "gated": true})).await;
    let mut reader = server.reader(&id, None).await;
    server.gate.add_permits(1);
    let mut received = Vec::new();
    while received
        .iter()
        .filter(|event: &&SseEvent| event.event == "on_chain_start" && event.data["name"] == "turn")
        .count()
        < 2
    {
        received.push(reader.next().await.unwrap());
    }
    let (runs, gate, started) = (server.run_service().clone(), server.gate.clone(), Instant::now());
    let shutdown = tokio::spawn(server.shutdown());
    wait_until_shutting_down(&runs).await;
    let rejected = runs.start(RunRequest::new("tale", "t2", RunInput::Input(json!({"topic": "x"})))).await.unwrap_err();
    assert_eq!(rejected.status(), 503);
    // The running superstep finishes; the next one does not start.
    gate.add_permits(3);
    let mut rest = reader.read_all().await;
    let last = rest.pop().unwrap();
    assert_eq!((last.event.as_str(), last.id), ("shutdown", None));
    received.extend(rest);
    shutdown.await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(60));
    let record = runs.get_thread(&id.as_str().into()).await.unwrap();
    assert_eq!(record.status, RunStatus::Suspended);
    drop((runs, gate));

    let server = start_server(file_config(&scratch).await).await;
    assert_eq!(server.inner.recovered_runs(), 1);
    server.gate.add_permits(4);
    received.extend(server.reader(&id, received.last().unwrap().id).await.read_all().await);
    assert_eq!(word_count(&server, &id).await, 4);
    assert_eq!(server.json(&format!("/api/tales/{id}")).await["record"]["status"], "finished");
    assert_eq!(received, server.reader(&id, None).await.read_all().await);
}

/// R-SRV-11, R-SRV-18, R-DEB-35: a run whose client has disconnected is cancelled, even if the server shuts down in
/// the same superstep: the next server does not continue the run.
#[tokio::test]
async fn a_run_whose_client_has_disconnected_does_not_continue_on_the_next_server() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let body = json!({"topic": "sea", "rounds": 3, "gated": true, "attached": true, "thread": "t"});
    let request = server.client.post(server.url("/api/tales")).json(&body).header("accept", "text/event-stream");
    let mut reader = SseReader::new(request.send().await.unwrap());
    reader.read_until("on_chain_start", "turn").await;
    let (runs, gate, thread) = (server.run_service().clone(), server.gate.clone(), ThreadId::from("t"));
    drop(reader);
    let cancelling = async {
        while !runs.is_cancelling(&thread) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), cancelling).await.unwrap();
    let shutdown = tokio::spawn(server.shutdown());
    wait_until_shutting_down(&runs).await;
    gate.add_permits(3);
    shutdown.await.unwrap();
    assert_eq!(runs.get_thread(&thread).await.unwrap().status, RunStatus::Cancelled);
    drop((runs, gate));
    let server = start_server(file_config(&scratch).await).await;
    assert_eq!((server.inner.recovered_runs(), word_count(&server, "t").await), (0, 1));
}

/// R-SRV-18: a superstep that does not finish is cancelled; the thread stays at its last complete superstep.
#[tokio::test]
async fn a_superstep_that_does_not_end_is_cancelled_at_shutdown() {
    let scratch = TempFile::new();
    let mut config = file_config(&scratch).await;
    config.drain_timeout = Duration::from_millis(50);
    let server = start_server(config).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
    let (runs, started) = (server.run_service().clone(), Instant::now());
    server.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(runs.get_thread(&id.as_str().into()).await.unwrap().status, RunStatus::Suspended);
    drop(runs);
    let server = start_server(file_config(&scratch).await).await;
    server.gate.add_permits(3);
    server.reader(&id, None).await.read_all().await;
    assert_eq!(word_count(&server, &id).await, 3);
}

/// R-SRV-19: orphaned runs are found at startup; with `recovery = "manual"` they are marked as orphaned, and one call
/// continues them.
#[tokio::test]
async fn an_orphaned_run_is_marked_and_continues_on_request() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
    let mut reader = server.reader(&id, None).await;
    server.gate.add_permits(1);
    reader.read_until("on_chain_end", "turn").await;
    drop(server);
    let mut config = file_config(&scratch).await;
    config.recovery = RecoveryMode::Manual;
    let server = start_server(config).await;
    let (runs, thread) = (server.run_service(), ThreadId::from(id.as_str()));
    wait_for_status(runs, &thread, RunStatus::Orphaned).await;
    // The context values of the first run still apply: the rounds are gated.
    runs.start(RunRequest::new("tale", &thread, RunInput::Continue)).await.unwrap();
    assert_eq!(runs.get_thread(&thread).await.unwrap().context, json!({"gated": true, "uses_model": false}));
    server.gate.add_permits(2);
    server.reader(&id, None).await.read_all().await;
    assert_eq!(
        (word_count(&server, &id).await, runs.get_thread(&thread).await.unwrap().status),
        (3, RunStatus::Succeeded)
    );
}

/// R-SRV-19: recovery reads the end of a run from its checkpoints if the record lacks it, and a run without a
/// checkpoint starts with its input.
#[tokio::test]
async fn recovery_reads_the_checkpoints_and_not_the_record() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let done = server.start_story(json!({"topic": "sea", "rounds": 2, "thread": "done"})).await;
    let interrupted =
        server.start_story(json!({"topic": "sea", "rounds": 1, "needsApproval": true, "thread": "asked"})).await;
    for id in [&done, &interrupted] {
        server.reader(id, None).await.read_all().await;
    }
    let before = server.reader(&done, None).await.read_all().await;
    server.shutdown().await;
    // The records are reset, as if the process had died before the last write.
    let store = SqliteCheckpointer::open(scratch.file()).unwrap().store().await.unwrap();
    let runs = superstep::store::SearchOp::new(["server", "runs"]);
    for hit in superstep::store::Store::search(&store, runs).await.unwrap() {
        let mut value = hit.item.value;
        value["status"] = json!("running");
        superstep::store::Store::put(&store, ["server", "runs"], hit.item.key, value).await.unwrap();
    }
    let new = RunRequest::new("tale", "new", RunInput::Input(json!({"topic": "sea", "rounds": 1})));
    let unserved = RunRequest::new("gone", "lost", RunInput::Continue);
    for request in [&new, &unserved] {
        let record = json!({"version": 1, "order": request, "status": "running", "started_at": ""});
        superstep::store::Store::put(&store, ["server", "runs"], request.run.to_string(), record).await.unwrap();
    }
    drop(store);
    let server = start_server(file_config(&scratch).await).await;
    assert_eq!(server.inner.recovered_runs(), 3);
    let status = |id: &str| {
        let (service, id) = (server.run_service().clone(), ThreadId::from(id));
        async move { service.get_thread(&id).await.unwrap().status }
    };
    server.reader("new", None).await.read_all().await;
    assert_eq!((status("new").await, word_count(&server, "new").await), (RunStatus::Succeeded, 1));
    assert_eq!((status("done").await, status("asked").await), (RunStatus::Succeeded, RunStatus::AwaitingInput));
    // Another program on the same storage may serve its graph.
    assert_eq!(server.run_service().find_run(unserved.run).await.unwrap().unwrap().status, RunStatus::Running);
    // No node ran again.
    assert_eq!(server.reader("done", None).await.read_all().await, before);
    assert_eq!(server.post("/api/tales/asked/answer", &json!(true)).await.status(), 202);
}

/// R-SRV-9: after a restart, a client disconnected at any event receives every persisted event once; the content of
/// previews, which are not persisted, is part of later events.
#[tokio::test]
async fn a_client_that_reconnects_after_a_restart_misses_no_event() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 4, "usesModel": true})).await;
    let all = server.reader(&id, None).await.read_all().await;
    server.shutdown().await;
    let server = start_server(file_config(&scratch).await).await;
    for index in 0..all.len() {
        let rest = server.reader(&id, all[index].id).await.read_all().await;
        let persisted = all[index + 1..].iter().filter(|event| event.event != "on_chat_model_stream");
        assert_eq!(rest, persisted.cloned().collect::<Vec<_>>(), "cut after {index}");
    }
}

const CHILD: &str = "SUPERSTEP_SERVER_CHILD";

/// Opens storage with a short lease timeout, for a lease holder that is dead.
pub(crate) async fn short_lease_storage(path: &std::path::Path) -> Storage {
    let file = SqliteCheckpointer::options().lease_timeout(Duration::from_millis(300)).open(path).unwrap();
    let mut storage = Storage::memory();
    storage.store = file.store().await.unwrap().into();
    storage.checkpointer = file.into();
    storage
}

/// Runs only in the child process that is killed below.
#[tokio::test]
async fn a_server_in_a_process_of_its_own() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let gate = Arc::new(Semaphore::new(2));
    let config = ServerConfig::new(short_lease_storage(path.as_ref()).await).port(0);
    let server = serve(vec![app(&gate)], config).await.unwrap();
    println!("\nlistening {}", server.url());
    std::future::pending::<()>().await;
}

/// Starts a server in a child process with a story of five rounds on thread `t1`, kills it in the third round, and
/// returns the events received until then.
pub(crate) async fn kill_server_in_third_round(scratch: &TempFile) -> Vec<SseEvent> {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "shutdown_and_restart::a_server_in_a_process_of_its_own", "--nocapture"])
        .env(CHILD, scratch.file());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let output = tokio::process::ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
    let mut lines = BufReader::new(output).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().expect("the child prints its address");
        if let Some(url) = line.strip_prefix("listening ") {
            break url.to_owned();
        }
    };
    let body = json!({"topic": "sea", "rounds": 5, "gated": true, "thread": "t1"});
    let request = client().post(url + "/api/tales").json(&body).header("accept", "text/event-stream");
    let mut reader = SseReader::new(request.send().await.unwrap());
    // Two rounds have finished; the third never does in that process.
    let mut received = Vec::new();
    while received
        .iter()
        .filter(|event: &&SseEvent| event.event == "on_chain_start" && event.data["name"] == "turn")
        .count()
        < 3
    {
        received.push(reader.next().await.unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reader.next().await.is_none());
    received
}

/// R-SRV-9, R-SRV-19: the run of a killed server is recovered by the next; a client receives every event once.
#[tokio::test]
async fn a_killed_server_is_followed_by_one_that_continues() {
    let scratch = TempFile::new();
    let received = kill_server_in_third_round(&scratch).await;
    let server = start_server(ServerConfig::new(short_lease_storage(&scratch.file()).await)).await;
    assert_eq!(server.inner.recovered_runs(), 1);
    server.gate.add_permits(5);
    let rest = server.reader("t1", received.last().unwrap().id).await.read_all().await;
    assert_eq!(word_count(&server, "t1").await, 5);
    assert!(rest.iter().all(|event| event.id > received.last().unwrap().id));
    assert_eq!(rest.last().unwrap().event, "on_chain_end");
    let record = server.run_service().get_thread(&"t1".into()).await.unwrap();
    assert_eq!(record.status, RunStatus::Succeeded);
    assert_eq!(server.run_service().find_run(record.run).await.unwrap().unwrap().recoveries, 1);
}

/// R-SRV-19: a resume value saved before the crash counts; the interrupt is not raised again.
#[tokio::test]
async fn a_resume_value_saved_before_the_crash_is_used() {
    let scratch = TempFile::new();
    let server = start_server(file_config(&scratch).await).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 1, "needsApproval": true, "gated": true})).await;
    server.gate.add_permits(1);
    let first = server.reader(&id, None).await.read_all().await;
    assert_eq!(server.post(&format!("/api/tales/{id}/answer"), &json!(true)).await.status(), 202);
    // The node has its resume value, and is gated.
    let mut reader = server.reader(&id, first.last().unwrap().id).await;
    reader.read_until("on_chain_start", "approve").await;
    drop(server);
    let server = start_server(file_config(&scratch).await).await;
    server.gate.add_permits(1);
    wait_for_status(server.run_service(), &id.as_str().into(), RunStatus::Succeeded).await;
    let state = server.json(&format!("/api/tales/{id}")).await;
    assert_eq!((&state["record"]["status"], &state["state"]["values"]["approved"]), (&json!("finished"), &json!(true)));
}
