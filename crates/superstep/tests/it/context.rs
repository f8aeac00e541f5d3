//! Run context and configuration: what reaches the nodes, what is saved, and what is never saved.

use std::sync::Arc;

use serde_json::json;
use superstep::core::id::RunId;
use superstep::core::machine::MachineEvent;
use superstep::core::port::HistoryQuery;
use superstep::prelude::*;
use superstep::{CompiledGraph, ContextPart, ErrorCode, EventKind, FromContext, TaskInfo};

use crate::support::{Calls, expect_error, stored};

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Note {
    text: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// A run context, which is never saved.
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

/// use → inner(use) → ask, with a context.
fn with_keys(memory: &MemoryCheckpointer) -> CompiledGraph<Note, Keys> {
    let uses = |keys: RunContext<Keys>| {
        keys.calls.note(&keys.secret);
        Note::update().log("used")
    };
    let mut inner = StateGraph::<Note, Keys>::new("inner");
    let node = inner.add_node("use", uses);
    inner.add_edge(START, node).add_edge(node, END);
    let mut graph = StateGraph::<Note, Keys>::new("outer");
    let first = graph.add_node("use", uses);
    let second = graph.add_node("inner", inner.compile().unwrap());
    let interrupt =
        graph.add_node("ask", |interrupt: Interrupts, length: ContextPart<SecretLength>, cx: TaskContext| async move {
            let size = length.0.0;
            let size: usize = cx.once("size", async move { Ok::<_, NodeError>(size) }).await?;
            let name: String = interrupt.raise("name", size).await?;
            Ok::<_, NodeError>(Note::update().log(format!("{name} {size}")))
        });
    graph.add_sequence([START, first.into(), second.into(), interrupt.into(), END]).checkpointer(memory.clone());
    graph.compile().unwrap()
}

/// R-FWK-51, R-REF-139: the context is typed, reaches every node including those of subgraphs, and is passed with
/// each run.
#[tokio::test]
async fn context_reaches_every_node() {
    let (memory, context) = (MemoryCheckpointer::new(), Arc::new(keys()));
    let graph = with_keys(&memory);
    graph.invoke(Note::input().text("x")).thread("t").shared_context(context.clone()).await.unwrap();
    assert_eq!(context.calls.take(), [MARKER, MARKER]);
    let ended = graph.resume("t", "Ann").context(keys()).await.unwrap();
    assert_eq!(ended.state.log.last().unwrap(), &format!("Ann {}", MARKER.len()));
}

/// R-FWK-51: the context leaves no trace in checkpoints, pending entries, events, interrupts or results.
#[tokio::test]
async fn context_leaves_no_trace() {
    let memory = MemoryCheckpointer::new();
    let graph = with_keys(&memory);
    let mut stream =
        graph.invoke(Note::input().text("x")).thread("t").context(keys()).configurable("token", MARKER).stream();
    let mut published = String::new();
    while let Some(event) = stream.next().await {
        published += &match event.kind {
            EventKind::Machine(MachineEvent::Values { state, .. }) => {
                state.schema.to_json(&*state.state).unwrap().to_string()
            }
            EventKind::Machine(MachineEvent::TaskFinished { update, .. }) => format!("{update:?}"),
            EventKind::Machine(MachineEvent::Interrupted { interrupts }) => serde_json::to_string(&interrupts).unwrap(),
            EventKind::Machine(MachineEvent::Warning { message, .. }) => message,
            EventKind::Custom { value, .. } => value.to_string(),
            _ => String::new(),
        };
    }
    let stopped = stream.finish().await.unwrap();
    published += &format!("{stopped:?}");
    assert!(published.contains("used") && published.contains("name"), "the events were looked at");
    let saved = stored(&memory, "t").await;
    assert!(saved.contains("used") && saved.contains("once") && saved.contains("inner"), "the store was looked at");
    let ended = graph.resume("t", "Ann").context(keys()).await.unwrap();
    for text in [published, saved, stored(&memory, "t").await, format!("{ended:?}")] {
        assert!(!text.contains("marker-"), "{text}");
    }
}

/// R-FWK-52, R-REF-139: a run without the context that its graph needs is rejected before the first node, with the
/// name of the type.
#[tokio::test]
async fn missing_context_is_rejected_before_the_first_node() {
    let memory = MemoryCheckpointer::new();
    let graph = with_keys(&memory);
    let error = expect_error(graph.invoke(Note::input().text("x")).thread("t").await);
    assert_eq!((error.code(), error.http_status(), error.exit_code()), (ErrorCode::MissingContext, 500, 78));
    assert!(error.message().contains("Keys") && error.message().contains("`outer`"), "{error}");
    assert!(error.help().unwrap().contains(".context("), "{error}");
    assert_eq!(graph.threads().status("t").await.unwrap(), None);
    graph.invoke(Note::input().text("x")).thread("t").context(keys()).await.unwrap();
    assert_eq!(expect_error(graph.resume("t", "Ann").await).code(), ErrorCode::MissingContext);
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 1);
}

fn reporting(memory: &MemoryCheckpointer) -> CompiledGraph<Note> {
    let mut graph = StateGraph::<Note>::new("report");
    let node = graph.add_node("tell", |info: TaskInfo| {
        let (thread, run) = (info.thread_id().unwrap().clone(), info.run_id());
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
            info.checkpoint_id()
        ]);
        Note::update().text(text.to_string())
    });
    graph.add_edge(START, node).add_edge(node, END).checkpointer(memory.clone());
    graph.compile().unwrap()
}

/// R-FWK-53: thread, run, tags, metadata, configurable values, limits and checkpoint reach the nodes.
#[tokio::test]
async fn configuration_reaches_the_nodes() {
    let (memory, run) = (MemoryCheckpointer::new(), RunId::from_bits(77));
    let graph = reporting(&memory);
    let ended = graph
        .invoke(Note::input().text("x"))
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
        .get_state_history("t", &HistoryQuery { step: Some(0), ..HistoryQuery::default() })
        .await
        .unwrap()
        .remove(0)
        .id();
    let expected = json!(["t", run, ["blue", "fast"], { "user": "ann" }, 0.5, [1, true], 1, "tell", first]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ended.state.text).unwrap(), expected);
    assert_eq!((ended.run_id, ended.thread_id.unwrap().as_str()), (run, "t"));
}

/// R-FWK-53, R-REF-65: metadata is in every checkpoint of the run, and checkpoints can be found by it; configurable
/// values are never saved.
#[tokio::test]
async fn metadata_is_saved_and_can_be_queried() {
    let memory = MemoryCheckpointer::new();
    let graph = reporting(&memory);
    for user in ["ann", "bob"] {
        let run = graph.invoke(Note::input().text(user)).thread("t").metadata("user", user).metadata("n", 1);
        run.configurable("token", MARKER).await.unwrap();
    }
    let matching = async |key: &str, value: serde_json::Value| {
        let query = HistoryQuery { metadata: [(key.to_owned(), value)].into(), ..HistoryQuery::default() };
        graph.threads().get_state_history("t", &query).await.unwrap()
    };
    let bobs = matching("user", json!("bob")).await;
    assert!(bobs.len() == 2 && bobs.iter().all(|seen| seen.checkpoint.metadata["user"] == "bob"));
    assert_eq!((matching("n", json!(1)).await.len(), matching("user", json!("eve")).await.len()), (4, 0));
    assert!(!stored(&memory, "t").await.contains(MARKER));
}

/// R-FWK-53: a run may start from a named checkpoint of the thread; the node sees the checkpoint on which it is
/// based.
#[tokio::test]
async fn a_run_may_name_its_checkpoint() {
    let memory = MemoryCheckpointer::new();
    let graph = reporting(&memory);
    let first = graph.invoke(Note::input().text("x")).thread("t").await.unwrap();
    graph.invoke(Note::input().text("y")).thread("t").await.unwrap();
    let forked =
        graph.invoke(Note::input().log("z")).thread("t").from_checkpoint(first.checkpoint.unwrap()).await.unwrap();
    let seen: serde_json::Value = serde_json::from_str(&forked.state.text).unwrap();
    let newest = graph
        .threads()
        .get_state_history("t", &HistoryQuery { limit: Some(2), ..HistoryQuery::default() })
        .await
        .unwrap();
    assert_eq!(seen[8], json!(newest[1].id()));
    assert_eq!(newest[1].checkpoint.parent, first.checkpoint);
}

/// R-FWK-53: `configurable` values are validated with their schema before anything runs.
#[tokio::test]
async fn configurable_values_have_a_schema() {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Options {
        model: String,
        temperature: Option<f64>,
    }
    let mut graph = StateGraph::<superstep::DynamicState>::with_schema(
        "options",
        superstep::Schema::from_json("any", &json!({ "x": {} })).unwrap(),
    );
    let read = graph.add_node("read", |cx: TaskContext| json!({ "x": cx.configurable("model") }));
    graph.add_edge(START, read).add_edge(read, END).configurable_schema::<Options>();
    let graph = graph.compile().unwrap();
    let run = || graph.invoke(json!({ "x": 1 }));
    let done = run().configurable("model", "small").await.unwrap();
    assert_eq!(*done.state.get("x"), "small");
    let error = run().configurable("temperature", "hot").await.unwrap_err();
    assert_eq!((error.code(), error.diagnostics().len()), (superstep::ErrorCode::InputInvalid, 2), "{error}");
}
