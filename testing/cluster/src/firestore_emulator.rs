//! Google's Firestore emulator for tests. It is part of the Google Cloud SDK and of no package registry, so it may be
//! missing: its tests then fail, so `cargo xtask test` leaves them out and counts them as skipped.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{free_port, run};

/// Environment variable with the path of the emulator, if it is not where the SDK installs it.
pub const JAR: &str = "SUPERSTEP_FIRESTORE_EMULATOR_JAR";
const DEFAULT_JAR: &str = "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar";
const PROGRAM: &str = "com.google.cloud.datastore.emulator.firestore.CloudFirestore";
/// Timeout of the start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// A running emulator. Stops when its owner exits or by [`FirestoreEmulator::remove`].
#[derive(Debug)]
pub struct FirestoreEmulator {
    folder: PathBuf,
    port: u16,
}

/// Returns the reason why the emulator cannot be started on this machine; `None` if it can.
#[must_use]
pub fn unavailable_reason() -> Option<String> {
    let jar = jar();
    if !jar.is_file() {
        let help = format!("install `google-cloud-cli-firestore-emulator`, or set {JAR} to the path of the file");
        return Some(format!("`{}` not found: {help}", jar.display()));
    }
    run(Command::new("java").arg("-version")).err().map(|error| format!("failed to run Java: {error}"))
}

fn jar() -> PathBuf {
    std::env::var_os(JAR).map_or_else(|| DEFAULT_JAR.into(), PathBuf::from)
}

impl FirestoreEmulator {
    /// Starts an emulator with a folder, which is emptied first.
    ///
    /// # Errors
    /// Returns an error if the emulator does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let emulator = Self { folder, port: free_port()? };
        let path = emulator.folder.display();
        // The leader of its own process group, so that its process id identifies all of its children.
        let script = format!(
            "cd '{path}'; echo $$ > '{path}/pid'; exec java -Xmx1g -cp '{}' {PROGRAM} start --host=127.0.0.1 --port={} \
             > '{path}/log' 2>&1",
            jar().display(),
            emulator.port
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script]))?;
        crate::stop_when_owner_exits(&emulator.folder, owner, &stop_command(&emulator.folder))?;
        let started = Instant::now();
        while !emulator.is_ready() {
            if started.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(emulator.folder.join("log")).unwrap_or_default();
                emulator.remove();
                return Err(format!("the emulator of Firestore did not start within {START_TIMEOUT:?}: {log}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(emulator)
    }

    /// Returns a handle of an emulator that is already running.
    #[must_use]
    pub fn at(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// Returns host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the emulator with all its child processes, and removes its folder.
    pub fn remove(&self) {
        // If this fails, the watcher does it.
        drop(run(Command::new("sh").args(["-c", &stop_command(&self.folder)])));
    }

    fn is_ready(&self) -> bool {
        let request = || {
            let mut stream = TcpStream::connect(self.address()).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
            stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").ok()?;
            let mut status_line = [0; 12];
            stream.read_exact(&mut status_line).ok()?;
            Some(status_line == *b"HTTP/1.1 200")
        };
        request().unwrap_or(false)
    }
}

/// Returns a command that kills the process group of an emulator and removes its folder.
fn stop_command(folder: &Path) -> String {
    let path = folder.display();
    format!("kill -9 -$(cat '{path}/pid'); rm -rf '{path}'")
}

/// Returns the path of a folder for an emulator.
#[must_use]
pub fn folder(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-firestore-{owner}-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_processes_end_with_their_emulator() {
        let folder = folder(std::process::id(), "ending");
        std::fs::create_dir_all(&folder).unwrap();
        let pid = folder.join("pid");
        let script = format!("sleep 600 & echo $! > '{0}/child'; echo $$ > '{0}/pid'; sleep 600", folder.display());
        run(Command::new("setsid").args(["-f", "sh", "-c", &script])).unwrap();
        while std::fs::read_to_string(&pid).map_or(0, |text| text.len()) == 0 {}
        let numbers =
            ["pid", "child"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap().trim().to_owned());
        FirestoreEmulator::at(folder.clone(), 1).remove();
        assert!(!folder.exists());
        let ended = |number: &String| {
            let state = std::fs::read_to_string(format!("/proc/{number}/stat"));
            state.map_or(true, |state| state.contains(") Z "))
        };
        let started = Instant::now();
        while !numbers.iter().all(ended) {
            assert!(started.elapsed() < Duration::from_secs(30), "{numbers:?} still run");
        }
    }
}
