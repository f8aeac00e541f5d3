//! Tests of a server that is killed during a debate, and of another server that continues the debate.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server_process::ServerProcess;
use crate::support::Folder;

/// Arguments that set a typing delay.
const TYPING_DELAY: [&str; 2] = ["--pace", "5"];

/// A received event: id, name, data.
type ReceivedEvent = (Option<u64>, String, Value);

/// Reads the next event of a stream.
fn next_event(reader: &mut BufReader<TcpStream>) -> Option<ReceivedEvent> {
    let (mut id, mut event) = (None, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("id", value)) => id = Some(value.parse().unwrap()),
            Some(("event", value)) => event = Some(value.to_owned()),
            Some(("data", value)) => return Some((id, event?, serde_json::from_str(value).unwrap())),
            _ => {}
        }
    }
}

/// R-SRV-19: a server that is started while another one runs does not touch the runs of the other.
#[test]
fn a_second_server_does_not_touch_runs_of_the_first() {
    let folder = Folder::empty("two-servers");
    let first = ServerProcess::start(&folder, &TYPING_DELAY);
    let body = json!({ "topic": "Remote work", "maxRounds": 3, "format": "debate", "detach": true });
    let mut stream = first.request("POST /api/debate", "Content-Type: application/json\r\n", &body.to_string());
    let mut received = vec![next_event(&mut stream).unwrap()];
    let _second = ServerProcess::start(&folder, &TYPING_DELAY);
    while let Some(received_event) = next_event(&mut stream) {
        received.push(received_event);
    }
    assert_eq!(received.last().unwrap().1, "debate_complete");
    assert_eq!(finished_turns(&received).len(), 7);
}

fn finished_turns(received: &[ReceivedEvent]) -> Vec<String> {
    let ends = received.iter().filter(|(_, event, _)| event == "agent_end");
    ends.map(|(_, _, data)| format!("{} {}", data["agent"].as_str().unwrap(), data["round"])).collect()
}

/// R-DEB-48, R-SRV-9, R-SRV-19: a server is killed in the second round and started again; the stream continues
/// after the last received event, and no turn runs twice.
#[test]
fn a_debate_continues_after_its_server_is_killed() {
    let folder = Folder::empty("killed");
    let first = ServerProcess::start(&folder, &TYPING_DELAY);
    let body =
        json!({ "topic": "Should AI be regulated?", "maxRounds": 3, "format": "debate", "detach": true, "seed": 7 });
    let mut stream = first.request("POST /api/debate", "Content-Type: application/json\r\n", &body.to_string());
    let mut received: Vec<ReceivedEvent> = Vec::new();
    // Into the second round, and into a turn of it.
    while !received.iter().any(|(_, event, data)| event == "agent_start" && data["round"] == 2)
        || received.last().is_none_or(|(_, event, _)| event != "token")
    {
        received.push(next_event(&mut stream).expect("the stream ended before the second round"));
    }
    let id = received[0].2["id"].as_str().unwrap().to_owned();
    drop(first);

    let second = ServerProcess::start(&folder, &TYPING_DELAY);
    let last = received.iter().rev().find_map(|(id, ..)| *id).unwrap();
    let mut stream = second.request(
        &format!("GET /api/debate/{id}/stream?format=debate"),
        &format!("Last-Event-ID: {last}\r\n"),
        "",
    );
    while let Some(received_event) = next_event(&mut stream) {
        received.push(received_event);
    }
    assert_eq!(received.last().unwrap().1, "debate_complete");
    let expected = ["optimist 1", "skeptic 1", "optimist 2", "skeptic 2", "optimist 3", "skeptic 3", "moderator 3"];
    assert_eq!(finished_turns(&received), expected);
    assert!(received.windows(2).all(|pair| pair[0].0.is_none() || pair[1].0.is_none() || pair[0].0 < pair[1].0));
    let debate = second.get(&format!("/api/debate/{id}"));
    assert_eq!((&debate["status"], debate["messages"].as_array().unwrap().len()), (&json!("completed"), 8));
    // The streamed tokens and the complete messages agree with the stored messages.
    for (index, end) in received.iter().filter(|(_, event, _)| event == "agent_end").enumerate() {
        assert_eq!(end.2["message"]["content"], debate["messages"][index + 1]["content"]);
    }
}

/// R-SRV-18: a server that shuts down in order tells its subscribers so, not that the debate was stopped:
/// the debate continues on the next server, for clients that reconnect with their last number.
#[cfg(unix)]
#[test]
fn a_debate_is_not_stopped_by_a_server_shutdown() {
    let folder = Folder::empty("stopping");
    let first = ServerProcess::start(&folder, &TYPING_DELAY);
    let body = json!({ "topic": "Remote work", "maxRounds": 2, "format": "debate", "detach": true, "seed": 7 });
    let mut stream = first.request("POST /api/debate", "Content-Type: application/json\r\n", &body.to_string());
    let mut received = vec![next_event(&mut stream).unwrap()];
    first.stop();
    while let Some(received_event) = next_event(&mut stream) {
        received.push(received_event);
    }
    assert_eq!(received.pop().unwrap().1, "shutdown");
    let id = received[0].2["id"].as_str().unwrap().to_owned();
    let last = received.iter().rev().find_map(|(id, ..)| *id).unwrap();
    let second = ServerProcess::start(&folder, &TYPING_DELAY);
    let mut stream = second.request(
        &format!("GET /api/debate/{id}/stream?format=debate"),
        &format!("Last-Event-ID: {last}\r\n"),
        "",
    );
    while let Some(received_event) = next_event(&mut stream) {
        received.push(received_event);
    }
    assert_eq!(received.last().unwrap().1, "debate_complete");
    assert!(received.iter().all(|(_, event, _)| event != "stopped"));
    assert_eq!(finished_turns(&received).len(), 5);
}

/// R-SRV-19, R-SRV-20: one of two servers is killed: the other continues its debate within twenty seconds, without
/// a restart, and no turn runs twice.
#[test]
fn a_debate_continues_on_another_server_after_a_kill() {
    let folder = Folder::empty("two-servers-killed");
    let first = ServerProcess::start(&folder, &TYPING_DELAY);
    let second = ServerProcess::start(&folder, &TYPING_DELAY);
    let body = json!({ "topic": "Remote work", "maxRounds": 3, "format": "debate", "detach": true, "seed": 7 });
    let mut stream = first.request("POST /api/debate", "Content-Type: application/json\r\n", &body.to_string());
    let mut received: Vec<ReceivedEvent> = Vec::new();
    while !received.iter().any(|(_, event, data)| event == "agent_start" && data["round"] == 2)
        || received.last().is_none_or(|(_, event, _)| event != "token")
    {
        received.push(next_event(&mut stream).expect("the stream ended before the second round"));
    }
    let id = received[0].2["id"].as_str().unwrap().to_owned();
    drop(first);
    let killed_at = Instant::now();
    let has_advanced =
        |debate: &Value| debate["messages"].as_array().unwrap().len() > finished_turns(&received).len() + 1;
    while !has_advanced(&second.get(&format!("/api/debate/{id}"))) {
        assert!(killed_at.elapsed() < Duration::from_secs(60), "no server recovered the run");
        std::thread::sleep(Duration::from_millis(100));
    }
    let last = received.iter().rev().find_map(|(id, ..)| *id).unwrap();
    let mut stream = second.request(
        &format!("GET /api/debate/{id}/stream?format=debate"),
        &format!("Last-Event-ID: {last}\r\n"),
        "",
    );
    while let Some(received_event) = next_event(&mut stream) {
        received.push(received_event);
    }
    let expected = ["optimist 1", "skeptic 1", "optimist 2", "skeptic 2", "optimist 3", "skeptic 3", "moderator 3"];
    assert_eq!(finished_turns(&received), expected);
    let debate = second.get(&format!("/api/debate/{id}"));
    assert_eq!((&debate["status"], debate["messages"].as_array().unwrap().len()), (&json!("completed"), 8));
}
