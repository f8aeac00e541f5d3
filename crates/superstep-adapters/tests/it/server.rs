//! A small local HTTP server that forwards requests to another server or injects faults.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Handling of a request.
#[derive(Clone, Debug)]
pub(crate) enum ProxyAction {
    /// Forward the request.
    Pass,
    /// Respond directly: status, additional header lines, body.
    Answer(u16, String, String),
    /// Forward the request and close the connection before the response.
    CutAfter,
    /// Close the connection immediately.
    Cut,
    /// Never respond.
    Hang,
    /// Respond directly in chunks, with pauses between them.
    Drip(Duration, String),
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    /// Request line and headers in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    pub(crate) fn is(&self, method: &str) -> bool {
        self.head.lines().next().unwrap_or_default().contains(&method.to_lowercase())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

type Decide = Box<dyn FnMut(&ReceivedRequest) -> ProxyAction + Send>;

/// The server, which ends with its runtime.
pub(crate) struct Server {
    pub(crate) address: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Starts a server that calls `decide` for each request.
    pub(crate) fn start(
        upstream: Option<&str>,
        decide: impl FnMut(&ReceivedRequest) -> ProxyAction + Send + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let decide: Arc<Mutex<Decide>> = Arc::new(Mutex::new(Box::new(decide)));
        let (record, upstream) = (received.clone(), upstream.map(ToOwned::to_owned));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, decide, upstream) = (record.clone(), decide.clone(), upstream.clone());
                tokio::spawn(async move { drop(serve(stream, upstream, &record, &decide).await) });
            }
        });
        Self { address, received, _runtime: runtime }
    }

    /// Starts a server that handles the first requests for a method with these actions and forwards all others.
    pub(crate) fn failing(upstream: &str, method: &'static str, actions: &[ProxyAction]) -> Self {
        let mut actions: VecDeque<ProxyAction> = actions.iter().cloned().collect();
        Self::start(Some(upstream), move |request| match request.is(method) {
            true => actions.pop_front().unwrap_or(ProxyAction::Pass),
            false => ProxyAction::Pass,
        })
    }

    /// Returns the received requests for a method.
    pub(crate) fn received(&self, method: &str) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().iter().filter(|request| request.is(method)).cloned().collect()
    }
}

/// Serves one request and closes the connection.
async fn serve(
    mut stream: TcpStream,
    upstream: Option<String>,
    record: &Mutex<Vec<ReceivedRequest>>,
    decide: &Mutex<Decide>,
) -> std::io::Result<()> {
    let (head, body) = message(&mut stream).await?;
    let request = ReceivedRequest { head: head.to_lowercase(), body };
    record.lock().unwrap().push(request.clone());
    let action = (*decide.lock().unwrap())(&request);
    let response = match &action {
        ProxyAction::Pass | ProxyAction::CutAfter => forward(&upstream.unwrap(), &head, &request.body).await?,
        ProxyAction::Answer(status, extra_headers, body) => {
            let length = body.len();
            format!(
                "HTTP/1.1 {status} so\r\n{extra_headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
            .into()
        }
        ProxyAction::Cut => return Ok(()),
        ProxyAction::Hang => return std::future::pending().await,
        ProxyAction::Drip(pause, body) => return drip(&mut stream, *pause, body).await,
    };
    if !matches!(action, ProxyAction::CutAfter) {
        stream.write_all(&response).await?;
        stream.shutdown().await?;
    }
    Ok(())
}

/// Sends a body in eight chunks.
async fn drip(stream: &mut TcpStream, pause: Duration, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 so\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    for chunk in body.as_bytes().chunks(body.len().div_ceil(8)) {
        tokio::time::sleep(pause).await;
        stream.write_all(chunk).await?;
    }
    stream.shutdown().await
}

/// Forwards a request and returns the complete response.
pub(crate) async fn forward(upstream: &str, head: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(upstream).await?;
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await?;
    stream.write_all(body).await?;
    let (head, body) = message(&mut stream).await?;
    let mut response = format!("{head}\r\nconnection: close\r\n\r\n").into_bytes();
    response.extend(body);
    Ok(response)
}

/// Reads the headers and the body of a message with a content length.
async fn message(stream: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut text = Vec::new();
    let end = loop {
        if let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut text).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8(text[..end].to_vec()).unwrap();
    let mut body = text[end + 4..].to_vec();
    let lowercase_head = head.to_lowercase();
    let length = lowercase_head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    assert!(!lowercase_head.contains("transfer-encoding"), "{head}");
    while body.len() < length.unwrap_or(0) {
        if stream.read_buf(&mut body).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok((head, body))
}
