//! `cargo xtask web`: tests the web pages with their unit tests, compares a new build with the committed one, and tests
//! the pages in a browser against the real program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{self, Group};
use crate::servers;
use crate::workspace::Workspace;

/// Help text of the command.
pub(crate) const HELP: &str = "Test the web pages: unit tests, the committed build, a browser against the real program \
                               [--write: replace web/dist with a new build instead]";

/// Pages of the applications, which the browser tests use.
const PAGES: [&str; 4] = ["debate", "suggestions", "assistant", "scheduler"];

/// Tests the pages; with `--write`, replaces the committed build.
///
/// # Errors
/// Returns an error if an argument is unknown, Node.js or Chromium cannot be installed, a test fails, or the committed
/// build differs from a new one.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let writes = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--write"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --write", arguments.join(" "))),
    };
    let web = workspace.root().join("web");
    servers::ensure_programs(&[("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")])?;
    npm(&web, &["ci", "--no-audit", "--no-fund", "--silent"])?;
    npm(&web, &["test", "--silent"])?;
    let built = workspace.target()?.join("web");
    let folder = built.display().to_string();
    npm(
        &web,
        &["exec", "--silent", "--", "vite", "build", "--logLevel", "warn", "--outDir", &folder, "--emptyOutDir"],
    )?;
    let dist = web.join("dist");
    if writes {
        return replace(&built, &dist);
    }
    compare(&files(&built)?, &files(&dist)?)?;
    npm(&web, &["run", "sizes", "--silent"])?;
    run_browser_tests(workspace, &web)
}

/// Runs the browser tests of the pages.
fn run_browser_tests(workspace: &Workspace, web: &Path) -> Result<(), String> {
    // Builds the program with the same arguments as the tests, so that `cargo xtask test` does not build it again.
    let build = ["test", "--quiet", "--workspace", "--all-features", "--no-run"];
    process::run(&mut workspace.cargo(&build))?;
    let program = workspace.target()?.join("debug/superstep");
    let server = ServerProcess::start(&program, &workspace.target()?.join("web-served"))?;
    for page in PAGES {
        let script = web.join(format!("e2e/{page}.mjs"));
        let mut node = Command::new("node");
        node.arg(&script).arg(&server.url).current_dir(web);
        process::run(&mut node).map_err(|error| format!("the page `/{page}` in a browser: {error}"))?;
    }
    Ok(())
}

/// The running server on a free port. Dropping it ends the server and its child processes.
struct ServerProcess {
    _group: Group,
    url: String,
}

/// Timeout for the address that the server prints after its start.
const START_TIMEOUT: Duration = Duration::from_secs(120);

impl ServerProcess {
    fn start(program: &Path, folder: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(|error| format!("no folder {}: {error}", folder.display()))?;
        let limits = ["--debates-per-hour", "1000", "--debates-at-once", "100", "--pace", "10"];
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).args(limits).current_dir(folder).stdout(Stdio::piped());
        let mut group = Group::start(&mut command)?;
        let url = group.first_line(START_TIMEOUT)?.trim().to_owned();
        if url.starts_with("http://") {
            Ok(Self { _group: group, url })
        } else {
            Err(format!("`superstep serve` printed `{url}` instead of its address"))
        }
    }
}

fn npm(web: &Path, arguments: &[&str]) -> Result<(), String> {
    let npm = process::run(Command::new("npm").args(arguments).current_dir(web));
    npm.map_err(|error| format!("in web/: {error}"))
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the content of every file below a folder, by its path in the folder.
fn files(folder: &Path) -> Result<Files, String> {
    let (mut contents, mut pending) = (Files::new(), vec![folder.to_owned()]);
    while let Some(next) = pending.pop() {
        let entries = std::fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            contents.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes);
        }
    }
    Ok(contents)
}

fn compare(built: &Files, committed: &Files) -> Result<(), String> {
    let names = built.keys().chain(committed.keys());
    let mut other: Vec<String> =
        names.filter(|name| built.get(*name) != committed.get(*name)).map(|name| name.display().to_string()).collect();
    other.sort();
    other.dedup();
    if other.is_empty() {
        return Ok(());
    }
    Err(format!("web/dist differs from a new build of web/ ({}): run `cargo xtask web --write`", other.join(", ")))
}

fn replace(built: &Path, dist: &Path) -> Result<(), String> {
    let with_path = |error: std::io::Error| format!("{}: {error}", dist.display());
    std::fs::remove_dir_all(dist).map_err(with_path)?;
    for (name, bytes) in files(built)? {
        let path = dist.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(with_path)?;
        std::fs::write(path, bytes).map_err(with_path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_or_is_missing_is_named() {
        let files = |list: &[(&str, &str)]| -> Files {
            list.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).collect()
        };
        let built = files(&[("a.html", "a"), ("b.js", "new"), ("c.css", "c")]);
        assert_eq!(compare(&built, &built), Ok(()));
        let problem = compare(&built, &files(&[("a.html", "a"), ("b.js", "old"), ("d.js", "d")])).unwrap_err();
        assert!(problem.contains("(b.js, c.css, d.js)"), "{problem}");
    }
}
