//! Tests of the HTTP API: create, stream, approve, stop and read debates.

use serde_json::{Value, json};
use superstep_server::{ServerConfig, Storage};

use super::support::{Folder, Speaker, TOPIC, reply_text};
use super::test_server::{SentEvent, TestServer, event_names, start_server, start_server_with_config};

const ROUND_EVENTS: [&str; 7] =
    ["agent_start", "token", "agent_end", "agent_start", "token", "agent_end", "round_complete"];

fn streamed_texts(sent: &[SentEvent], node: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for event in sent.iter().filter(|event| event.data["metadata"]["node"] == node) {
        match event.event.as_str() {
            "on_chat_model_start" => texts.push(String::new()),
            "on_chat_model_stream" => texts.last_mut().unwrap().push_str(event.data["data"]["chunk"].as_str().unwrap()),
            _ => {}
        }
    }
    texts
}

/// R-DEB-30, R-DEB-46, R-SRV-6a: a request with only a topic streams numbered events of version 2 for three rounds,
/// with the state at the end.
#[tokio::test]
async fn a_debate_is_streamed_as_events() {
    let server = start_server(Speaker::default()).await;
    let (id, sent) = server.debate(json!({ "maxRounds": 3 })).await;
    assert_eq!((sent[0].event.as_str(), sent.last().unwrap().event.as_str()), ("on_chain_start", "on_chain_end"));
    assert_eq!(sent[0].data["data"]["input"]["topic"], TOPIC);
    assert_eq!(sent.iter().filter(|event| event.event == "on_chat_model_start").count(), 7);
    assert_eq!(streamed_texts(&sent, "skeptic"), [1, 2, 3].map(|round| reply_text("skeptic", round)));
    assert!(sent.windows(2).all(|pair| pair[0].id < pair[1].id));
    let state = &sent.last().unwrap().data["data"]["output"];
    assert_eq!((&state["round"], &state["status"]), (&json!(3), &json!("completed")));
    assert_eq!((state["messages"].as_array().unwrap().len(), &state["tokenUsage"]), (8, &json!(7 * 15)));
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!(
        (&debate["status"], &debate["topic"], &debate["maxRounds"]),
        (&json!("completed"), &json!(TOPIC), &json!(3))
    );
    assert_eq!(debate["messages"][7]["content"], state["messages"][7]["content"]);
    assert_eq!(debate["lastEventId"], json!(sent.last().unwrap().id));
}

/// R-DEB-31, R-DEB-32: the format for pages has agent, text and round.
#[tokio::test]
async fn pages_receive_the_current_agent() {
    let server = start_server(Speaker::default()).await;
    let (id, sent) = server.debate(json!({ "maxRounds": 2, "format": "debate" })).await;
    let turn = ["agent_start", "token", "agent_end"];
    let expected = [&["debate_start"][..], &ROUND_EVENTS, &ROUND_EVENTS, &turn, &["debate_complete"]].concat();
    assert_eq!(event_names(&sent), expected);
    assert_eq!(sent[0].data["model"]["label"], "language model");
    let rounds: Vec<u64> = sent
        .iter()
        .filter(|sent| sent.event == "agent_start")
        .map(|sent| sent.data["round"].as_u64().unwrap())
        .collect();
    assert_eq!(rounds, [1, 1, 2, 2, 2]);
    let end = &sent.last().unwrap().data;
    assert_eq!((&end["summary"], &end["totalTokens"]), (&json!(reply_text("moderator", 2)), &json!(75)));
    assert!(end["durationMs"].as_i64().unwrap() >= 0);
    assert_eq!(end["transcript"], format!("/api/debate/{id}/transcript"));
}

/// R-DEB-32: each event for pages has its fields.
#[tokio::test]
async fn each_event_for_pages_has_its_fields() {
    let speaker = Speaker::default().failing("moderator 1", superstep::models::ModelErrorKind::InvalidApiKey);
    let server = start_server(speaker).await;
    let body = json!({ "maxRounds": 1, "format": "debate", "factCheck": "each_round", "approval": "before_summary" });
    let (id, mut sent) = server.debate(body).await;
    assert_eq!(submit_approval(&server, &id, true).await, 202);
    let last_id = sent.last().unwrap().id;
    sent.extend(server.stream(&id, "debate", last_id).await);
    assert_eq!(server.post(&format!("/api/debate/{id}/resume"), &json!({})).await.status(), 202);
    let failed = sent.last().unwrap().id;
    sent.extend(server.stream(&id, "debate", failed).await);
    let expected: [(&str, &[&str]); 8] = [
        ("agent_start", &["agent", "round", "timestamp"]),
        ("token", &["agent", "content"]),
        ("agent_end", &["agent", "round", "message", "tokens"]),
        ("round_complete", &["round", "totalRounds"]),
        ("fact_check", &["results"]),
        ("approval_required", &["interruptId", "question"]),
        ("debate_complete", &["summary", "totalTokens", "durationMs", "transcript"]),
        ("error", &["code", "message", "retryable"]),
    ];
    for (event, fields) in expected {
        let matching =
            sent.iter().find(|sent| sent.event == event).unwrap_or_else(|| panic!("{event}: {:?}", event_names(&sent)));
        let missing: Vec<_> = fields.iter().filter(|field| matching.data[**field].is_null()).collect();
        assert!(missing.is_empty(), "{event} lacks {missing:?}: {}", matching.data);
    }
}

/// R-DEB-31, R-SRV-7a: the AG-UI format has messages, steps and state.
#[tokio::test]
async fn ag_ui_receives_messages_and_steps() {
    let server = start_server(Speaker::default()).await;
    let (_, sent) = server.debate(json!({ "maxRounds": 1, "format": "ag-ui" })).await;
    let turn = ["STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED"];
    let (start, changed): (&[&str], &[&str]) = (&["RUN_STARTED", "STATE_SNAPSHOT"], &["STATE_DELTA"]);
    let end: &[&str] = &["STATE_DELTA", "STATE_SNAPSHOT", "RUN_FINISHED"];
    assert_eq!(event_names(&sent), [start, changed, &turn, changed, &turn, changed, &turn, end].concat());
    assert!(sent.iter().all(|sent| sent.data["type"] == sent.event.as_str()));
}

/// R-SRV-7a: in the AG-UI format a failed debate ends with `RUN_ERROR`, with code and message.
#[tokio::test]
async fn ag_ui_receives_the_error_of_a_debate() {
    let speaker = Speaker::default().failing("skeptic 1", superstep::models::ModelErrorKind::InvalidApiKey);
    let server = start_server(speaker).await;
    let (_, sent) = server.debate(json!({ "maxRounds": 1, "format": "ag-ui" })).await;
    let end = sent.last().unwrap();
    assert_eq!((end.event.as_str(), &end.data["code"]), ("RUN_ERROR", &json!("SS-022")), "{}", end.data);
    assert!(end.data["message"].as_str().unwrap().contains("as the test asked"), "{}", end.data);
    assert!(!event_names(&sent).contains(&"RUN_FINISHED"));
}

/// Applies one operation of RFC 6902 to a field, or at the end of a list.
fn apply_patch(state: &mut Value, operation: &Value) {
    let (path, value) = (operation["path"].as_str().unwrap(), operation["value"].clone());
    let fields = state.as_object_mut().unwrap();
    match (operation["op"].as_str().unwrap(), path.strip_suffix("/-")) {
        ("add", Some(list)) => fields[&list[1..]].as_array_mut().unwrap().push(value),
        ("add", None) => assert!(fields.insert(path[1..].to_owned(), value).is_none(), "{operation}"),
        ("replace", None) => assert!(fields.insert(path[1..].to_owned(), value).is_some(), "{operation}"),
        _ => panic!("{operation}"),
    }
}

/// R-SRV-7a: patches lead from the first state to the one after each superstep, across an interrupt, and to the last
/// state. A turn adds its message, and no more.
#[tokio::test]
async fn patches_of_ag_ui_produce_the_last_state() {
    let server = start_server(Speaker::default()).await;
    let (id, _) = server.debate(json!({ "maxRounds": 1, "approval": "before_summary" })).await;
    assert_eq!(submit_approval(&server, &id, true).await, 202);
    let sent = server.stream(&id, "ag-ui", None).await;
    let mut state = json!(null);
    for SentEvent { event, data, .. } in &sent {
        match event.as_str() {
            "STATE_DELTA" => data["delta"].as_array().unwrap().iter().for_each(|next| apply_patch(&mut state, next)),
            "STATE_SNAPSHOT" if state.is_null() => state = data["snapshot"].clone(),
            "STATE_SNAPSHOT" => assert_eq!(state, data["snapshot"]),
            _ => {}
        }
    }
    assert_eq!((&state["status"], state["messages"].as_array().unwrap().len()), (&json!("completed"), 4));
    assert!(sent.iter().any(|sent| sent.event == "CUSTOM" && sent.data["name"] == "on_interrupt"));
    let ends: Vec<&Value> =
        sent.iter().filter(|sent| sent.event == "RUN_FINISHED").map(|sent| &sent.data["outcome"]["type"]).collect();
    assert_eq!(ends, ["interrupt", "success"]);
    let added = sent.iter().flat_map(|sent| sent.data["delta"].as_array().into_iter().flatten());
    let messages: Vec<&Value> = added.filter(|next| next["path"] == "/messages/-").map(|next| &next["value"]).collect();
    let names: Vec<&Value> = messages.iter().map(|message| &message["name"]).collect();
    assert_eq!(names, ["optimist", "skeptic", "moderator"]);
}

/// R-DEB-31: a client that accepts JSON waits and receives the state.
#[tokio::test]
async fn a_client_that_accepts_json_waits() {
    let server = start_server(Speaker::default()).await;
    let body = json!({ "topic": TOPIC, "maxRounds": 1, "model": "speaker", "threadId": "mine" });
    let request = server.client.post(server.url("/api/debate")).header("accept", "application/json").json(&body);
    let debate: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!((&debate["id"], &debate["status"]), (&json!("mine"), &json!("completed")));
    assert_eq!(debate["messages"].as_array().unwrap().len(), 4);
}

/// R-DEB-33, R-SRV-9: a client disconnected at any event reconnects and misses nothing, in every format.
#[tokio::test]
async fn a_client_reconnects_at_any_event() {
    let server = start_server(Speaker::default()).await;
    let (id, _) = server.debate(json!({ "maxRounds": 2 })).await;
    for format in ["events", "debate", "ag-ui"] {
        let all = server.stream(&id, format, None).await;
        assert!(all.len() > 10);
        for cut in 0..all.len() {
            let Some(after) = all[cut].id else { continue };
            let rest = server.stream(&id, format, Some(after)).await;
            assert_eq!(rest, all[cut + 1..], "{format} after {after}");
        }
    }
}

async fn submit_approval(server: &TestServer, id: &str, approved: bool) -> u16 {
    server.post(&format!("/api/debate/{id}/approval"), &json!({ "approved": approved })).await.status().as_u16()
}

/// R-DEB-47, R-DEB-33, R-DEB-55: a debate with approvals waits, continues after each approval, and accepts one
/// answer.
#[tokio::test]
async fn a_debate_requests_approval_before_it_continues() {
    let server = start_server(Speaker::default()).await;
    let (id, sent) = server.debate(json!({ "maxRounds": 3, "approval": "each_round", "format": "debate" })).await;
    assert_eq!(event_names(&sent).last(), Some(&"approval_required"));
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!((&debate["status"], &debate["awaitingApproval"]), (&json!("waiting"), &json!(true)));
    assert_eq!(debate["question"]["interruptId"], sent.last().unwrap().data["interruptId"]);
    assert_eq!(debate["question"]["last"].as_array().unwrap().len(), 2);
    let mut last = sent.last().unwrap().id;
    for round in 1..=2 {
        assert_eq!(submit_approval(&server, &id, true).await, 202);
        let more = server.stream(&id, "debate", last).await;
        assert_eq!(more.last().unwrap().data["round"], round + 1);
        last = more.last().unwrap().id;
    }
    assert_eq!(submit_approval(&server, &id, true).await, 202);
    let end = server.stream(&id, "debate", last).await;
    assert_eq!(event_names(&end).last(), Some(&"debate_complete"));
    assert_eq!(submit_approval(&server, &id, true).await, 409);
}

/// R-DEB-55, R-DEB-32: an answer that names its interrupt counts only for that one, and once.
#[tokio::test]
async fn an_approval_applies_to_one_interrupt() {
    let server = start_server(Speaker::default()).await;
    let (id, sent) = server.debate(json!({ "maxRounds": 3, "approval": "each_round", "format": "debate" })).await;
    let first = json!({ "approved": true, "interruptId": sent.last().unwrap().data["interruptId"] });
    let path = format!("/api/debate/{id}/approval");
    assert_eq!(server.post(&path, &first).await.status(), 202);
    let more = server.stream(&id, "debate", sent.last().unwrap().id).await;
    assert_eq!(more.last().unwrap().data["round"], 2);
    // A second client, or a repeated request, that has not seen the second round.
    let rejected = server.post(&path, &first).await;
    assert_eq!(rejected.status(), 409);
    assert!(rejected.text().await.unwrap().contains("is now waiting for another approval"));
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!((&debate["status"], &debate["round"]), (&json!("waiting"), &json!(2)));
    let second = json!({ "approved": false, "note": "Enough.", "interruptId": debate["question"]["interruptId"] });
    assert_eq!(server.post(&path, &second).await.status(), 202);
    server.stream(&id, "debate", None).await;
    assert_eq!(server.json(&format!("/api/debate/{id}")).await["status"], "completed");
    assert_eq!(server.post(&path, &second).await.status(), 409);
}

/// R-DEB-47: ending the debate at the first approval leaves four messages and a summary that says so.
#[tokio::test]
async fn a_person_ends_a_debate() {
    let server = start_server(Speaker::default()).await;
    let (id, sent) = server.debate(json!({ "approval": "each_round", "format": "debate" })).await;
    assert_eq!(submit_approval(&server, &id, false).await, 202);
    let end = server.stream(&id, "debate", sent.last().unwrap().id).await;
    assert!(end.last().unwrap().data["summary"].as_str().unwrap().contains("ended by the user after round 1"));
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!((&debate["round"], &debate["userApproved"]), (&json!(1), &json!(false)));
    assert_eq!((&debate["status"], debate["messages"].as_array().unwrap().len()), (&json!("completed"), 4));
}

/// R-DEB-33: a debate with an open approval can be stopped, and resumed.
#[tokio::test]
async fn a_debate_is_stopped_and_resumed() {
    let server = start_server(Speaker::default()).await;
    let (id, _) = server.debate(json!({ "approval": "before_summary", "maxRounds": 1 })).await;
    let path = format!("/api/debate/{id}");
    let stopped = server.client.delete(server.url(&path)).send().await.unwrap();
    assert_eq!((stopped.status().as_u16(), &server.json(&path).await["status"]), (202, &json!("stopped")));
    assert_eq!(submit_approval(&server, &id, true).await, 409);
    assert_eq!(server.client.delete(server.url(&path)).send().await.unwrap().status(), 409);
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).await.status(), 202);
    let sent = server.stream(&id, "debate", None).await;
    assert_eq!(event_names(&sent).last(), Some(&"approval_required"));
    assert_eq!(submit_approval(&server, &id, true).await, 202);
    server.stream(&id, "debate", None).await;
    assert_eq!(server.json(&path).await["status"], "completed");
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).await.status(), 409);
}

/// R-DEB-29, R-DEB-33: a provider error ends the stream with an error; the debate resumes with the failed turn.
#[tokio::test]
async fn a_turn_that_failed_is_tried_again() {
    let speaker = Speaker::default().failing("skeptic 1", superstep::models::ModelErrorKind::InvalidApiKey);
    let server = start_server(speaker.clone()).await;
    let (id, sent) = server.debate(json!({ "maxRounds": 1, "format": "debate" })).await;
    assert_eq!(event_names(&sent).last(), Some(&"error"));
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!((&debate["status"], debate["endTime"].is_string()), (&json!("error"), true));
    let written = server.get(&format!("/api/debate/{id}/transcript?format=txt")).await.text().await.unwrap();
    assert!(written.contains("Status: error"), "{written}");
    assert_eq!(server.post(&format!("/api/debate/{id}/resume"), &json!({})).await.status(), 202);
    let more = server.stream(&id, "debate", sent.last().unwrap().id).await;
    assert_eq!(event_names(&more).last(), Some(&"debate_complete"));
    assert_eq!(speaker.turns(), ["optimist 1", "skeptic 1", "skeptic 1", "moderator 1"]);
}

/// R-DEB-33: past debates are listed and found by words of their topic; transcripts have three formats.
#[tokio::test]
async fn past_debates_are_listed_and_exported() {
    let server = start_server(Speaker::default()).await;
    server.debate(json!({ "maxRounds": 1 })).await;
    let (id, _) = server.debate(json!({ "maxRounds": 1, "topic": "School uniforms" })).await;
    let all = server.json("/api/debates").await;
    assert_eq!(all["debates"].as_array().unwrap().len(), 2);
    let matches = server.json("/api/debates?q=uniforms&status=completed").await;
    assert_eq!((&matches["debates"][0]["id"], matches["debates"].as_array().unwrap().len()), (&json!(id), 1));
    assert_eq!(server.json("/api/debates?status=running").await["debates"], json!([]));
    let first = server.json("/api/debates?limit=1").await;
    let second = server.json(&format!("/api/debates?limit=1&after={}", first["next"])).await;
    assert_ne!(first["debates"][0]["id"], second["debates"][0]["id"]);
    assert_eq!(second["next"], json!(null));
    for (format, kind, word) in [
        ("md", "text/markdown", "# School uniforms"),
        ("txt", "text/plain", "SUMMARY"),
        ("json", "application/json", "\"topic\""),
    ] {
        let response = server.get(&format!("/api/debate/{id}/transcript?format={format}")).await;
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with(kind));
        assert!(response.text().await.unwrap().contains(word), "{format}");
    }
    assert_eq!(server.get("/api/debate/nobody").await.status(), 404);
}

/// R-DEB-41, R-DEB-44, R-DEB-45: the default is the rule model, and the response says so.
#[tokio::test]
async fn the_rule_model_is_the_default_and_labelled() {
    let server = start_server(Speaker::default()).await;
    let body = json!({ "model": "local", "seed": 7, "factCheck": "at_end", "maxRounds": 3, "format": "debate" });
    let (id, sent) = server.debate(body).await;
    assert_eq!(sent[0].data["model"]["label"], "rule-based voices, no language model");
    let debate = server.json(&format!("/api/debate/{id}")).await;
    assert_eq!(debate["model"]["kind"], "rules");
    let verdicts = debate["factCheckResults"].as_array().unwrap();
    assert!(!verdicts.is_empty());
    assert!(verdicts.iter().all(|result| result["verdict"] == "unverifiable" && result["sources"] == json!([])));
    let settings = server.json("/api/debate/settings").await;
    assert_eq!((&settings["models"][0]["name"], &settings["evidence"]["configured"]), (&json!("local"), &json!(false)));
}

/// R-DEB-33, R-SRV-9: debates and their events survive a restart.
#[tokio::test]
async fn debates_survive_a_restart() {
    let folder = Folder::new("restart");
    std::fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("debates.db");
    let config = || async { ServerConfig::new(Storage::sqlite(&file).await.unwrap()) };
    let first = start_server_with_config(config().await, Speaker::default()).await;
    let (id, sent) = first.debate(json!({ "maxRounds": 1, "format": "debate" })).await;
    let stored: Vec<&SentEvent> = sent.iter().filter(|sent| sent.event != "token").collect();
    first.handle.shutdown().await;
    let second = start_server_with_config(config().await, Speaker::default()).await;
    let replayed = second.stream(&id, "debate", None).await;
    assert_eq!(replayed.iter().collect::<Vec<_>>(), stored);
}

/// R-DEB-40, R-SRV-15a: the page is embedded, loads nothing from another host, and a debate that has ended can be
/// read without JavaScript. `cargo xtask web` tests the page in a browser.
#[tokio::test]
async fn the_page_is_embedded_and_needs_no_javascript() {
    let server = start_server(Speaker::default()).await;
    let (id, _) = server.debate(json!({ "maxRounds": 1, "topic": "<b>bold</b>" })).await;
    let response = server.get(&format!("/debate/{id}")).await;
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
    let page = response.text().await.unwrap();
    assert!(page.contains("<noscript><h1>&lt;b&gt;bold&lt;/b&gt;</h1>") && page.contains(&reply_text("moderator", 1)));
    let files: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert!(!files.is_empty() && !page.contains("://"));
    for file in files {
        assert_eq!(server.get(file).await.status(), 200, "{file}");
    }
}

/// R-DEB-35: closing the connection stops a debate after the current turn; a detached debate continues.
#[tokio::test]
async fn leaving_stops_a_debate_after_the_turn() {
    for (detach, status) in [(false, "stopped"), (true, "completed")] {
        let speaker = Speaker::default();
        let gate = speaker.gated();
        let server = start_server(speaker).await;
        let body = json!({ "topic": TOPIC, "model": "speaker", "maxRounds": 10, "detach": detach });
        let response = server.post("/api/debate", &body).await;
        let id = response.headers()["x-debate-id"].to_str().unwrap().to_owned();
        drop(response);
        // The server has noticed the disconnect before the next turn starts.
        while !detach && !server.handle.run_service().is_cancelling(&id.as_str().into()) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let path = format!("/api/debate/{id}");
        let mut debate = server.json(&path).await;
        while debate["status"] == "running" {
            // The current turn ends; the next one starts only if the debate continues.
            gate.add_permits(1);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            debate = server.json(&path).await;
        }
        let is_whole = debate["messages"].as_array().unwrap().len() == 22;
        assert_eq!((debate["status"].as_str(), is_whole), (Some(status), detach));
    }
}
