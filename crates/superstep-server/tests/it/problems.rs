//! Tests of rejected requests: format of problems, locations of all errors, limits with retry times.

use serde_json::{Value, json};
use superstep_server::{ServerConfig, Storage};

use crate::support::{LIMIT, TestServer, start_memory_server, start_server};

async fn problem(response: reqwest::Response) -> (u16, Value) {
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["status"], status);
    for field in ["type", "title", "detail", "code"] {
        assert!(body[field].is_string(), "{field} of {body}");
    }
    (status, body)
}

async fn post_raw(server: &TestServer, content_type: Option<&str>, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let mut request = server.client.post(server.url("/api/tales")).body(body);
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    problem(request.send().await.unwrap()).await
}

/// R-SRV-4a: unknown paths, methods and threads return a problem.
#[tokio::test]
async fn unknown_paths_methods_and_threads_are_problems() {
    let server = start_memory_server().await;
    let (status, body) = problem(server.get("/api/nothing").await).await;
    assert_eq!((status, &body["code"]), (404, &json!("SS-015")));
    let response = server.client.put(server.url("/api/tales")).send().await.unwrap();
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(problem(response).await.0, 405);
    let (status, body) = problem(server.get("/api/tales/none").await).await;
    assert_eq!((status, &body["thread_id"]), (404, &json!("none")));
    assert_eq!(problem(server.get("/api/tales/none/stream?after=x").await).await.0, 400);
}

/// R-SRV-5: all errors of a body are listed, each with its location, the expected and the actual value.
#[tokio::test]
async fn every_problem_of_a_body_is_listed_with_its_pointer() {
    let server = start_memory_server().await;
    let request = json!({"topic": 7, "rounds": "many", "colour": "red", "needsApproval": 1});
    let (status, body) = problem(server.post("/api/tales", &request).await).await;
    assert_eq!((status, &body["code"]), (422, &json!("SS-002")));
    let errors = body["errors"].as_array().unwrap();
    let pointers: Vec<&str> = errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    for pointer in ["/topic", "/rounds", "/needsApproval"] {
        assert!(pointers.contains(&pointer), "{pointer} in {body}");
    }
    assert!(body.to_string().contains("colour"), "{body}");
    let topic = errors.iter().find(|error| error["pointer"] == "/topic").unwrap();
    assert!(topic["expected"].is_string() && topic["found"].is_string(), "{topic}");
    // There is no run, and no run record.
    assert!(server.run_service().search_threads(&Default::default()).await.unwrap().is_empty());
}

/// R-SRV-4a: a request that only the graph can reject is rejected before a run exists, and nothing is persisted.
#[tokio::test]
async fn a_request_that_the_graph_rejects_leaves_nothing_behind() {
    use superstep_server::{RunInput, RunRequest};
    let server = start_memory_server().await;
    let runs = server.run_service();
    let rows = [
        (RunInput::Input(json!({"topic": 1, "colour": 2})), 422, vec!["/colour", "/topic"]),
        (RunInput::Input(json!({"colour": 2})), 422, vec!["/colour", "/topic"]),
        (RunInput::Input(json!({"topic": "sea", "rounds": 1001})), 422, vec!["/rounds"]),
        (RunInput::Input(json!([])), 422, vec![""]),
        (RunInput::Continue, 422, vec![]),
    ];
    for (input, status, expected) in rows {
        let request = RunRequest::new("tale", "t1", input);
        let run = request.run;
        let problem = runs.start(request).await.unwrap_err();
        let mut pointers: Vec<&str> = problem.fields().iter().map(|field| field.pointer.as_str()).collect();
        pointers.sort_unstable();
        assert_eq!((problem.status(), pointers), (status, expected));
        assert!(runs.find_run(run).await.unwrap().is_none() && runs.find_thread(&"t1".into()).await.unwrap().is_none());
    }
    let problem = runs.start(RunRequest::new("tales", "t1", RunInput::Continue)).await.unwrap_err();
    assert_eq!((problem.status(), problem.hint()), (404, Some("did you mean `tale`? known: `tale`")));
    assert_eq!(runs.start(RunRequest::new("tale", "../t", RunInput::Continue)).await.unwrap_err().status(), 422);
}

/// R-SRV-16a: a body is rejected if it is too large, of another media type, or not JSON.
#[tokio::test]
async fn bodies_are_rejected_by_size_type_and_syntax() {
    let server = start_memory_server().await;
    let large = format!("{{\"topic\": \"{}\"}}", "x".repeat(70_000));
    assert_eq!(post_raw(&server, Some("application/json"), large).await.0, 413);
    assert_eq!(post_raw(&server, Some("text/plain"), "{}").await.0, 415);
    assert_eq!(post_raw(&server, None, "{}").await.0, 415);
    let (status, body) = post_raw(&server, Some("application/json; charset=utf-8"), "{\"topic\": ").await;
    assert_eq!((status, body["detail"].as_str()), (400, Some("the body is not JSON: line 1, column 10")));
}

/// R-SRV-16a: concurrent runs are limited per address and per server; both errors say when to try again.
#[tokio::test]
async fn limits_answer_429_with_a_retry_delay() {
    let mut config = ServerConfig::new(Storage::memory());
    config.max_concurrent_runs = 3;
    let server = start_server(config).await;
    let body = json!({"topic": "sea", "gated": true});
    let first = server.start_story(body.clone()).await;
    server.start_story(body.clone()).await;
    let response = server.post("/api/tales", &body).await;
    assert_eq!(response.headers()["retry-after"], "10");
    assert_eq!(problem(response).await.0, 429);
    // A run that has ended frees its slot.
    let reader = server.reader(&first, None).await;
    assert_eq!(server.client.delete(server.url(&format!("/api/tales/{first}"))).send().await.unwrap().status(), 202);
    reader.read_all().await;
    assert_eq!(server.json(&format!("/api/tales/{first}")).await["record"]["status"], "stopped");
    server.start_story(body).await;
    let runs = server.run_service();
    let request = |thread: &str| {
        let input = superstep_server::RunInput::Input(json!({"topic": "sea", "rounds": 1}));
        superstep_server::RunRequest::new("tale", thread, input).context(json!({"gated": true}))
    };
    runs.start(request("a")).await.unwrap();
    assert_eq!(runs.start(request("b")).await.unwrap_err().status(), 429);
}

/// R-SRV-16a, R-DEB-36: a rejected run does not count against the limit, whatever the reason.
#[tokio::test]
async fn a_rejected_run_is_not_counted() {
    let server = start_memory_server().await;
    let busy = json!({"topic": "sea", "gated": true, "thread": "busy"});
    server.start_story(busy.clone()).await;
    for _ in 0..LIMIT.max_requests {
        assert_eq!(server.post("/api/tales", &busy).await.status(), 409);
    }
    for count in 1..LIMIT.max_requests {
        let id = server.start_story(json!({"topic": "sea", "rounds": 1, "thread": format!("t{count}")})).await;
        server.reader(&id, None).await.read_all().await;
    }
    assert_eq!(server.post("/api/tales", &json!({"topic": "sea"})).await.status(), 429);
}

/// R-SRV-4a: a thread with a run rejects a second one, and a thread without a run cannot be cancelled.
#[tokio::test]
async fn a_busy_thread_is_a_conflict() {
    let server = start_memory_server().await;
    let body = json!({"topic": "sea", "gated": true, "thread": "t1"});
    server.start_story(body.clone()).await;
    assert_eq!(problem(server.post("/api/tales", &body).await).await.0, 409);
    assert_eq!(problem(server.post("/api/tales/t1/answer", &json!(true)).await).await.0, 409);
    server.start_story(json!({"topic": "sea", "rounds": 1, "thread": "t2"})).await;
    server.reader("t2", None).await.read_all().await;
    let cancel = || async { server.client.delete(server.url("/api/tales/t2")).send().await.unwrap() };
    assert_eq!(problem(cancel().await).await.0, 409);
}
