//! Values under keys in S3: on a server that the tests start themselves, which checks every signature, and behind one that
//! fails.
//!
//! The server is a package of Python, which the first test gets; where that cannot be had, `cargo xtask test` leaves out what
//! needs it and says so.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use superstep_adapters::s3::{Options, S3};
use superstep_cluster::s3::{BUCKET, KEY_ID, S3 as Server, SECRET, folder, install};
use superstep_core::port::Put;
use superstep_core::testing::block_on;

mod faults;
mod on_a_server;

const ONLY_NEW: Put = Put { only_new: true, lasts: None };

/// The Python that has the server; one test at a time gets it.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    install(target).expect("an S3 server from the Python packages")
}

/// Held while a server is got or started.
fn lock() -> File {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// The server that all tests share; whoever comes first starts it.
fn shared() -> Server {
    let _lock = lock();
    let folder = folder(parent_id(), "shared");
    let place = folder.join("port");
    if let Ok(port) = std::fs::read_to_string(&place) {
        return Server::at(folder, port.trim().parse().unwrap());
    }
    let server = Server::start(&python(), folder, parent_id()).unwrap();
    std::fs::write(place, server.port().to_string()).unwrap();
    server
}

/// One that nobody else has, removed when it is let go.
struct Own(Server);

impl Own {
    fn start(name: &str) -> Self {
        let python = {
            let _lock = lock();
            python()
        };
        let owner = std::process::id();
        Self(Server::start(&python, folder(owner, name), owner).unwrap())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// A folder that no other test has.
fn own_folder() -> String {
    format!("test/{}", superstep_cluster::own_name())
}

/// Options for a folder at an endpoint, in a bucket of this process.
fn options(endpoint: &str, folder: &str) -> Options {
    S3::options(format!("{BUCKET}-{}", std::process::id()))
        .endpoint(endpoint)
        .credentials(KEY_ID, SECRET)
        .folder(folder)
}

fn open(options: &Options) -> S3 {
    block_on(options.connect()).unwrap()
}

/// A store without anything in it.
fn empty() -> S3 {
    open(&options(&shared().url(), &own_folder()))
}
