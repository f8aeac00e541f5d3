//! Spans: who is inside of whom, what they are called, what they say.

use std::collections::BTreeSet;

use superstep::core::conventions;
use superstep::model::{Scripted, SharedModel, Trouble};
use superstep::prelude::*;
use superstep::telemetry::{CONVENTIONS, SCHEMA_URL};
use superstep::{Durability, Error};
use tracing::level_filters::LevelFilter;

use super::{Chat, ChatUpdate, Listening, SECRET, agent, run_agent, script, think};

/// R-FWK-88: run, supersteps, nodes, calls of models and tools, and checkpoints are spans, each inside of what made it.
#[tokio::test]
async fn spans_are_inside_of_each_other() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::DEBUG);
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

/// R-FWK-88: attributes have the names of the conventions for generative AI, and their version is named.
#[tokio::test]
async fn attributes_have_the_names_of_the_conventions() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::DEBUG);
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
    check("run", "superstep.run.id", &run.run.to_string());
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
    assert_eq!(CONVENTIONS, conventions::VERSION);
}

/// R-FWK-88: who listens to runs and not to supersteps is told of runs, nodes, models and tools.
#[tokio::test]
async fn supersteps_and_checkpoints_are_for_those_who_look_closer() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::INFO);
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

/// R-FWK-88: tasks that run at once are inside of their superstep, and what a node spawns is inside of the node.
#[tokio::test]
async fn spans_hold_across_tasks() {
    let mut graph = Graph::<Chat, SharedModel>::new("wide");
    let spawns = graph.node("spawns", async |model: Ctx<SharedModel>, cx: Cx| -> Result<ChatUpdate, NodeError> {
        let model = (*model).clone();
        let answer = tokio::spawn(async move { cx.model(&model).messages("Hi").await }).await;
        Ok(Chat::update().messages(answer.map_err(|error| NodeError::new(error.to_string()))??.message))
    });
    let quiet = graph.node("quiet", || Chat::update().log("done"));
    graph.edge(START, spawns).edge(START, quiet).edge(spawns, END).edge(quiet, END);
    let graph = graph.compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::DEBUG);
    graph.run(Chat::input().log("in")).context(Scripted::new(["Hello."]).into()).await.unwrap();
    let expected = "\
invoke_workflow wide
  superstep
    node spawns
      chat script
    node quiet
";
    assert_eq!(listening.tree(), expected);
}

/// R-FWK-88: the run of a graph inside is inside of its node, whether the graph is the node or is called by it.
#[tokio::test]
async fn graphs_inside_are_inside_of_their_node() {
    let mut inner = Graph::<Chat, SharedModel>::new("inner");
    let ask = inner.node("ask", think);
    inner.edge(START, ask).edge(ask, END);
    let inner = inner.compile().unwrap();
    let mut outer = Graph::<Chat, SharedModel>::new("outer");
    let as_node = outer.node("as_node", inner.clone());
    let by_hand = outer.node("by_hand", move |cx: Cx| {
        let run = inner.run(Chat::input().messages("And?")).inside(&cx);
        async move { run.await.map(|_| Chat::update().log("called")) }
    });
    outer.sequence([START, as_node.into(), by_hand.into(), END]);
    let outer = outer.compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::INFO);
    outer.run(Chat::input().messages("Hi")).context(Scripted::new(["One.", "Two."]).into()).await.unwrap();
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

/// R-FWK-88: what is saved behind a run is inside of the run, and there for every way to save.
#[tokio::test]
async fn checkpoints_are_told_whenever_they_are_saved() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let agent = agent().compile().unwrap();
        let (listening, _guard) = Listening::at(LevelFilter::DEBUG);
        let run = agent.run(Chat::input().messages(SECRET)).checkpointer(Memory::new()).thread("t1");
        run.durability(durability).context(script().into()).await.unwrap();
        let spans = listening.spans();
        let saved: Vec<_> = spans.iter().filter(|span| span.name == "checkpoint").collect();
        assert!(!saved.is_empty(), "{durability:?}");
        assert!(saved.iter().all(|span| span.parent.is_some()), "{durability:?}: {saved:?}");
    }
}

/// R-FWK-88: a span of what failed says so, with the code of the error.
#[tokio::test]
async fn failed_spans_have_the_code_of_their_error() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::INFO);
    let error = agent
        .run(Chat::input().messages(SECRET))
        .context(Scripted::new([Trouble::NoNetwork]).into())
        .await
        .unwrap_err();
    for name in ["run", "node", "chat"] {
        let span = listening.span(name);
        assert_eq!(span.fields["otel.status_code"], "ERROR", "{span:?}");
        assert_eq!(span.fields["error.type"], code(&error), "{span:?}");
    }
    assert_eq!(listening.span("run").fields["superstep.outcome"], "failed");
}

/// R-FWK-88: a run in the background is inside of the span it was started from.
#[tokio::test]
async fn a_spawned_run_is_inside_of_its_caller() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = Listening::at(LevelFilter::INFO);
    let caller = tracing::info_span!(target: "superstep", "caller");
    let run = agent.run(Chat::input().messages("Hi")).context(script().into());
    let run = caller.in_scope(|| run.spawn());
    run.await.unwrap();
    assert!(listening.tree().starts_with("caller\n  invoke_workflow agent\n"), "{}", listening.tree());
}

fn code(error: &Error) -> String {
    error.code().to_string()
}
