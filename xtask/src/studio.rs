//! `cargo xtask studio`: the pages. Their own tests, whether what is committed is what they build to, and a browser that
//! uses them against the real program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::servers;
use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "the pages: unit tests, the committed build, a browser against the real program \
                               [--write: take a new build over into studio/dist]";

/// The pages of applications.
const PAGES: [&str; 4] = ["debate", "suggestions", "assistant", "scheduler"];

/// Checks the pages.
///
/// # Errors
/// When Node or Chromium cannot be had, a test fails, or what is committed is not what the sources build to.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let writes = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--write"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --write", arguments.join(" "))),
    };
    let studio = workspace.root().join("studio");
    servers::ensure_programs(&[("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")])?;
    npm(&studio, &["ci", "--no-audit", "--no-fund", "--silent"])?;
    npm(&studio, &["test", "--silent"])?;
    let built = workspace.target()?.join("studio");
    let folder = built.display().to_string();
    npm(
        &studio,
        &["exec", "--silent", "--", "vite", "build", "--logLevel", "warn", "--outDir", &folder, "--emptyOutDir"],
    )?;
    let dist = studio.join("dist");
    if writes {
        return replace(&built, &dist);
    }
    compare(&files(&built)?, &files(&dist)?)?;
    npm(&studio, &["run", "sizes", "--silent"])?;
    in_a_browser(workspace, &studio)
}

/// Uses the pages as people do.
fn in_a_browser(workspace: &Workspace, studio: &Path) -> Result<(), String> {
    // As the tests are built, which has been done already when everything is checked: the program is among them.
    let build = ["test", "--quiet", "--workspace", "--all-features", "--no-run"];
    let status = workspace.cargo(&build).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("the program does not build".to_owned());
    }
    let program = workspace.target()?.join("debug/superstep");
    let served = Served::start(&program, &workspace.target()?.join("studio-served"))?;
    for page in PAGES {
        let script = studio.join(format!("e2e/{page}.mjs"));
        let mut node = Command::new("node");
        node.arg(&script).arg(&served.url).current_dir(studio);
        if page == "assistant" {
            // Rules answer at once: before a page can hear their words one by one, which are not kept.
            node.env("INSTANT", "1");
        }
        let status = node.status();
        let status = status.map_err(|error| format!("`node` does not start: {error}"))?;
        if !status.success() {
            return Err(format!("the page `/{page}` in a browser: `{}` ended with {status}", script.display()));
        }
    }
    Ok(())
}

/// The program, serving on a port of its own.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(program: &Path, folder: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(|error| format!("no folder {}: {error}", folder.display()))?;
        let many = ["--debates-per-hour", "1000", "--debates-at-once", "100", "--pace", "10"];
        let child = Command::new(program)
            .args(["serve", "--port", "0"])
            .args(many)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let mut child = child.map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
        let mut url = String::new();
        if let Some(output) = child.stdout.take() {
            let read = BufReader::new(output).read_line(&mut url);
            read.map_err(|error| format!("`superstep serve` says nothing: {error}"))?;
        }
        let served = Self { child, url: url.trim().to_owned() };
        if served.url.starts_with("http://") { Ok(served) } else { Err("`superstep serve` did not start".to_owned()) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn npm(studio: &Path, arguments: &[&str]) -> Result<(), String> {
    let spoken = format!("`npm {}`", arguments.join(" "));
    let status = Command::new("npm").args(arguments).current_dir(studio).status();
    match status.map_err(|error| format!("{spoken} does not start: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("{spoken} in studio/ ended with {status}")),
    }
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> Result<Files, String> {
    let (mut found, mut left) = (Files::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        let entries = std::fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            found.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes);
        }
    }
    Ok(found)
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
    Err(format!("studio/dist is not what studio/ builds to ({}): run `cargo xtask studio --write`", other.join(", ")))
}

fn replace(built: &Path, dist: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", dist.display());
    std::fs::remove_dir_all(dist).map_err(told)?;
    for (name, bytes) in files(built)? {
        let path = dist.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(told)?;
        std::fs::write(path, bytes).map_err(told)?;
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
