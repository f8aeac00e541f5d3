//! Failed calls: messages for the model, and errors of the node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::testing::ManualClock;
use superstep::tools::{ToolErrorHandling, ToolFailure, ToolFailureKind, ToolSpec, tool_fn};
use superstep::{Error, ErrorCode};

use super::{Chat, Runs, Text, add, answer, answers, call_message, called, echo, graph, text, until};
use crate::support::expect_error;

/// Always fails.
#[tool]
async fn broken() -> Result<(), std::io::Error> {
    Err(std::io::Error::other("the disk is full"))
}

/// R-FWK-80, R-REF-147 (case 147): invalid arguments and errors are reported to the model or fail the node, as
/// configured: always, never, one text for all, by kind, by a function. An unknown tool always has a result.
#[tokio::test]
async fn error_handling_decides_the_text_for_the_model() {
    const ARGUMENTS: &str = "invalid arguments for `add`: `b` is missing: expected integer";
    const FAILURE: &str = "`broken` failed: the disk is full";
    let by_kind = |failure: &ToolFailure| match failure.kind {
        ToolFailureKind::Failed => Some(format!("{} is broken", failure.tool)),
        _ => None,
    };
    let rows: [(ToolErrorHandling, Option<&str>, Option<&str>); 6] = [
        (ToolErrorHandling::ReturnToModel, Some(ARGUMENTS), Some(FAILURE)),
        (ToolErrorHandling::Propagate, None, None),
        (ToolErrorHandling::Message("try again".into()), Some("try again"), Some("try again")),
        (ToolErrorHandling::Only(vec![ToolFailureKind::BadArguments]), Some(ARGUMENTS), None),
        (ToolErrorHandling::Only(vec![ToolFailureKind::Failed]), None, Some(FAILURE)),
        (ToolErrorHandling::from_fn(by_kind), None, Some("broken is broken")),
    ];
    for (errors, arguments, failure) in rows {
        let node = || ToolNode::new([add(), broken()]).error_handling(errors.clone());
        for (tool, args, expected, message) in
            [("add", json!({ "a": 1 }), arguments, ARGUMENTS), ("broken", json!({}), failure, FAILURE)]
        {
            let run = called(node(), &[(tool, args)]).await;
            match expected {
                Some(expected) => {
                    assert_eq!(answers(&run.unwrap().state.messages), [("c0".into(), expected.into(), false)])
                }
                None => {
                    let error = expect_error(run);
                    assert_eq!((error.code(), error.message()), (ErrorCode::ToolFailed, message), "{errors:?}");
                }
            }
        }
        let (text, went_well) = answer(node(), "gone", json!({})).await;
        assert_eq!((text.as_str(), went_well), ("unknown tool `gone`; known: `add`, `broken`", false), "{errors:?}");
    }
}

/// R-FWK-80: a tool result that is marked as an error counts as a failure.
#[tokio::test]
async fn a_tool_may_report_that_it_failed() {
    let fails = || tool_fn(ToolSpec::new("fails", "Fails."), async |(): (), _cx| ToolOutput::error("no luck"));
    assert_eq!(answer(ToolNode::new([fails()]), "fails", Value::Null).await, ("no luck".into(), false));
    let error = expect_error(
        called(ToolNode::new([fails()]).error_handling(ToolErrorHandling::Propagate), &[("fails", Value::Null)]).await,
    );
    assert_eq!((error.code(), error.message()), (ErrorCode::ToolFailed, "no luck"));
}

/// R-FWK-80: if a failure fails the node, the other calls end first, and their work is not repeated.
#[tokio::test]
async fn a_failure_that_is_passed_on_loses_no_other_result() {
    let (runs, attempts) = (Runs::default(), Arc::new(AtomicU32::new(0)));
    let flaky = tool_fn(ToolSpec::new("flaky", "Fails once."), move |(): (), _| {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        async move { if attempt == 0 { Err(ToolError::new("not yet")) } else { Ok("well") } }
    });
    let graph = graph(ToolNode::new([flaky, echo(&runs)]).error_handling(ToolErrorHandling::Propagate));
    let input = Chat::input().messages(call_message(&[("flaky", Value::Null), ("echo", text("once"))]));
    let error = expect_error(graph.invoke(input).thread("t").await);
    assert_eq!((error.message(), runs.count("echo")), ("`flaky` failed: not yet", 1));
    let done = graph.continue_thread("t").await.unwrap();
    let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!((texts, runs.count("echo")), (vec!["well".to_owned(), "once".to_owned()], 1));
}

/// Panics on a thread of its own.
#[tool(blocking, retries = 3)]
fn deep_bug(text: String) -> String {
    panic!("key {text}")
}

/// R-FWK-80: a panic fails its call only, and its message is not reported to the model.
#[tokio::test]
async fn a_panic_fails_its_call_only() {
    let bug =
        tool_fn(ToolSpec::new("bug", "Panics."), async |args: Text, _cx| -> String { panic!("key {}", args.text) });
    let calls = [("bug", text("s3cret")), ("add", json!({ "a": 1, "b": 2 }))];
    let done = called(ToolNode::new([bug.clone(), add()]), &calls).await.unwrap();
    assert_eq!(
        answers(&done.state.messages),
        [("c0".into(), "`bug` panicked".into(), false), ("c1".into(), "3".into(), true)]
    );
    let deep = called(ToolNode::new([deep_bug()]), &[("deep_bug", text("s3cret"))]).await.unwrap();
    assert_eq!(answers(&deep.state.messages), [("c0".into(), "`deep_bug` panicked".into(), false)]);
    let error =
        expect_error(called(ToolNode::new([bug]).error_handling(ToolErrorHandling::Propagate), &calls[..1]).await);
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("key s3cret"), "{error:?}");
}

/// R-FWK-78, R-FWK-80: a tool that hangs is stopped after its own timeout or that of the node, by the clock of the
/// run, and the model receives the error.
#[tokio::test]
async fn a_tool_that_hangs_is_stopped() {
    let hang = |spec: ToolSpec| tool_fn(spec, async |(): (), _cx| std::future::pending::<String>().await);
    let own = hang(ToolSpec::new("own", "Hangs.").timeout(Duration::from_secs(5)));
    let usual = hang(ToolSpec::new("usual", "Hangs."));
    let clock = ManualClock::new();
    let graph = graph(ToolNode::new([own, usual]));
    let input = Chat::input().messages(call_message(&[("usual", Value::Null), ("own", Value::Null)]));
    let run = tokio::spawn(graph.invoke(input).thread("t").clock(clock.clone()).into_future());
    for (sleepers, seconds) in [(2, 5), (1, 54), (1, 1)] {
        until(|| clock.sleepers() == sleepers).await;
        clock.advance(Duration::from_secs(seconds));
    }
    let done = run.await.unwrap().unwrap();
    assert_eq!(
        answers(&done.state.messages),
        [
            ("c0".into(), "`usual` exceeded its timeout of 60s and was cancelled".into(), false),
            ("c1".into(), "`own` exceeded its timeout of 5s and was cancelled".into(), false)
        ]
    );
}

/// R-FWK-78: a failed call is retried as often as the tool requests, with a growing delay; invalid arguments are not
/// tried at all.
#[tokio::test]
async fn a_failed_call_is_made_again() {
    for (retries, expected) in [(1, "`flaky` failed: try 2"), (2, "try 3")] {
        let attempts = Arc::new(AtomicU32::new(0));
        let seen = attempts.clone();
        let flaky = tool_fn(ToolSpec::new("flaky", "Fails twice.").retries(retries), move |(): (), _| {
            let attempt = seen.fetch_add(1, Ordering::SeqCst) + 1;
            async move { if attempt < 3 { Err(ToolError::new(format!("try {attempt}"))) } else { Ok("try 3") } }
        });
        let clock = ManualClock::new();
        let input = Chat::input().messages(call_message(&[("flaky", Value::Null)]));
        let run =
            tokio::spawn(graph(ToolNode::new([flaky])).invoke(input).thread("t").clock(clock.clone()).into_future());
        for attempt in 1..=retries {
            until(|| attempts.load(Ordering::SeqCst) == attempt && clock.sleepers() == 1).await;
            clock.advance(Duration::from_millis(500 << (attempt - 1)));
        }
        let done = run.await.unwrap().unwrap();
        assert_eq!(done.state.messages.last().unwrap().text(), expected);
        assert_eq!(attempts.load(Ordering::SeqCst), retries + 1);
    }
}

/// R-FWK-80: a run that is cancelled inside a tool is cancelled, whatever the configuration.
#[tokio::test]
async fn a_cancelled_run_is_not_reported_to_the_model() {
    let stops = tool_fn(ToolSpec::new("stops", "Stops."), async |(): (), _cx| {
        Err::<(), Error>(Error::new(ErrorCode::Cancelled, "somebody stopped it"))
    });
    let error = expect_error(called(ToolNode::new([stops]), &[("stops", Value::Null)]).await);
    assert_eq!(error.code(), ErrorCode::Cancelled);
}

/// R-FWK-80: a heartbeat of a tool counts for the node that runs it.
#[tokio::test]
async fn a_tool_keeps_its_node_alive() {
    let heartbeats = Arc::new(AtomicU32::new(0));
    let seen = heartbeats.clone();
    let slow = tool_fn(ToolSpec::new("slow", "Takes its time."), move |(): (), cx: superstep::tools::ToolContext| {
        let heartbeats = seen.clone();
        async move {
            let cx: TaskContext = cx.get()?;
            for _ in 0..3 {
                cx.heartbeat();
                heartbeats.fetch_add(1, Ordering::SeqCst);
                cx.sleep(Duration::from_secs(8)).await;
            }
            Ok::<_, ToolError>("there")
        }
    });
    let mut g = StateGraph::<Chat>::new("chat");
    let idle = superstep::TimeoutPolicy::idle_timeout(Duration::from_secs(10));
    let tools = g.add_node("tools", superstep::node(ToolNode::new([slow])).timeout(idle));
    g.add_edge(START, tools).add_edge(tools, END);
    let clock = ManualClock::new();
    let input = Chat::input().messages(call_message(&[("slow", Value::Null)]));
    let run = tokio::spawn(g.compile().unwrap().invoke(input).clock(clock.clone()).into_future());
    for number in 1..=3 {
        until(|| heartbeats.load(Ordering::SeqCst) == number && clock.sleepers() == 3).await;
        clock.advance(Duration::from_secs(8));
    }
    assert_eq!(run.await.unwrap().unwrap().state.messages.last().unwrap().text(), "there");
}
