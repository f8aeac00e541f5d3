//! A server's end and its next beginning: in order, and by a kill.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use superstep::core::id::ThreadId;
use superstep::sqlite::Sqlite;
use superstep_server::{Config, Desk, Order, ResumeRuns, RunStatus, Stores, What, serve};
use tokio::sync::Semaphore;

use crate::support::{Reader, Scratch, Sent, Served, app, client, start_server};

pub(crate) async fn on_file(scratch: &Scratch) -> Config {
    Config::new(Stores::sqlite(scratch.file()).await.unwrap())
}

pub(crate) async fn words(served: &Served, id: &str) -> usize {
    served.json(&format!("/api/tales/{id}")).await["state"]["values"]["words"].as_array().unwrap().len()
}

/// Waits until the server takes no new runs.
async fn closing(desk: &Desk) {
    while !desk.is_closing() {
        tokio::task::yield_now().await;
    }
}

/// Waits until the run of a thread is written down as this. A server that was dropped gives its threads back a moment later,
/// so the next one may have to look twice.
pub(crate) async fn until(desk: &Desk, thread: &ThreadId, status: RunStatus) {
    let wait = async {
        while desk.known(thread).await.unwrap().status != status {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
}

/// R-SRV-18: at shutdown a run finishes its superstep and is saved, readers are told, and the next server goes on.
#[tokio::test]
async fn shutdown_saves_tells_readers_and_the_next_server_goes_on() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let id = served.tale(json!({"topic": "sea", "rounds": 4, "gated": true})).await;
    let mut reader = served.reader(&id, None).await;
    served.gate.add_permits(1);
    let mut heard = Vec::new();
    while heard.iter().filter(|sent: &&Sent| sent.event == "on_chain_start" && sent.data["name"] == "turn").count() < 2
    {
        heard.push(reader.next().await.unwrap());
    }
    let (desk, gate, begun) = (served.server.desk().clone(), served.gate.clone(), Instant::now());
    let shutdown = tokio::spawn(served.server.shutdown());
    closing(&desk).await;
    let refused = desk.start(Order::new("tale", "t2", What::Start(json!({"topic": "x"})))).await.unwrap_err();
    assert_eq!(refused.status(), 503);
    // The superstep that is under way comes to its end; the one after it does not begin.
    gate.add_permits(3);
    let mut rest = reader.all().await;
    let last = rest.pop().unwrap();
    assert_eq!((last.event.as_str(), last.id), ("shutdown", None));
    heard.extend(rest);
    shutdown.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    let record = desk.known(&id.as_str().into()).await.unwrap();
    assert_eq!(record.status, RunStatus::Suspended);
    drop((desk, gate));

    let served = start_server(on_file(&scratch).await).await;
    assert_eq!(served.server.taken_up(), 1);
    served.gate.add_permits(4);
    heard.extend(served.reader(&id, heard.last().unwrap().id).await.all().await);
    assert_eq!(words(&served, &id).await, 4);
    assert_eq!(served.json(&format!("/api/tales/{id}")).await["record"]["status"], "finished");
    assert_eq!(heard, served.reader(&id, None).await.all().await);
}

/// R-SRV-11, R-SRV-18, R-DEB-35: a run whose reader has left stops, also where the server does so in the same superstep: the
/// next one does not go on with it.
#[tokio::test]
async fn a_run_whose_reader_has_left_does_not_go_on_with_the_next_server() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let body = json!({"topic": "sea", "rounds": 3, "gated": true, "attached": true, "thread": "t"});
    let request = served.client.post(served.url("/api/tales")).json(&body).header("accept", "text/event-stream");
    let mut reader = Reader::new(request.send().await.unwrap());
    reader.until("on_chain_start", "turn").await;
    let (desk, gate, thread) = (served.server.desk().clone(), served.gate.clone(), ThreadId::from("t"));
    drop(reader);
    let noticed = async {
        while !desk.is_stopping(&thread) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), noticed).await.unwrap();
    let shutdown = tokio::spawn(served.server.shutdown());
    closing(&desk).await;
    gate.add_permits(3);
    shutdown.await.unwrap();
    assert_eq!(desk.known(&thread).await.unwrap().status, RunStatus::Stopped);
    drop((desk, gate));
    let served = start_server(on_file(&scratch).await).await;
    assert_eq!((served.server.taken_up(), words(&served, "t").await), (0, 1));
}

/// R-SRV-18: a superstep that does not end is let go of; the thread stays at its last whole one.
#[tokio::test]
async fn a_superstep_that_does_not_end_is_let_go_of_at_shutdown() {
    let scratch = Scratch::new();
    let mut config = on_file(&scratch).await;
    config.drain = Duration::from_millis(50);
    let served = start_server(config).await;
    let id = served.tale(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
    let (desk, begun) = (served.server.desk().clone(), Instant::now());
    served.server.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(desk.known(&id.as_str().into()).await.unwrap().status, RunStatus::Suspended);
    drop(desk);
    let served = start_server(on_file(&scratch).await).await;
    served.gate.add_permits(3);
    served.reader(&id, None).await.all().await;
    assert_eq!(words(&served, &id).await, 3);
}

/// R-SRV-19: runs that died are found at start; on request they are marked and go on with one call.
#[tokio::test]
async fn a_run_that_died_is_marked_and_goes_on_when_somebody_asks() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let id = served.tale(json!({"topic": "sea", "rounds": 3, "gated": true})).await;
    let mut reader = served.reader(&id, None).await;
    served.gate.add_permits(1);
    reader.until("on_chain_end", "turn").await;
    drop(served);
    let mut config = on_file(&scratch).await;
    config.resume = ResumeRuns::OnRequest;
    let served = start_server(config).await;
    let (desk, thread) = (served.server.desk(), ThreadId::from(id.as_str()));
    until(desk, &thread, RunStatus::Interrupted).await;
    // What the application was told at first still holds: the rounds are held back.
    desk.start(Order::new("tale", &thread, What::GoOn)).await.unwrap();
    assert_eq!(desk.known(&thread).await.unwrap().options, json!({"gated": true, "speaks": false}));
    served.gate.add_permits(2);
    served.reader(&id, None).await.all().await;
    assert_eq!((words(&served, &id).await, desk.known(&thread).await.unwrap().status), (3, RunStatus::Finished));
}

/// R-SRV-19: taking up is harmless where the record alone did not say how a run had ended, and a run that had not
/// saved anything yet starts with its input.
#[tokio::test]
async fn taking_up_asks_the_checkpoints_and_not_the_record() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let done = served.tale(json!({"topic": "sea", "rounds": 2, "thread": "done"})).await;
    let asked = served.tale(json!({"topic": "sea", "rounds": 1, "asks": true, "thread": "asked"})).await;
    for id in [&done, &asked] {
        served.reader(id, None).await.all().await;
    }
    let before = served.reader(&done, None).await.all().await;
    served.server.shutdown().await;
    // The records lose what they know, as if the process had died before it wrote them for the last time.
    let store = Sqlite::open(scratch.file()).unwrap().store().await.unwrap();
    let runs = superstep::store::Search::new(["server", "runs"]);
    for hit in superstep::store::Store::search(&store, runs).await.unwrap() {
        let mut value = hit.item.value;
        value["status"] = json!("running");
        superstep::store::Store::put(&store, ["server", "runs"], hit.item.key, value).await.unwrap();
    }
    let new = Order::new("tale", "new", What::Start(json!({"topic": "sea", "rounds": 1})));
    let lost = Order::new("gone", "lost", What::GoOn);
    for order in [&new, &lost] {
        let record = json!({"version": 1, "order": order, "status": "running", "started_at": ""});
        superstep::store::Store::put(&store, ["server", "runs"], order.run.to_string(), record).await.unwrap();
    }
    drop(store);
    let served = start_server(on_file(&scratch).await).await;
    assert_eq!(served.server.taken_up(), 3);
    let status = |id: &str| {
        let (desk, id) = (served.server.desk().clone(), ThreadId::from(id));
        async move { desk.known(&id).await.unwrap().status }
    };
    served.reader("new", None).await.all().await;
    assert_eq!((status("new").await, words(&served, "new").await), (RunStatus::Finished, 1));
    assert_eq!((status("done").await, status("asked").await), (RunStatus::Finished, RunStatus::Waiting));
    // Another program on the same store may serve its graph.
    assert_eq!(served.server.desk().run(lost.run).await.unwrap().unwrap().status, RunStatus::Running);
    // Nothing ran again.
    assert_eq!(served.reader("done", None).await.all().await, before);
    assert_eq!(served.post("/api/tales/asked/answer", &json!(true)).await.status(), 202);
}

/// R-SRV-9: also after a restart, at whatever place a reader was cut off: all that was stored comes, once; previews, which
/// are not stored, are whole in what comes.
#[tokio::test]
async fn a_reader_that_comes_back_after_a_restart_misses_nothing() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let id = served.tale(json!({"topic": "sea", "rounds": 4, "speaks": true})).await;
    let whole = served.reader(&id, None).await.all().await;
    served.server.shutdown().await;
    let served = start_server(on_file(&scratch).await).await;
    for place in 0..whole.len() {
        let rest = served.reader(&id, whole[place].id).await.all().await;
        let kept = whole[place + 1..].iter().filter(|sent| sent.event != "on_chat_model_stream");
        assert_eq!(rest, kept.cloned().collect::<Vec<_>>(), "cut after {place}");
    }
}

const CHILD: &str = "SUPERSTEP_SERVER_CHILD";

/// Stores whose lease lapses soon: the process that holds it is dead.
pub(crate) async fn short_lease(path: &std::path::Path) -> Stores {
    let file = Sqlite::options().lapse_after(Duration::from_millis(300)).open(path).unwrap();
    let mut stores = Stores::memory();
    stores.items = file.store().await.unwrap().into();
    stores.checkpoints = file.into();
    stores
}

/// The process that is killed below; in any other there is nothing to do.
#[tokio::test]
async fn a_server_in_a_process_of_its_own() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let gate = Arc::new(Semaphore::new(2));
    let config = Config::new(short_lease(path.as_ref()).await).port(0);
    let server = serve(vec![app(&gate)], config).await.unwrap();
    println!("\nlistening {}", server.url());
    std::future::pending::<()>().await;
}

/// A server in a process of its own begins a tale of five rounds on thread `t1`, and is killed in the third; gives what was
/// told until then.
pub(crate) async fn killed_in_the_third_round(scratch: &Scratch) -> Vec<Sent> {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "life::a_server_in_a_process_of_its_own", "--nocapture"]).env(CHILD, scratch.file());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let output = tokio::process::ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
    let mut lines = BufReader::new(output).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().expect("the child says where it listens");
        if let Some(url) = line.strip_prefix("listening ") {
            break url.to_owned();
        }
    };
    let body = json!({"topic": "sea", "rounds": 5, "gated": true, "thread": "t1"});
    let request = client().post(url + "/api/tales").json(&body).header("accept", "text/event-stream");
    let mut reader = Reader::new(request.send().await.unwrap());
    // Two rounds are through; the third never ends there.
    let mut heard = Vec::new();
    while heard.iter().filter(|sent: &&Sent| sent.event == "on_chain_start" && sent.data["name"] == "turn").count() < 3
    {
        heard.push(reader.next().await.unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reader.next().await.is_none());
    heard
}

/// R-SRV-9, R-SRV-19: a server that is killed leaves a run that the next one takes up; a reader hears all of it once.
#[tokio::test]
async fn a_killed_server_is_followed_by_one_that_goes_on() {
    let scratch = Scratch::new();
    let heard = killed_in_the_third_round(&scratch).await;
    let served = start_server(Config::new(short_lease(&scratch.file()).await)).await;
    assert_eq!(served.server.taken_up(), 1);
    served.gate.add_permits(5);
    let back = served.reader("t1", heard.last().unwrap().id).await.all().await;
    assert_eq!(words(&served, "t1").await, 5);
    assert!(back.iter().all(|sent| sent.id > heard.last().unwrap().id));
    assert_eq!(back.last().unwrap().event, "on_chain_end");
    let record = served.server.desk().known(&"t1".into()).await.unwrap();
    assert_eq!(record.status, RunStatus::Finished);
    assert_eq!(served.server.desk().run(record.run).await.unwrap().unwrap().taken_up, 1);
}

/// R-SRV-19: an answer that was saved before the server died counts; nobody is asked again.
#[tokio::test]
async fn an_answer_that_was_given_before_the_crash_counts() {
    let scratch = Scratch::new();
    let served = start_server(on_file(&scratch).await).await;
    let id = served.tale(json!({"topic": "sea", "rounds": 1, "asks": true, "gated": true})).await;
    served.gate.add_permits(1);
    let first = served.reader(&id, None).await.all().await;
    assert_eq!(served.post(&format!("/api/tales/{id}/answer"), &json!(true)).await.status(), 202);
    // The node has its answer, and is held back with it.
    let mut reader = served.reader(&id, first.last().unwrap().id).await;
    reader.until("on_chain_start", "approve").await;
    drop(served);
    let served = start_server(on_file(&scratch).await).await;
    served.gate.add_permits(1);
    until(served.server.desk(), &id.as_str().into(), RunStatus::Finished).await;
    let state = served.json(&format!("/api/tales/{id}")).await;
    assert_eq!((&state["record"]["status"], &state["state"]["values"]["approved"]), (&json!("finished"), &json!(true)));
}
