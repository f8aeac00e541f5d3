//! The S3 key-value store, on a server that the tests start, which checks every signature, and behind a faulty
//! server.
//!
//! The server is a Python package, which the first test installs; if that is not possible, `cargo xtask test` skips
//! the tests that need it and prints a warning.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use superstep_adapters::s3::{S3KeyValue, S3Options};
use superstep_cluster::s3_server::{BUCKET, KEY_ID, S3Server as Server, SECRET, folder, install};
use superstep_core::port::PutOptions;
use superstep_core::testing::block_on;

mod faults;
mod server;

const ONLY_NEW: PutOptions = PutOptions { if_absent: true, ttl: None };

/// Returns the Python with the server; one test at a time installs it.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    install(target).expect("the Python packages of the S3 server are installed")
}

/// Locks the installation and the start of a server.
fn lock() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Returns the shared server; the first test starts it.
fn shared() -> Server {
    let _lock = lock();
    let folder = folder(parent_id(), "shared");
    let port_file = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&port_file) {
        return Server::at(folder, port.trim().parse().unwrap());
    }
    let server = Server::start(&python(), folder, parent_id()).unwrap();
    std::fs::write(port_file, server.port().to_string()).unwrap();
    server
}

/// A server for a single test, removed when dropped.
struct DedicatedS3(Server);

impl DedicatedS3 {
    fn start(name: &str) -> Self {
        let python = {
            let _lock = lock();
            python()
        };
        let owner = std::process::id();
        Self(Server::start(&python, folder(owner, name), owner).unwrap())
    }
}

impl Drop for DedicatedS3 {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Returns a folder that no other test uses.
fn own_folder() -> String {
    format!("test/{}", superstep_cluster::unique_name())
}

/// Returns options for a folder at an endpoint, in a bucket of this process.
fn options(endpoint: &str, folder: &str) -> S3Options {
    S3KeyValue::options(format!("{BUCKET}-{}", std::process::id()))
        .endpoint(endpoint)
        .credentials(KEY_ID, SECRET)
        .folder(folder)
}

fn open(options: &S3Options) -> S3KeyValue {
    block_on(options.connect()).unwrap()
}

/// Connects to an empty store.
fn empty() -> S3KeyValue {
    open(&options(&shared().url(), &own_folder()))
}
