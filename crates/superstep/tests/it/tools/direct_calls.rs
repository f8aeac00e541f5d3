//! A `ToolNode` called by another node, which decides itself when calls run.

use std::time::Duration;

use serde_json::json;
use superstep::core::message::ToolCall;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::tools::{SharedTool, ToolSpec, tool_fn};
use superstep::{CompiledGraph, ErrorCode};

use super::{Chat, Runs};

/// No arguments.
#[derive(Deserialize, superstep::JsonSchema)]
struct Nothing {}

fn counted(name: &'static str, runs: &Runs) -> SharedTool {
    let runs = runs.clone();
    tool_fn(ToolSpec::new(name, "Counts."), move |_: Nothing, _cx| {
        runs.note(name);
        let text = format!("{name} ran, mail to ada@example.com");
        async move { text }
    })
}

/// First `a`, then, with its result, `b`.
fn in_two_steps(tools: [SharedTool; 2]) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("steps");
    let node = std::sync::Arc::new(ToolNode::new(tools));
    let work = graph.add_node("work", move |cx: TaskContext| {
        let node = node.clone();
        async move {
            let mut all = node.run_calls(&cx, [ToolCall::new("1", "a", json!({}))]).await?;
            all.extend(
                node.run_calls(&cx, [ToolCall::new("2", "b", json!({})), ToolCall::new("3", "c", json!({}))]).await?,
            );
            Ok::<_, NodeError>(Chat::update().messages(all))
        }
    });
    graph.add_edge(START, work).add_edge(work, END);
    graph.compile().unwrap()
}

/// R-FWK-78, R-FWK-91: a node may run calls one after the other; all options of a `ToolNode` apply.
#[tokio::test]
async fn a_node_runs_calls_one_after_the_other() {
    let runs = Runs::default();
    let graph = in_two_steps([counted("a", &runs), counted("b", &runs)]);
    let state = graph.invoke(Chat::input().messages("go")).await.unwrap().state;
    let texts: Vec<String> = state.messages.iter().skip(1).map(|message| message.text().into_owned()).collect();
    assert_eq!(texts[..2], ["a ran, mail to [REDACTED:mail]", "b ran, mail to [REDACTED:mail]"]);
    assert!(texts[2].starts_with("unknown tool `c`"), "{texts:?}");
}

/// R-FWK-78: an ended call does not run again, although the node had not ended.
#[tokio::test]
async fn an_ended_call_is_not_made_again() {
    for at in 0..8 {
        let (runs, disk) = (Runs::default(), MemoryCheckpointer::new());
        let graph = in_two_steps([counted("a", &runs), counted("b", &runs)]);
        let store = CrashingCheckpointer::new(disk.clone(), at, CrashedWrite::Persisted);
        let survived = graph.invoke(Chat::input().messages("go")).thread("t").checkpointer(store).await.is_ok();
        if graph.threads().checkpointer(disk.clone()).get_state("t").await.is_ok() {
            graph.continue_thread("t").checkpointer(disk).await.unwrap();
            assert_eq!((runs.count("a"), runs.count("b")), (1, 1), "crash at {at}");
        }
        if survived {
            return;
        }
    }
    panic!("the sweep did not end");
}

/// R-FWK-78: calls with the same id are distinguished, in one list and in two, and each has its own result.
#[tokio::test]
async fn calls_of_one_id_are_not_confused() {
    let runs = Runs::default();
    let node = std::sync::Arc::new(ToolNode::new([super::echo(&runs), super::add()]));
    let mut graph = StateGraph::<Chat>::new("same ids");
    let work = graph.add_node("work", move |cx: TaskContext| {
        let node = node.clone();
        async move {
            let echo = |text: &str| ToolCall::new("1", "echo", super::text(text));
            let mut all = node.run_calls(&cx, [echo("one"), echo("two")]).await?;
            all.extend(node.run_calls(&cx, [echo("three")]).await?);
            all.extend(node.run_calls(&cx, [ToolCall::new("1", "add", json!({ "a": 1, "b": 2 }))]).await?);
            Ok::<_, NodeError>(Chat::update().messages(all))
        }
    });
    graph.add_edge(START, work).add_edge(work, END).checkpointer(MemoryCheckpointer::new());
    let done = graph.compile().unwrap().invoke(Chat::input().messages("go")).thread("t").await.unwrap();
    let texts: Vec<String> = super::answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!((texts, runs.count("echo")), (vec!["one".to_owned(), "two".into(), "three".into(), "3".into()], 3));
}

/// R-FWK-78: two calls with the same id in a model message both run, and both have a result.
#[tokio::test]
async fn calls_of_one_id_in_a_message_are_both_answered() {
    let runs = Runs::default();
    let calls = ["one", "two"].map(|text| ToolCall::new("1", "echo", super::text(text)));
    let message = Message::assistant("").with_tool_calls(calls);
    let graph = super::graph(ToolNode::new([super::echo(&runs)]));
    let done = graph.invoke(Chat::input().messages(message)).thread("t").await.unwrap();
    let texts: Vec<String> = super::answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!((texts, runs.count("echo")), (vec!["one".to_owned(), "two".into()], 2));
}

/// R-FWK-78: a command is rejected, because nothing can execute it there.
#[tokio::test]
async fn a_command_is_rejected() {
    let moves = tool_fn(ToolSpec::new("a", "Moves."), |_: Nothing, _cx| async {
        Command::<Chat>::new().update(Chat::update().topic("other"))
    });
    let graph = in_two_steps([moves, counted("b", &Runs::default())]);
    let error = graph.invoke(Chat::input().messages("go")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRoute, "{error}");
}

/// R-FWK-15, R-FWK-78: with `safe_retries` only safe calls with transient errors are retried.
#[tokio::test(start_paused = true)]
async fn safe_retries_are_for_safe_tools() {
    for (is_safe, may_pass, expected) in [(true, true, 3), (true, false, 1), (false, true, 1)] {
        let runs = Runs::default();
        let node_calls = runs.clone();
        let mut spec = ToolSpec::new("a", "Fails.").retries(9).timeout(Duration::from_secs(1));
        spec.annotations.read_only = is_safe;
        let fails = tool_fn(spec, move |_: Nothing, _cx| {
            node_calls.note("a");
            let error = ToolError::new("busy");
            let error = if may_pass { error.retryable() } else { error };
            async move { Err::<String, ToolError>(error) }
        });
        let node = ToolNode::new([fails]).safe_retries(2);
        let message = Message::assistant("").with_tool_calls([ToolCall::new("1", "a", json!({}))]);
        super::graph(node).invoke(Chat::input().messages(message)).thread("t").await.unwrap();
        assert_eq!(runs.count("a"), expected, "safe {is_safe}, may pass {may_pass}");
    }
}
