//! S3 servers of our own, for whoever tests against one: moto, a Python package, behind a gate that checks signatures with
//! Amazon's own library (`s3.py`). What a server holds is in its memory.
//!
//! As with PostgreSQL, a small watcher stops and removes a server once its owner is gone, however it went.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::program::python_with;
use crate::{free_port, run};

/// The id of the one access key that a server knows.
pub const KEY_ID: &str = "superstep-test";
/// Its secret.
pub const SECRET: &str = "for/tests+only";
/// What the names of buckets that are there begin with; all others are not there.
pub const BUCKET: &str = "blobs";

/// What is installed, by name: moto with what its S3 needs, and what its server needs.
const PACKAGES: [&str; 3] = ["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"];
const PROGRAM: &str = include_str!("s3.py");
/// How long it may take to start, on a machine that has much else to do.
const START: Duration = Duration::from_secs(120);

/// A server. Lasts until its owner is gone, or [`S3::remove`].
#[derive(Debug)]
pub struct S3 {
    folder: PathBuf,
    port: u16,
}

/// Gets the packages, once, to a folder beside what Cargo builds; its Python has them.
///
/// # Errors
/// When there is no Python, or the packages cannot be had.
pub fn install(target: &Path) -> Result<PathBuf, String> {
    python_with(&target.join("moto"), &PACKAGES)
}

impl S3 {
    /// Starts a server with a folder, which is emptied first, by the Python that [`install`] gave.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(python: &Path, folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let server = Self { folder, port: free_port()? };
        let (place, port) = (server.folder.display(), server.port);
        std::fs::write(server.folder.join("s3.py"), PROGRAM).map_err(|error| format!("{place}: {error}"))?;
        let script = format!(
            "cd '{place}'; echo $$ > pid; exec '{}' s3.py {port} {KEY_ID} {SECRET} {BUCKET} > log 2>&1",
            python.display()
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script]))?;
        crate::watch(&server.folder, owner, &end(&server.folder))?;
        let begun = Instant::now();
        while !server.answers() {
            if begun.elapsed() > START {
                let said = std::fs::read_to_string(server.folder.join("log")).unwrap_or_default();
                server.remove();
                return Err(format!("the S3 server did not start within {START:?}: {said}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// One that somebody else has started.
    #[must_use]
    pub fn at(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// The endpoint for a store.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it, and removes what it had.
    pub fn remove(&self) {
        // The watcher does it when this does not.
        drop(run(Command::new("sh").args(["-c", &end(&self.folder)])));
    }

    fn answers(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
            stream.write_all(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
            let mut said = String::new();
            stream.read_to_string(&mut said).ok()?;
            Some(said.contains("<Code>Ready</Code>"))
        };
        ask().unwrap_or(false)
    }
}

/// Ends a server by the number it left, and removes its folder.
fn end(folder: &Path) -> String {
    let place = folder.display();
    format!("kill -9 $(cat '{place}/pid'); rm -rf '{place}'")
}

/// A folder for a server.
#[must_use]
pub fn folder(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-s3-{owner}-{name}"))
}
