//! Third-party servers in TypeScript and Python, downloaded once (see `superstep_cluster::McpServers`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use superstep_adapters::mcp::McpClient;
use superstep_cluster::McpServers;
use superstep_core::message::{Content, ContentPart};
use superstep_core::tool::ToolOutput;

use super::{RecordedProgress, argument, call, names, text, tool};

fn servers() -> McpServers {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    McpServers::install(target.join("mcp-servers")).unwrap()
}

async fn start(program: &Path, args: &[&str]) -> McpClient {
    McpClient::stdio(program, args.iter().copied(), [("GIVEN", "yes")]).connect().await.unwrap()
}

async fn everything() -> McpClient {
    start(&servers().everything(), &[]).await
}

async fn call_tool(client: &McpClient, name: &str, args: Value) -> ToolOutput {
    tool(client, name).await.call(call(args)).await.unwrap()
}

fn parts(output: ToolOutput) -> Vec<ContentPart> {
    match output.content.unwrap() {
        Content::Parts(parts) => parts,
        Content::Text(text) => panic!("only the text {text}"),
    }
}

/// R-FWK-82, R-FWK-84: the tools of `server-everything` are listed and called over standard input and output.
#[tokio::test]
async fn tools_of_everything_are_called() {
    let client = everything().await;
    assert!(names(&client).await.len() >= 12);
    let echo = tool(&client, "echo").await;
    assert!(echo.spec().annotations.read_only && echo.spec().input_schema["properties"]["message"].is_object());
    assert_eq!(text(&call_tool(&client, "echo", json!({"message": "hi"})).await), "Echo: hi");
    assert!(text(&call_tool(&client, "get-sum", json!({"a": 2, "b": 40})).await).contains("42"));
    let invalid = call_tool(&client, "echo", json!({})).await;
    assert!(invalid.is_error && text(&invalid).contains("message"));
}

/// R-FWK-82: images, links, resources and structured content of `server-everything` are kept, and its texts are for
/// the model.
#[tokio::test]
async fn content_of_everything_is_preserved() {
    let client = everything().await;
    let image = call_tool(&client, "get-tiny-image", json!({})).await;
    assert!(text(&image).starts_with("Here's the image you requested:"));
    assert!(matches!(&parts(image)[1], ContentPart::Image(media) if media.mime_type.as_deref() == Some("image/png")));
    let links = parts(call_tool(&client, "get-resource-links", json!({"count": 2})).await);
    assert!(matches!(&links[1], ContentPart::Other(link) if link["type"] == "resource_link"), "{links:?}");
    let reference =
        call_tool(&client, "get-resource-reference", json!({"resourceType": "Blob", "resourceId": 1})).await;
    assert!(matches!(&parts(reference)[1], ContentPart::File(_)));
    let weather = call_tool(&client, "get-structured-content", json!({"location": "New York"})).await;
    assert_eq!(weather.artifact.as_ref().unwrap(), &serde_json::from_str::<Value>(&text(&weather)).unwrap());
}

/// R-FWK-82: progress of `server-everything` is received.
#[tokio::test]
async fn progress_of_everything_is_received() {
    let (client, progress) = (everything().await, RecordedProgress::default());
    let mut call = call(json!({"duration": 0.2, "steps": 2}));
    call.progress = progress.progress();
    tool(&client, "trigger-long-running-operation").await.call(call).await.unwrap();
    assert_eq!(progress.all(), [json!({"progress": 1, "total": 2}), json!({"progress": 2, "total": 2})]);
}

/// R-FWK-82: resources and prompts of `server-everything` are read.
#[tokio::test]
async fn resources_and_prompts_of_everything_are_read() {
    let client = everything().await;
    let resources = client.resources().await.unwrap();
    let features = resources.iter().find(|resource| resource.name == "features.md").unwrap();
    let read = client.read_resource(&features.uri).await.unwrap();
    assert!(matches!(&read[0], ContentPart::Text { text, .. } if text.contains("echo")));
    let prompts = client.prompts().await.unwrap();
    let prompt = prompts.iter().find(|prompt| prompt.name == "args-prompt").unwrap();
    assert!(prompt.arguments[0].name == "city" && prompt.arguments[0].is_required);
    let messages = client.prompt("args-prompt", argument("city", "Lyon")).await.unwrap();
    assert!(messages[0].text().contains("Lyon"), "{messages:?}");
}

/// R-FWK-84: a third-party program inherits only the variables that every program needs.
#[tokio::test]
async fn a_server_program_inherits_only_necessary_variables() {
    let environment: Value =
        serde_json::from_str(&text(&call_tool(&everything().await, "get-env", json!({})).await)).unwrap();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && environment["CARGO_MANIFEST_DIR"].is_null());
    assert_eq!(environment["GIVEN"], "yes");
}

/// R-FWK-82: `server-filesystem` writes and reads only in its folder, and its hints become annotations.
#[tokio::test]
async fn files_are_written_and_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-files");
    fs::create_dir_all(&folder).unwrap();
    let (folder, servers) = (folder.canonicalize().unwrap(), servers());
    let client = start(&servers.filesystem(), &[folder.to_str().unwrap()]).await;
    let write = tool(&client, "write_file").await.spec().annotations;
    assert!(write.destructive && write.idempotent && !write.read_only);
    assert!(tool(&client, "read_text_file").await.spec().annotations.read_only);
    let path = folder.join("note.txt");
    call_tool(&client, "write_file", json!({"path": path, "content": "remember"})).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "remember");
    assert_eq!(text(&call_tool(&client, "read_text_file", json!({"path": path})).await), "remember");
    let outside = call_tool(&client, "read_text_file", json!({"path": "/etc/hostname"})).await;
    assert!(outside.is_error && text(&outside).contains("Access denied"));
    assert!(client.prompts().await.unwrap().is_empty());
}

/// R-FWK-82: `mcp-server-time`, in Python, converts times and reports unknown zones.
#[tokio::test]
async fn times_are_converted() {
    let client = start(&servers().time(), &[]).await;
    let args = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let output = call_tool(&client, "convert_time", args).await;
    assert!(output.artifact.unwrap()["target"]["datetime"].as_str().unwrap().contains("T21:00:00+09:00"));
    let unknown = call_tool(&client, "get_current_time", json!({"timezone": "Mars/Base"})).await;
    assert!(unknown.is_error && text(&unknown).contains("Mars/Base"));
}
