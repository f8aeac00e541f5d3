//! An OTLP collector for tests of exporters: a Python program that decodes OTLP with the definitions of the
//! OpenTelemetry project and parses metrics with the parser of the Prometheus project (`collector.py`). Received data
//! stays in its memory; the program exits when its owner closes the pipe.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::command::python_venv;

/// Installed Python packages.
const PACKAGES: [&str; 2] = ["opentelemetry-proto==1.45.2", "prometheus-client==0.26.0"];
const PROGRAM: &str = include_str!("collector.py");

/// A running collector. Stops when it is dropped or its owner exits.
#[derive(Debug)]
pub struct OtlpCollector {
    child: Child,
    port: u16,
}

impl OtlpCollector {
    /// Installs the packages once, in a folder next to the build output, and returns the Python interpreter that has
    /// them.
    ///
    /// # Errors
    /// Returns an error if there is no Python or the packages cannot be installed.
    pub fn install(target: &Path) -> Result<PathBuf, String> {
        python_venv(&target.join("collector"), &PACKAGES)
    }

    /// Starts a collector, installing missing packages first.
    ///
    /// # Errors
    /// Returns an error if there is no Python, the packages cannot be installed, or the collector does not start.
    pub fn start(target: &Path) -> Result<Self, String> {
        let python = Self::install(target)?;
        let failed = |error: std::io::Error| format!("the collector did not start: {error}");
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("the collector has no output")?;
        BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
        let port = line.trim().parse().map_err(|_| format!("the collector printed `{line}` instead of its port"))?;
        Ok(Self { child, port })
    }

    /// Returns the URL for exporters.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the received requests as JSON: headers and spans of each.
    ///
    /// # Errors
    /// Returns an error if the collector does not respond.
    pub fn received(&self) -> Result<String, String> {
        let body = self.request("GET", "/received", "")?;
        String::from_utf8(body).map_err(|error| error.to_string())
    }

    /// Returns the received bytes.
    ///
    /// # Errors
    /// Returns an error if the collector does not respond.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        self.request("GET", "/bytes", "")
    }

    /// Parses metrics and returns name, type and number of samples of each family as JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not in the Prometheus format.
    pub fn metrics(&self, text: &str) -> Result<String, String> {
        let body = self.request("POST", "/metrics", text)?;
        String::from_utf8(body).map_err(|error| error.to_string())
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("the collector does not respond: {error}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(failed)?;
        write!(stream, "{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len()).map_err(failed)?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).map_err(failed)?;
        let header_end = response
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .ok_or("the headers of the collector's response are incomplete")?;
        let body = response.split_off(header_end + 4);
        match response.split(|byte| *byte == b' ').nth(1) {
            Some(b"200") => Ok(body),
            _ => Err(String::from_utf8_lossy(&body).into_owned()),
        }
    }
}

impl Drop for OtlpCollector {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
