//! HTTP API of posts and suggestions.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::StreamExt;
use serde_json::{Value, json};
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, ScriptedModel};
use superstep::settings::Secret;
use superstep_server::{ModelRegistry, RateLimit, RunInput, RunRequest, ServerConfig, Storage};
use superstep_suggestions::SuggestionsSettings;
use superstep_suggestions::sources::M365Settings;
use superstep_suggestions::types::{CombinedSuggestionsResponse, PostSummary};

use crate::fixtures::{POST, QUESTION, microsoft_graph, search};
use crate::sources::Folder;
use crate::test_server::{
    TestServer, events, rejecting_graph, start_server, start_server_with, start_server_with_config,
};

const HOUR: Duration = Duration::from_secs(3600);

fn ids(posts: &Value) -> Vec<String> {
    posts.as_array().unwrap().iter().map(|post| post["id"].as_str().unwrap().to_owned()).collect()
}

fn pointers(problem: &Value) -> Vec<&str> {
    problem["errors"].as_array().unwrap().iter().map(|part| part["pointer"].as_str().unwrap()).collect()
}

/// R-SUG-39: pages list every post exactly once, filtered by tag and mode.
#[tokio::test]
async fn posts_are_listed_page_by_page() {
    let (_folder, server) = start_server().await;
    let full_page = server.json("/api/posts?limit=200").await;
    let all = ids(&full_page["posts"]);
    assert!(all.len() > 20 && all.contains(&POST.to_owned()) && full_page["next"].is_null(), "{all:?}");
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.json(&format!("/api/posts?limit=7&after={after}")).await;
        paged.extend(ids(&page["posts"]));
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => break,
        }
    }
    assert_eq!(paged, all);
    let tagged = server.json("/api/posts?tag=AKS").await;
    assert!(ids(&tagged["posts"]).contains(&POST.to_owned()));
    let offers = server.json("/api/posts?mode=offer").await;
    assert!(offers["posts"].as_array().unwrap().iter().all(|post| post["mode"] == "offer"));
    let (status, problem) = server.get_rejected("/api/posts?mode=offfer").await;
    assert_eq!((status, problem["hint"].as_str().unwrap().contains("offer")), (422, true));
    let (status, problem) = server.get_rejected("/api/posts?after=p-nobody-knows").await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/after"]));
}

/// R-SUG-39, R-SUG-40: a post is created, read, and its engagement counted.
#[tokio::test]
async fn a_post_is_written_and_counted() {
    let (_folder, server) = start_server().await;
    let body = json!({ "text": " Who knows Kafka? ", "tags": [" kafka\t"], "mode": "offer", "ttl": "1h", "authorName": "Ann" });
    let response = server.client.post(server.url("/api/posts")).json(&body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let post: PostSummary = response.json().await.unwrap();
    assert_eq!((post.text.as_str(), post.author_name.as_str(), post.interested_count), ("Who knows Kafka?", "Ann", 0));
    assert_eq!(location, format!("/api/posts/{}", post.id));
    assert_eq!(post.tags, ["kafka"]);
    assert_eq!(ids(&server.json("/api/posts?tag=Kafka&limit=1").await["posts"]), [post.id.as_str()]);
    assert_eq!(server.json(&location).await, json!(post));
    for (kind, counts) in [("interested", (1, 0)), ("join", (1, 1)), ("interested", (2, 1))] {
        let (status, engaged) = server.post(&format!("{location}/engagement"), &json!({ "kind": kind })).await;
        let counted = (engaged["interestedCount"].as_u64().unwrap(), engaged["joinCount"].as_u64().unwrap());
        assert_eq!((status, counted), (200, counts));
    }
    let (status, problem) = server.post(&format!("{location}/engagement"), &json!({ "kind": "leave" })).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/kind"]));
    assert_eq!(ids(&server.json("/api/posts?limit=1").await["posts"]), [post.id]);
}

/// R-SUG-40, R-SUG-50: an invalid post is rejected with the pointer of every violation, and not created.
#[tokio::test]
async fn an_invalid_post_is_rejected_with_every_pointer() {
    let (_folder, server) = start_server().await;
    let before = server.json("/api/posts?limit=1").await;
    for (body, expected) in [
        (json!({ "text": "  " }), vec!["/text"]),
        (json!({}), vec!["/text"]),
        (json!([1]), vec![""]),
        (
            json!({ "text": "One. Two. Three. Four.", "tags": ["a", 1], "mode": "shout", "ttl": "2h", "x": 0 }),
            vec!["/x", "/tags/1", "/mode", "/ttl", "/text"],
        ),
    ] {
        let (status, problem) = server.post("/api/posts", &body).await;
        assert_eq!((status, pointers(&problem)), (422, expected), "{problem}");
    }
    let response = server.client.post(server.url("/api/posts")).header("content-type", "application/json");
    assert_eq!(response.body("{").send().await.unwrap().status(), 400);
    assert_eq!(server.json("/api/posts?limit=1").await, before);
}

/// R-SRV-16a: the number of posts per client address is limited, with the retry delay; rejected posts do not count.
#[tokio::test]
async fn posts_per_address_are_limited() {
    let folder = Folder::new();
    let rate_limit = RateLimit { max_requests: 2, window: HOUR, max_concurrent: 1 };
    let server =
        start_server_with(&folder, |settings| settings.rate_limit = rate_limit, ModelRegistry::default()).await;
    let mut statuses = Vec::new();
    for text in ["One", "", "Two", "Three"] {
        let post = server.client.post(server.url("/api/posts")).json(&json!({ "text": text }));
        let response = post.send().await.unwrap();
        let delay = response.headers().get("retry-after").map(|delay| delay.to_str().unwrap().parse::<u64>().unwrap());
        statuses.push((response.status().as_u16(), delay.is_some_and(|delay| (1..=3600).contains(&delay))));
    }
    assert_eq!(statuses, [(201, false), (422, false), (201, false), (429, true)]);
}

/// R-SRV-16a: searches and engagements have separate limits per client address; rejected requests do not count.
#[tokio::test]
async fn searches_and_engagements_per_address_are_limited() {
    let folder = Folder::new();
    let rate_limit = RateLimit { max_requests: 2, window: HOUR, max_concurrent: 1 };
    let server =
        start_server_with(&folder, |settings| settings.rate_limit = rate_limit, ModelRegistry::default()).await;
    let mut searched = Vec::new();
    for query in ["rollback", "%20", "kafka", "tea"] {
        let response = server.get(&format!("/api/search?q={query}")).await;
        let has_delay = response.headers().contains_key("retry-after");
        searched.push((response.status().as_u16(), has_delay));
    }
    assert_eq!(searched, [(200, false), (422, false), (200, false), (429, true)]);
    let mut engaged = Vec::new();
    for kind in ["join", "leave", "interested", "join"] {
        engaged.push(server.post(&format!("/api/posts/{POST}/engagement"), &json!({ "kind": kind })).await.0);
    }
    assert_eq!(engaged, [200, 422, 200, 429]);
    let post = server.json(&format!("/api/posts/{POST}")).await;
    let rejected = server.post(&format!("/api/posts/{POST}/engagement"), &json!({ "kind": "join" })).await;
    assert_eq!((rejected.0, server.json(&format!("/api/posts/{POST}")).await), (429, post));
    assert_eq!(server.get(&format!("/api/posts/{POST}/suggestions")).await.status(), 200);
}

/// R-SUG-49: an unknown post and an expired post are not found.
#[tokio::test]
async fn unknown_and_expired_posts_are_not_there() {
    let (_folder, server) = start_server().await;
    let (_, post) = server.post("/api/posts", &json!({ "text": "Anyone?", "ttl": "1h" })).await;
    let id = post["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/posts/{id}/suggestions")).await.status(), 200);
    server.clock.advance(HOUR);
    for id in [id, "p999", "%20"] {
        for path in ["", "/suggestions", "/suggestions?stream=1"] {
            let (status, problem) = server.get_rejected(&format!("/api/posts/{id}{path}")).await;
            assert_eq!((status, problem["code"].as_str()), (404, Some("SS-015")), "{id}{path}");
        }
        let (status, _) = server.post(&format!("/api/posts/{id}/engagement"), &json!({ "kind": "join" })).await;
        assert_eq!(status, 404);
    }
}

/// R-SUG-39, R-SUG-41, R-SUG-42: suggestions contain queries and model, and their links lead to documents.
#[tokio::test]
async fn links_of_suggestions_open_documents() {
    let (_folder, server) = start_server().await;
    let body = server.json(&format!("/api/posts/{POST}/suggestions")).await;
    let response: CombinedSuggestionsResponse = serde_json::from_value(body.clone()).unwrap();
    assert!(!response.m365.is_empty() && !response.docs.is_empty() && !response.issues.is_empty());
    assert!(!response.posts.is_empty() && response.posts.iter().all(|post| post.id != POST));
    assert!(response.action_hint.is_some() && response.unavailable_sources.is_empty());
    let label = "keyword planner, no language model";
    assert_eq!(body["model"], json!({ "provider": "local", "name": "rules", "kind": "rules", "label": label }));
    let queries = body["queries"].as_array().unwrap();
    assert!(queries.len() >= 8, "{queries:?}");
    for query in queries {
        let expected = if query["found"] == 0 { "empty" } else { "ok" };
        assert_eq!(query["status"], expected, "{query}");
    }
    let mut followed = 0;
    for suggestion in response.m365.iter().chain(&response.docs).chain(&response.issues) {
        let Some((path, anchor)) = suggestion.url.split_once('#').or(Some((&suggestion.url, ""))) else { continue };
        if path.starts_with("https://") {
            continue;
        }
        followed += 1;
        let document = server.get(path).await;
        assert_eq!(
            (document.status().as_u16(), &document.headers()["x-content-type-options"]),
            (200, &"nosniff".parse().unwrap()),
            "{path}"
        );
        let text = document.text().await.unwrap();
        assert!(anchor.is_empty() || anchor == "top" || text.contains(&format!(" id=\"{anchor}\"")), "{path} {anchor}");
    }
    assert!(followed >= 3, "{response:?}");
}

/// R-SUG-39, R-SUG-42: `stream=1` returns events of version 2, then the same suggestions.
#[tokio::test]
async fn suggestions_are_streamed() {
    let (_folder, server) = start_server().await;
    let plain = server.json(&format!("/api/posts/{POST}/suggestions")).await;
    let response = server.get(&format!("/api/posts/{POST}/suggestions?stream=1&model=local")).await;
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    assert_eq!(response.headers()["cache-control"], "no-cache, no-transform");
    let published = events(&response.text().await.unwrap());
    let names: Vec<&str> = published.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (names[0], names[names.len() - 2], names[names.len() - 1]),
        ("on_chain_start", "on_chain_end", "suggestions")
    );
    assert!(published[..published.len() - 1].iter().all(|(name, event)| event["event"] == name.as_str()));
    let started: BTreeSet<&str> = published
        .iter()
        .filter(|(name, _)| name == "on_tool_start")
        .map(|(_, event)| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(started.len(), 5, "{started:?}");
    assert_eq!(published.last().unwrap().1, plain);
}

/// R-SUG-47, R-SUG-34: without a model there are suggestions, streamed or not.
#[tokio::test]
async fn without_a_model_there_are_suggestions() {
    let (_folder, server) = start_server().await;
    let body = server.json(&format!("/api/posts/{POST}/suggestions?model=direct")).await;
    assert_eq!((&body["model"]["kind"], &body["model"]["name"]), (&json!("rules"), &json!("direct")));
    assert!(!body["docs"].as_array().unwrap().is_empty());
    let streamed = server.get(&format!("/api/posts/{POST}/suggestions?model=direct&stream=1")).await;
    assert_eq!(events(&streamed.text().await.unwrap()), [("suggestions".to_owned(), body)]);
}

/// R-SUG-54: a model that answers nonsense, nothing or wrong types leads to suggestions, never to a 500.
#[tokio::test]
async fn invalid_model_answers_still_return_suggestions() {
    for nonsense in
        ["I feel like a teapot.", "", "{\"docs\": 5, \"posts\": [\"x\"], \"actionHint\": []}", "[[[", "null"]
    {
        let folder = Folder::new();
        let model = ScriptedModel::new([search(&[("search_docs", "rollback")])]).then(nonsense);
        let server = start_server_with(&folder, |_| {}, ModelRegistry::default().with_model("odd", model)).await;
        let body = server.json(&format!("/api/posts/{POST}/suggestions?model=odd")).await;
        let response: CombinedSuggestionsResponse = serde_json::from_value(body).unwrap();
        assert!(!response.docs.is_empty(), "{nonsense}: {response:?}");
    }
}

/// R-SUG-46, R-SUG-17: Microsoft 365 rejects the user's token: status 200 with the reason and the other sources.
#[tokio::test]
async fn a_rejecting_source_is_listed_with_its_reason() {
    let folder = Folder::new();
    let (base_url, tokens) = rejecting_graph().await;
    let change = |settings: &mut SuggestionsSettings| settings.m365 = Some(M365Settings::Graph { base_url });
    let server = start_server_with(&folder, change, ModelRegistry::default()).await;
    let send = |path: String| server.client.get(server.url(&path)).header("x-graph-token", "secret-token").send();
    for path in [format!("/api/posts/{POST}/suggestions"), "/api/search?q=rollback".to_owned()] {
        let response = send(path).await.unwrap();
        assert_eq!(response.status(), 200);
        let body: Value = response.json().await.unwrap();
        assert_eq!((&body["m365"], &body["unavailableSources"]), (&json!([]), &json!(["m365"])));
        assert!(!body["docs"].as_array().unwrap().is_empty());
        let reason = body["reasons"]["m365"].as_str().unwrap();
        assert!(!reason.is_empty() && !body.to_string().contains("secret-token"), "{reason}");
        for query in body["queries"].as_array().into_iter().flatten().filter(|query| query["tool"] == "search_m365") {
            assert_eq!(query["status"], "error");
        }
    }
    let tokens = tokens.lock().unwrap();
    assert!(!tokens.is_empty() && tokens.iter().all(|token| token == "Bearer secret-token"), "{tokens:?}");
}

/// R-SUG-17, R-SUG-5: a request without a token uses the token of the server, any other its own; no response
/// contains one.
#[tokio::test]
async fn a_request_without_a_token_uses_the_token_of_the_server() {
    let folder = Folder::new();
    let (base_url, tokens) = rejecting_graph().await;
    let change = |settings: &mut SuggestionsSettings| {
        (settings.m365, settings.token) =
            (Some(M365Settings::Graph { base_url }), Some(Secret::new("token-of-the-server")));
    };
    let server = start_server_with(&folder, change, ModelRegistry::default()).await;
    for path in [format!("/api/posts/{POST}/suggestions"), "/api/search?q=rollback".to_owned()] {
        for (request_token, expected) in [(None, "token-of-the-server"), (Some("own-token"), "own-token")] {
            let request = server.client.get(server.url(&path));
            let request =
                request_token.into_iter().fold(request, |request, token| request.header("x-graph-token", token));
            let text = request.send().await.unwrap().text().await.unwrap();
            assert!(!text.contains("token-of-the-server") && !text.contains("own-token"), "{text}");
            let tokens = std::mem::take(&mut *tokens.lock().unwrap());
            let expected = format!("Bearer {expected}");
            assert!(!tokens.is_empty() && tokens.iter().all(|token| *token == expected), "{path}: {tokens:?}");
        }
    }
}

/// R-SUG-17, R-SUG-46: if one part of Microsoft 365 fails and the other has results, a search returns both.
#[tokio::test]
async fn a_search_reports_the_failed_part_of_a_source() {
    let folder = Folder::new();
    let file = json!({ "resource": { "@odata.type": "#microsoft.graph.driveItem", "name": "runbook.docx",
        "webUrl": "https://lf.sharepoint.com/sites/p/runbook.docx" } });
    let files = (StatusCode::OK, json!({ "value": [{ "hitsContainers": [{ "hits": [file] }] }] }));
    let base_url = microsoft_graph(files, (StatusCode::TOO_MANY_REQUESTS, json!({}))).await;
    let change = |settings: &mut SuggestionsSettings| {
        (settings.m365, settings.token) = (Some(M365Settings::Graph { base_url }), Some(Secret::new("token")));
    };
    let server = start_server_with(&folder, change, ModelRegistry::default()).await;
    let body = server.json("/api/search?q=rollback").await;
    assert_eq!((body["m365"].as_array().unwrap().len(), &body["unavailableSources"]), (1, &json!([])));
    let [warning] = body["warnings"].as_array().unwrap().as_slice() else { panic!("{body}") };
    assert!(warning.as_str().unwrap().contains("mail: ") && warning.as_str().unwrap().contains("429"), "{warning}");
}

/// R-SUG-39: one request searches all sources; an empty query is rejected.
#[tokio::test]
async fn everything_is_searched_at_once() {
    let (_folder, server) = start_server().await;
    let body = server.json("/api/search?q=AKS%20rollback").await;
    for source in ["posts", "docs", "issues", "m365"] {
        assert!(!body[source].as_array().unwrap().is_empty(), "{source}");
    }
    assert_eq!((&body["unavailableSources"], &body["reasons"]), (&json!([]), &json!({})));
    assert!(body["docs"][0]["url"].as_str().unwrap().starts_with("/api/suggestions/files/docs/"));
    let (status, problem) = server.get_rejected("/api/search?q=%20").await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/q"]));
    assert_eq!(server.get("/api/search").await.status(), 422);
}

/// R-SUG-41: the settings list models and sources, each with the reason if it is not available.
#[tokio::test]
async fn settings_name_models_and_sources() {
    let folder = Folder::new();
    folder.write("docs/a.md", "# Tea\nTea is brewed at four.");
    let path = folder.path().to_owned();
    let models = ModelRegistry::default().with_model("odd", ScriptedModel::new(["{}"]));
    let server = start_server_with(&folder, |settings| settings.folder = Some(path), models).await;
    let settings = server.json("/api/suggestions/settings").await;
    let names: Vec<&str> =
        settings["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["local", "direct", "odd"]);
    assert_eq!(settings["sources"]["docs"], json!({ "configured": true, "reason": null }));
    assert_eq!(settings["sources"]["m365"]["configured"], false);
    assert!(!settings["sources"]["m365"]["reason"].as_str().unwrap().is_empty());
    assert_eq!(server.json("/api/posts").await["posts"], json!([]));
    let (status, _) = server.get_rejected("/api/posts/p1/suggestions?model=odd").await;
    assert_eq!(status, 404);
}

/// R-SUG-39: an unknown model, an invalid `stream` value and an unknown parameter are rejected.
#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let (_folder, server) = start_server().await;
    for (query, status) in [("model=nobody", 422), ("stream=maybe", 422), ("colour=blue", 422)] {
        let (actual, problem) = server.get_rejected(&format!("/api/posts/{POST}/suggestions?{query}")).await;
        assert_eq!(actual, status, "{query}: {problem}");
    }
    for limit in ["-1", "many", "1.5"] {
        let (actual, problem) = server.get_rejected(&format!("/api/posts?limit={limit}")).await;
        assert_eq!((actual, &problem["errors"][0]["pointer"]), (422, &json!("/limit")), "{problem}");
        assert!(!problem.to_string().contains("deserialize"), "{problem}");
    }
    assert_eq!(server.get("/api/posts?limit=").await.status(), 200, "a field that is left empty");
}

/// A model that never responds and counts its pending calls.
#[derive(Clone, Default)]
struct Silent(Arc<AtomicUsize>);

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn generate(&self, _request: &ChatRequest, _out: &mut ChunkSender<'_>) -> superstep::Result<ChatResponse> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(self.0.clone());
        pending().await
    }
}

impl Silent {
    async fn until(&self, count: usize) {
        while self.0.load(Ordering::SeqCst) != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn silent(folder: &Folder) -> (Silent, TestServer) {
    let model = Silent::default();
    let mut config = ServerConfig::new(Storage::memory());
    config.sse.heartbeat_interval = Duration::from_millis(10);
    let rate_limit = RateLimit { max_requests: 1000, window: HOUR, max_concurrent: 1 };
    let models = ModelRegistry::default().with_model("silent", model.clone());
    let server = start_server_with_config(folder, |settings| settings.rate_limit = rate_limit, models, config).await;
    (model, server)
}

/// R-SUG-39, R-SRV-16a: a search stops if its client disconnects, streamed or not; concurrent searches are limited.
#[tokio::test]
async fn disconnect_cancels_search_and_releases_permit() {
    let folder = Folder::new();
    let (model, server) = silent(&folder).await;
    for query in ["model=silent&stream=1", "model=silent"] {
        let request = server.client.get(server.url(&format!("/api/posts/{POST}/suggestions?{query}"))).send();
        let listener = tokio::spawn(async move { request.await.unwrap().text().await });
        model.until(1).await;
        let (status, problem) = server.get_rejected(&format!("/api/posts/{POST}/suggestions")).await;
        assert_eq!((status, problem["retryable"].as_bool()), (429, Some(true)));
        listener.abort();
        model.until(0).await;
        // The permit is released when the run is dropped, which may be shortly after its model call.
        while server.get(&format!("/api/posts/{POST}/suggestions")).await.status() == 429 {
            tokio::task::yield_now().await;
        }
    }
}

/// R-SRV-6a: while there are no events, the stream sends comments.
#[tokio::test]
async fn idle_streams_send_comments() {
    let folder = Folder::new();
    let (_model, server) = silent(&folder).await;
    let response = server.get(&format!("/api/posts/{POST}/suggestions?model=silent&stream=1")).await;
    let (mut pieces, mut text) = (response.bytes_stream(), String::new());
    while !text.contains("\n: heartbeat\n") {
        text.push_str(std::str::from_utf8(&pieces.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(text.starts_with("event: on_chain_start\n"), "{text}");
}

/// R-SUG-6, R-SUG-39: posts survive a restart; expired sample posts are replaced. Expired posts of users are not
/// returned, but not deleted either.
#[tokio::test]
async fn posts_outlive_the_server() {
    let (folder, first) = start_server().await;
    let (_, mine) = first.post("/api/posts", &json!({ "text": "Who has a key?", "ttl": "7d" })).await;
    first.handle.shutdown().await;
    let second = start_server_with(&folder, |_| {}, ModelRegistry::default()).await;
    second.clock.advance(HOUR);
    let path = format!("/api/posts/{}", mine["id"].as_str().unwrap());
    assert_eq!(second.json(&path).await, mine);
    second.handle.shutdown().await;
    let third = start_server_with(&folder, |_| {}, ModelRegistry::default()).await;
    third.clock.advance(HOUR * 24 * 30);
    assert_eq!(third.json(&format!("/api/posts/{POST}")).await["text"], QUESTION);
    assert_eq!(third.get(&path).await.status(), 404);
    let table = rusqlite::Connection::open(folder.path().join("home/posts.db")).unwrap();
    let stored: String = table
        .query_row("SELECT text FROM posts WHERE id = ?1", [mine["id"].as_str().unwrap()], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, "Who has a key?");
}

/// R-SUG-36, R-SUG-5: the graph is registered by name for runs with a checkpointer; the run options name the post.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_runs_from_a_run_request() {
    let (_folder, server) = start_server().await;
    let runs = server.handle.run_service();
    let input = json!({ "messages": [{ "role": "user", "content": QUESTION }] });
    let request = RunRequest::new("suggestions", "t1", RunInput::Input(input)).context(json!({ "postId": POST }));
    runs.start(request).await.unwrap();
    let mut subscription = runs.subscribe(&"t1".into(), None).await.unwrap();
    let mut output = Value::Null;
    while let Some(event) = subscription.next().await {
        if event.event_type() == "on_chain_end" {
            output = event.event()["data"]["output"].clone();
        }
    }
    assert!(!output["response"]["docs"].as_array().unwrap().is_empty(), "{output}");
    assert!(!ids(&output["response"]["posts"]).contains(&POST.to_owned()));
}

/// R-SUG-36: a search over HTTP persists nothing; its events contain the ids of their parent runs.
#[tokio::test]
async fn a_search_is_traced_and_not_persisted() {
    let (_folder, server) = start_server().await;
    server.json(&format!("/api/posts/{POST}/suggestions")).await;
    let response = server.get(&format!("/api/posts/{POST}/suggestions?stream=1")).await;
    let published = events(&response.text().await.unwrap());
    let run = published[0].1["run_id"].as_str().unwrap();
    let traced = published.iter().filter(|(name, _)| name == "on_tool_start" || name == "on_chat_model_start");
    let parents: Vec<&Value> = traced.map(|(_, event)| &event["parent_ids"]).collect();
    assert!(parents.len() > 10, "{parents:?}");
    assert!(parents.iter().all(|parents| parents.as_array().unwrap().contains(&json!(run))), "{parents:?}");
    let metrics = server.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains("suggestions"), "{metrics}");
    let threads = server.handle.run_service().search_threads(&Default::default()).await.unwrap();
    assert!(threads.is_empty(), "{} threads are stored", threads.len());
}

/// R-SUG-27: invalid settings are rejected before the server starts, and no file is created before the first
/// request.
#[tokio::test]
async fn settings_are_checked_first_and_nothing_is_made() {
    let folder = Folder::new();
    let data_dir = folder.path().join("home");
    for settings in [
        SuggestionsSettings { max_tool_rounds: 21, data_dir: data_dir.clone(), ..SuggestionsSettings::default() },
        SuggestionsSettings {
            folder: Some(folder.path().join("none")),
            data_dir: data_dir.clone(),
            ..SuggestionsSettings::default()
        },
    ] {
        let error = superstep_suggestions::app(settings, ModelRegistry::default()).err().unwrap();
        assert_eq!(error.code(), superstep::ErrorCode::ConfigInvalid);
    }
    let server = start_server_with(&folder, |_| {}, ModelRegistry::default()).await;
    assert!(!data_dir.exists());
    server.json("/api/suggestions/settings").await;
    assert!(data_dir.join("sample/docs").is_dir() && data_dir.join("posts.db").is_file());
}
