//! A client and a server in one process.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep_adapters::mcp::{McpServer, Prompt, Resource, connect_in_process};
use superstep_core::error::ErrorCode;
use superstep_core::message::{ContentPart, Media, Message, Role};
use superstep_core::port::{SharedTool, Tool, ToolInvocation};
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use super::{RecordedProgress, argument, call, call_first_tool, names, scripted_tool, server, soon, text};

/// R-FWK-82, R-FWK-83, R-FWK-84: a tool is listed and called over an in-process connection.
#[tokio::test]
async fn a_tool_is_listed_and_called() {
    let client = connect_in_process(&server()).await.unwrap();
    let tools = client.tools().await.unwrap();
    let spec = tools[0].spec();
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("puppet", "Does as it is told."));
    assert_eq!(spec.input_schema["required"], json!(["do"]));
    let annotations = spec.annotations;
    assert!(!annotations.read_only && annotations.idempotent && annotations.destructive);
    let output = tools[0].call(call(json!({"do": "say", "with": "hello"}))).await.unwrap();
    assert_eq!(text(&output), "hello");
    assert!(!output.is_error && output.metadata["mcp_server"] == "theatre");
}

/// R-FWK-82, R-FWK-83: structured content becomes an artifact, which the model does not see.
#[tokio::test]
async fn structured_content_is_an_artifact() {
    let client = connect_in_process(&server()).await.unwrap();
    let output = call_first_tool(&client, json!({"do": "structure", "with": {"a": [1]}})).await.unwrap();
    assert_eq!((text(&output).as_str(), output.artifact), ("see the structure", Some(json!({"a": [1]}))));
}

/// R-FWK-82, R-FWK-83: any error of a tool is an error result, and the server keeps running.
#[tokio::test]
async fn tool_failures_are_error_results() {
    let client = connect_in_process(&server()).await.unwrap();
    for (args, expected) in [
        (json!({"do": "complain"}), "that did not work"),
        (json!({"do": "fail"}), "no such street"),
        (json!({"do": "panic"}), "the tool panicked"),
        (json!({}), "- /: missing \"do\""),
        (json!({"do": 7}), "- /do: expected string, found integer"),
        (json!({"do": "say", "more": 1}), "more"),
        (json!({"do": "say", "with": "x".repeat(300_000)}), "the maximum is 262144"),
    ] {
        let output = call_first_tool(&client, args).await.unwrap();
        assert!(output.is_error && text(&output).contains(expected), "{expected}: {}", text(&output));
    }
    assert_eq!(
        text(&call_first_tool(&client, json!({"do": "say", "with": "still here"})).await.unwrap()),
        "still here"
    );
}

/// R-FWK-82: a call of a removed tool results in an error with its name.
#[tokio::test]
async fn an_unknown_tool_is_an_error() {
    let server = server();
    let client = connect_in_process(&server).await.unwrap();
    let tools = client.tools().await.unwrap();
    assert!(server.remove_tool("puppet").await && !server.remove_tool("puppet").await);
    let error = tools[0].call(call(json!({"do": "say"}))).await.unwrap_err();
    assert_eq!(error.message, "the MCP server `theatre` returned an error: unknown tool `puppet`");
    assert!(!error.retryable);
}

/// R-FWK-82, R-FWK-83: all progress of a tool arrives in order and before its result.
#[tokio::test(flavor = "multi_thread")]
async fn progress_arrives_in_order() {
    let client = connect_in_process(&server()).await.unwrap();
    let tools = client.tools().await.unwrap();
    for _ in 0..20 {
        let (progress, steps) =
            (RecordedProgress::default(), json!([1, 2.5, {"progress": 3, "total": 4, "message": "nearly"}, "there"]));
        let mut call = call(json!({"do": "step", "with": steps}));
        call.progress = progress.progress();
        assert_eq!(text(&tools[0].call(call).await.unwrap()), "done");
        let expected = [
            json!({"progress": 1}),
            json!({"progress": 2.5}),
            json!({"progress": 3, "total": 4, "message": "nearly"}),
            json!({"progress": 4, "message": "there"}),
        ];
        assert_eq!(progress.all(), expected);
    }
}

/// R-FWK-82, R-FWK-83: a call whose future is dropped is cancelled at the server.
#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let (tool, mut lifecycle) = scripted_tool("puppet");
    let client = connect_in_process(&McpServer::new("theatre", "1.0").tools([tool])).await.unwrap();
    let tools = client.tools().await.unwrap();
    let mut hanging = Box::pin(tools[0].call(call(json!({"do": "hang"}))));
    tokio::select! {
        _ = &mut hanging => panic!("it never ends"),
        event = lifecycle.recv() => assert_eq!(event, Some("begun")),
    }
    drop(hanging);
    assert_eq!(soon(lifecycle.recv()).await, Some("let go"));
    assert_eq!(text(&call_first_tool(&client, json!({"do": "say", "with": "next"})).await.unwrap()), "next");
}

/// R-FWK-82: a call without a response for a minute is given up and cancelled at the server.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_response_is_cancelled() {
    let (tool, mut lifecycle) = scripted_tool("puppet");
    let client = connect_in_process(&McpServer::new("theatre", "1.0").tools([tool])).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = call_first_tool(&client, json!({"do": "hang"})).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 60);
    assert_eq!(error.message, "the MCP server `theatre` did not respond to `tools/call` within 60 s");
    let cause = error.cause.unwrap();
    assert_eq!(cause.downcast_ref::<superstep_core::error::Error>().unwrap().code(), ErrorCode::Timeout);
    assert_eq!((lifecycle.recv().await, lifecycle.recv().await), (Some("begun"), Some("let go")));
}

/// R-FWK-83: the timeout of a tool applies to MCP clients.
#[tokio::test(start_paused = true)]
async fn a_tool_with_a_limit_is_stopped_at_it() {
    let (tool, _lifecycle) = scripted_tool("puppet");
    let spec = ToolSpec::clone(tool.spec()).timeout(std::time::Duration::from_secs(3));
    let client = connect_in_process(&McpServer::new("theatre", "1.0").tools([tool.with_spec(spec)])).await.unwrap();
    let output = call_first_tool(&client, json!({"do": "hang"})).await.unwrap();
    assert!(output.is_error && text(&output) == "the tool timed out after 3 s", "{}", text(&output));
}

/// R-FWK-85: a tool added later is visible in listings and in tool sources.
#[tokio::test]
async fn a_tool_added_later_is_seen() {
    let server = server();
    let client = connect_in_process(&server).await.unwrap();
    let source = client.tool_source();
    let before = source.tools().await.unwrap();
    // Nothing has changed, so no request is sent.
    assert!(Arc::ptr_eq(before[0].spec(), source.tools().await.unwrap()[0].spec()));
    server.add_tool(scripted_tool("second").0).await.unwrap();
    assert_eq!(names(&client).await, ["puppet", "second"]);
    let after = source.tools().await.unwrap();
    assert_eq!(after.len(), 2);
    assert_eq!(text(&after[1].call(call(json!({"do": "say", "with": 1}))).await.unwrap()), "1");
    let error = server.add_tool(scripted_tool("second").0).await.unwrap_err();
    assert!(error.to_string().contains("duplicate tool `second`"), "{error}");
}

/// R-FWK-85: with a pinned list, another list is rejected until it is approved; this includes calls of tools listed
/// before.
#[tokio::test]
async fn a_pinned_list_that_changed_is_rejected() {
    let server = server();
    let client = connect_in_process(&server).await.unwrap();
    let hash = client.tools_hash().await.unwrap();
    let pinned = client.clone().pin_tools(&hash);
    let tools = pinned.tools().await.unwrap();
    assert_eq!(text(&tools[0].call(call(json!({"do": "say", "with": 1}))).await.unwrap()), "1");

    server.add_tool(scripted_tool("second").0).await.unwrap();
    let error = pinned.tools().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PolicyRefused);
    let new_hash = client.tools_hash().await.unwrap();
    assert!(new_hash != hash && error.help().unwrap().contains(&new_hash), "{error}");
    let error = tools[0].call(call(json!({"do": "say", "with": 1}))).await.unwrap_err();
    assert_eq!(error.message, "the tools of the MCP server `theatre` differ from the pinned list");

    assert_eq!(client.clone().pin_tools(new_hash).tools().await.unwrap().len(), 2);
    // An approved list is accepted again.
    server.remove_tool("second").await;
    assert!(tools[0].call(call(json!({"do": "say", "with": 1}))).await.is_ok());
}

/// R-FWK-82, R-FWK-83: lists are read page by page to their end.
#[tokio::test]
async fn long_lists_are_paginated() {
    let tools = ["a", "b", "c", "d", "e"].map(|name| scripted_tool(name).0);
    let mut server = McpServer::new("theatre", "1.0").tools(tools).page_size(2);
    for number in 0..4 {
        let resource = Resource::new(format!("memo:{number}"), "memo");
        server = server.resource(resource, || async { Ok(Vec::new()) });
        server = server.prompt(Prompt::new(format!("p{number}")), |_| async { Ok(Vec::new()) });
    }
    let client = connect_in_process(&server).await.unwrap();
    assert_eq!(names(&client).await, ["a", "b", "c", "d", "e"]);
    assert_eq!(client.resources().await.unwrap().len(), 4);
    assert_eq!(client.prompts().await.unwrap().len(), 4);
}

/// R-FWK-82: resources are listed and read.
#[tokio::test]
async fn resources_are_listed_and_read() {
    let memo = Resource::new("memo:1", "memo").with_description("What was said.").with_mime_type("text/markdown");
    let parts = vec![ContentPart::text("# said"), ContentPart::File(Media::base64("AA==", "application/zip"))];
    let server = server().resource(memo.clone(), move || {
        let parts = parts.clone();
        async move { Ok(parts) }
    });
    let client = connect_in_process(&server).await.unwrap();
    assert_eq!(client.resources().await.unwrap(), [memo]);
    let read = client.read_resource("memo:1").await.unwrap();
    let ContentPart::Text { text, extra } = &read[0] else { panic!("{read:?}") };
    assert_eq!(
        (text.as_str(), &extra["uri"], &extra["mime_type"]),
        ("# said", &json!("memo:1"), &json!("text/markdown"))
    );
    let ContentPart::File(file) = &read[1] else { panic!("{read:?}") };
    assert_eq!(file.mime_type.as_deref(), Some("application/zip"));
    let error = client.read_resource("memo:2").await.unwrap_err();
    assert!(error.message().contains("unknown resource `memo:2`") && error.code() == ErrorCode::ToolFailed, "{error}");
}

/// R-FWK-82: prompts are listed and become messages.
#[tokio::test]
async fn prompts_become_messages() {
    let prompt = Prompt::new("greet").with_description("Greets.").requires("name").accepts("tone");
    let server = server().prompt(prompt.clone(), |args| async move {
        let name = args["name"].as_str().unwrap_or_default().to_owned();
        Ok(vec![Message::user(format!("Greet {name}.")), Message::assistant("Gladly.")])
    });
    let client = connect_in_process(&server).await.unwrap();
    assert_eq!(client.prompts().await.unwrap(), [prompt]);
    let messages = client.prompt("greet", argument("name", "Ada")).await.unwrap();
    assert_eq!(messages[0].text(), "Greet Ada.");
    assert_eq!((messages[1].role, messages[1].text().as_ref()), (Role::Assistant, "Gladly."));
    let error = client.prompt("greet", argument("tone", "warm")).await.unwrap_err();
    assert!(error.message().contains("the prompt `greet` requires the argument `name`"), "{error}");
}

/// R-FWK-82: a server without resources and prompts has empty lists.
#[tokio::test]
async fn a_server_without_resources_has_empty_lists() {
    let client = connect_in_process(&server()).await.unwrap();
    assert!(client.resources().await.unwrap().is_empty() && client.prompts().await.unwrap().is_empty());
}

/// R-FWK-84: separate connections for each run and a shared one work concurrently.
#[tokio::test(flavor = "multi_thread")]
async fn a_pair_for_each_run_and_a_shared_one_work_at_once() {
    let server = server();
    let shared = connect_in_process(&server).await.unwrap();
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (server, shared) = (server.clone(), shared.clone());
        runs.spawn(async move {
            let client = if number % 2 == 0 { shared } else { connect_in_process(&server).await.unwrap() };
            let progress = RecordedProgress::default();
            let mut call = call(json!({"do": "step", "with": [number + 1]}));
            call.progress = progress.progress();
            client.tools().await.unwrap()[0].call(call).await.unwrap();
            assert_eq!(progress.all(), [json!({"progress": number + 1})]);
            let output = call_first_tool(&client, json!({"do": "say", "with": number})).await.unwrap();
            assert_eq!(text(&output), number.to_string());
        });
    }
    soon(runs.join_all()).await;
}

/// R-FWK-83: a server with duplicate tool names or invalid schemas does not serve.
#[tokio::test]
async fn tools_that_cannot_be_offered_are_all_listed() {
    let (tool, _lifecycle) = scripted_tool("odd");
    let odd = tool.clone().with_spec(ToolSpec::new("odd", "").with_input_schema(json!({"type": 7})));
    let error = connect_in_process(&McpServer::new("s", "1").tools([scripted_tool("a").0, scripted_tool("a").0, odd]))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    assert!(error.to_string().contains("duplicate tool `a`") && error.to_string().contains("`odd`"), "{error}");
}

/// A compiled graph as a tool.
struct Shout(superstep::CompiledGraph<Phrase>);

#[derive(Clone, GraphState)]
struct Phrase {
    words: String,
}

async fn louder(phrase: View<Phrase>) -> PhraseUpdate {
    Phrase::update().words(phrase.words.to_uppercase())
}

impl Tool for Shout {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]});
        ToolSpec::new("shout", "Says it louder.").with_input_schema(schema).read_only()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let words = call.args["words"].as_str().unwrap_or_default().to_owned();
        let outcome = self.0.invoke(Phrase::input().words(words)).await?;
        Ok(outcome.state.words.clone().into())
    }
}

/// R-FWK-83: a compiled graph is a tool like any other.
#[tokio::test]
async fn a_graph_is_offered_as_a_tool() {
    let mut graph = StateGraph::<Phrase>::new("shout");
    let louder = graph.add_node("louder", louder);
    graph.add_sequence([START, louder.into(), END]);
    let shout = SharedTool::from(Shout(graph.compile().unwrap()));
    let client = connect_in_process(&McpServer::new("voices", "1.0").tools([shout])).await.unwrap();
    let output = call_first_tool(&client, json!({"words": "hear me"})).await.unwrap();
    assert_eq!(text(&output), "HEAR ME");
    let output = call_first_tool(&client, Value::Object(argument("word", "x"))).await.unwrap();
    assert!(output.is_error);
}
