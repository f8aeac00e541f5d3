//! A client and a server over HTTP on this machine: the transport, host and origin checks, and lost servers.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::json;
use superstep_adapters::mcp::{McpClient, McpServer, connect_in_process};
use superstep_core::error::ErrorCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{RecordedProgress, call, call_first_tool, names, scripted_tool, server, soon, text};

/// A server on its own runtime, so that all its tasks end at once.
struct Site {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    fn open(server: &McpServer) -> Self {
        Self::open_at(server, "127.0.0.1:0".parse().unwrap())
    }

    fn open_at(server: &McpServer, address: SocketAddr) -> Self {
        let service = server.http_service().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (address_tx, address_rx) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind(address).await.unwrap();
                address_tx.send(listener.local_addr().unwrap()).unwrap();
                let app = axum::Router::new().nest_service("/mcp", service);
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { address: address_rx.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn client(&self) -> McpClient {
        McpClient::http(self.url()).connect().await.unwrap()
    }

    fn close(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Returns the status line of the response to a request with these headers.
    async fn status_line(&self, headers: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}});
        let (body, mut stream) = (hello.to_string(), TcpStream::connect(self.address).await.unwrap());
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Accept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = [0; 64];
        let length = soon(stream.read(&mut response)).await.unwrap();
        String::from_utf8_lossy(&response[..length]).lines().next().unwrap_or_default().to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.close();
    }
}

/// R-FWK-82, R-FWK-83, R-FWK-84: tools are listed and called over HTTP, with progress, errors and structured content.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_over_http() {
    let site = Site::open(&server());
    let client = site.client().await;
    let progress = RecordedProgress::default();
    let mut steps = call(json!({"do": "step", "with": [1, 2, "three"]}));
    steps.progress = progress.progress();
    let tools = client.tools().await.unwrap();
    assert_eq!(text(&tools[0].call(steps).await.unwrap()), "done");
    let expected = [json!({"progress": 1}), json!({"progress": 2}), json!({"progress": 3, "message": "three"})];
    assert_eq!(progress.all(), expected);
    assert_eq!(
        call_first_tool(&client, json!({"do": "structure", "with": {"a": 1}})).await.unwrap().artifact,
        Some(json!({"a": 1}))
    );
    assert!(call_first_tool(&client, json!({"do": "complain"})).await.unwrap().is_error);
    let long = "x".repeat(200_000);
    assert_eq!(text(&call_first_tool(&client, json!({"do": "say", "with": long})).await.unwrap()), long);
}

/// R-FWK-82, R-FWK-84: a call whose future is dropped is cancelled at the server over HTTP as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_is_cancelled_over_http() {
    let (tool, mut lifecycle) = scripted_tool("puppet");
    let site = Site::open(&McpServer::new("theatre", "1.0").tools([tool]));
    let client = site.client().await;
    let tools = client.tools().await.unwrap();
    let mut hanging = Box::pin(tools[0].call(call(json!({"do": "hang"}))));
    tokio::select! {
        _ = &mut hanging => panic!("it never ends"),
        event = soon(lifecycle.recv()) => assert_eq!(event, Some("begun")),
    }
    drop(hanging);
    assert_eq!(soon(lifecycle.recv()).await, Some("let go"));
}

/// R-FWK-84, R-FWK-85: a server serves in-process and HTTP clients concurrently; all of them see a tool added later.
#[tokio::test(flavor = "multi_thread")]
async fn clients_over_http_and_in_the_program_share_a_server() {
    let server = server();
    let site = Site::open(&server);
    let (near, far, other) = (connect_in_process(&server).await.unwrap(), site.client().await, site.client().await);
    for client in [&near, &far, &other] {
        assert_eq!(text(&call_first_tool(client, json!({"do": "say", "with": "all"})).await.unwrap()), "all");
    }
    server.add_tool(scripted_tool("second").0).await.unwrap();
    for client in [&near, &far, &other] {
        assert_eq!(names(client).await, ["puppet", "second"]);
    }
    let source = far.tool_source();
    soon(async { while source.tools().await.unwrap().len() < 2 {} }).await;
}

/// R-FWK-82: a lost server is a failed tool; when the server is back, the client reconnects.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_reconnects_to_a_restarted_server() {
    let server = server();
    let mut site = Site::open(&server);
    let client = site.client().await;
    let tools = client.tools().await.unwrap();
    assert!(tools[0].call(call(json!({"do": "say"}))).await.is_ok());
    site.close();
    for _ in 0..2 {
        let error = soon(tools[0].call(call(json!({"do": "say"})))).await.unwrap_err();
        assert!(error.retryable && error.message.starts_with("the MCP server `127.0.0.1` "), "{error}");
        let cause = error.cause.unwrap();
        assert_eq!(cause.downcast_ref::<superstep_core::error::Error>().unwrap().code(), ErrorCode::ToolFailed);
    }
    let _site = Site::open_at(&server, site.address);
    let output = soon(tools[0].call(call(json!({"do": "say", "with": "back"})))).await.unwrap();
    assert_eq!(text(&output), "back");
}

/// R-FWK-84: a server accepts only requests for its own host names, from its own origins or without an origin.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_rejected() {
    let (near, named) = (Site::open(&server()), Site::open(&server().allowed_hosts(["tools.example"])));
    for (site, headers, status) in [
        (&near, "Host: 127.0.0.1\r\n", "200"),
        (&near, "Host: localhost:80\r\nOrigin: http://localhost:3000\r\n", "200"),
        (&near, "Host: evil.example\r\n", "403"),
        (&near, "Host: localhost\r\nOrigin: http://evil.example\r\n", "403"),
        (&near, "Host: localhost\r\nOrigin: null\r\n", "403"),
        (&named, "Host: tools.example\r\nOrigin: https://tools.example\r\n", "200"),
        (&named, "Host: 127.0.0.1\r\n", "403"),
        (&named, "Host: tools.example\r\nOrigin: http://localhost\r\n", "403"),
    ] {
        let status_line = site.status_line(headers).await;
        assert!(status_line.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {status_line}");
    }
}

/// Connects a client to a server with a fixed response; returns the received request and the error.
async fn connect_to_fixed_response(response: &'static str) -> (String, superstep_core::error::Error) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=hush", listener.local_addr().unwrap());
    let connecting = McpClient::http(url).bearer("hush-token").header("X-Team", "hush-team").connect();
    let listening = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = vec![0; 4096];
        let length = stream.read(&mut received).await.unwrap();
        stream.write_all(response.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&received[..length]).into_owned()
    };
    let (request, client) = soon(async { tokio::join!(listening, connecting) }).await;
    (request, client.unwrap_err())
}

/// R-FWK-84: configured headers are sent and appear in no error.
#[tokio::test]
async fn headers_are_sent_and_not_repeated() {
    let (request, error) =
        connect_to_fixed_response("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let request = request.to_lowercase();
    assert!(request.contains("authorization: bearer hush-token") && request.contains("x-team: hush-team"), "{request}");
    assert!(error.code() == ErrorCode::ToolFailed && !format!("{error:?}").contains("hush"), "{error:?}");
    let error = McpClient::http("http://127.0.0.1:1/mcp?key=hush").connect().await.unwrap_err();
    assert!(error.message().contains("efused") && !format!("{error:?}").contains("hush"), "{error:?}");
    let error = McpClient::http("http://127.0.0.1:1/mcp").header("a b", "hush").connect().await.unwrap_err();
    assert!(error.code() == ErrorCode::ConfigInvalid && !error.to_string().contains("hush"), "{error}");
}

/// R-FWK-82, R-FWK-84: an HTML page or a redirect is an error, and the redirect is not followed.
#[tokio::test]
async fn pages_and_redirects_are_no_answers() {
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        "HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:9/mcp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ] {
        let (_, error) = connect_to_fixed_response(response).await;
        assert_eq!(error.code(), ErrorCode::ToolFailed, "{response}: {error}");
        assert!(error.message().starts_with("the MCP server `127.0.0.1` "), "{error}");
    }
}

/// R-FWK-84: a private or unencrypted address is rejected before a request is sent.
#[tokio::test]
async fn a_forbidden_address_is_rejected() {
    for address in ["http://tools.example.com/mcp", "https://10.0.0.1/mcp", "https://169.254.169.254/mcp"] {
        let error = McpClient::http(address).connect().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PolicyRefused, "{address}: {error}");
    }
}
