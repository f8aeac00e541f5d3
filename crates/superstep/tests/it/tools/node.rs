//! The tool node: executed calls, and tool messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::message::{ContentPart, Role, ToolCall, ToolStatus};
use superstep::core::tool::ToolSpec;
use superstep::prelude::*;
use superstep::tools::{SharedTool, ToolSet, ToolSource, ensure_tool_results, has_pending_tool_calls, tool_fn};
use superstep::{DynamicState, ErrorCode, Result, Schema};
use tokio::sync::Barrier;

use super::{Chat, Runs, Text, add, answer, answers, call_message, called, echo, graph, text};
use crate::support::expect_error;

/// R-FWK-79, R-REF-146 (case 146): all calls run concurrently, and have results in their order; the result for an
/// unknown tool lists the available ones.
#[tokio::test]
async fn calls_run_at_once_and_are_answered_in_order() {
    // Each waits for both: one after the other, neither would end.
    let both = Arc::new(Barrier::new(2));
    let wait = |name: &str| {
        let both = both.clone();
        tool_fn(ToolSpec::new(name, "Waits."), move |args: Text, _| {
            let both = both.clone();
            async move {
                both.wait().await;
                args.text
            }
        })
    };
    let node = ToolNode::new([wait("slow"), wait("fast")]);
    let done = called(node, &[("slow", text("1")), ("fats", text("x")), ("fast", text("2"))]).await.unwrap();
    let row = |call: &str, text: &str, went_well| (call.to_owned(), text.to_owned(), went_well);
    let unknown = "unknown tool `fats`; did you mean `fast`? known: `fast`, `slow`";
    let expected = [row("c0", "1", true), row("c1", unknown, false), row("c2", "2", true)];
    assert_eq!(answers(&done.state.messages), expected);
}

/// R-FWK-79: at most the configured number of calls runs concurrently, and all of them run.
#[tokio::test]
async fn no_more_run_at_once_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let count = tool_fn(ToolSpec::new("count", "Counts."), move |(): (), _| {
        let (now, most) = (now.clone(), seen.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
        }
    });
    let calls = vec![("count", Value::Null); 7];
    let done = called(ToolNode::new([count]).max_concurrency(2), &calls).await.unwrap();
    assert_eq!((answers(&done.state.messages).len(), most.load(Ordering::SeqCst)), (7, 2));
}

/// R-FWK-79: only calls of the last model message without a result run.
#[tokio::test]
async fn only_open_calls_of_the_last_message_are_made() {
    let runs = Runs::default();
    let graph = graph(ToolNode::new([echo(&runs)]));
    let old = Message::assistant("").with_tool_calls([ToolCall::new("old", "echo", text("old"))]);
    let history = vec![
        old,
        Message::user("never mind"),
        call_message(&[("echo", text("1")), ("echo", text("2"))]),
        Message::tool("c0", "by hand"),
    ];
    let done = graph.invoke(Chat::input().messages(history)).thread("t").await.unwrap();
    let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!((texts, runs.count("echo")), (vec!["by hand".to_owned(), "2".to_owned()], 1));
    assert!(!has_pending_tool_calls(&done.state.messages));
    let second = graph.invoke(Chat::input().log("again")).thread("t").await.unwrap();
    assert_eq!((second.state.messages.len(), runs.count("echo")), (5, 1));
    let error = expect_error(graph.invoke(Chat::input().messages("hi")).thread("u").await);
    assert_eq!(error.code(), ErrorCode::InvalidRoute, "{error}");
}

/// R-FWK-79: another field may hold the messages, of a struct or of a state declared at run time; if it is missing,
/// the error names it.
#[tokio::test]
async fn messages_may_be_in_another_field_of_any_state() {
    let schema =
        Schema::from_json("state", &json!({ "talk": { "type": "messages", "reducer": "add_messages" } })).unwrap();
    for (node, is_there) in [(ToolNode::new([add()]).messages_field("talk"), true), (ToolNode::new([add()]), false)] {
        let mut g = StateGraph::<DynamicState>::with_schema("talk", schema.clone());
        let tools = g.add_node("tools", node);
        g.add_edge(START, tools).add_edge(tools, END);
        let run =
            g.compile().unwrap().invoke(json!({ "talk": call_message(&[("add", json!({ "a": 1, "b": 2 }))]) })).await;
        match is_there {
            true => assert_eq!(run.unwrap().state.messages("talk").unwrap().last().unwrap().text(), "3"),
            false => {
                let error = expect_error(run);
                assert_eq!(error.code(), ErrorCode::UnknownField, "{error}");
                assert!(error.message().contains("`messages`"), "{error}");
            }
        }
    }
}

/// R-FWK-79: a result contains its tool and its duration, and keeps the artifact for the application next to the
/// content for the model.
#[tokio::test]
async fn a_tool_result_contains_tool_and_duration() {
    let weigh = tool_fn(ToolSpec::new("weigh", "Weighs."), async |(): (), _cx| {
        ToolOutput::new("2 kg").with_artifact(json!({ "grams": 2003 }))
    });
    let done = called(ToolNode::new([weigh]), &[("weigh", Value::Null)]).await.unwrap();
    let message = done.state.messages.last().unwrap();
    assert_eq!(
        (message.role, message.name.as_deref(), message.status),
        (Role::Tool, Some("weigh"), ToolStatus::Success)
    );
    assert_eq!(
        (&message.metadata["tool"], &message.metadata["artifact"]),
        (&json!("weigh"), &json!({ "grams": 2003 }))
    );
    assert!(message.metadata["duration_ms"].is_u64() && message.id.is_some());
}

/// R-FWK-79: ten megabytes of output do not reach the state: text is truncated with a note, and a part that is not
/// text and does not fit is removed.
#[tokio::test]
async fn a_long_output_is_cut() {
    let long = tool_fn(ToolSpec::new("long", "Talks."), async |(): (), _cx| "é".repeat(5_000_000));
    let done = called(ToolNode::new([long]), &[("long", Value::Null)]).await.unwrap();
    let message = done.state.messages.last().unwrap();
    assert!(message.text().len() < 262_300, "{}", message.text().len());
    assert!(message.text().ends_with("\n[truncated: 9737856 of 10000000 bytes omitted]"));
    assert_eq!(message.metadata["cut_from_bytes"], 10_000_000);
    let talk = tool_fn(ToolSpec::new("talk", "Talks."), async |(): (), _cx| {
        ToolOutput::new("x".repeat(300_000)).with_artifact(json!("y".repeat(300_000)))
    });
    for (bytes, is_whole) in [(400_000, true), (100_000, false)] {
        let node = ToolNode::new([talk.clone()]).max_result_bytes(bytes);
        let done = called(node, &[("talk", Value::Null)]).await.unwrap();
        let message = done.state.messages.last().unwrap();
        assert_eq!(message.text().len() == 300_000, is_whole, "{bytes}");
        assert_eq!(message.metadata.contains_key("cut_from_bytes"), !is_whole);
        assert_eq!(message.metadata["artifact"].is_string(), is_whole);
    }
    let parts = tool_fn(ToolSpec::new("parts", "Shows."), async |(): (), _cx| {
        let picture =
            ContentPart::from(json!({ "type": "image", "base64": "A".repeat(300_000), "mime_type": "image/png" }));
        ToolOutput::new(vec![ContentPart::text("see"), picture, ContentPart::text("end")])
    });
    let done = called(ToolNode::new([parts]), &[("parts", Value::Null)]).await.unwrap();
    let output = done.state.messages.last().unwrap().text().into_owned();
    assert!(output.starts_with("see[omitted: a part of 300") && output.len() < 100, "{output}");
}

/// R-FWK-81: arguments longer than 256 KiB, or not an object, do not reach a tool; missing arguments are valid if
/// none are required.
#[tokio::test]
async fn arguments_are_an_object_of_some_size() {
    let runs = Runs::default();
    let node = || ToolNode::new([echo(&runs)]);
    let (output, went_well) = answer(node(), "echo", text(&"x".repeat(300_000))).await;
    assert!(!went_well && output.contains("bytes; the maximum is 262144"), "{output}");
    for args in [json!("{\"text\": "), json!([1]), json!(7)] {
        let (output, went_well) = answer(node(), "echo", args).await;
        assert!(!went_well && output.starts_with("invalid arguments for `echo`: "), "{output}");
    }
    assert_eq!(runs.count("echo"), 0);
    for args in [Value::Null, json!(""), json!({})] {
        let ping = tool_fn(ToolSpec::new("ping", "Answers."), async |(): (), _cx| "pong");
        assert_eq!(answer(ToolNode::new([ping]), "ping", args).await, ("pong".to_owned(), true));
    }
}

struct Server(Arc<std::sync::Mutex<Vec<SharedTool>>>);

impl ToolSource for Server {
    async fn list(&self) -> Result<Vec<SharedTool>> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// R-FWK-85: tools of a source are listed whenever they are needed: a tool that is added later is available without a
/// new graph.
#[tokio::test]
async fn tools_of_a_source_are_looked_up_each_time() {
    let served = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tools = ToolSet::new([add()]).unwrap().source(Server(served.clone()));
    let graph = graph(ToolNode::new(tools.clone()));
    let run = async |thread: &str| {
        let done = graph.invoke(Chat::input().messages(call_message(&[("echo", text("hi"))]))).thread(thread).await;
        done.map(|done| done.state.messages.last().unwrap().text().into_owned())
    };
    assert_eq!(run("a").await.unwrap(), "unknown tool `echo`; known: `add`");
    served.lock().unwrap().push(echo(&Runs::default()));
    assert_eq!(run("b").await.unwrap(), "hi");
    let names: Vec<_> = tools.specs().await.unwrap().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(names, ["add", "echo"]);
    served.lock().unwrap().push(add());
    assert_eq!(expect_error(run("c").await).message(), "duplicate tool name `add`");
    assert!(ToolSet::new([add(), add()]).is_err());
}

/// R-REF-150 (case 150): a history with a call without a result is rejected, by name, before a model is called.
#[tokio::test]
async fn a_history_with_open_calls_is_rejected_before_the_model() {
    let runs = Runs::default();
    let counted = runs.clone();
    let mut g = StateGraph::<Chat>::new("chat");
    let model = g.add_node("model", move |chat: View<Chat>| {
        ensure_tool_results(&chat.messages)?;
        counted.note("model");
        Ok::<_, NodeError>(Chat::update().messages(Message::assistant("fine")))
    });
    g.add_edge(START, model).add_edge(model, END);
    let graph = g.compile().unwrap();
    let open =
        vec![call_message(&[("add", json!({})), ("echo", json!({}))]), Message::tool("c0", "1"), Message::user("and?")];
    let error = expect_error(graph.invoke(Chat::input().messages(open)).await);
    assert_eq!(error.message(), "tool calls without a result: `c1` of `echo`");
    assert_eq!(runs.count("model"), 0);
    let complete = vec![call_message(&[("add", json!({}))]), Message::tool("c0", "1")];
    graph.invoke(Chat::input().messages(complete)).await.unwrap();
    assert_eq!(runs.count("model"), 1);
}
