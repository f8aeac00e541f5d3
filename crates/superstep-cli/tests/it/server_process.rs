//! Test fixture: a server process, and plain sockets to send requests.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use serde_json::Value;

use crate::support::Folder;

/// A server process; killed when dropped.
pub(crate) struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    /// Starts a server on a free port, with these additional arguments.
    pub(crate) fn start(folder: &Folder, extra_args: &[&str]) -> Self {
        // Stderr goes to a file: a pipe without a reader would fill up and block the server.
        let log = folder.path().join("server.log");
        let args = [&["serve", "--port", "0"][..], extra_args].concat();
        let mut child = folder.command(&args).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
        let address = url.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{}", log_text())).to_owned();
        Self { child, address }
    }

    /// Requests an orderly shutdown.
    #[cfg(unix)]
    pub(crate) fn stop(&self) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM)
            .unwrap();
    }

    /// Sends a request, and returns the response as a stream.
    pub(crate) fn request(&self, request_line: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, length) = (&self.address, body.len());
        write!(stream, "{request_line} HTTP/1.0\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .unwrap();
        BufReader::new(stream)
    }

    /// Sends a JSON document, and returns the response.
    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpResponse {
        HttpResponse::read(self.request(
            &format!("POST {path}"),
            "Content-Type: application/json\r\n",
            &body.to_string(),
        ))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        HttpResponse::read(self.request(&format!("GET {path}"), "", "")).json()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Response of a server.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    /// Header section, with names in lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl HttpResponse {
    /// Reads a complete response.
    pub(crate) fn read(mut stream: impl Read) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (headers, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text}"));
        let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        Self { status, headers: headers.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}
