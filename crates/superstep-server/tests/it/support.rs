//! Fixtures: a small application, a server on a free port, and a client for server-sent events.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State as AxumState};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use reqwest::Client;
use schemars::JsonSchema;
use serde_json::{Value, json};
use superstep::Result;
use superstep::core::id::ThreadId;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, SharedModel};
use superstep::prelude::*;
use superstep_server::{
    App, CancelMode, ClientAddress, LastEventId, Problem, RateLimit, RunInput, RunRequest, RunService, Server,
    ServerConfig, Storage, ValidatedJson, encode_v2_events, new_thread_id, serve, serve_graph, sse_response,
};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// State of a story that is written in rounds.
#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoryState {
    #[state(required)]
    topic: String,
    #[state(max = 1000)]
    rounds: u32,
    needs_approval: bool,
    approved: Option<bool>,
    #[reduce(append)]
    words: Vec<String>,
}

/// Run context: an optional gate that delays rounds, and an optional model.
pub(crate) struct StoryContext {
    gate: Option<Arc<Semaphore>>,
    model: Option<SharedModel>,
}

/// A model that streams fixed words, one by one.
#[derive(Clone)]
struct ScriptedModel;

impl Model for ScriptedModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "scripted", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        for word in ["once ", "upon ", "a ", "time"] {
            out.text(word).await;
            tokio::task::yield_now().await;
        }
        Ok(ChatResponse::new(Message::assistant("once upon a time"), self.info()))
    }
}

async fn turn(
    story: View<StoryState>,
    context: RunContext<StoryContext>,
    cx: TaskContext,
) -> Result<StoryStateUpdate, NodeError> {
    if let Some(gate) = &context.gate {
        gate.acquire().await.unwrap().forget();
    }
    let word = match &context.model {
        Some(model) => cx.model(model).messages(story.topic.as_str()).await?.message.text().into_owned(),
        None => "hm".to_owned(),
    };
    Ok(StoryState::update().words(format!("{} {word}", story.words.len())))
}

async fn approve(
    story: View<StoryState>,
    context: RunContext<StoryContext>,
    interrupts: Interrupts,
) -> Result<StoryStateUpdate, NodeError> {
    if !story.needs_approval {
        return Ok(StoryState::update());
    }
    let schema = json!({"type": "boolean"});
    let answer = interrupts.raise_with_schema("approve", &story.topic, "Is it good?", Some(schema)).await?;
    if let Some(gate) = &context.gate {
        gate.acquire().await.unwrap().forget();
    }
    Ok(StoryState::update().approved(answer == json!(true)))
}

fn graph(gate: &Arc<Semaphore>) -> Arc<dyn superstep_server::ServedGraph> {
    let mut graph = StateGraph::<StoryState, StoryContext>::new("tale");
    let turn = graph.add_node("turn", turn);
    let approve = graph.add_node("approve", approve);
    graph.add_edge(START, turn);
    let is_complete = |story: &StoryState| story.words.len() as u32 >= story.rounds;
    graph.add_conditional_edges(
        turn,
        move |story: &StoryState| if is_complete(story) { Goto::node(approve) } else { Goto::node(turn) },
        [turn, approve],
    );
    graph.add_edge(approve, END);
    graph.recursion_limit(1000);
    let gate = gate.clone();
    serve_graph(graph.compile().unwrap(), move |request| {
        let gate = request.context["gated"].as_bool().unwrap_or_default().then(|| gate.clone());
        let model = request.context["uses_model"].as_bool().unwrap_or_default().then(|| ScriptedModel.into());
        Ok(StoryContext { gate, model })
    })
}

/// Request to start a story.
#[derive(Deserialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewStory {
    #[schemars(length(min = 1))]
    topic: String,
    #[serde(default = "default_rounds")]
    #[schemars(range(min = 1, max = 500))]
    rounds: u32,
    #[serde(default)]
    gated: bool,
    #[serde(default)]
    uses_model: bool,
    #[serde(default)]
    needs_approval: bool,
    /// True if closing the connection cancels the run.
    #[serde(default)]
    attached: bool,
    thread: Option<String>,
}

fn default_rounds() -> u32 {
    3
}

pub(crate) const LIMIT: RateLimit =
    RateLimit { max_requests: 10, window: Duration::from_secs(3600), max_concurrent: 2 };

#[utoipa::path(post, path = "/api/tales", request_body = NewStory, responses((status = OK)))]
async fn start(
    AxumState(runs): AxumState<RunService>,
    client: ClientAddress,
    headers: HeaderMap,
    body: ValidatedJson<NewStory>,
) -> HandlerResult {
    let ValidatedJson(new) = body;
    let thread = new.thread.map_or_else(new_thread_id, ThreadId::from);
    let input = json!({"topic": new.topic, "rounds": new.rounds, "needs_approval": new.needs_approval});
    let request = RunRequest::new("tale", &thread, RunInput::Input(input))
        .context(json!({"gated": new.gated, "uses_model": new.uses_model}))
        .title(new.topic);
    let permit = runs.acquire_permit("tale", client, LIMIT)?;
    let streams = headers.get("accept").is_some_and(|accept| accept == "text/event-stream");
    if streams && new.attached {
        return Ok(sse_response(
            runs.start_and_subscribe(request, permit, None, CancelMode::Drain).await?,
            encode_v2_events,
        ));
    }
    runs.start_with_permit(request, permit).await?;
    if streams {
        return Ok(sse_response(runs.subscribe(&thread, None).await?, encode_v2_events));
    }
    Ok((StatusCode::ACCEPTED, Json(json!({"id": thread}))).into_response())
}

#[utoipa::path(get, path = "/api/tales/{id}/stream", responses((status = OK)))]
async fn stream(
    AxumState(runs): AxumState<RunService>,
    Path(id): Path<String>,
    LastEventId(after): LastEventId,
) -> HandlerResult {
    Ok(sse_response(runs.subscribe(&id.into(), after).await?, encode_v2_events))
}

#[utoipa::path(get, path = "/api/tales/{id}", responses((status = OK)))]
async fn get_story(AxumState(runs): AxumState<RunService>, Path(id): Path<String>) -> HandlerResult {
    let thread = ThreadId::from(id);
    let record = runs.get_thread(&thread).await?;
    let state = runs.graph("tale")?.state(&thread).await?;
    Ok(Json(json!({"record": record, "state": state})).into_response())
}

#[utoipa::path(post, path = "/api/tales/{id}/answer", responses((status = ACCEPTED)))]
async fn resume(
    AxumState(runs): AxumState<RunService>,
    Path(id): Path<String>,
    Json(value): Json<Value>,
) -> HandlerResult {
    let thread = ThreadId::from(id);
    let state = runs.graph("tale")?.state(&thread).await?;
    let Some(interrupt) = state.interrupts().next() else {
        return Err(Problem::conflict("the thread has no open interrupt"));
    };
    runs.start(RunRequest::new("tale", &thread, RunInput::Resume([(interrupt.id, value)].into()))).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

#[utoipa::path(delete, path = "/api/tales/{id}", responses((status = ACCEPTED)))]
async fn cancel(AxumState(runs): AxumState<RunService>, Path(id): Path<String>) -> HandlerResult {
    runs.cancel(&id.into(), CancelMode::Immediate).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

type HandlerResult = std::result::Result<Response, Problem>;

pub(crate) fn app(gate: &Arc<Semaphore>) -> App {
    let routes = OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(stream))
        .routes(routes!(get_story, cancel))
        .routes(routes!(resume));
    App::new("tale", "Tales <&>").graph(graph(gate)).routes(routes).page("index.html")
}

/// A server with the application, and a client.
pub(crate) struct TestServer {
    pub(crate) inner: Server,
    pub(crate) client: Client,
    /// Each permit lets one gated round continue.
    pub(crate) gate: Arc<Semaphore>,
}

pub(crate) async fn start_server(config: ServerConfig) -> TestServer {
    let gate = Arc::new(Semaphore::new(0));
    let server = serve(vec![app(&gate)], config.port(0)).await.unwrap();
    TestServer { inner: server, client: client(), gate }
}

pub(crate) async fn start_memory_server() -> TestServer {
    start_server(ServerConfig::new(Storage::memory())).await
}

pub(crate) fn client() -> Client {
    // No connection is encrypted, but the client requires a TLS provider. Later calls find it installed.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

impl TestServer {
    pub(crate) fn url(&self, path: &str) -> String {
        self.inner.url() + path
    }

    pub(crate) fn run_service(&self) -> &RunService {
        self.inner.run_service()
    }

    pub(crate) async fn shutdown(self) {
        self.inner.shutdown().await;
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> reqwest::Response {
        self.client.post(self.url(path)).json(body).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        self.client.get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        self.get(path).await.json().await.unwrap()
    }

    /// Starts a story, and returns the id of its thread.
    pub(crate) async fn start_story(&self, body: Value) -> String {
        let response = self.post("/api/tales", &body).await;
        assert_eq!(response.status(), 202, "{}", response.text().await.unwrap());
        let story: Value = response.json().await.unwrap();
        story["id"].as_str().unwrap().to_owned()
    }

    /// Subscribes to the events of a story after a number.
    pub(crate) async fn reader(&self, id: &str, after: Option<u64>) -> SseReader {
        let mut request = self.client.get(self.url(&format!("/api/tales/{id}/stream")));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        SseReader::new(request.send().await.unwrap())
    }
}

/// A received server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SseEvent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// Parses server-sent events as a browser does.
pub(crate) struct SseReader {
    chunks: futures_util::stream::BoxStream<'static, reqwest::Result<axum::body::Bytes>>,
    text: String,
    pub(crate) comments: Vec<String>,
}

impl SseReader {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { chunks: response.bytes_stream().boxed(), text: String::new(), comments: Vec::new() }
    }

    /// Returns the next event, or `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<SseEvent> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(event) = self.parse_block(&block) {
                    return Some(event);
                }
            }
            let chunk = self.chunks.next().await?.ok()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    fn parse_block(&mut self, block: &str) -> Option<SseEvent> {
        let (mut id, mut event, mut data) = (None, None, String::new());
        for line in block.lines() {
            match line.split_once(": ").unwrap() {
                ("id", value) => id = Some(value.parse().unwrap()),
                ("event", value) => event = Some(value.to_owned()),
                ("data", value) => data.push_str(value),
                ("", comment) => self.comments.push(comment.to_owned()),
                (field, value) => assert_eq!((field, value), ("retry", "2000")),
            }
        }
        let data = serde_json::from_str(&data);
        event.map(|event| SseEvent { id, event, data: data.unwrap() })
    }

    pub(crate) async fn read_all(mut self) -> Vec<SseEvent> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }

    /// Reads up to the event of this type and node, and returns it.
    pub(crate) async fn read_until(&mut self, event: &str, node: &str) -> SseEvent {
        loop {
            let next = self.next().await.expect("the event comes before the end");
            if next.event == event && next.data["name"] == node {
                return next;
            }
        }
    }
}

/// A storage file that is removed with the test.
pub(crate) struct TempFile(PathBuf);

impl TempFile {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-server-{}-{number}", std::process::id()));
        // Process ids are reused, and the folder of a crashed process may still exist.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("server.db")
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
