//! Servers for the tests of the adapters, for `torture` and for `xtask`: PostgreSQL, Redis and others.
//!
//! Each server has its own folder and port on this machine, syncs to disk like a production server, and accepts all
//! connections. A small watcher process stops and removes it when its owner exits for any reason. Nothing here is
//! part of a release. The Firestore emulator is in [`firestore_emulator`], an S3-compatible server in [`s3_server`];
//! [`McpServers`] are third-party MCP servers; an [`OtlpCollector`] receives spans.

use std::net::TcpListener;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

mod command;
pub mod firestore_emulator;
mod mcp_servers;
mod otlp_collector;
mod redis_server;
pub mod s3_server;

pub use command::{postgres, psql, run};
pub use mcp_servers::McpServers;
pub use otlp_collector::OtlpCollector;
pub use redis_server::RedisServer;

/// Time limit of a restart: the processes of the killed server must end before the new one can start.
const RESTART_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns a unique name of letters and digits. A process id is not sufficient: an earlier test of the same run may
/// have had it.
#[must_use]
pub fn unique_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}x{:x}x{number}", std::process::id(), now.as_micros())
}

/// A running PostgreSQL server. Stops when its owner exits or by [`PostgresServer::remove`].
#[derive(Debug)]
pub struct PostgresServer {
    server_dir: PathBuf,
    port: u16,
    /// Folder of its programs; `None` means the installation of the system.
    programs: Option<PathBuf>,
}

impl PostgresServer {
    /// Creates and starts a server in a folder, which is emptied first.
    ///
    /// # Errors
    /// Returns an error if PostgreSQL is not installed or does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        Self::start_from(None, folder, owner)
    }

    /// Starts a server like [`PostgresServer::start`], from another installation: its folder, and the path of the
    /// programs in it. As root, the server runs as another user, who may have no access to that folder, and uses a
    /// copy.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresServer::start`].
    pub fn start_from(installation: Option<(&Path, &str)>, folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if command::is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder))?;
        }
        let programs = match installation {
            Some((home, programs)) if command::is_root() => {
                let copy = folder.join("installation");
                run(Command::new("cp").arg("-r").arg(home).arg(&copy))?;
                run(Command::new("chmod").args(["-R", "a+rX"]).arg(&copy))?;
                Some(copy.join(programs))
            }
            installation => installation.map(|(home, programs)| home.join(programs)),
        };
        let cluster = Self { server_dir: folder, port: free_port()?, programs };
        let initdb_args = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N"];
        run(cluster.program("initdb")?.arg("-D").arg(cluster.data()).args(initdb_args))?;
        cluster.stop_when_owner_exits(owner)?;
        cluster.restart()?;
        Ok(cluster)
    }

    /// Returns a handle of a server that is already running.
    #[must_use]
    pub fn at(server_dir: PathBuf, port: u16) -> Self {
        Self { server_dir, port, programs: None }
    }

    fn program(&self, name: &str) -> Result<Command, String> {
        match &self.programs {
            Some(folder) => command::unprivileged_command(&folder.join(name)),
            None => postgres(name),
        }
    }

    /// Starts the server again after it was killed.
    ///
    /// # Errors
    /// Returns an error if the server does not start.
    pub fn restart(&self) -> Result<(), String> {
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=300 -c fsync=on",
            self.port,
            self.server_dir.display()
        );
        let mut start = self.program("pg_ctl")?;
        start.arg("-D").arg(self.data()).arg("-l").arg(self.server_dir.join("log"));
        start.args(["-w", "-o", &settings, "start"]);
        // The processes of a killed server end shortly after; until then its shared memory is in use.
        let started = Instant::now();
        loop {
            match run(&mut start) {
                Ok(_) => return Ok(()),
                Err(error) if started.elapsed() > RESTART_TIMEOUT => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Kills the server and its child processes without a shutdown, like a power loss.
    ///
    /// # Errors
    /// Returns an error if the server is not running.
    pub fn kill(&self) -> Result<(), String> {
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path)
                .map_err(|error| format!("server is not running: {}: {error}", path.display()))
        };
        let pid = read(self.data().join("postmaster.pid"))?;
        let pid = pid.lines().next().unwrap_or_default();
        let children = read(format!("/proc/{pid}/task/{pid}/children").into())?;
        run(Command::new("kill").args(["-9", pid]))?;
        // Some child processes may have ended already.
        drop(run(Command::new("kill").arg("-9").args(children.split_whitespace())));
        Ok(())
    }

    /// Stops the server and removes its folder.
    pub fn remove(&self) {
        let stopped = self
            .program("pg_ctl")
            .and_then(|mut stop| run(stop.arg("-D").arg(self.data()).args(["-m", "immediate", "stop"])));
        // A killed server is already stopped, and the watcher removes what remains.
        drop(stopped);
        drop(std::fs::remove_dir_all(&self.server_dir));
    }

    /// Returns the URL for a checkpointer.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// Returns the URL through a port that is forwarded to this server.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    /// Returns the port of the server.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of the server, in which tests may store files as well.
    #[must_use]
    pub fn server_dir(&self) -> &Path {
        &self.server_dir
    }

    fn data(&self) -> PathBuf {
        self.server_dir.join("data")
    }

    /// Runs statements and returns their output.
    ///
    /// # Errors
    /// Returns an error if the server rejects a statement.
    pub fn query(&self, statements: &str) -> Result<String, String> {
        run(psql(&self.url())?.args(["-v", "ON_ERROR_STOP=1", "-c", statements]))
    }

    /// Starts a process that stops and removes the server when the owner exits.
    fn stop_when_owner_exits(&self, owner: u32) -> Result<(), String> {
        let stop = self.program("pg_ctl")?;
        let args = std::iter::once(stop.get_program()).chain(stop.get_args());
        let args: Vec<String> = args.map(|arg| format!("'{}'", arg.display())).collect();
        let folder = self.server_dir.display();
        let stop = format!("{} -D '{folder}/data' -m immediate stop", args.join(" "));
        // A pooler for the server has stored its process id there.
        let script = format!(
            "cd /; while kill -0 {owner} && [ -d '{folder}' ]; do sleep 1; done; \
             [ -d '{folder}' ] || exit; {stop}; kill $(cat '{folder}/pooler.pid'); rm -rf '{folder}'"
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script])).map(drop)
    }
}

/// A PostgreSQL server for a single user, stopped and removed when dropped.
#[derive(Debug)]
pub struct TempPostgresServer(PostgresServer);

impl TempPostgresServer {
    /// Creates and starts a server.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresServer::start`].
    pub fn start() -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (owner, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        PostgresServer::start(server_dir(owner, &format!("private-{number}")), owner).map(Self)
    }
}

impl Deref for TempPostgresServer {
    type Target = PostgresServer;

    fn deref(&self) -> &PostgresServer {
        &self.0
    }
}

impl Drop for TempPostgresServer {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Returns the path of a folder for a server; short, because the path of a Unix socket is limited.
#[must_use]
pub fn server_dir(owner: u32, name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("superstep-postgres-{owner}-{name}"))
}

/// Returns a port that is free at the moment.
///
/// # Errors
/// Returns an error if there is no free port.
pub fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

/// Starts a process that runs the command `stop` when the owner of a folder exits, unless the folder has been removed
/// before.
pub(crate) fn stop_when_owner_exits(folder: &Path, owner: u32, stop: &str) -> Result<(), String> {
    let path = folder.display();
    let script =
        format!("cd /; while kill -0 {owner} && [ -d '{path}' ]; do sleep 1; done; [ -d '{path}' ] || exit; {stop}");
    run(Command::new("setsid").args(["-f", "sh", "-c", &script])).map(drop)
}
