//! A small application, a server on a free port, and a reader of server-sent events.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State as Given};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use reqwest::Client;
use schemars::JsonSchema;
use serde_json::{Value, json};
use superstep::Result;
use superstep::core::id::ThreadId;
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, SharedModel};
use superstep::prelude::*;
use superstep_server::{
    After, App, Body, Config, Desk, Limit, Order, Problem, Server, Stop, Stores, Visitor, What, events, fresh_thread,
    serve, served, sse,
};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A story that is told in rounds.
#[derive(State, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tale {
    #[state(required)]
    topic: String,
    #[state(max = 1000)]
    rounds: u32,
    asks: bool,
    approved: Option<bool>,
    #[reduce(append)]
    words: Vec<String>,
}

/// What its nodes need: leave to go on, where a test holds them back, and a voice.
pub(crate) struct Hall {
    gate: Option<Arc<Semaphore>>,
    voice: Option<SharedModel>,
}

/// Says given words, one by one.
#[derive(Clone)]
struct Speaker;

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Rules)
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        for word in ["once ", "upon ", "a ", "time"] {
            out.text(word).await;
            tokio::task::yield_now().await;
        }
        Ok(Answer::new(Message::assistant("once upon a time"), self.info()))
    }
}

async fn turn(tale: View<Tale>, hall: Ctx<Hall>, cx: Cx) -> Result<TaleUpdate, NodeError> {
    if let Some(gate) = &hall.gate {
        gate.acquire().await.unwrap().forget();
    }
    let word = match &hall.voice {
        Some(voice) => cx.model(voice).messages(tale.topic.as_str()).await?.message.text().into_owned(),
        None => "hm".to_owned(),
    };
    Ok(Tale::update().words(format!("{} {word}", tale.words.len())))
}

async fn approve(tale: View<Tale>, hall: Ctx<Hall>, ask: Ask) -> Result<TaleUpdate, NodeError> {
    if !tale.asks {
        return Ok(Tale::update());
    }
    let schema = json!({"type": "boolean"});
    let yes = ask.with("approve", &tale.topic, "Is it good?", Some(schema)).await?;
    if let Some(gate) = &hall.gate {
        gate.acquire().await.unwrap().forget();
    }
    Ok(Tale::update().approved(yes == json!(true)))
}

fn graph(gate: &Arc<Semaphore>) -> Arc<dyn superstep_server::Served> {
    let mut graph = Graph::<Tale, Hall>::new("tale");
    let turn = graph.node("turn", turn);
    let approve = graph.node("approve", approve);
    graph.edge(START, turn);
    let is_told = |tale: &Tale| tale.words.len() as u32 >= tale.rounds;
    graph.route(turn, move |tale: &Tale| if is_told(tale) { Go::to(approve) } else { Go::to(turn) }, [turn, approve]);
    graph.edge(approve, END);
    graph.recursion_limit(1000);
    let gate = gate.clone();
    served(graph.compile().unwrap(), move |order| {
        let gate = order.options["gated"].as_bool().unwrap_or_default().then(|| gate.clone());
        let voice = order.options["speaks"].as_bool().unwrap_or_default().then(|| Speaker.into());
        Ok(Hall { gate, voice })
    })
}

/// What a tale is asked for with.
#[derive(Deserialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewTale {
    #[schemars(length(min = 1))]
    topic: String,
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 500))]
    rounds: u32,
    #[serde(default)]
    gated: bool,
    #[serde(default)]
    speaks: bool,
    #[serde(default)]
    asks: bool,
    /// Closing the connection stops the run.
    #[serde(default)]
    attached: bool,
    thread: Option<String>,
}

fn three() -> u32 {
    3
}

pub(crate) const LIMIT: Limit = Limit { most: 10, within: Duration::from_secs(3600), at_once: 2 };

#[utoipa::path(post, path = "/api/tales", request_body = NewTale, responses((status = OK)))]
async fn start(Given(desk): Given<Desk>, visitor: Visitor, headers: HeaderMap, body: Body<NewTale>) -> Answered {
    let Body(new) = body;
    let thread = new.thread.map_or_else(fresh_thread, ThreadId::from);
    let input = json!({"topic": new.topic, "rounds": new.rounds, "asks": new.asks});
    let order = Order::new("tale", &thread, What::Start(input))
        .options(json!({"gated": new.gated, "speaks": new.speaks}))
        .title(new.topic);
    let pass = desk.admit("tale", visitor, LIMIT)?;
    let streams = headers.get("accept").is_some_and(|accept| accept == "text/event-stream");
    if streams && new.attached {
        return Ok(sse(desk.start_attended(order, pass, None, Stop::AfterStep).await?, events));
    }
    desk.start_admitted(order, pass).await?;
    if streams {
        return Ok(sse(desk.watch(&thread, None).await?, events));
    }
    Ok((StatusCode::ACCEPTED, Json(json!({"id": thread}))).into_response())
}

#[utoipa::path(get, path = "/api/tales/{id}/stream", responses((status = OK)))]
async fn stream(Given(desk): Given<Desk>, Path(id): Path<String>, After(after): After) -> Answered {
    Ok(sse(desk.watch(&id.into(), after).await?, events))
}

#[utoipa::path(get, path = "/api/tales/{id}", responses((status = OK)))]
async fn look(Given(desk): Given<Desk>, Path(id): Path<String>) -> Answered {
    let thread = ThreadId::from(id);
    let record = desk.known(&thread).await?;
    let state = desk.served("tale")?.state(&thread).await?;
    Ok(Json(json!({"record": record, "state": state})).into_response())
}

#[utoipa::path(post, path = "/api/tales/{id}/answer", responses((status = ACCEPTED)))]
async fn answer(Given(desk): Given<Desk>, Path(id): Path<String>, Json(given): Json<Value>) -> Answered {
    let thread = ThreadId::from(id);
    let state = desk.served("tale")?.state(&thread).await?;
    let Some(question) = state.questions().next() else { return Err(Problem::conflict("it does not wait")) };
    desk.start(Order::new("tale", &thread, What::Answer([(question.id, given)].into()))).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

#[utoipa::path(delete, path = "/api/tales/{id}", responses((status = ACCEPTED)))]
async fn stop(Given(desk): Given<Desk>, Path(id): Path<String>) -> Answered {
    desk.stop(&id.into(), Stop::Now)?;
    Ok(StatusCode::ACCEPTED.into_response())
}

type Answered = std::result::Result<Response, Problem>;

pub(crate) fn app(gate: &Arc<Semaphore>) -> App {
    let routes = OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(stream))
        .routes(routes!(look, stop))
        .routes(routes!(answer));
    App::new("tale", "Tales <&>").graph(graph(gate)).routes(routes).page("index.html")
}

/// A server with the application on it, and a client.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) client: Client,
    /// A round that is gated goes on for each permit.
    pub(crate) gate: Arc<Semaphore>,
}

pub(crate) async fn start_server(config: Config) -> Served {
    let gate = Arc::new(Semaphore::new(0));
    let server = serve(vec![app(&gate)], config.port(0)).await.unwrap();
    Served { server, client: client(), gate }
}

pub(crate) async fn in_memory() -> Served {
    start_server(Config::new(Stores::memory())).await
}

pub(crate) fn client() -> Client {
    // Nothing here is encrypted; the client asks for it all the same. The second call finds the first one's.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

impl Served {
    pub(crate) fn url(&self, path: &str) -> String {
        self.server.url() + path
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

    /// Starts a tale, and gives its id.
    pub(crate) async fn tale(&self, body: Value) -> String {
        let answer = self.post("/api/tales", &body).await;
        assert_eq!(answer.status(), 202, "{}", answer.text().await.unwrap());
        let answer: Value = answer.json().await.unwrap();
        answer["id"].as_str().unwrap().to_owned()
    }

    /// What is told of a tale after a number.
    pub(crate) async fn reader(&self, id: &str, after: Option<u64>) -> Reader {
        let mut request = self.client.get(self.url(&format!("/api/tales/{id}/stream")));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        Reader::new(request.send().await.unwrap())
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// Reads server-sent events as a browser does.
pub(crate) struct Reader {
    chunks: futures_util::stream::BoxStream<'static, reqwest::Result<axum::body::Bytes>>,
    text: String,
    pub(crate) comments: Vec<String>,
}

impl Reader {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { chunks: response.bytes_stream().boxed(), text: String::new(), comments: Vec::new() }
    }

    /// The next event, or nothing when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(sent) = self.read(&block) {
                    return Some(sent);
                }
            }
            let chunk = self.chunks.next().await?.ok()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    fn read(&mut self, block: &str) -> Option<Sent> {
        let (mut id, mut event, mut data) = (None, None, String::new());
        for line in block.lines() {
            match line.split_once(": ").unwrap() {
                ("id", given) => id = Some(given.parse().unwrap()),
                ("event", given) => event = Some(given.to_owned()),
                ("data", given) => data.push_str(given),
                ("", comment) => self.comments.push(comment.to_owned()),
                (field, given) => assert_eq!((field, given), ("retry", "2000")),
            }
        }
        let data = serde_json::from_str(&data);
        event.map(|event| Sent { id, event, data: data.unwrap() })
    }

    pub(crate) async fn all(mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
        }
        all
    }

    /// Reads until an event of this kind and node.
    pub(crate) async fn until(&mut self, event: &str, node: &str) -> Sent {
        loop {
            let sent = self.next().await.expect("the event comes before the end");
            if sent.event == event && sent.data["name"] == node {
                return sent;
            }
        }
    }
}

/// A file for a store, removed with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-server-{}-{number}", std::process::id()));
        // The number of a process comes again, and one that died left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("server.db")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
