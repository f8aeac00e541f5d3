//! The servers that tests start for themselves: whether they are installed, and how they get here.
//!
//! Installs by name from the packages of the system, and only where that needs no password.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that tests start, and the package of Debian that has it.
const SERVERS: [(&str, &str); 3] =
    [("initdb", "postgresql"), ("pgbouncer", "pgbouncer"), ("redis-server", "redis-server")];

/// Installs what is missing.
///
/// # Errors
/// When something is missing and cannot be installed, naming it.
pub(crate) fn ensure() -> Result<(), String> {
    ensure_programs(&SERVERS)
}

/// Installs what is missing of these programs, each with the package that has it.
///
/// # Errors
/// As [`ensure`].
pub(crate) fn ensure_programs(programs: &[(&str, &str)]) -> Result<(), String> {
    for &(program, package) in programs {
        if !is_installed(program) {
            println!("    installing {package}, once");
            install(package)?;
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

/// Where programs are: on the path, where only an administrator looks, and where Debian keeps versions of PostgreSQL apart.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.push("/usr/sbin".into());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders
}

fn install(package: &str) -> Result<(), String> {
    let by_hand = format!("install `{package}` with the packages of your system; tests start what they need with it");
    if !Path::new("/usr/bin/apt-get").is_file() {
        return Err(by_hand);
    }
    let words = ["apt-get", "install", "-y", "--no-install-recommends", package];
    let attempt = |words: &[&str]| {
        let (program, arguments) = words.split_first()?;
        Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive").output().ok()
    };
    // As root the first does it; otherwise the second, where no password is asked for.
    let sudo: Vec<&str> = ["sudo", "-n"].into_iter().chain(words).collect();
    let is_done = [&words[..], &sudo].iter().any(|words| attempt(words).is_some_and(|output| output.status.success()));
    if is_done { Ok(()) } else { Err(by_hand) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_installed() {
        assert!(is_installed("cargo") && !is_installed("no-such-server"));
    }
}
