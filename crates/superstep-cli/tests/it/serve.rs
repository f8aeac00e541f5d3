//! Tests of `superstep serve`: the URL on stdout, responses, orderly shutdown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::server_process::ServerProcess;
use crate::support::{CommandOutput, Folder, silent_provider};

/// R-CLI-6a: one line with the URL on stdout; Ctrl-C shuts down in order.
#[cfg(unix)]
#[test]
fn a_server_prints_its_url_and_shuts_down() {
    use rustix::process::{Pid, Signal, kill_process};

    let folder = Folder::new("serve");
    let mut child = folder.command(&["serve", "--port", "0"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /ok HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, 0);
    for line in ["review, talk, titles", "store   sqlite:.superstep/superstep.db", "stopping"] {
        assert!(output.stderr.contains(line), "{line}: {}", output.stderr);
    }
    // The storage is closed: a copy of its file is complete.
    let files = std::fs::read_dir(folder.path().join(".superstep")).unwrap();
    let files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let is_leftover = |file: &String| ["-wal", "-shm", "-holder-"].iter().any(|part| file.contains(part));
    assert!(files.contains(&"superstep.db".to_owned()) && !files.iter().any(is_leftover), "{files:?}");
}

/// R-CLI-13: a second Ctrl-C does not wait for slow runs.
#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_a_server_at_once() {
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};

    let folder = Folder::new("serve-twice");
    let (provider, model) = silent_provider();
    folder.set_far(&model);
    let mut child = folder.command(&["serve", "--port", "0"]).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"topic":"Rules","model":"far","detach":true}"#;
    let (mime, length) = ("application/json", body.len());
    write!(
        stream,
        "POST /api/debate HTTP/1.1\r\nHost: {address}\r\nContent-Type: {mime}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    // From here on a run waits for its model.
    let _connection = provider.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("stopping")));
    let started = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // An orderly shutdown waits for eight seconds.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// R-CLI-10: a port in use is an error that says so.
#[test]
fn a_port_in_use_is_a_clear_error() {
    let folder = Folder::new("taken");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = folder.run(&["serve", "--port", &port, "--quiet"]);
    insta::assert_snapshot!(output.snapshot_text().replace(&port, "[port]"), @r"
    ---
    error[SS-027]: cannot listen on `127.0.0.1` port [port]: address in use
      help: use another port, or set `server.port_in_use` to `next`
      more: superstep explain SS-027
    [exit 78]
    ");
}

/// R-CLI-6a: a public address needs `--insecure`.
#[test]
fn a_public_address_needs_insecure() {
    let folder = Folder::new("open");
    let output = folder.run(&["serve", "--port", "0", "--host", "0.0.0.0"]);
    assert_eq!(output.code, 77);
    assert!(output.stderr.contains("--insecure"), "{}", output.stderr);
}

/// R-CLI-6a: a model whose weights this build cannot run is not configured, is rejected, and its file is not
/// revealed.
#[test]
fn weights_that_cannot_be_run_are_not_configured_and_their_file_is_not_revealed() {
    let folder = Folder::new("serve-weights");
    folder.set_far("{ provider = \"local/weights\", model = \"MARKER.gguf\" }");
    let mut child = folder.command(&["serve", "--port", "0"]).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let request = |request_line: &str, body: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let headers = "Content-Type: application/json\r\nConnection: close";
        let length = body.len();
        write!(
            stream,
            "{request_line} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    let rejected = request("POST /api/debate", r#"{"topic":"Rules","model":"far","detach":true}"#);
    let (settings, health) = (request("GET /api/debate/settings", ""), request("GET /api/health", ""));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(rejected.starts_with("HTTP/1.1 503") && rejected.contains("model `far` is not available"), "{rejected}");
    let parse_body = |response: &str| -> serde_json::Value {
        serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    for (response, key) in [(&settings, "configured"), (&health, "is_configured")] {
        let models = parse_body(response)["models"].clone();
        let far = models.as_array().unwrap().iter().find(|model| model["name"] == "far").unwrap().clone();
        assert_eq!(far[key], false, "{far}");
    }
    assert!([&rejected, &settings, &health].iter().all(|response| !response.contains("MARKER")));
}

/// R-CLI-17: with `--offline`, a request that names a network model is rejected before any call, and leaves
/// nothing.
#[test]
fn offline_a_request_that_names_a_service_is_rejected() {
    let folder = Folder::empty("serve-offline");
    let server = ServerProcess::start(&folder, &["--offline"]);
    for model in ["groq/llama-3.1-8b-instant", "ollama/llama3"] {
        let body = serde_json::json!({ "topic": "Rules", "model": model, "detach": true });
        let rejected = server.post("/api/debate", &body);
        assert_eq!((rejected.status, &rejected.json()["code"]), (503, &"SS-026".into()), "{}", rejected.body);
        assert!(rejected.body.contains("registry is offline"), "{}", rejected.body);
    }
    assert_eq!(server.get("/api/debates")["debates"], serde_json::json!([]));
}

/// R-SRV-3a: the OpenAPI document contains the paths of the server and of all four applications.
#[test]
fn the_openapi_document_contains_all_applications() {
    let folder = Folder::empty("serve-openapi");
    let server = ServerProcess::start(&folder, &["--offline"]);
    let document = server.get("/api/openapi.json");
    let operations = [
        ("get", "/api/health"),
        ("post", "/api/debate"),
        ("get", "/api/debate/{id}/stream"),
        ("post", "/api/posts"),
        ("get", "/api/posts/{id}/suggestions"),
        ("post", "/api/scheduler/events"),
        ("post", "/api/scheduler/threads/{id}/answer"),
        ("post", "/api/assistant"),
        ("get", "/api/assistant/{id}/stream"),
    ];
    for (method, path) in operations {
        assert!(document["paths"][path][method].is_object(), "{method} {path}: {}", document["paths"]);
    }
}
