//! System tools that the tests need: found in the search path, or installed by name.
//!
//! Nothing is skipped silently: a test without its tool fails and names the package to install.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Ensures that a tool is installed.
///
/// # Errors
/// Returns an error with the install command if the tool is missing and cannot be installed.
pub(crate) fn ensure_installed(tool: &str, package: &str) -> Result<(), String> {
    if on_path(tool).is_some() {
        return Ok(());
    }
    install(package);
    on_path(tool).map(|_| ()).ok_or_else(|| missing_message(&format!("`{tool}`"), package))
}

/// Returns the path of the libfaketime library.
///
/// # Errors
/// Returns an error if the library is missing and cannot be installed.
pub(crate) fn faketime() -> Result<PathBuf, String> {
    let library = || {
        let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        let candidates = entries.map(|entry| entry.path()).chain(folders.iter().cloned());
        candidates.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.is_file())
    };
    if let Some(path) = library() {
        return Ok(path);
    }
    install("faketime");
    library().ok_or_else(|| missing_message("`libfaketimeMT.so.1`", "faketime"))
}

fn missing_message(tool: &str, package: &str) -> String {
    format!("{tool} is missing; install it with `apt-get install {package}`")
}

fn on_path(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Tries to install a package; the caller checks the result.
pub(crate) fn install(package: &str) {
    eprintln!("installing {package}");
    let apt = ["apt-get", "install", "--yes", "--no-install-recommends", package];
    let command_line = if is_root() { apt.to_vec() } else { [&["sudo", "-n"][..], &apt].concat() };
    let run_command = |command_line: &[&str]| {
        let mut command = Command::new(command_line[0]);
        command
            .args(&command_line[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !run_command(&command_line) {
        // A new machine has no package lists.
        let update: Vec<&str> =
            command_line.iter().take_while(|arg| **arg != "install").copied().chain(["update"]).collect();
        let _ = run_command(&update) && run_command(&command_line);
    }
}

/// Returns the reason why a user other than root cannot create a mount namespace; `None` if possible.
pub(crate) fn namespace_error() -> Option<String> {
    if is_root() {
        return None;
    }
    match Command::new("unshare").args(["-rm", "--", "true"]).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns true if this process runs as root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a path as text for command lines.
pub(crate) fn path_text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_missing_is_named_with_its_package() {
        assert!(on_path("sh").is_some() && on_path("no-such-tool").is_none());
        assert!(missing_message("`strace`", "strace").ends_with("`apt-get install strace`"));
    }
}
