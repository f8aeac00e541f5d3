//! `cargo xtask count`: counts the instructions of the hot paths under valgrind and compares them with
//! `bench/instructions.json`.
//!
//! Instruction counts do not depend on the load of the machine, unlike times, which `superstep-bench` measures. The
//! paths are the benchmarks in `bench/benches/hot_paths.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::workspace::Workspace;
use crate::{process, servers};

/// Help text of the command.
pub(crate) const HELP: &str =
    "Count instructions of the hot paths and compare them with bench/instructions.json [--save: write the file]";

/// Tolerated increase over the saved count, in percent: processors and C libraries differ a little.
const MAX_INCREASE_PERCENT: u64 = 5;
const FILE: &str = "bench/instructions.json";

type Counts = BTreeMap<String, u64>;

/// Counts instructions, and compares them with the saved counts or saves them.
///
/// # Errors
/// Returns an error if an argument is unknown, a path exceeds its saved count by more than [`MAX_INCREASE_PERCENT`]
/// percent, or a path cannot be counted.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let save = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--save"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --save", arguments.join(" "))),
    };
    let counts = count(workspace)?;
    let path = workspace.root().join(FILE);
    if save {
        let text = serde_json::to_string_pretty(&counts).map_err(|error| error.to_string())?;
        return std::fs::write(&path, text + "\n").map_err(|error| format!("{FILE}: {error}"));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{FILE}: {error}"))?;
    let baseline: Counts = serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    let (lines, problems) = compare(&baseline, &counts);
    lines.iter().for_each(|line| println!("    {line}"));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\nerror: ")) }
}

fn compare(baseline: &Counts, counts: &Counts) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for name in baseline.keys().chain(counts.keys().filter(|name| !baseline.contains_key(*name))) {
        match (baseline.get(name), counts.get(name)) {
            (Some(old), Some(new)) => {
                let is_shorter = *new * (100 + MAX_INCREASE_PERCENT) < *old * 100;
                let hint = if is_shorter { "; save the new count with `cargo xtask count --save`" } else { "" };
                lines.push(format!("{name:<30} {new:>10} instructions, was {old}{hint}"));
                if *new * 100 > *old * (100 + MAX_INCREASE_PERCENT) {
                    problems.push(format!(
                        "`{name}` executes {new} instructions instead of {old}, over {MAX_INCREASE_PERCENT} % more"
                    ));
                }
            }
            (Some(_), None) => problems.push(format!("`{name}` of {FILE} was not counted")),
            (None, _) => problems.push(format!("`{name}` is not in {FILE}: add it with `cargo xtask count --save`")),
        }
    }
    (lines, problems)
}

fn count(workspace: &Workspace) -> Result<Counts, String> {
    let valgrind = valgrind(workspace)?;
    ensure_runner(workspace)?;
    let target = workspace.target()?;
    // Without earlier results in its folder, the runner does not compare by itself.
    let results_folder = target.join("count");
    let _ = std::fs::remove_dir_all(&results_folder);
    let results_folder = results_folder.to_string_lossy().into_owned();
    let arguments = [
        "bench",
        "-p",
        "superstep-bench",
        "--bench",
        "hot_paths",
        "--",
        "--output-format=json",
        "--home",
        &results_folder,
    ];
    let mut command = workspace.cargo(&arguments);
    if let Some(folder) = valgrind {
        command.arg("--valgrind-bin").arg(folder.join("usr/bin/valgrind"));
        command.env("VALGRIND_LIB", folder.join("usr/libexec/valgrind"));
    }
    let output = process::stdout(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("the benchmark runner ended with {}:\n{text}", output.status));
    }
    parse_counts(&text)
}

/// Parses the output of the runner: one JSON object for each path.
fn parse_counts(text: &str) -> Result<Counts, String> {
    let mut counts = Counts::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let path: Value = serde_json::from_str(line).map_err(|error| format!("the runner's output: {error}"))?;
        let name = path["function_name"].as_str().ok_or("the runner's output names no path")?;
        let parts = path["profiles"][0]["data"]["parts"].as_array().ok_or("the runner's output has no counts")?;
        let count = |part: &Value| part["metrics"]["Ir"]["values"]["new"].as_u64();
        let sum: Option<u64> = parts.iter().map(count).sum();
        counts.insert(name.to_owned(), sum.ok_or_else(|| format!("no instructions of `{name}`"))?);
    }
    if counts.is_empty() { Err(format!("the runner's output has no counts:\n{text}")) } else { Ok(counts) }
}

fn succeeds(command: &mut Command) -> bool {
    process::output(command).is_ok_and(|output| output.status.success())
}

/// Installs the benchmark runner in the locked version of its library; other versions do not work together.
fn ensure_runner(workspace: &Workspace) -> Result<(), String> {
    let lock = std::fs::read_to_string(workspace.root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"gungraun\"").skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    let version = version.ok_or("Cargo.lock has no gungraun")?;
    let installed = process::output(Command::new("gungraun-runner").arg("--version"));
    if installed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(version)) {
        return Ok(());
    }
    println!("    installing gungraun-runner {version}");
    let arguments = ["install", "gungraun-runner", "--version", version, "--locked", "--force"];
    process::run(&mut workspace.cargo(&arguments))
}

/// Ensures that valgrind is available. Returns its folder if it was unpacked there, and `None` if it is installed.
fn valgrind(workspace: &Workspace) -> Result<Option<PathBuf>, String> {
    if succeeds(Command::new("valgrind").arg("--version")) {
        return Ok(None);
    }
    let folder = workspace.target()?.join("tools/valgrind");
    if folder.join("usr/bin/valgrind").is_file() {
        return Ok(Some(folder));
    }
    let Err(error) = servers::ensure_programs(&[("valgrind", "valgrind")]) else { return Ok(None) };
    // Unpacking needs no root permissions, unlike installing.
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let unpack = "apt-get download valgrind && dpkg -x valgrind_*.deb .";
    if succeeds(Command::new("sh").args(["-c", unpack]).current_dir(&folder)) {
        return Ok(Some(folder));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn a_path_that_changed_by_more_than_allowed_is_named() {
        let baseline = counts(&[("same", 1000), ("longer", 1000), ("shorter", 1000), ("gone", 1000)]);
        let (lines, problems) =
            compare(&baseline, &counts(&[("same", 1050), ("longer", 1051), ("shorter", 950), ("new", 1)]));
        let hinted: Vec<&str> = lines.iter().filter(|line| line.contains("--save")).map(String::as_str).collect();
        assert!(lines.len() == 3 && hinted.len() == 1 && hinted[0].starts_with("shorter"), "{lines:?}");
        let named: Vec<&str> = problems.iter().filter_map(|problem| problem.split('`').nth(1)).collect();
        assert_eq!(named, ["gone", "longer", "new"]);
    }

    #[test]
    fn the_output_of_the_runner_is_parsed() {
        let part = r#"{"metrics":{"Ir":{"values":{"new":40}}}}"#;
        let line = format!(r#"{{"function_name":"path","profiles":[{{"data":{{"parts":[{part},{part}]}}}}]}}"#);
        assert_eq!(parse_counts(&format!("noise\n{line}\n")).unwrap(), counts(&[("path", 80)]));
        assert!(parse_counts("nothing").is_err());
        assert!(parse_counts("{\"function_name\":\"path\"}").is_err());
    }
}
