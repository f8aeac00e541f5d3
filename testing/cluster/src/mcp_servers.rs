//! Third-party MCP servers for tests of a client: installed once from npm and PyPI in a folder. Without `npm` or
//! `python3` the tests fail.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// Packages from npm, in the versions for which the tests were written.
const NPM_PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31"];
/// Package from PyPI.
const PYPI_PACKAGE: &str = "mcp-server-time==2026.10.19";

/// The installed servers.
#[derive(Debug)]
pub struct McpServers {
    folder: PathBuf,
}

impl McpServers {
    /// Installs the missing servers in a folder and returns all of them. May be called concurrently.
    ///
    /// # Errors
    /// Returns an error if `npm` or `python3` is missing or the packages cannot be installed.
    pub fn install(folder: PathBuf) -> Result<Self, String> {
        let io_error = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(io_error)?;
        let lock = File::create(folder.join("lock")).map_err(io_error)?;
        lock.lock().map_err(io_error)?;
        let servers = Self { folder };
        if !(servers.everything().is_file() && servers.filesystem().is_file()) {
            let install_args = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
            run(Command::new("npm").args(install_args).arg(servers.folder.join("node")).args(NPM_PACKAGES))
                .map_err(|error| missing("npm", &error))?;
        }
        if !servers.time().is_file() {
            let venv = servers.folder.join("python");
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv)).map_err(|error| missing("python3", &error))?;
            let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYPI_PACKAGE];
            run(Command::new(venv.join("bin/python")).args(install))?;
        }
        Ok(servers)
    }

    /// Returns the server that uses every feature of the protocol.
    #[must_use]
    pub fn everything(&self) -> PathBuf {
        self.node("mcp-server-everything")
    }

    /// Returns the server for files; its arguments are the accessible folders.
    #[must_use]
    pub fn filesystem(&self) -> PathBuf {
        self.node("mcp-server-filesystem")
    }

    /// Returns the server for time zones.
    #[must_use]
    pub fn time(&self) -> PathBuf {
        self.folder.join("python/bin/mcp-server-time")
    }

    fn node(&self, name: &str) -> PathBuf {
        Path::new(&self.folder).join("node/node_modules/.bin").join(name)
    }
}

fn missing(program: &str, error: &str) -> String {
    format!("failed to install the MCP servers with `{program}`, which is required: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = missing("npm", &run(&mut Command::new("no-such-program")).unwrap_err());
        assert!(error.contains("`npm`") && error.contains("no-such-program"), "{error}");
    }
}
