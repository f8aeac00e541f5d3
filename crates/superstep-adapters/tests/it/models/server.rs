//! A small HTTP server with scripted responses: in chunks of any size, truncated, or stalled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A scripted response.
#[derive(Clone, Debug)]
pub(super) struct ScriptedResponse {
    status: u16,
    headers: String,
    chunks: Vec<Vec<u8>>,
    end: ResponseEnd,
}

/// End of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ResponseEnd {
    Complete,
    Cut,
    Hang,
}

impl ScriptedResponse {
    /// Creates a response with a status, header lines and a body.
    pub(super) fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: headers.to_owned(), chunks: vec![body.into()], end: ResponseEnd::Complete }
    }

    pub(super) fn json(body: &Value) -> Self {
        Self::new(200, "content-type: application/json\r\n", body.to_string())
    }

    pub(super) fn error(status: u16, headers: &str, body: &Value) -> Self {
        Self::new(status, &format!("content-type: application/json\r\n{headers}"), body.to_string())
    }

    pub(super) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "content-type: text/event-stream; charset=utf-8\r\n", body)
    }

    /// Splits the body into chunks of this many bytes, regardless of characters and events.
    pub(super) fn cut_every(mut self, bytes: usize) -> Self {
        let body = self.chunks.concat();
        self.chunks = body.chunks(bytes).map(<[u8]>::to_vec).collect();
        self
    }

    /// Closes the connection in the middle of the body.
    pub(super) fn broken(mut self) -> Self {
        self.end = ResponseEnd::Cut;
        self
    }

    /// Stalls after the body without ending the response.
    pub(super) fn hanging(mut self) -> Self {
        self.end = ResponseEnd::Hang;
        self
    }
}

/// Formats server-sent events with data only, like OpenAI.
pub(super) fn data(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    /// Method and path.
    pub(super) line: String,
    headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl ReceivedRequest {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The server: returns the responses one after the other, and repeats the last one.
pub(super) struct Server {
    pub(super) address: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    pub(super) async fn start(scripts: impl IntoIterator<Item = ScriptedResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let mut scripts: VecDeque<ScriptedResponse> = scripts.into_iter().collect();
        let record = received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let script = if scripts.len() > 1 { scripts.pop_front() } else { scripts.front().cloned() };
                let record = record.clone();
                tokio::spawn(async move { drop(serve(stream, &script.unwrap(), &record).await) });
            }
        });
        Self { address, received }
    }

    /// Returns the last received request.
    pub(super) fn last(&self) -> ReceivedRequest {
        self.received.lock().unwrap().last().unwrap().clone()
    }

    pub(super) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &ScriptedResponse,
    record: &Mutex<Vec<ReceivedRequest>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let request = read(&mut stream).await?;
    record.lock().unwrap().push(request);
    let ScriptedResponse { status, headers, chunks, end } = script;
    let start = format!("HTTP/1.1 {status} So\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    stream.write_all(start.as_bytes()).await?;
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
        stream.write_all(chunk).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    match end {
        ResponseEnd::Complete => stream.write_all(b"0\r\n\r\n").await?,
        ResponseEnd::Cut => {}
        ResponseEnd::Hang => std::future::pending().await,
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> std::io::Result<ReceivedRequest> {
    let mut bytes = Vec::new();
    let split = loop {
        if let Some(split) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break split;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let text = String::from_utf8(bytes[..split].to_vec()).unwrap();
    let mut lines = text.lines();
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<_> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < split + 4 + length {
        stream.read_buf(&mut bytes).await?;
    }
    let body = serde_json::from_slice(&bytes[split + 4..]).unwrap();
    Ok(ReceivedRequest { line, headers, body })
}
