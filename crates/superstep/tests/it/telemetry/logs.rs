//! Log lines: errors with their location, and message content only on request.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::{Checkpointer, Commit, SharedCheckpointer};
use superstep::core::{delegate_checkpointer, error::Result};
use superstep::models::{ScriptedModel, ScriptedReply, SharedModel};
use superstep::prelude::*;
use superstep::redaction::Redaction;
use superstep::testing::ManualClock;
use superstep::{Error, ErrorCode};
use tracing::level_filters::LevelFilter;

use super::{Chat, ChatUpdate, RecordingSubscriber, SECRET, agent, run_agent};

/// R-FWK-92: no text of users, models or tools is logged, at any level.
#[tokio::test]
async fn no_content_is_logged() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::TRACE);
    let run = run_agent(&agent).await;
    assert!(run.state.messages.iter().any(|message| message.text().contains(SECRET)));
    assert!(!listening.everything().contains(SECRET), "{}", listening.everything());
}

/// R-FWK-92: the message of an error may contain user text, and is not logged; its code and its node are.
#[tokio::test]
async fn failures_are_logged_by_code_and_location() {
    let mut graph = StateGraph::<Chat>::new("failing");
    let fails = graph.add_node("fails", || -> Result<ChatUpdate, NodeError> { Err(NodeError::new(SECRET)) });
    graph.add_edge(START, fails).add_edge(fails, END);
    let graph = graph.compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::TRACE);
    graph.invoke(Chat::input().log(SECRET)).await.unwrap_err();
    let [line] = &listening.lines("run failed")[..] else { panic!("{}", listening.everything()) };
    assert_eq!(
        (&*line["error.type"], &*line["superstep.node"], &*line["superstep.graph"]),
        ("SS-011", "fails", "failing")
    );
    assert_eq!(listening.lines("node failed").len(), 1);
    assert!(!listening.everything().contains(SECRET), "{}", listening.everything());
}

/// R-FWK-92: the name of an unknown tool was invented by the model, so it is text of the model.
#[tokio::test]
async fn the_name_of_an_unknown_tool_is_not_logged() {
    let agent = agent().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::TRACE);
    let script = ScriptedModel::new([ScriptedReply::tool_call(SECRET, json!({})), ScriptedReply::text("Then not.")]);
    agent.invoke(Chat::input().messages("Hi")).context(script.into()).await.unwrap();
    let span = listening.span("execute_tool");
    assert_eq!((&*span.fields["gen_ai.tool.name"], &*span.fields["error.type"]), ("unknown", "unknown_tool"));
    assert!(!listening.everything().contains(SECRET), "{}", listening.everything());
}

/// R-FWK-92: on request, content is logged, with the names of the conventions.
#[tokio::test]
async fn content_is_logged_on_request() {
    let mut agent = agent();
    let agent = agent.trace_content().compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::INFO);
    run_agent(&agent).await;
    let details = listening.lines("gen_ai.client.inference.operation.details");
    let inputs: Vec<&String> = details.iter().filter_map(|line| line.get("gen_ai.input.messages")).collect();
    let parsed: serde_json::Value = serde_json::from_str(inputs[0]).unwrap();
    assert_eq!(parsed, json!([{ "role": "user", "parts": [{ "type": "text", "content": SECRET }] }]));
    let answered: Vec<&String> = details.iter().filter_map(|line| line.get("gen_ai.output.messages")).collect();
    let parsed: serde_json::Value = serde_json::from_str(answered[1]).unwrap();
    assert_eq!(parsed[0]["parts"][0]["content"], format!("It is {SECRET}."));
    assert_eq!(parsed[0]["finish_reason"], "stop");
    assert!(listening.lines("tool call started")[0]["gen_ai.tool.call.arguments"].contains(SECRET));
    assert!(listening.lines("tool call finished")[0]["gen_ai.tool.call.result"].contains(SECRET));
}

/// R-FWK-92: a failed attempt that is retried is logged, with its number and the delay.
#[tokio::test]
async fn a_retry_is_logged() {
    let mut graph = StateGraph::<Chat, SharedModel>::new("flaky");
    let flaky = graph.add_node(
        "flaky",
        node(async |cx: TaskContext| -> Result<ChatUpdate, NodeError> {
            if cx.attempt() < 2 { Err(NodeError::new(SECRET).retryable()) } else { Ok(Chat::update().log("well")) }
        })
        .retry(RetryPolicy::default()),
    );
    graph.add_edge(START, flaky).add_edge(flaky, END);
    let graph = graph.compile().unwrap();
    let (listening, _guard) = RecordingSubscriber::at(LevelFilter::WARN);
    let clock = ManualClock::new();
    let run =
        graph.invoke(Chat::input().log("in")).clock(clock.clone()).context(ScriptedModel::default().into()).spawn();
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(60));
    run.await.unwrap();
    let [line] = &listening.lines("node retried")[..] else { panic!("{}", listening.everything()) };
    assert_eq!((&*line["superstep.node"], &*line["superstep.attempt"], &*line["error.type"]), ("flaky", "1", "SS-011"));
    assert!(line["superstep.wait_ms"].parse::<u64>().unwrap() > 0);
    assert!(!listening.everything().contains(SECRET));
}

/// A slow checkpointer, or one that has given the lease to another run.
#[derive(Clone)]
struct FaultyCheckpointer {
    store: SharedCheckpointer,
    clock: ManualClock,
    is_taken: bool,
}

impl Checkpointer for FaultyCheckpointer {
    delegate_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.store; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        self.clock.advance(Duration::from_secs(2));
        match self.is_taken {
            true => Err(Error::new(ErrorCode::ThreadBusy, SECRET)),
            false => self.store.commit(commit).await,
        }
    }
}

/// R-FWK-92: a slow checkpointer and a lost lease are logged.
#[tokio::test]
async fn errors_of_the_store_are_logged() {
    for is_taken in [false, true] {
        let agent = agent().compile().unwrap();
        let (listening, _guard) = RecordingSubscriber::at(LevelFilter::WARN);
        let clock = ManualClock::new();
        let store = FaultyCheckpointer { store: MemoryCheckpointer::new().into(), clock: clock.clone(), is_taken };
        let run = agent.invoke(Chat::input().messages("Hi")).checkpointer(store).thread("t1").clock(clock);
        let ended = run.context(ScriptedModel::new(["Hello."]).into()).await;
        assert_eq!(ended.is_err(), is_taken);
        assert_eq!(listening.lines("lease lost").is_empty(), !is_taken, "{}", listening.everything());
        assert_eq!(listening.lines("slow commit").is_empty(), is_taken, "{}", listening.everything());
        assert!(!listening.everything().contains(SECRET));
    }
}

/// R-FWK-91, R-FWK-92: content that is logged on request is redacted as the graph configures.
#[tokio::test(start_paused = true)]
async fn logged_content_is_redacted() {
    const MAIL: &str = "ada@example.com";
    /// Gives it.
    #[tool(read_only)]
    async fn leaky() -> String {
        format!("it is {MAIL}")
    }
    let run = |redaction: Option<Redaction>| async move {
        let mut graph = StateGraph::<Chat, SharedModel>::new("graph");
        let flaky = node(async |model: RunContext<SharedModel>, cx: TaskContext| -> Result<ChatUpdate, NodeError> {
            if cx.attempt() < 2 {
                return Err(NodeError::new(format!("{MAIL} is away")).retryable());
            }
            Ok(Chat::update().messages(cx.model(&model).request(&*format!("I am {MAIL}")).await?.message))
        });
        let flaky = graph.add_node("flaky", flaky.retry(RetryPolicy::default()));
        let tools = graph.add_node("tools", ToolNode::new([leaky()]).without_redaction());
        graph.add_edge(START, flaky).add_edge(flaky, tools).add_edge(tools, END).trace_content();
        if let Some(redaction) = redaction {
            graph.redact(redaction);
        }
        let (listening, _guard) = RecordingSubscriber::at(LevelFilter::TRACE);
        let script: SharedModel = ScriptedModel::new([ScriptedReply::tool_call("leaky", json!({}))]).into();
        graph.compile().unwrap().invoke(Chat::input().log("in")).context(script).await.unwrap();
        listening
    };
    let all = |listening: &RecordingSubscriber| {
        let field = |line: &str, name: &str| listening.lines(line)[0][name].clone();
        [
            field("node retried", "error.message"),
            field("gen_ai.client.inference.operation.details", "gen_ai.input.messages"),
            field("tool call finished", "gen_ai.tool.call.result"),
        ]
    };
    let raw = run(None).await;
    assert!(all(&raw).iter().all(|told| told.contains(MAIL)), "{}", raw.everything());
    let redacted = run(Some(Redaction::default())).await;
    assert!(all(&redacted).iter().all(|told| told.contains("[REDACTED:mail]")), "{}", redacted.everything());
    assert!(!redacted.everything().contains(MAIL), "{}", redacted.everything());
}
