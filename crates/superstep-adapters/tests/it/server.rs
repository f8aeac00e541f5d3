//! A small HTTP server on this machine that passes requests on to a server, or fails as a test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What happens to a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// It is passed on.
    Pass,
    /// It is answered by us: status, more lines of the head, body.
    Answer(u16, String, String),
    /// It is passed on, and the connection is cut before the answer.
    CutAfter,
    /// The connection is cut at once.
    Cut,
    /// Nothing ever comes.
    Hang,
    /// It is answered by us in pieces, with pauses between them.
    Drip(Duration, String),
}

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The first line and the head, in small letters.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn is(&self, method: &str) -> bool {
        self.head.lines().next().unwrap_or_default().contains(&method.to_lowercase())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

type Decide = Box<dyn FnMut(&Asked) -> Act + Send>;

/// The server. Ends with the runtime of its thread, which ends with it.
pub(crate) struct Server {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Starts a server that asks `decide` what to do with each request.
    pub(crate) fn start(upstream: Option<&str>, decide: impl FnMut(&Asked) -> Act + Send + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let decide: Arc<Mutex<Decide>> = Arc::new(Mutex::new(Box::new(decide)));
        let (record, upstream) = (asked.clone(), upstream.map(ToOwned::to_owned));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, decide, upstream) = (record.clone(), decide.clone(), upstream.clone());
                tokio::spawn(async move { drop(serve(stream, upstream, &record, &decide).await) });
            }
        });
        Self { address, asked, _runtime: runtime }
    }

    /// One that does this with the first requests for a method, and passes on all others.
    pub(crate) fn failing(upstream: &str, method: &'static str, acts: &[Act]) -> Self {
        let mut acts: VecDeque<Act> = acts.iter().cloned().collect();
        Self::start(Some(upstream), move |asked| match asked.is(method) {
            true => acts.pop_front().unwrap_or(Act::Pass),
            false => Act::Pass,
        })
    }

    /// All that was asked so far, for a method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Asked> {
        self.asked.lock().unwrap().iter().filter(|asked| asked.is(method)).cloned().collect()
    }
}

/// Serves one request and closes the connection.
async fn serve(
    mut stream: TcpStream,
    upstream: Option<String>,
    record: &Mutex<Vec<Asked>>,
    decide: &Mutex<Decide>,
) -> std::io::Result<()> {
    let (head, body) = message(&mut stream).await?;
    let asked = Asked { head: head.to_lowercase(), body };
    record.lock().unwrap().push(asked.clone());
    let act = (*decide.lock().unwrap())(&asked);
    let answer = match &act {
        Act::Pass | Act::CutAfter => pass(&upstream.unwrap(), &head, &asked.body).await?,
        Act::Answer(status, more, body) => {
            let length = body.len();
            format!("HTTP/1.1 {status} so\r\n{more}content-length: {length}\r\nconnection: close\r\n\r\n{body}").into()
        }
        Act::Cut => return Ok(()),
        Act::Hang => return std::future::pending().await,
        Act::Drip(pause, body) => return drip(&mut stream, *pause, body).await,
    };
    if !matches!(act, Act::CutAfter) {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
    }
    Ok(())
}

/// Answers with a body in eight pieces.
async fn drip(stream: &mut TcpStream, pause: Duration, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 so\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    for piece in body.as_bytes().chunks(body.len().div_ceil(8)) {
        tokio::time::sleep(pause).await;
        stream.write_all(piece).await?;
    }
    stream.shutdown().await
}

/// Passes a request on and gives the whole answer.
pub(crate) async fn pass(upstream: &str, head: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(upstream).await?;
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await?;
    stream.write_all(body).await?;
    let (head, body) = message(&mut stream).await?;
    let mut answer = format!("{head}\r\nconnection: close\r\n\r\n").into_bytes();
    answer.extend(body);
    Ok(answer)
}

/// The head and the body of a request or an answer that says how long it is.
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
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    assert!(!lower.contains("transfer-encoding"), "{head}");
    while body.len() < length.unwrap_or(0) {
        if stream.read_buf(&mut body).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok((head, body))
}
