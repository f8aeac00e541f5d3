//! Google's emulator of Firestore, for whoever tests against one. It comes with the Google Cloud SDK and with no package
//! registry, so it may be missing: whoever tests must then say so, and not pass it over.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{free_port, run};

/// Says where the emulator is, when it is not where the SDK puts it.
pub const JAR: &str = "SUPERSTEP_FIRESTORE_EMULATOR_JAR";
const USUAL_JAR: &str = "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar";
const PROGRAM: &str = "com.google.cloud.datastore.emulator.firestore.CloudFirestore";
/// How long it may take to start, on a machine that has much else to do.
const START: Duration = Duration::from_secs(180);

/// An emulator. Lasts until its owner is gone, or [`Emulator::remove`].
#[derive(Debug)]
pub struct Emulator {
    folder: PathBuf,
    port: u16,
}

/// What keeps the emulator from being started on this machine; `None` when nothing does.
#[must_use]
pub fn missing() -> Option<String> {
    let jar = jar();
    if !jar.is_file() {
        let help = format!("install `google-cloud-cli-firestore-emulator`, or name the file in {JAR}");
        return Some(format!("there is no `{}`: {help}", jar.display()));
    }
    run(Command::new("java").arg("-version")).err().map(|problem| format!("Java does not run: {problem}"))
}

fn jar() -> PathBuf {
    std::env::var_os(JAR).map_or_else(|| USUAL_JAR.into(), PathBuf::from)
}

impl Emulator {
    /// Starts an emulator with a folder, which is emptied first.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let emulator = Self { folder, port: free_port()? };
        let place = emulator.folder.display();
        // The leader of a group of its own, so that its number stands for all it starts.
        let script = format!(
            "cd '{place}'; echo $$ > '{place}/pid'; exec java -Xmx1g -cp '{}' {PROGRAM} start --host=127.0.0.1 --port={} \
             > '{place}/log' 2>&1",
            jar().display(),
            emulator.port
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script]))?;
        crate::watch(&emulator.folder, owner, &end(&emulator.folder))?;
        let begun = Instant::now();
        while !emulator.answers() {
            if begun.elapsed() > START {
                let said = std::fs::read_to_string(emulator.folder.join("log")).unwrap_or_default();
                emulator.remove();
                return Err(format!("the emulator of Firestore did not start within {START:?}: {said}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(emulator)
    }

    /// One that somebody else has started.
    #[must_use]
    pub fn at(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it with all it started, and removes what it had.
    pub fn remove(&self) {
        // The watcher does it when this does not.
        drop(run(Command::new("sh").args(["-c", &end(&self.folder)])));
    }

    fn answers(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(self.address()).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
            stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").ok()?;
            let mut said = [0; 12];
            stream.read_exact(&mut said).ok()?;
            Some(said == *b"HTTP/1.1 200")
        };
        ask().unwrap_or(false)
    }
}

/// Ends the group of an emulator by the number it left, and removes its folder.
fn end(folder: &Path) -> String {
    let place = folder.display();
    format!("kill -9 -$(cat '{place}/pid'); rm -rf '{place}'")
}

/// A folder for an emulator.
#[must_use]
pub fn folder(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-firestore-{owner}-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_emulator_started_ends_with_it() {
        let folder = folder(std::process::id(), "ending");
        std::fs::create_dir_all(&folder).unwrap();
        let pid = folder.join("pid");
        let script = format!("sleep 600 & echo $! > '{0}/child'; echo $$ > '{0}/pid'; sleep 600", folder.display());
        run(Command::new("setsid").args(["-f", "sh", "-c", &script])).unwrap();
        while std::fs::read_to_string(&pid).map_or(0, |text| text.len()) == 0 {}
        let numbers =
            ["pid", "child"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap().trim().to_owned());
        Emulator::at(folder.clone(), 1).remove();
        assert!(!folder.exists());
        let ended = |number: &String| {
            let state = std::fs::read_to_string(format!("/proc/{number}/stat"));
            state.map_or(true, |state| state.contains(") Z "))
        };
        let begun = Instant::now();
        while !numbers.iter().all(ended) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{numbers:?} still run");
        }
    }
}
