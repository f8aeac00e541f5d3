//! External programs: locates and runs those of PostgreSQL, and creates Python environments with packages.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Returns a command for a program of PostgreSQL that does not run as root, which the server rejects.
///
/// # Errors
/// Returns an error if the program is not installed.
pub fn postgres(name: &str) -> Result<Command, String> {
    unprivileged_command(&binary(name)?)
}

/// Returns a command for a program that does not run as root.
///
/// # Errors
/// Returns an error if the program does not exist.
pub(crate) fn unprivileged_command(program: &Path) -> Result<Command, String> {
    if !program.is_file() {
        return Err(format!("`{}` not found", program.display()));
    }
    if !is_root() {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    Ok(command)
}

/// Returns a `psql` command whose output is discarded unless the caller changes that.
///
/// # Errors
/// Returns an error if `psql` is not installed.
pub fn psql(url: &str) -> Result<Command, String> {
    let mut psql = Command::new(binary("psql")?);
    psql.args(["-X", "-q", "-A", "-t", url]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(psql)
}

/// Time limit of a program. It only ends programs that hang; the longest ones install Python packages.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Interval between two checks of a program.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Runs a program to its end and returns its output. A program that does not end within 15 minutes is killed.
///
/// # Errors
/// Returns an error if the program does not start, exits with an error, or is killed.
pub fn run(command: &mut Command) -> Result<String, String> {
    run_with_limit(TIME_LIMIT, command)
}

fn run_with_limit(limit: Duration, command: &mut Command) -> Result<String, String> {
    // A started server would keep a pipe open, so the output goes to a file.
    let output_error = |error: std::io::Error| format!("failed to create the output file of {command:?}: {error}");
    let mut output = unnamed_file().map_err(output_error)?;
    let (out, err) = (output.try_clone().map_err(output_error)?, output.try_clone().map_err(output_error)?);
    let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
    let status = child.and_then(|mut child| wait(&mut child, limit));
    let mut text = Vec::new();
    let read = output.seek(SeekFrom::Start(0)).and_then(|_| output.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    match (status, read) {
        (Ok(Some(status)), Ok(_)) if status.success() => Ok(text.trim().to_owned()),
        (Ok(Some(status)), _) => Err(format!("{command:?} ended with {status}: {text}")),
        (Ok(None), _) => Err(format!("{command:?} did not end within {limit:?} and was killed: {text}")),
        (Err(error), _) => Err(format!("failed to start {command:?}: {error}")),
    }
}

/// Waits for a program; kills it at the limit and returns `None`.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started_at = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started_at.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Opens a temporary file without a name.
fn unnamed_file() -> std::io::Result<File> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("superstep-output-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// Returns the Python of a virtual environment in a folder with these packages, installed once. May be called
/// concurrently.
///
/// # Errors
/// Returns an error if there is no Python or the packages cannot be installed.
pub(crate) fn python_venv(home: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let io_error = |error: std::io::Error| format!("{}: {error}", home.display());
    std::fs::create_dir_all(home).map_err(io_error)?;
    let lock = File::create(home.join("lock")).map_err(io_error)?;
    lock.lock().map_err(io_error)?;
    let (python, marker, requested) = (home.join("bin/python"), home.join("installed"), packages.join(" "));
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == requested) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(home))?;
    let install_args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(&python).args(install_args).args(packages))?;
    std::fs::write(&marker, requested).map_err(io_error)?;
    Ok(python)
}

pub(crate) fn is_root() -> bool {
    // The owner of this entry is the user of the process.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// Locates a program of PostgreSQL in the search path or in the folders of Debian.
fn binary(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.extend(std::env::split_paths(&path));
    folders.push(PathBuf::from("/usr/sbin"));
    let program_path = folders.iter().rev().map(|folder| folder.join(name)).find(|path| path.is_file());
    program_path.ok_or_else(|| {
        format!(
            "`{name}` not found: install it (Debian: `apt-get install postgresql pgbouncer`), or run `cargo xtask test`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_program_is_returned() {
        assert_eq!(run(Command::new("echo").arg("so")).unwrap(), "so");
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.contains("why") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = run_with_limit(Duration::ZERO, Command::new("sleep").arg("600")).unwrap_err();
        assert!(error.contains("did not end within 0ns and was killed"), "{error}");
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        let error = postgres("no-such-program").unwrap_err();
        assert!(error.contains("`no-such-program`") && error.contains("apt-get install postgresql"), "{error}");
    }
}
