//! Redis servers for tests, each on a Unix socket in its own folder, so that no port is used and no other client
//! connects.
//!
//! As with PostgreSQL, a small watcher process stops and removes a server when its owner exits for any reason.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run;

/// Timeout of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// A running Redis server. Stops when its owner exits or by [`RedisServer::remove`].
#[derive(Debug)]
pub struct RedisServer {
    folder: PathBuf,
}

impl RedisServer {
    /// Creates and starts a server in a folder, which is emptied first. The server syncs every write to disk.
    ///
    /// # Errors
    /// Returns an error if Redis is not installed or does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let redis = Self { folder };
        redis.stop_when_owner_exits(owner)?;
        redis.restart(&[("appendonly", "yes"), ("appendfsync", "always")])?;
        Ok(redis)
    }

    /// Returns a handle of a server that is already running.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Starts the server with these settings, also after it was killed.
    ///
    /// # Errors
    /// Returns an error if the server does not start.
    pub fn restart(&self, settings: &[(&str, &str)]) -> Result<(), String> {
        let folder = self.folder.display().to_string();
        let mut start = Command::new(program("redis-server")?);
        start.args(["--port", "0", "--save", "", "--daemonize", "yes", "--dir", &folder]);
        start.args(["--unixsocket", &format!("{folder}/socket"), "--pidfile", &format!("{folder}/pid")]);
        start.args(["--logfile", &format!("{folder}/log")]);
        for (name, value) in settings {
            start.args([&format!("--{name}"), *value]);
        }
        run(&mut start)?;
        let started = Instant::now();
        while self.command(&["PING"]).as_deref() != Ok("PONG") {
            if started.elapsed() > RESPONSE_TIMEOUT {
                return Err(format!("the server in {folder} does not respond: {:?}", self.command(&["PING"])));
            }
        }
        Ok(())
    }

    /// Runs a command and returns its output.
    ///
    /// # Errors
    /// Returns an error if the server does not respond.
    pub fn command(&self, args: &[&str]) -> Result<String, String> {
        run(Command::new(program("redis-cli")?).arg("-s").arg(self.folder.join("socket")).args(args))
    }

    /// Kills the server without a shutdown.
    ///
    /// # Errors
    /// Returns an error if the server is not running.
    pub fn kill(&self) -> Result<(), String> {
        let path = self.folder.join("pid");
        let pid = std::fs::read_to_string(&path)
            .map_err(|error| format!("server is not running: {}: {error}", path.display()))?;
        run(Command::new("kill").args(["-9", pid.trim()])).map(drop)
    }

    /// Stops the server and removes its folder.
    pub fn remove(&self) {
        // A killed server is already stopped, and the watcher removes what remains.
        drop(self.kill());
        drop(std::fs::remove_dir_all(&self.folder));
    }

    /// Returns the URL for a checkpointer.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+unix://{}/socket", self.folder.display())
    }

    /// Returns the folder of the server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a process that stops and removes the server when the owner exits.
    fn stop_when_owner_exits(&self, owner: u32) -> Result<(), String> {
        let folder = self.folder.display();
        let script = format!(
            "cd /; while kill -0 {owner} && [ -d '{folder}' ]; do sleep 1; done; \
             [ -d '{folder}' ] || exit; kill -9 $(cat '{folder}/pid'); rm -rf '{folder}'"
        );
        run(Command::new("setsid").args(["-f", "sh", "-c", &script])).map(drop)
    }
}

fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program_path = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    program_path.ok_or_else(|| {
        format!("`{name}` not found: install it (Debian: `apt-get install redis-server`), or run `cargo xtask test`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        let error = program("no-such-server").unwrap_err();
        assert!(error.contains("`no-such-server`") && error.contains("apt-get install redis-server"), "{error}");
    }
}
