//! S3 servers for tests: moto, a Python package, behind a check of signatures with Amazon's own library (`s3.py`).
//! Objects are stored in memory.
//!
//! As with PostgreSQL, a small watcher process stops and removes a server when its owner exits for any reason.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::command::python_venv;
use crate::{free_port, run};

/// Id of the only access key.
pub const KEY_ID: &str = "superstep-test";
/// Secret of the access key.
pub const SECRET: &str = "for/tests+only";
/// Prefix of the names of existing buckets; all others do not exist.
pub const BUCKET: &str = "blobs";

/// Installed Python packages: moto with its S3 dependencies, and those of its server.
const PACKAGES: [&str; 3] = ["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"];
const PROGRAM: &str = include_str!("s3.py");
/// Timeout of the start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A running S3 server. Stops when its owner exits or by [`S3Server::remove`].
#[derive(Debug)]
pub struct S3Server {
    folder: PathBuf,
    port: u16,
}

/// Installs the packages once, in a folder next to the build output, and returns the Python interpreter that has
/// them.
///
/// # Errors
/// Returns an error if there is no Python or the packages cannot be installed.
pub fn install(target: &Path) -> Result<PathBuf, String> {
    python_venv(&target.join("moto"), &PACKAGES)
}

impl S3Server {
    /// Starts a server with a folder, which is emptied first, using the Python that [`install`] returned.
    ///
    /// # Errors
    /// Returns an error if the server does not start.
    pub fn start(python: &Path, folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let server = Self { folder, port: free_port()? };
        let (path, port) = (server.folder.display(), server.port);
        std::fs::write(server.folder.join("s3.py"), PROGRAM).map_err(|error| format!("{path}: {error}"))?;
        let script = format!(
            "cd '{path}'; echo $$ > pid; exec '{}' s3.py {port} {KEY_ID} {SECRET} {BUCKET} > log 2>&1",
            python.display()
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script]))?;
        crate::stop_when_owner_exits(&server.folder, owner, &stop_command(&server.folder))?;
        let started = Instant::now();
        while !server.is_ready() {
            if started.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(server.folder.join("log")).unwrap_or_default();
                server.remove();
                return Err(format!("the S3 server did not start within {START_TIMEOUT:?}: {log}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Returns a handle of a server that is already running.
    #[must_use]
    pub fn at(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// Returns the endpoint for a store.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server and removes its folder.
    pub fn remove(&self) {
        // If this fails, the watcher does it.
        drop(run(Command::new("sh").args(["-c", &stop_command(&self.folder)])));
    }

    fn is_ready(&self) -> bool {
        let request = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
            stream.write_all(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
            let mut response = String::new();
            stream.read_to_string(&mut response).ok()?;
            Some(response.contains("<Code>Ready</Code>"))
        };
        request().unwrap_or(false)
    }
}

/// Returns a command that kills a server and removes its folder.
fn stop_command(folder: &Path) -> String {
    let path = folder.display();
    format!("kill -9 $(cat '{path}/pid'); rm -rf '{path}'")
}

/// Returns the path of a folder for a server.
#[must_use]
pub fn folder(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-s3-{owner}-{name}"))
}
