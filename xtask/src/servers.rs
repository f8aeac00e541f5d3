//! `cargo xtask servers`: installs the servers that tests start, if they are missing.
//!
//! Installs system packages with apt, if that needs no password, and others with npm and pip in the build folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use superstep_cluster::{McpServers, OtlpCollector};

use crate::process::{last_lines, minutes};
use crate::workspace::Workspace;
use crate::{process, python};

/// Help text of the command.
pub(crate) const HELP: &str = "Install the servers that tests start: PostgreSQL, PgBouncer, Redis, MCP, an OTLP \
                               collector [pgvector|s3: only PostgreSQL with pgvector, or only an S3 server]";

/// Programs that tests start, each with its Debian package.
const SERVERS: [(&str, &str); 3] =
    [("initdb", "postgresql"), ("pgbouncer", "pgbouncer"), ("redis-server", "redis-server")];

/// Maximum number of lines of apt's output in an error.
const MAX_LINES: usize = 12;

/// Installs the requested servers.
///
/// # Errors
/// Returns an error if an argument is unknown or an installation fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            ensure()?;
            let target = workspace.target()?;
            McpServers::install(target.join("mcp-servers"))?;
            OtlpCollector::install(&target).map(drop)
        }
        ["pgvector"] => python::ensure_pgvector(workspace),
        ["s3"] => python::ensure_s3(workspace),
        _ => Err(format!("unknown arguments `{}`; known: pgvector, s3", arguments.join(" "))),
    }
}

/// Runs this command as a child process with a time limit, because the downloads themselves have none.
///
/// # Errors
/// Returns the errors of [`run`], and an error if the installation takes longer than ten minutes.
pub(crate) fn run_as_child(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("the path of this program is unknown: {error}"))?;
    let mut command = Command::new(program);
    command.current_dir(workspace.root()).arg("servers").args(arguments);
    let output = process::with_time_limit(minutes(10), || process::passed_through(&mut command))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    // The error of the child follows the output of pip and npm.
    let problem = printed.split_once("error: ").map_or(&*printed, |(_, problem)| problem);
    Err(last_lines(problem.as_bytes(), MAX_LINES))
}

/// Installs the missing servers among those with a system package.
///
/// # Errors
/// Returns an error that names a server if it is missing and cannot be installed.
pub(crate) fn ensure() -> Result<(), String> {
    ensure_programs(&SERVERS)
}

/// Installs the missing programs among these pairs of a program and its Debian package.
///
/// # Errors
/// Returns an error that names a program if it is missing and cannot be installed.
pub(crate) fn ensure_programs(programs: &[(&str, &str)]) -> Result<(), String> {
    for &(program, package) in programs {
        if !is_installed(program) {
            println!("    installing {package}");
            install(package, apt)?;
            if !is_installed(program) {
                return Err(format!("`{package}` is installed and `{program}` is still missing"));
            }
        }
    }
    Ok(())
}

fn is_installed(program: &str) -> bool {
    folders().iter().any(|folder| folder.join(program).is_file())
}

/// Returns the folders that may contain programs: `PATH`, `/usr/sbin`, and those of Debian's PostgreSQL versions.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.push("/usr/sbin".into());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders
}

/// Installs a package. If that fails, updates the package lists, which a new machine does not have, and retries once.
fn install(package: &str, mut apt: impl FnMut(&[&str]) -> Result<(), String>) -> Result<(), String> {
    let install = ["install", "-y", "--no-install-recommends", package];
    let Err(install_error) = apt(&install) else { return Ok(()) };
    let result = match apt(&["update"]) {
        Ok(()) => apt(&install),
        Err(update_error) => Err(format!("{install_error}\n{update_error}")),
    };
    result.map_err(|error| {
        format!("the tests need `{package}`; install it with the package manager of your system\n{error}")
    })
}

/// Runs `apt-get` as root, or with `sudo` if that needs no password.
///
/// # Errors
/// Returns an error with the last output lines of `apt-get`.
fn apt(arguments: &[&str]) -> Result<(), String> {
    if !Path::new("/usr/bin/apt-get").is_file() {
        return Err("there is no `apt-get`".to_owned());
    }
    let prefix: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["sudo", "-n"] };
    // Waits while another process on the machine installs packages.
    let command_line = [prefix, &["apt-get", "-o", "DPkg::Lock::Timeout=300"], arguments].concat();
    let mut command = Command::new(command_line[0]);
    let output = process::output(command.args(&command_line[1..]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    Err(format!("`{}` ended with {}:\n{}", command_line.join(" "), output.status, last_lines(&printed, MAX_LINES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_not_installed() {
        assert!(is_installed("cargo") && !is_installed("no-such-server"));
    }

    #[test]
    fn package_lists_are_fetched_once_when_an_installation_fails() {
        let mut commands = Vec::new();
        let installed = install("redis-server", |arguments| {
            commands.push(arguments[0].to_owned());
            if commands.len() == 1 { Err("E: Unable to locate package".to_owned()) } else { Ok(()) }
        });
        assert_eq!((installed, commands), (Ok(()), vec!["install".to_owned(), "update".into(), "install".into()]));
    }

    #[test]
    fn a_failed_installation_shows_what_apt_printed() {
        let problem = install("redis-server", |arguments| Err(format!("{} failed", arguments[0]))).unwrap_err();
        assert!(
            problem.contains("`redis-server`") && problem.ends_with("\ninstall failed\nupdate failed"),
            "{problem}"
        );
    }
}
