//! Tests of the suggestions agent at the command line: demo, evaluation, MCP server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Folder};

/// R-CLI-3, R-SUG-41, R-SUG-42: the demo needs only the binary, and prints the planning model, the queries and the
/// suggestions.
#[test]
fn the_demo_prints_queries_and_suggestions() {
    let folder = Folder::empty("suggestions");
    let output = folder.run(&["demo", "suggestions", "--offline"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let parts = [
        "suggestions · keyword planner, no language model\n  How do I roll back a failed AKS deployment?\n",
        "  search docs    ",
        "\nnext    ",
        "\nMicrosoft 365\n",
        "\ndocuments\n  Roll back a deployment",
        "    docs/platform/rollback-a-deployment.md",
        "\nissues\n",
        "\nposts\n",
    ];
    let offsets: Vec<Option<usize>> = parts.iter().map(|part| output.stdout.find(part)).collect();
    assert!(offsets.iter().all(Option::is_some) && offsets.is_sorted(), "{offsets:?}\n{}", output.stdout);
    assert!(!output.stdout.contains('\u{1b}') && !folder.path().join(".superstep/suggestions/posts.db").exists());
}

/// R-CLI-7, R-SUG-37: JSON output is one document; JSON Lines output is events and the document.
#[test]
fn the_demo_is_printed_as_json() {
    let folder = Folder::empty("suggestions-json");
    let args = ["demo", "suggestions", "--post", "How do I undo a release?"];
    let result = folder.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!((&result["source"], &result["model"]["kind"]), (&json!("mcp"), &json!("rules")));
    assert!(!result["docs"].as_array().unwrap().is_empty() && !result["queries"].as_array().unwrap().is_empty());
    let lines = folder.run(&[&args[..], &["--jsonl", "--model", "local/rules"]].concat()).lines();
    assert!(lines.iter().any(|line| line["event"] == "on_tool_start"));
    let last = &lines.last().unwrap();
    assert_eq!(last["event"], "suggestions");
    // The timestamps of sample posts depend on the process.
    for part in ["docs", "issues", "m365", "actionHint", "queries", "model"] {
        assert_eq!(last["data"][part], result[part], "{part}");
    }
}

/// R-SUG-49, R-SUG-50, R-CLI-17: unknown posts, invalid posts and unavailable models are rejected.
#[test]
fn the_demo_rejects_invalid_input() {
    let folder = Folder::empty("suggestions-refused");
    for (args, code, message) in [
        (vec!["--id", "p999"], 66, "no post `p999`"),
        (vec!["--post", " "], 65, "/text must not be empty"),
        (vec!["--model", "nobody"], 65, "unknown model `nobody`"),
        (vec!["--model", "groq/x", "--offline"], 77, "`--offline` forbids"),
        (vec!["--graph-url", "https://graph.example", "--offline"], 77, "`--offline` forbids"),
        (vec!["--post", "x", "--id", "p042"], 64, "cannot be used with"),
    ] {
        let output = folder.run(&[&["demo", "suggestions"], &args[..]].concat());
        assert!(output.code == code && output.stderr.contains(message), "{args:?}: {} {}", output.code, output.stderr);
    }
}

/// R-SUG-43: the evaluation counts correct results, with a line for each question.
#[test]
fn the_evaluation_counts_correct_answers() {
    let folder = Folder::empty("suggestions-eval");
    let output = folder.run(&["eval", "suggestions"]);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains(" of 25 correct, ") && output.stderr.starts_with("passed: "), "{}", output.stdout);
    let score = folder.run(&["eval", "suggestions", "--json"]).json();
    assert!(score["right"].as_u64().unwrap() >= 20 && score["rows"].as_array().unwrap().len() == 25);
    // Without synonyms the score is below the threshold, which the exit code shows.
    folder.write(".superstep/suggestions/sample/words.txt", "");
    let repeated = folder.run(&["eval", "suggestions"]);
    assert!(repeated.code == 1 && repeated.stderr.starts_with("failed: "), "{} {}", repeated.code, repeated.stderr);
}

/// A child process that is killed when dropped.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ChildGuard {
    /// Starts a server, and returns the address it prints.
    fn start_server(command: &mut Command) -> (Self, String) {
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        (Self(child), url.trim().strip_prefix("http://").unwrap().to_owned())
    }
}

/// Sends a request with an optional extra header; returns the response with its headers.
fn send_request(address: &str, line: &str, extra_header: Option<&str>, body: &str) -> String {
    let (host, _) = address.split_once('/').unwrap_or((address, ""));
    let mut stream = TcpStream::connect(host).unwrap();
    let length = format!("Content-Length: {}", body.len());
    let lines = ["Content-Type: application/json", "Accept: application/json, text/event-stream", "Connection: close"];
    let headers = lines.into_iter().chain([length.as_str()]).chain(extra_header).collect::<Vec<_>>().join("\r\n");
    write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n\r\n{body}").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Returns the parameters with which an MCP client initializes a session.
fn initialize_params() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client })
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// R-CLI-6a, R-SUG-23: any client can call the five tools over stdio.
#[test]
fn the_tools_are_offered_over_standard_input_and_output() {
    let folder = Folder::empty("suggestions-mcp");
    let mut child = folder.command(&["mcp", "serve", "suggestions"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |id: u32, method: &str, params: Value| -> Value {
        writeln!(stdin, "{}", request(id, method, &params)).unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    assert_eq!(send(1, "initialize", initialize_params())["result"]["serverInfo"]["name"], "suggestions");
    let tools = send(2, "tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5, "{tools}");
    let call = json!({ "name": "search_docs", "arguments": { "query": "rollback" } });
    let result = send(3, "tools/call", call);
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("rollback-a-deployment.md"), "{result}");
    let with_unknown_argument = json!({ "name": "search_docs", "arguments": { "query": "rollback", "path": "/etc" } });
    assert_eq!(send(4, "tools/call", with_unknown_argument)["result"]["isError"], true);
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// R-SUG-23: the same tools over HTTP, at the printed address.
#[test]
fn the_tools_are_offered_over_http() {
    let folder = Folder::empty("suggestions-mcp-web");
    let mut command = folder.command(&["mcp", "serve", "suggestions", "--http", "127.0.0.1:0"]);
    let (_server, address) = ChildGuard::start_server(&mut command);
    assert!(address.ends_with("/mcp"), "{address}");
    let response =
        send_request(&address, "POST /mcp", None, &request(1, "initialize", &initialize_params()).to_string());
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("\"suggestions\""), "{response}");
    let session = response.lines().find(|line| line.starts_with("mcp-session-id: ")).map(str::to_owned);
    let send = |body: Value| send_request(&address, "POST /mcp", session.as_deref(), &body.to_string());
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = send(request(2, "tools/list", &json!({})));
    for tool in ["search_m365", "search_docs", "search_issues", "search_posts", "generate_action_hint"] {
        assert!(tools.contains(&format!("\"{tool}\"")), "{tool}: {tools}");
    }
    let result =
        send(request(3, "tools/call", &json!({ "name": "search_docs", "arguments": { "query": "rollback" } })));
    assert!(result.contains("rollback-a-deployment.md"), "{result}");
}

/// R-SUG-23: HTTP serves only this machine.
#[test]
fn a_public_mcp_address_is_rejected() {
    let folder = Folder::empty("suggestions-mcp-http");
    let output = folder.run(&["mcp", "serve", "suggestions", "--http", "0.0.0.0:0"]);
    assert!(output.code == 77 && output.stderr.contains("127.0.0.1"), "{}", output.stderr);
}

const TOKEN: &str = "eyJ0-token.of_somebody";

/// Starts a fake Microsoft Graph that finds one file, and returns the requests it receives.
fn microsoft_graph() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let file = json!({ "@odata.type": "#microsoft.graph.driveItem", "name": "runbook.docx",
            "webUrl": "https://lumen.sharepoint.example/runbook.docx" });
        let body = json!({ "value": [{ "hitsContainers": [{ "hits": [{ "resource": file }] }] }] }).to_string();
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut token) = (0, String::new());
            for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
                match line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value)) {
                    Some((name, value)) if name == "content-length" => length = value.parse().unwrap(),
                    Some((name, value)) if name == "authorization" => token = value.to_owned(),
                    _ => {}
                }
            }
            let _ = reader.by_ref().take(length).read_to_end(&mut Vec::new());
            let headers = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close", body.len());
            let _ = write!(reader.get_mut(), "{headers}\r\nContent-Type: application/json\r\n\r\n{body}");
            if sender.send(token).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

/// R-SUG-17: the demo, the server and the MCP server read the token of Microsoft Graph from the environment, and
/// never print it.
#[test]
fn the_token_is_read_from_the_environment() {
    let folder = Folder::empty("suggestions-token");
    let (graph, requests) = microsoft_graph();
    let with_token = |args: &[&str]| {
        let mut command = folder.command(&[args, &["--graph-url", &graph]].concat());
        command.env("SUPERSTEP_GRAPH_TOKEN", format!(" {TOKEN}\n"));
        command
    };
    let check = |text: &str| {
        assert!(text.contains("runbook.docx") && !text.contains(TOKEN), "{text}");
        assert_eq!(requests.recv().unwrap(), format!("Bearer {TOKEN}"));
        requests.try_iter().for_each(|token| assert_eq!(token, format!("Bearer {TOKEN}")));
    };
    let output = CommandOutput::from(with_token(&["demo", "suggestions", "-vv"]).output().unwrap());
    assert_eq!(output.code, 0, "{}", output.stderr);
    check(&format!("{}{}", output.stdout, output.stderr));

    let (_server, address) = ChildGuard::start_server(&mut with_token(&["serve", "--port", "0"]));
    check(&send_request(&address, "GET /api/search?q=rollback", None, ""));

    let mut child = ChildGuard(with_token(&["mcp", "serve", "suggestions"]).stdin(Stdio::piped()).spawn().unwrap());
    let (stdin, stdout) = (child.0.stdin.as_mut().unwrap(), child.0.stdout.take().unwrap());
    let call = json!({ "name": "search_m365", "arguments": { "query": "rollback" } });
    writeln!(stdin, "{}", request(1, "initialize", &initialize_params())).unwrap();
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    writeln!(stdin, "{}", request(2, "tools/call", &call)).unwrap();
    check(&BufReader::new(stdout).lines().nth(1).unwrap().unwrap());
}

/// R-SUG-17: an invalid token is rejected without printing it, and a public server does not use the token for
/// others.
#[test]
fn a_token_is_checked_and_not_shared() {
    let folder = Folder::empty("suggestions-token-refused");
    for (token, args, code, message) in [
        ("two words", vec!["demo", "suggestions"], 78, "`SUPERSTEP_GRAPH_TOKEN` is not a valid token"),
        (TOKEN, vec!["serve", "--port", "0", "--insecure"], 77, "would search Microsoft 365"),
    ] {
        let mut command = folder.command(&[&args[..], &["--graph-url", "http://127.0.0.1:9"]].concat());
        let output = CommandOutput::from(command.env("SUPERSTEP_GRAPH_TOKEN", token).output().unwrap());
        assert!(output.code == code && output.stderr.contains(message), "{} {}", output.code, output.stderr);
        assert!(!output.stderr.contains(token), "{}", output.stderr);
    }
    // Without Microsoft Graph the variable is not read.
    let mut command = folder.command(&["demo", "suggestions"]);
    assert!(command.env("SUPERSTEP_GRAPH_TOKEN", "two words").output().unwrap().status.success());
}
