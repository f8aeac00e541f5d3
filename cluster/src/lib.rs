//! PostgreSQL and Redis servers of our own, for whoever tests against one: the adapters' tests, `torture` and `xtask`.
//!
//! Each has a folder and a port of its own on this machine, waits for the disk as a server should, and trusts whoever
//! comes. A small watcher stops and removes it once its owner is gone, however it went. Nothing here is shipped. The
//! emulator of Firestore is in [`firestore`], a server that speaks S3 in [`s3`]; [`McpServers`] are those that others wrote; a
//! [`Collector`] takes spans.

use std::net::TcpListener;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

mod collector;
pub mod firestore;
mod mcp_servers;
mod program;
mod redis;
pub mod s3;

pub use collector::Collector;
pub use mcp_servers::McpServers;
pub use program::{client, postgres, run};
pub use redis::Redis;

/// How long what is left of a killed server may keep another from starting.
const REMAINS: Duration = Duration::from_secs(30);

/// A name that nothing else on these servers has, of letters and digits. The id of a process does not do: another test
/// of the same run may have had it before.
#[must_use]
pub fn own_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}x{:x}x{number}", std::process::id(), now.as_micros())
}

/// A server. Lasts until its owner is gone, or [`Cluster::remove`].
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    /// Where its programs are; where the system has them unless told.
    programs: Option<PathBuf>,
}

impl Cluster {
    /// Makes and starts a server in a folder, which is emptied first.
    ///
    /// # Errors
    /// When PostgreSQL is not installed or does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        Self::start_from(None, folder, owner)
    }

    /// As [`Cluster::start`], with another installation: its folder, and where in it the programs are. Run as root, the
    /// server is another user's, who may not see that folder, and gets a copy.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_from(installation: Option<(&Path, &str)>, folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if program::is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder))?;
        }
        let programs = match installation {
            Some((home, programs)) if program::is_root() => {
                let copy = folder.join("installation");
                run(Command::new("cp").arg("-r").arg(home).arg(&copy))?;
                run(Command::new("chmod").args(["-R", "a+rX"]).arg(&copy))?;
                Some(copy.join(programs))
            }
            installation => installation.map(|(home, programs)| home.join(programs)),
        };
        let cluster = Self { folder, port: free_port()?, programs };
        let plain = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N"];
        run(cluster.program("initdb")?.arg("-D").arg(cluster.data()).args(plain))?;
        cluster.watch(owner)?;
        cluster.restart()?;
        Ok(cluster)
    }

    /// One that somebody else has started.
    #[must_use]
    pub fn at(folder: PathBuf, port: u16) -> Self {
        Self { folder, port, programs: None }
    }

    fn program(&self, name: &str) -> Result<Command, String> {
        match &self.programs {
            Some(folder) => program::start(&folder.join(name)),
            None => postgres(name),
        }
    }

    /// Starts the server again after it was killed.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&self) -> Result<(), String> {
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=300 -c fsync=on",
            self.port,
            self.folder.display()
        );
        let mut start = self.program("pg_ctl")?;
        start.arg("-D").arg(self.data()).arg("-l").arg(self.folder.join("log"));
        start.args(["-w", "-o", &settings, "start"]);
        // What is left of a server that was killed goes within moments; until then no other may have its memory.
        let begun = Instant::now();
        loop {
            match run(&mut start) {
                Ok(_) => return Ok(()),
                Err(problem) if begun.elapsed() > REMAINS => return Err(problem),
                Err(_) => {}
            }
        }
    }

    /// Kills the server and all that belongs to it without a word, as a power cut would.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&self) -> Result<(), String> {
        let text = |path: PathBuf| {
            std::fs::read_to_string(&path).map_err(|error| format!("no server: {}: {error}", path.display()))
        };
        let pid = text(self.data().join("postmaster.pid"))?;
        let pid = pid.lines().next().unwrap_or_default();
        let children = text(format!("/proc/{pid}/task/{pid}/children").into())?;
        run(Command::new("kill").args(["-9", pid]))?;
        // Some may have ended by themselves.
        drop(run(Command::new("kill").arg("-9").args(children.split_whitespace())));
        Ok(())
    }

    /// Stops the server and removes all it had.
    pub fn remove(&self) {
        let stopped = self
            .program("pg_ctl")
            .and_then(|mut stop| run(stop.arg("-D").arg(self.data()).args(["-m", "immediate", "stop"])));
        // One that was killed needs no stopping, and what stays is the watcher's.
        drop(stopped);
        drop(std::fs::remove_dir_all(&self.folder));
    }

    /// The address for a store.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The address through a port that leads to this server.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    /// The port of the server.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where the server has its files, and others may have theirs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// What the server says to statements.
    ///
    /// # Errors
    /// When it refuses one of them.
    pub fn query(&self, statements: &str) -> Result<String, String> {
        run(client(&self.url())?.args(["-v", "ON_ERROR_STOP=1", "-c", statements]))
    }

    /// Leaves somebody who cleans up when the owner has ended.
    fn watch(&self, owner: u32) -> Result<(), String> {
        let stop = self.program("pg_ctl")?;
        let words = std::iter::once(stop.get_program()).chain(stop.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let folder = self.folder.display();
        let stop = format!("{} -D '{folder}/data' -m immediate stop", words.join(" "));
        // A pooler that somebody put before the server has left its number.
        let script = format!(
            "cd /; while kill -0 {owner} && [ -d '{folder}' ]; do sleep 1; done; \
             [ -d '{folder}' ] || exit; {stop}; kill $(cat '{folder}/pooler.pid'); rm -rf '{folder}'"
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script])).map(drop)
    }
}

/// A server that nobody else has, stopped and removed when it is let go.
#[derive(Debug)]
pub struct Private(Cluster);

impl Private {
    /// Makes and starts one.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start() -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (owner, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Cluster::start(folder(owner, &format!("private-{number}")), owner).map(Self)
    }
}

impl Deref for Private {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// A folder for a server; short, because the path of a socket may not be long.
#[must_use]
pub fn folder(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-postgres-{owner}-{name}"))
}

/// Free now, and most probably still in a moment.
///
/// # Errors
/// When this machine has none.
pub fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| format!("no port: {error}"))
}

/// Leaves somebody who does this when the owner of a folder has ended, unless the folder has gone by then.
pub(crate) fn watch(folder: &Path, owner: u32, end: &str) -> Result<(), String> {
    let place = folder.display();
    let script =
        format!("cd /; while kill -0 {owner} && [ -d '{place}' ]; do sleep 1; done; [ -d '{place}' ] || exit; {end}");
    run(Command::new("setsid").args(["-f", "sh", "-c", &script])).map(drop)
}
