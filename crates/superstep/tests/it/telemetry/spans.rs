//! Spans: nesting, names, attributes.

use std::collections::BTreeSet;

use superstep::core::semantic_conventions;
use superstep::models::{ModelErrorKind, ScriptedModel, SharedModel};
use superstep::prelude::*;
use superstep::telemetry::{CONVENTIONS, SCHEMA_URL};
use superstep::{Durability, Error};
use tracing::level_filters::LevelFilter;

use super::{Chat, ChatUpdate, RecordingSubscriber, SECRET, agent, run_agent, script, think};

/// R-FWK-88: run, supersteps, nodes, model calls, tool calls, and checkpoints are spans, each inside its parent.
#[tokio::test]
async fn spans_are_nested() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::DEBUG);
    run_agent(&agent).await;
    let expected = "\
invoke_workflow agent
  checkpoint
  superstep
    node think
      chat fast
    checkpoint
  superstep
    node tools
      execute_tool look_up
    checkpoint
  superstep
    node think
      chat fast
    checkpoint
";
    assert_eq!(listening.tree(), expected);
    assert!(listening.spans().iter().all(|span| span.is_closed), "{:?}", listening.spans());
}

/// R-FWK-88: attributes have the names of the conventions for generative AI, and their version is recorded.
#[tokio::test]
async fn attributes_have_the_names_of_the_conventions() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::DEBUG);
    let run = run_agent(&agent).await;
    let check = |span: &str, field: &str, value: &str| {
        let span = listening.span(span);
        assert_eq!(span.fields.get(field).map(String::as_str), Some(value), "{field} of {span:?}");
    };
    check("run", "gen_ai.operation.name", "invoke_workflow");
    check("run", "gen_ai.workflow.name", "agent");
    check("run", "gen_ai.conversation.id", "t1");
    check("run", "gen_ai.usage.input_tokens", "300");
    check("run", "gen_ai.usage.output_tokens", "30");
    check("run", "superstep.run.id", &run.run_id.to_string());
    check("run", "superstep.outcome", "finished");
    check("run", "superstep.supersteps", "3");
    check("node", "superstep.node", "think");
    check("node", "superstep.step", "1");
    check("node", "superstep.attempt", "1");
    check("node", "superstep.outcome", "done");
    check("chat", "gen_ai.operation.name", "chat");
    check("chat", "gen_ai.provider.name", "scripted");
    check("chat", "gen_ai.request.model", "fast");
    check("chat", "gen_ai.response.model", "fast");
    check("chat", "gen_ai.usage.input_tokens", "100");
    check("chat", "gen_ai.usage.output_tokens", "10");
    check("chat", "gen_ai.conversation.id", "t1");
    check("execute_tool", "gen_ai.operation.name", "execute_tool");
    check("execute_tool", "gen_ai.tool.name", "look_up");
    assert!(listening.span("execute_tool").fields.contains_key("gen_ai.tool.call.id"));
    assert!(listening.span("node").fields.contains_key("superstep.task.id"));
    let saved: Vec<_> = listening.spans().into_iter().filter(|span| span.name == "checkpoint").collect();
    assert_eq!(saved.last().unwrap().fields["superstep.checkpoint.id"], run.checkpoint.unwrap().to_string());
    assert!(saved.iter().all(|span| span.fields["superstep.checkpoint.bytes"].parse::<u64>().unwrap() > 100));
    assert_eq!(SCHEMA_URL, format!("https://opentelemetry.io/schemas/{CONVENTIONS}"));
    assert_eq!(CONVENTIONS, semantic_conventions::VERSION);
}

/// R-FWK-88: at level INFO there are spans of runs, nodes, models and tools, and none of supersteps.
#[tokio::test]
async fn superstep_spans_are_debug_level() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    run_agent(&agent).await;
    let expected = "\
invoke_workflow agent
  node think
    chat fast
  node tools
    execute_tool look_up
  node think
    chat fast
";
    assert_eq!(listening.tree(), expected);
}

/// R-FWK-88: concurrent tasks are inside their superstep, and tasks that a node spawns are inside the node.
#[tokio::test]
async fn spans_cover_concurrent_and_spawned_tasks() {
    let mut graph = StateGraph::<Chat, SharedModel>::new("wide");
    let spawns = graph.add_node(
        "spawns",
        async |model: RunContext<SharedModel>, cx: TaskContext| -> Result<ChatUpdate, NodeError> {
            let model = (*model).clone();
            let answer = tokio::spawn(async move { cx.model(&model).messages("Hi").await }).await;
            Ok(Chat::update().messages(answer.map_err(|error| NodeError::new(error.to_string()))??.message))
        },
    );
    let quiet = graph.add_node("quiet", || Chat::update().log("done"));
    graph.add_edge(START, spawns).add_edge(START, quiet).add_edge(spawns, END).add_edge(quiet, END);
    let graph = graph.compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::DEBUG);
    graph.invoke(Chat::input().log("in")).context(ScriptedModel::new(["Hello."]).into()).await.unwrap();
    let expected = "\
invoke_workflow wide
  superstep
    node spawns
      chat script
    node quiet
";
    assert_eq!(listening.tree(), expected);
}

/// R-FWK-88: the run of a subgraph is inside its node, whether the graph is the node or is called by it.
#[tokio::test]
async fn subgraph_spans_are_in_their_node() {
    let mut inner = StateGraph::<Chat, SharedModel>::new("inner");
    let answer = inner.add_node("ask", think);
    inner.add_edge(START, answer).add_edge(answer, END);
    let inner = inner.compile().unwrap();
    let mut outer = StateGraph::<Chat, SharedModel>::new("outer");
    let as_node = outer.add_node("as_node", inner.clone());
    let by_hand = outer.add_node("by_hand", move |cx: TaskContext| {
        let run = inner.invoke(Chat::input().messages("And?")).nested_in(&cx);
        async move { run.await.map(|_| Chat::update().log("called")) }
    });
    outer.add_sequence([START, as_node.into(), by_hand.into(), END]);
    let outer = outer.compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    outer.invoke(Chat::input().messages("Hi")).context(ScriptedModel::new(["One.", "Two."]).into()).await.unwrap();
    let expected = "\
invoke_workflow outer
  node as_node
    invoke_workflow inner
      node ask
        chat script
  node by_hand
    invoke_workflow inner
      node ask
        chat script
";
    assert_eq!(listening.tree(), expected);
    let runs: BTreeSet<String> = listening
        .spans()
        .iter()
        .filter(|span| span.name == "run")
        .map(|span| span.fields["superstep.run.id"].clone())
        .collect();
    assert_eq!(runs.len(), 1, "all graphs of a run have its id");
}

/// R-FWK-88: background commits are inside the run, with every durability.
#[tokio::test]
async fn checkpoints_are_traced_whenever_they_are_saved() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let agent = agent().compile().unwrap();
        let (listening, _guard) = RecordingSubscriber::at(LevelFilter::DEBUG);
        let run = agent.invoke(Chat::input().messages(SECRET)).checkpointer(MemoryCheckpointer::new()).thread("t1");
        run.durability(durability).context(script().into()).await.unwrap();
        let spans = listening.spans();
        let saved: Vec<_> = spans.iter().filter(|span| span.name == "checkpoint").collect();
        assert!(!saved.is_empty(), "{durability:?}");
        assert!(saved.iter().all(|span| span.parent.is_some()), "{durability:?}: {saved:?}");
    }
}

/// R-FWK-88: a span of a failed operation is marked as failed, with the code of the error.
#[tokio::test]
async fn failed_spans_have_the_code_of_their_error() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    let error = agent
        .invoke(Chat::input().messages(SECRET))
        .context(ScriptedModel::new([ModelErrorKind::Connection]).into())
        .await
        .unwrap_err();
    for name in ["run", "node", "chat"] {
        let span = listening.span(name);
        assert_eq!(span.fields["otel.status_code"], "ERROR", "{span:?}");
        assert_eq!(span.fields["error.type"], code(&error), "{span:?}");
    }
    assert_eq!(listening.span("run").fields["superstep.outcome"], "failed");
}

/// R-FWK-88: a run in the background is inside the span from which it was started.
#[tokio::test]
async fn a_spawned_run_is_in_the_span_of_its_caller() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    let caller = tracing::info_span!(target: "superstep", "caller");
    let run = agent.invoke(Chat::input().messages("Hi")).context(script().into());
    let run = caller.in_scope(|| run.spawn());
    run.await.unwrap();
    assert!(listening.tree().starts_with("caller\n  invoke_workflow agent\n"), "{}", listening.tree());
}

fn code(error: &Error) -> String {
    error.code().to_string()
}
