//! Tests of validation errors: their text, and that they occur before any model call.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::store::PutOp;
use superstep_server::{
    App, RateLimit, RunInput, RunRequest, RunStatus, ServerConfig, Storage, new_run_id, serve_graph,
};

use super::support::{Speaker, TOPIC};
use super::test_server::{start_server, start_server_with_config, start_server_with_limit, with_other_app};

/// R-DEB-49, R-DEB-50, R-DEB-51, R-SRV-5: every error of a body is reported with its location, before a model is
/// called.
#[tokio::test]
async fn an_invalid_body_is_rejected() {
    let speaker = Speaker::default();
    let server = start_server(speaker.clone()).await;
    let rows = [
        (json!({}), "/topic", ""),
        (json!({ "topic": "" }), "/topic", ""),
        (json!({ "topic": "   " }), "/topic", ""),
        (json!({ "topic": "x".repeat(501) }), "/topic", "500"),
        (json!({ "topic": 7 }), "/topic", ""),
        (json!({ "topic": TOPIC, "maxRounds": 0 }), "/maxRounds", "1 to 10"),
        (json!({ "topic": TOPIC, "maxRounds": 11 }), "/maxRounds", "1 to 10"),
        (json!({ "topic": TOPIC, "maxRounds": 2.5 }), "/maxRounds", "1 to 10"),
        (json!({ "topic": TOPIC, "maxRounds": "3" }), "/maxRounds", "1 to 10"),
        (json!({ "topic": TOPIC, "maxRounds": null }), "/maxRounds", "1 to 10"),
        (json!({ "topic": TOPIC, "maxRouns": 3 }), "/maxRouns", "maxRounds"),
        (json!({ "topic": TOPIC, "approval": "sometimes" }), "/approval", ""),
    ];
    for (mut body, pointer, word) in rows {
        body["model"] = json!("speaker");
        let response = server.post("/api/debate", &body).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"].to_str().unwrap()[..24]),
            (422, "application/problem+json")
        );
        let problem: Value = response.json().await.unwrap();
        let field_error = problem["errors"].as_array().unwrap().iter().find(|part| part["pointer"] == pointer);
        let field_error = field_error.unwrap_or_else(|| panic!("{body} says nothing at {pointer}: {problem}"));
        assert!(field_error.to_string().contains(word), "{word} is not in {field_error}");
    }
    assert!(speaker.turns().is_empty());
    assert_eq!(server.json("/api/debates").await["debates"], json!([]));
}

/// R-DEB-52, R-DEB-53: bodies that are not JSON, too long, or sent in the wrong way are rejected.
#[tokio::test]
async fn a_malformed_request_is_rejected() {
    let server = start_server(Speaker::default()).await;
    let post = |body: String, kind: &str| {
        server.client.post(server.url("/api/debate")).header("content-type", kind).body(body).send()
    };
    let body_of_length = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    for (body, kind, status) in [
        ("not JSON".to_owned(), "application/json", 400),
        (String::new(), "application/json", 400),
        (body_of_length(64 * 1024), "application/json", 422),
        (body_of_length(64 * 1024 + 1), "application/json", 413),
        (json!({ "topic": TOPIC }).to_string(), "text/plain", 415),
    ] {
        assert_eq!(post(body, kind).await.unwrap().status(), status);
    }
    let response = server.client.put(server.url("/api/debate")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["allow"]), (405, &"POST".parse().unwrap()));
}

/// Environment variable with the Groq API key.
const KEY: &str = "GROQ_API_KEY";

/// R-DEB-54, R-DEB-34: a provider without a key is rejected; the hint names the variable and the alternative.
#[tokio::test]
async fn a_model_without_a_key_is_rejected() {
    if std::env::var_os(KEY).is_some() {
        // The developer has a key, so the test runs again in a process without it.
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "validation_errors::a_model_without_a_key_is_rejected"]).env_remove(KEY);
        assert!(child.status().unwrap().success());
        return;
    }
    let server = start_server(Speaker::default()).await;
    let response = server.post("/api/debate", &json!({ "topic": TOPIC, "model": "groq/llama-3.1-8b-instant" })).await;
    assert_eq!(response.status(), 503);
    let problem: Value = response.json().await.unwrap();
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.contains(KEY) && hint.contains("local"), "{problem}");
    assert_eq!(problem["code"], superstep::ErrorCode::ModelAuth.to_string());
    let unknown = server.post("/api/debate", &json!({ "topic": TOPIC, "model": "speeker" })).await;
    assert_eq!(unknown.status(), 422);
    assert!(unknown.text().await.unwrap().contains("speaker"));
}

/// R-DEB-55, R-DEB-12: a request that contradicts an existing debate is a conflict.
#[tokio::test]
async fn a_contradicting_request_is_a_conflict() {
    let server = start_server(Speaker::default()).await;
    let (id, _) = server.debate(json!({ "maxRounds": 1 })).await;
    let approval = server.post(&format!("/api/debate/{id}/approval"), &json!({ "approved": true })).await;
    assert_eq!(approval.status(), 409);
    let other = json!({ "topic": "Different topic", "model": "speaker", "threadId": id });
    assert_eq!(server.post("/api/debate", &other).await.status(), 409);
    assert_eq!(server.json(&format!("/api/debate/{id}")).await["topic"], TOPIC);
    // The same request again is not a conflict, and no turn is repeated.
    let same = json!({ "topic": TOPIC, "maxRounds": 1, "model": "speaker", "threadId": id });
    assert_eq!(server.post("/api/debate", &same).await.status(), 200);
    assert_eq!(server.json(&format!("/api/debate/{id}")).await["messages"].as_array().unwrap().len(), 4);
    for id in ["..", "settings", "a/b"] {
        let body = json!({ "topic": TOPIC, "model": "speaker", "threadId": id });
        assert_eq!(server.post("/api/debate", &body).await.status(), 422, "{id}");
    }
}

/// R-DEB-12, R-DEB-41: a debate keeps the options it was started with: model, approvals, fact checks.
#[tokio::test]
async fn a_debate_retains_its_original_options() {
    let speaker = Speaker::default();
    let server = start_server(speaker.clone()).await;
    let original = json!({ "topic": TOPIC, "maxRounds": 1, "model": "local/rules", "seed": 7, "threadId": "t" });
    server.debate(original.clone()).await;
    let debate = server.json("/api/debate/t").await;
    assert_eq!(debate["status"], "completed");
    for (field, value) in [
        ("topic", json!("Something else")),
        ("maxRounds", json!(2)),
        ("model", json!("speaker")),
        ("approval", json!("each_round")),
        ("factCheck", json!("at_end")),
        ("seed", json!(8)),
    ] {
        let mut other = original.clone();
        other[field] = value;
        let rejected = server.post("/api/debate", &other).await;
        assert_eq!(rejected.status(), 409, "{field}");
        let problem: Value = rejected.json().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains(&format!("`{field}`")), "{problem}");
    }
    // Equivalent options are the same.
    server.debate(json!({ "maxRounds": 1, "model": "local", "threadId": "t" })).await;
    let repeated = server.json("/api/debate/t").await;
    assert_eq!((&repeated["messages"], &repeated["model"]), (&debate["messages"], &debate["model"]));
    assert!(speaker.turns().is_empty());
}

/// R-DEB-27, R-DEB-47: a debate with an open approval cannot be started again.
#[tokio::test]
async fn a_debate_that_waits_is_not_started_again() {
    let server = start_server(Speaker::default()).await;
    let body = json!({ "threadId": "t", "maxRounds": 1, "approval": "each_round", "format": "debate" });
    let (_, sent) = server.debate(body.clone()).await;
    let mut repeated = json!({ "topic": TOPIC, "model": "speaker", "factCheck": "each_round" });
    repeated.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    for approval in ["each_round", "off"] {
        repeated["approval"] = json!(approval);
        let rejected = server.post("/api/debate", &repeated).await;
        assert_eq!(rejected.status(), 409, "{approval}");
        let problem: Value = rejected.json().await.unwrap();
        assert!(problem["hint"].as_str().unwrap().contains("/api/debate/t/approval"), "{problem}");
    }
    let debate = server.json("/api/debate/t").await;
    assert_eq!(debate["question"]["interruptId"], sent.last().unwrap().data["interruptId"]);
    assert_eq!(server.post("/api/debate/t/approval", &json!({ "approved": true })).await.status(), 202);
    server.stream("t", "debate", None).await;
    let debate = server.json("/api/debate/t").await;
    assert_eq!((&debate["status"], debate["messages"].as_array().unwrap().len()), (&json!("completed"), 4));
}

/// R-DEB-27, R-DEB-47: a debate that was stopped during an approval raises the interrupt again when it is started
/// again.
#[tokio::test]
async fn a_stopped_debate_is_interrupted_again() {
    let server = start_server(Speaker::default()).await;
    let body = json!({ "threadId": "t", "maxRounds": 2, "approval": "each_round" });
    server.debate(body.clone()).await;
    let stopped = server.client.delete(server.url("/api/debate/t")).send().await.unwrap();
    assert_eq!(stopped.status(), 202);
    server.debate(body).await;
    let debate = server.json("/api/debate/t").await;
    assert_eq!((&debate["status"], &debate["question"]["round"]), (&json!("waiting"), &json!(1)));
    assert_eq!(debate["messages"].as_array().unwrap().len(), 3);
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Note {
    text: String,
}

/// R-SRV-4a: a thread of another application is a conflict, and does not change.
#[tokio::test]
async fn a_thread_of_another_application_is_a_conflict() {
    let mut graph = StateGraph::<Note>::new("note");
    let node = graph.add_node("keep", |_: View<Note>| Note::update());
    graph.add_edge(START, node).add_edge(node, END);
    let notes = App::new("note", "Notes").graph(serve_graph(graph.compile().unwrap(), |_| Ok(())));
    let server = with_other_app(notes).await;
    let (runs, thread) = (server.handle.run_service(), "t".into());
    runs.start(RunRequest::new("note", "t", RunInput::Input(json!({ "text": "milk" })))).await.unwrap();
    let mut subscription = runs.subscribe(&thread, None).await.unwrap();
    while subscription.next().await.is_some() {}
    let before = runs.get_thread(&thread).await.unwrap();
    let rejected = server.post("/api/debate", &json!({ "topic": TOPIC, "model": "speaker", "threadId": "t" })).await;
    assert_eq!(rejected.status(), 409, "{}", rejected.text().await.unwrap());
    assert_eq!(runs.get_thread(&thread).await.unwrap(), before);
    assert_eq!((before.graph.as_str(), before.status), ("note", RunStatus::Succeeded));
}

/// R-DEB-55: a debate that has just started has no open approval, even before its first checkpoint.
#[tokio::test]
async fn an_approval_before_the_first_checkpoint_is_a_conflict() {
    let stores = Storage::memory();
    let server = start_server_with_config(ServerConfig::new(stores.clone()), Speaker::default()).await;
    let record = json!({
        "version": 1, "thread": "t", "graph": "debate", "run": new_run_id(), "status": "running",
        "created_at": "2026-03-01T09:30:00Z", "updated_at": "2026-03-01T09:30:00Z",
    });
    stores.store.batch(vec![PutOp::new(["server", "threads"], "t", record).into()]).await.unwrap();
    assert_eq!(server.json("/api/debate/t").await["status"], "running");
    let rejected = server.post("/api/debate/t/approval", &json!({ "approved": true })).await;
    assert_eq!(rejected.status(), 409, "{}", rejected.text().await.unwrap());
}

/// R-DEB-36: rejected requests do not count against the limit.
#[tokio::test]
async fn a_rejected_request_is_not_counted() {
    let limit = RateLimit { max_requests: 2, window: Duration::from_secs(3600), max_concurrent: 1 };
    let server = start_server_with_limit(ServerConfig::new(Storage::memory()), Speaker::default(), limit).await;
    let (id, _) = server.debate(json!({ "maxRounds": 1 })).await;
    let other = json!({ "topic": "Different topic", "model": "speaker", "threadId": id });
    for _ in 0..3 {
        assert_eq!(server.post("/api/debate", &other).await.status(), 409);
    }
    server.debate(json!({ "maxRounds": 1 })).await;
    let rejected = server.post("/api/debate", &json!({ "topic": TOPIC, "model": "speaker" })).await;
    assert_eq!(rejected.status(), 429);
}

/// R-DEB-36, R-SRV-16a: the number of debates per address is limited, and the error says when to try again.
#[tokio::test]
async fn debates_per_address_are_limited() {
    let limit = RateLimit { max_requests: 2, window: Duration::from_secs(3600), max_concurrent: 1 };
    let server = start_server_with_limit(ServerConfig::new(Storage::memory()), Speaker::default(), limit).await;
    for _ in 0..2 {
        server.debate(json!({ "maxRounds": 1 })).await;
    }
    let rejected = server.post("/api/debate", &json!({ "topic": TOPIC, "model": "speaker" })).await;
    assert_eq!(rejected.status(), 429);
    let wait: u64 = rejected.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=3600).contains(&wait));
}

/// R-DEB-57: a topic is plain text and stays unchanged, whatever it contains.
#[tokio::test]
async fn a_topic_is_never_interpreted() {
    let server = start_server(Speaker::default()).await;
    for topic in ["<script>alert(1)</script>", "\"quotes\" & 'more'", "האם לאסור טלפונים?", "🍍 on 🍕", "a\u{202e}b"]
    {
        let (id, sent) = server.debate(json!({ "topic": topic, "maxRounds": 1 })).await;
        assert_eq!(sent[0].data["data"]["input"]["topic"], topic);
        assert_eq!(server.json(&format!("/api/debate/{id}")).await["topic"], topic);
    }
}
