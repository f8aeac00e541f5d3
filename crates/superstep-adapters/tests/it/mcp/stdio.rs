//! Servers as child processes: start, end, and the behavior of a client whose server misbehaves.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use superstep_adapters::mcp::{McpClient, StdioServerCommand};
use superstep_core::error::ErrorCode;
use superstep_core::message::{Content, ContentPart};

use super::{call, call_first_tool, server, soon, text};

/// A server that implements the protocol and misbehaves according to its argument.
const SCRIPT: &str = r#"
import json, os, sys
how = sys.argv[1]
def say(value):
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
    sys.stdout.flush()
if how == "dies":
    sys.exit("no configuration")
if how == "babbles":
    say("Welcome to my server!")
    say("[1, 2")
    say("")
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    def answer(result):
        say({"jsonrpc": "2.0", "id": request["id"], "result": result})
    method = request["method"]
    if method == "initialize":
        answer({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list" and how == "endless":
        answer({"tools": [], "nextCursor": "again"})
    elif method == "tools/list" and how == "lists_nonsense":
        answer({"tools": [{"title": "no name"}]})
    elif method == "tools/list" and how == "twins":
        answer({"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["a.b", "a/b"]]})
    elif method == "tools/list":
        answer({"tools": [{"name": "act", "inputSchema": {"type": "object"}}]})
    elif how == "exits":
        sys.stderr.write("out of \x1b[31mmemory\n")
        sys.stderr.flush()
        os._exit(3)
    elif how == "answers_nonsense":
        answer({"weather": "fine"})
    elif how == "refuses":
        say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "not today"}})
    elif how == "floods":
        answer({"content": [{"type": "text", "text": "x" * (17 << 20)}]})
    elif how == "says_much":
        answer({"content": [{"type": "text", "text": "x" * (2 << 20)}]})
    elif how == "invents":
        answer({"content": [{"type": "text", "text": "look"}, {"type": "hologram", "depth": 3}], "isError": True})
    elif how == "structures":
        answer({"structuredContent": {"a": 1}})
    else:
        answer({"content": [{"type": "text", "text": json.dumps([os.getpid(), sorted(os.environ), os.getcwd()])}]})
"#;

fn program(behavior: &str) -> StdioServerCommand {
    McpClient::stdio("python3", ["-c", SCRIPT, behavior], [("GIVEN", "yes")])
}

async fn start(behavior: &str) -> McpClient {
    program(behavior).connect().await.unwrap()
}

/// R-FWK-84: a program gets only the given environment, and ends with its client.
#[tokio::test]
async fn a_program_gets_only_the_configured_environment_and_ends_with_its_client() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let client = program("behaves").working_dir(&folder).connect().await.unwrap();
    let tools = client.tools().await.unwrap();
    let output = tools[0].call(call(json!({}))).await.unwrap();
    let (pid, names, directory): (u32, Vec<String>, String) = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(Path::new(&directory), folder);
    let has = |name: &str| names.iter().any(|other| other == name);
    // Cargo sets this variable for the tests.
    assert!(has("GIVEN") && has("PATH") && std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!has("CARGO_MANIFEST_DIR"), "{names:?}");
    drop(client);
    assert!(tools[0].call(call(json!({}))).await.is_ok(), "the connection was closed although a tool still uses it");
    drop(tools);
    soon(async {
        while Path::new(&format!("/proc/{pid}")).exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// R-FWK-82: a server that exits during a call is a failed tool, with the end of its standard error; so is every
/// later call.
#[tokio::test]
async fn a_server_exit_fails_calls_with_its_last_output() {
    let client = start("exits").await;
    let tools = client.tools().await.unwrap();
    let message = "the MCP server `python3` is disconnected; it ended with exit status: 3; \
                standard error: out of \u{fffd}[31mmemory";
    for _ in 0..2 {
        let error = soon(tools[0].call(call(json!({})))).await.unwrap_err();
        assert_eq!((error.message.as_str(), error.retryable), (message, false));
    }
    let error = client.tools().await.unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::ToolFailed, message));
}

/// R-FWK-82: the error of a server that exits before its first response contains the reason.
#[tokio::test]
async fn a_server_that_exits_at_start_is_reported_with_the_reason() {
    let error = program("dies").connect().await.unwrap_err();
    let expected = "the MCP server `python3` ended before it responded; standard error: no configuration";
    assert_eq!((error.code(), error.message()), (ErrorCode::ToolFailed, expected));
    let error =
        McpClient::stdio("no-such-server", [] as [&str; 0], [] as [(&str, &str); 0]).connect().await.unwrap_err();
    assert!(error.message().starts_with("the MCP server `no-such-server` cannot be started: "), "{error}");
}

/// R-FWK-82: a server that never responds is given up; the error contains its other output.
#[tokio::test]
async fn a_hanging_server_fails_after_the_timeout() {
    let server = McpClient::stdio("sh", ["-c", "echo hello there; exec sleep 600"], [] as [(&str, &str); 0]);
    let error = server.timeout(Duration::from_secs(8)).connect().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    let expected = "the MCP server `sh` did not respond to `initialize` within 8 s; \
                    it wrote `hello there` instead of a message";
    assert_eq!(error.message(), expected);
}

/// R-FWK-82: lines that are not messages are skipped.
#[tokio::test]
async fn lines_that_are_not_messages_are_skipped() {
    let client = start("babbles").await;
    assert!(!call_first_tool(&client, json!({})).await.unwrap().is_error);
}

/// R-FWK-82: an invalid response, an error response and an invalid list result in errors that say so.
#[tokio::test]
async fn invalid_message_is_reported() {
    let client = start("answers_nonsense").await;
    let error = call_first_tool(&client, json!({})).await.unwrap_err();
    let nonsense = "the MCP server `python3` sent an invalid response to `tools/call`";
    assert_eq!(error.message, nonsense);
    let error = call_first_tool(&start("refuses").await, json!({})).await.unwrap_err();
    assert_eq!(error.message, "the MCP server `python3` returned an error: not today");
    for (behavior, expected) in [
        ("lists_nonsense", "sent an invalid response to `tools/list`"),
        ("endless", "returned an endless list"),
        ("twins", "has the tools `a.b` and `a/b`, which both map to the name `a_b`"),
    ] {
        let error = start(behavior).await.tools().await.unwrap_err();
        assert!(error.message().contains(expected) && error.code() == ErrorCode::ToolFailed, "{behavior}: {error}");
    }
}

/// R-FWK-82: a long response is received completely; an unlimited one ends the connection instead of filling the
/// memory.
#[tokio::test]
async fn a_response_without_limit_is_rejected() {
    let output = call_first_tool(&start("says_much").await, json!({})).await.unwrap();
    assert_eq!(text(&output).len(), 2 << 20);
    let error = call_first_tool(&start("floods").await, json!({})).await.unwrap_err();
    assert!(
        error.message.contains("is disconnected") && error.message.contains("more than 16 MiB in one message"),
        "{error}"
    );
}

/// R-FWK-82: content of an unknown kind is kept, and an error result stays an error whatever its content.
#[tokio::test]
async fn unknown_content_is_preserved() {
    let output = call_first_tool(&start("invents").await, json!({})).await.unwrap();
    let hologram = ContentPart::Other(json!({"type": "hologram", "depth": 3}));
    assert_eq!(output.content, Some(Content::Parts(vec![ContentPart::text("look"), hologram])));
    assert!(output.is_error);
}

/// R-FWK-82: structured content without text becomes text for the model.
#[tokio::test]
async fn structured_content_without_text_becomes_text() {
    let output = call_first_tool(&start("structures").await, json!({})).await.unwrap();
    assert_eq!((text(&output).as_str(), output.artifact), ("{\"a\":1}", Some(json!({"a": 1}))));
}

/// R-FWK-83, R-FWK-84: a superstep server serves its parent process; here that process is this test, started a second
/// time.
#[tokio::test]
async fn our_server_serves_over_standard_input_and_output() {
    if std::env::var_os("SERVES").is_some() {
        return server().serve_stdio().await.unwrap();
    }
    let name = "mcp::stdio::our_server_serves_over_standard_input_and_output";
    let args = ["--exact", name, "--nocapture", "--quiet", "--test-threads=2"];
    let program = std::env::current_exe().unwrap();
    let client = McpClient::stdio(program, args, [("SERVES", "1")]).connect().await.unwrap();
    assert_eq!(
        text(&call_first_tool(&client, json!({"do": "say", "with": "over the pipe"})).await.unwrap()),
        "over the pipe"
    );
    assert!(call_first_tool(&client, json!({"do": 7})).await.unwrap().is_error);
}
