//! A client and a server over HTTP, on this machine: what goes over it, who is let in, and what becomes of a lost server.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::json;
use superstep_adapters::mcp::{Client, Server, linked};
use superstep_core::error::Code;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{Heard, call, names, puppet, server, soon, tell, text};

/// A server of ours in a runtime of its own, so that all of it ends at once.
struct Site {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    fn open(server: &Server) -> Self {
        Self::open_at(server, "127.0.0.1:0".parse().unwrap())
    }

    fn open_at(server: &Server, address: SocketAddr) -> Self {
        let service = server.http_service().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind(address).await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let app = axum::Router::new().nest_service("/mcp", service);
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { address: told.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn client(&self) -> Client {
        Client::http(self.url()).connect().await.unwrap()
    }

    fn close(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// The first line of the answer to a request with these headers.
    async fn knock(&self, headers: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}});
        let (body, mut door) = (hello.to_string(), TcpStream::connect(self.address).await.unwrap());
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Accept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        door.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let length = soon(door.read(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.close();
    }
}

/// R-FWK-82, R-FWK-83, R-FWK-84: tools are listed and called over HTTP, with progress, failures and structure.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_over_http() {
    let site = Site::open(&server());
    let client = site.client().await;
    let heard = Heard::default();
    let mut steps = call(json!({"do": "step", "with": [1, 2, "three"]}));
    steps.progress = heard.progress();
    let tools = client.tools().await.unwrap();
    assert_eq!(text(&tools[0].call(steps).await.unwrap()), "done");
    let expected = [json!({"progress": 1}), json!({"progress": 2}), json!({"progress": 3, "message": "three"})];
    assert_eq!(heard.all(), expected);
    assert_eq!(
        tell(&client, json!({"do": "structure", "with": {"a": 1}})).await.unwrap().artifact,
        Some(json!({"a": 1}))
    );
    assert!(tell(&client, json!({"do": "complain"})).await.unwrap().is_error);
    let long = "x".repeat(200_000);
    assert_eq!(text(&tell(&client, json!({"do": "say", "with": long})).await.unwrap()), long);
}

/// R-FWK-82, R-FWK-84: a call that nobody waits for is let go at the server, over HTTP too.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_is_cancelled_over_http() {
    let (tool, mut life) = puppet("puppet");
    let site = Site::open(&Server::new("theatre", "1.0").tools([tool]));
    let client = site.client().await;
    let tools = client.tools().await.unwrap();
    let mut hanging = Box::pin(tools[0].call(call(json!({"do": "hang"}))));
    tokio::select! {
        _ = &mut hanging => panic!("it never ends"),
        begun = soon(life.recv()) => assert_eq!(begun, Some("begun")),
    }
    drop(hanging);
    assert_eq!(soon(life.recv()).await, Some("let go"));
}

/// R-FWK-84, R-FWK-85: one server for clients in this program and over HTTP at once; all see a tool that it gets later.
#[tokio::test(flavor = "multi_thread")]
async fn clients_over_http_and_in_the_program_share_a_server() {
    let server = server();
    let site = Site::open(&server);
    let (near, far, other) = (linked(&server).await.unwrap(), site.client().await, site.client().await);
    for client in [&near, &far, &other] {
        assert_eq!(text(&tell(client, json!({"do": "say", "with": "all"})).await.unwrap()), "all");
    }
    server.add_tool(puppet("second").0).await.unwrap();
    for client in [&near, &far, &other] {
        assert_eq!(names(client).await, ["puppet", "second"]);
    }
    let source = far.tool_source();
    soon(async { while source.tools().await.unwrap().len() < 2 {} }).await;
}

/// R-FWK-82: a server that is lost is a tool that failed; when it is back, so is the client.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_server_is_found_again() {
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
        assert_eq!(cause.downcast_ref::<superstep_core::error::Error>().unwrap().code(), Code::ToolFailed);
    }
    let _site = Site::open_at(&server, site.address);
    let output = soon(tools[0].call(call(json!({"do": "say", "with": "back"})))).await.unwrap();
    assert_eq!(text(&output), "back");
}

/// R-FWK-84: a server lets in who asks for it by a name of its own, from a page of its own or from none.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_let_in() {
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
        let answer = site.knock(headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {answer}");
    }
}

/// What a client says to somebody who answers each request with this; and what becomes of the client.
async fn answered(answer: &'static str) -> (String, superstep_core::error::Error) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=hush", listener.local_addr().unwrap());
    let connecting = Client::http(url).bearer("hush-token").header("X-Team", "hush-team").connect();
    let listening = async {
        let (mut door, _) = listener.accept().await.unwrap();
        let mut said = vec![0; 4096];
        let length = door.read(&mut said).await.unwrap();
        door.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&said[..length]).into_owned()
    };
    let (said, client) = soon(async { tokio::join!(listening, connecting) }).await;
    (said, client.unwrap_err())
}

/// R-FWK-84: what a client is told to send is sent, and is in no error.
#[tokio::test]
async fn headers_are_sent_and_not_repeated() {
    let (said, error) = answered("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let said = said.to_lowercase();
    assert!(said.contains("authorization: bearer hush-token") && said.contains("x-team: hush-team"), "{said}");
    assert!(error.code() == Code::ToolFailed && !format!("{error:?}").contains("hush"), "{error:?}");
    let error = Client::http("http://127.0.0.1:1/mcp?key=hush").connect().await.unwrap_err();
    assert!(error.message().contains("efused") && !format!("{error:?}").contains("hush"), "{error:?}");
    let error = Client::http("http://127.0.0.1:1/mcp").header("a b", "hush").connect().await.unwrap_err();
    assert!(error.code() == Code::ConfigInvalid && !error.to_string().contains("hush"), "{error}");
}

/// R-FWK-82, R-FWK-84: a page in place of an answer, or the way to another server, is not followed.
#[tokio::test]
async fn pages_and_redirects_are_no_answers() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        "HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:9/mcp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ] {
        let (_, error) = answered(answer).await;
        assert_eq!(error.code(), Code::ToolFailed, "{answer}: {error}");
        assert!(error.message().starts_with("the MCP server `127.0.0.1` "), "{error}");
    }
}

/// R-FWK-84: an address that is private, or not encrypted, is refused before anybody is asked.
#[tokio::test]
async fn an_address_that_may_not_be_asked_is_refused() {
    for address in ["http://tools.example.com/mcp", "https://10.0.0.1/mcp", "https://169.254.169.254/mcp"] {
        let error = Client::http(address).connect().await.unwrap_err();
        assert_eq!(error.code(), Code::PolicyRefused, "{address}: {error}");
    }
}
