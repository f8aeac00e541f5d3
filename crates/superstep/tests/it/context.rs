//! Context and configuration: what a run brings, what of it is saved, and what never is.

use std::sync::Arc;

use serde_json::json;
use superstep::core::id::RunId;
use superstep::core::machine::Event;
use superstep::core::port::HistoryQuery;
use superstep::prelude::*;
use superstep::{Code, Compiled, EventKind, FromContext, Info, Part};

use crate::support::{Calls, refused, stored};

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Note {
    text: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// What nodes need and nobody saves.
struct Keys {
    secret: String,
    calls: Calls,
}

struct SecretLength(usize);

impl FromContext<Keys> for SecretLength {
    fn from_context(keys: &Keys) -> Self {
        Self(keys.secret.len())
    }
}

const MARKER: &str = "marker-8f3a-secret";

fn keys() -> Keys {
    Keys { secret: MARKER.to_owned(), calls: Calls::default() }
}

/// use → inner(use) → ask, over a context.
fn with_keys(memory: &Memory) -> Compiled<Note, Keys> {
    let uses = |keys: Ctx<Keys>| {
        keys.calls.note(&keys.secret);
        Note::update().log("used")
    };
    let mut inner = Graph::<Note, Keys>::new("inner");
    let node = inner.node("use", uses);
    inner.edge(START, node).edge(node, END);
    let mut graph = Graph::<Note, Keys>::new("outer");
    let first = graph.node("use", uses);
    let second = graph.node("inner", inner.compile().unwrap());
    let ask = graph.node("ask", |ask: Ask, length: Part<SecretLength>, cx: Cx| async move {
        let size = length.0.0;
        let size: usize = cx.once("size", async move { Ok::<_, NodeError>(size) }).await?;
        let name: String = ask.person("name", size).await?;
        Ok::<_, NodeError>(Note::update().log(format!("{name} {size}")))
    });
    graph.sequence([START, first.into(), second.into(), ask.into(), END]).checkpointer(memory.clone());
    graph.compile().unwrap()
}

/// R-FWK-51, R-REF-139: context is typed, reaches every node, also in graphs inside, and is given again with each run.
#[tokio::test]
async fn context_reaches_every_node() {
    let (memory, context) = (Memory::new(), Arc::new(keys()));
    let graph = with_keys(&memory);
    graph.run(Note::input().text("x")).thread("t").shared_context(context.clone()).await.unwrap();
    assert_eq!(context.calls.take(), [MARKER, MARKER]);
    let ended = graph.resume("t", "Ann").context(keys()).await.unwrap();
    assert_eq!(ended.state.log.last().unwrap(), &format!("Ann {}", MARKER.len()));
}

/// R-FWK-51: context leaves no trace in checkpoints, pending entries, events, questions or results.
#[tokio::test]
async fn context_leaves_no_trace() {
    let memory = Memory::new();
    let graph = with_keys(&memory);
    let mut stream =
        graph.run(Note::input().text("x")).thread("t").context(keys()).configurable("token", MARKER).stream();
    let mut told = String::new();
    while let Some(event) = stream.next().await {
        told += &match event.kind {
            EventKind::Machine(Event::Values { state, .. }) => state.schema.to_json(&*state.state).unwrap().to_string(),
            EventKind::Machine(Event::TaskDone { update, .. }) => format!("{update:?}"),
            EventKind::Machine(Event::Interrupted { questions }) => serde_json::to_string(&questions).unwrap(),
            EventKind::Machine(Event::Warning { message, .. }) => message,
            EventKind::Custom { value, .. } => value.to_string(),
            _ => String::new(),
        };
    }
    let stopped = stream.finish().await.unwrap();
    told += &format!("{stopped:?}");
    assert!(told.contains("used") && told.contains("name"), "the events were looked at");
    let kept = stored(&memory, "t").await;
    assert!(kept.contains("used") && kept.contains("once") && kept.contains("inner"), "the store was looked at");
    let ended = graph.resume("t", "Ann").context(keys()).await.unwrap();
    for text in [told, kept, stored(&memory, "t").await, format!("{ended:?}")] {
        assert!(!text.contains("marker-"), "{text}");
    }
}

/// R-FWK-52, R-REF-139: a run without the context its graph needs is refused before the first node, naming the type.
#[tokio::test]
async fn missing_context_is_refused_before_the_first_node() {
    let memory = Memory::new();
    let graph = with_keys(&memory);
    let error = refused(graph.run(Note::input().text("x")).thread("t").await);
    assert_eq!((error.code(), error.http_status(), error.exit_code()), (Code::MissingContext, 500, 78));
    assert!(error.message().contains("Keys") && error.message().contains("`outer`"), "{error}");
    assert!(error.advice().unwrap().contains(".context("), "{error}");
    assert_eq!(graph.threads().status("t").await.unwrap(), None);
    graph.run(Note::input().text("x")).thread("t").context(keys()).await.unwrap();
    assert_eq!(refused(graph.resume("t", "Ann").await).code(), Code::MissingContext);
    assert_eq!(graph.threads().state("t").await.unwrap().questions().len(), 1);
}

fn reporting(memory: &Memory) -> Compiled<Note> {
    let mut graph = Graph::<Note>::new("report");
    let node = graph.node("tell", |info: Info| {
        let (thread, run) = (info.thread().unwrap().clone(), info.run());
        let limits = (info.remaining_steps(), info.is_last_step());
        let configured = info.configurable("temperature").cloned();
        let text = json!([
            thread,
            run,
            info.tags(),
            info.metadata(),
            configured,
            limits,
            info.step(),
            info.node(),
            info.checkpoint()
        ]);
        Note::update().text(text.to_string())
    });
    graph.edge(START, node).edge(node, END).checkpointer(memory.clone());
    graph.compile().unwrap()
}

/// R-FWK-53: thread, run, tags, metadata, configurable values, limits and checkpoint reach the nodes.
#[tokio::test]
async fn configuration_reaches_the_nodes() {
    let (memory, run) = (Memory::new(), RunId::from_bits(77));
    let graph = reporting(&memory);
    let ended = graph
        .run(Note::input().text("x"))
        .thread("t")
        .run_id(run)
        .tag("blue")
        .tag("fast")
        .metadata("user", "ann")
        .configurable("temperature", 0.5)
        .recursion_limit(1)
        .await
        .unwrap();
    let first = graph
        .threads()
        .history("t", &HistoryQuery { step: Some(0), ..HistoryQuery::default() })
        .await
        .unwrap()
        .remove(0)
        .id();
    let expected = json!(["t", run, ["blue", "fast"], { "user": "ann" }, 0.5, [1, true], 1, "tell", first]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ended.state.text).unwrap(), expected);
    assert_eq!((ended.run, ended.thread.unwrap().as_str()), (run, "t"));
}

/// R-FWK-53, R-REF-65: metadata is in every checkpoint of the run and finds them again; configurable values are never
/// saved.
#[tokio::test]
async fn metadata_is_saved_and_found_again() {
    let memory = Memory::new();
    let graph = reporting(&memory);
    for user in ["ann", "bob"] {
        let run = graph.run(Note::input().text(user)).thread("t").metadata("user", user).metadata("n", 1);
        run.configurable("token", MARKER).await.unwrap();
    }
    let found = async |key: &str, value: serde_json::Value| {
        let query = HistoryQuery { metadata: [(key.to_owned(), value)].into(), ..HistoryQuery::default() };
        graph.threads().history("t", &query).await.unwrap()
    };
    let bobs = found("user", json!("bob")).await;
    assert!(bobs.len() == 2 && bobs.iter().all(|seen| seen.checkpoint.metadata["user"] == "bob"));
    assert_eq!((found("n", json!(1)).await.len(), found("user", json!("eve")).await.len()), (4, 0));
    assert!(!stored(&memory, "t").await.contains(MARKER));
}

/// R-FWK-53: a checkpoint of the thread may be named to start from; the node learns which it works on.
#[tokio::test]
async fn a_run_may_name_its_checkpoint() {
    let memory = Memory::new();
    let graph = reporting(&memory);
    let first = graph.run(Note::input().text("x")).thread("t").await.unwrap();
    graph.run(Note::input().text("y")).thread("t").await.unwrap();
    let forked = graph.run(Note::input().log("z")).thread("t").at(first.checkpoint.unwrap()).await.unwrap();
    let seen: serde_json::Value = serde_json::from_str(&forked.state.text).unwrap();
    let newest =
        graph.threads().history("t", &HistoryQuery { limit: Some(2), ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(seen[8], json!(newest[1].id()));
    assert_eq!(newest[1].checkpoint.parent, first.checkpoint);
}

/// R-FWK-53: `configurable` values are held against their schema before anything runs.
#[tokio::test]
async fn configurable_values_have_a_schema() {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Options {
        model: String,
        temperature: Option<f64>,
    }
    let mut graph = Graph::<superstep::Record>::with_schema(
        "options",
        superstep::Schema::from_json("any", &json!({ "x": {} })).unwrap(),
    );
    let read = graph.node("read", |cx: Cx| json!({ "x": cx.configurable("model") }));
    graph.edge(START, read).edge(read, END).configurable::<Options>();
    let graph = graph.compile().unwrap();
    let run = || graph.run(json!({ "x": 1 }));
    let done = run().configurable("model", "small").await.unwrap();
    assert_eq!(*done.state.get("x"), "small");
    let error = run().configurable("temperature", "hot").await.unwrap_err();
    assert_eq!((error.code(), error.problems().len()), (superstep::Code::InputInvalid, 2), "{error}");
}
