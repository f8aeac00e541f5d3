//! Redis servers of our own, each on a socket in a folder of its own: no port is taken, and nobody else comes.
//!
//! As with PostgreSQL, a small watcher stops and removes a server once its owner is gone, however it went.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server. Lasts until its owner is gone, or [`Redis::remove`].
#[derive(Debug)]
pub struct Redis {
    folder: PathBuf,
}

impl Redis {
    /// Makes and starts a server in a folder, which is emptied first. It waits for the disk at every write.
    ///
    /// # Errors
    /// When Redis is not installed or does not start.
    pub fn start(folder: PathBuf, owner: u32) -> Result<Self, String> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let redis = Self { folder };
        redis.watch(owner)?;
        redis.restart(&[("appendonly", "yes"), ("appendfsync", "always")])?;
        Ok(redis)
    }

    /// One that somebody else has started.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Starts the server, also after it was killed, with these settings.
    ///
    /// # Errors
    /// When it does not start.
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
        let begun = Instant::now();
        while self.ask(&["PING"]).as_deref() != Ok("PONG") {
            if begun.elapsed() > PATIENCE {
                return Err(format!("the server in {folder} does not answer: {:?}", self.ask(&["PING"])));
            }
        }
        Ok(())
    }

    /// What the server says to a command.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, words: &[&str]) -> Result<String, String> {
        run(Command::new(program("redis-cli")?).arg("-s").arg(self.folder.join("socket")).args(words))
    }

    /// Kills the server without a word.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&self) -> Result<(), String> {
        let path = self.folder.join("pid");
        let pid = std::fs::read_to_string(&path).map_err(|error| format!("no server: {}: {error}", path.display()))?;
        run(Command::new("kill").args(["-9", pid.trim()])).map(drop)
    }

    /// Stops the server and removes all it had.
    pub fn remove(&self) {
        // One that was killed needs no stopping, and what stays is the watcher's.
        drop(self.kill());
        drop(std::fs::remove_dir_all(&self.folder));
    }

    /// The address for a store.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+unix://{}/socket", self.folder.display())
    }

    /// Where the server has its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves somebody who cleans up when the owner has ended.
    fn watch(&self, owner: u32) -> Result<(), String> {
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
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        format!("there is no `{name}`: install it (Debian: `apt-get install redis-server`), or run `cargo xtask test`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        let problem = program("no-such-server").unwrap_err();
        assert!(problem.contains("`no-such-server`") && problem.contains("apt-get install redis-server"), "{problem}");
    }
}
