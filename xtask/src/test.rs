//! `cargo xtask test`: everything a change must pass, in the order in which failures are cheapest to find.
//!
//! Stops at the first failure. Installs the tools it needs, and never skips a step in silence.

use std::time::Instant;

use superstep_cluster::{Collector, McpServers};

use crate::workspace::{WEIGHTS, Workspace};
use crate::{conformance, count, langgraph, python, servers, sim, spec, studio, tidy, torture, weights};

/// The line of `--help`.
pub(crate) const HELP: &str = "formatting, lints, tests, simulation, torture, documentation, house rules, LangGraph's \
                               suite, its threads, pages in a browser, local weights, instruction counts \
                               [--quick: less simulation; no torture, documentation, LangGraph, browser, weights or \
                               counts]";

/// What one step does.
enum Work {
    Cargo { arguments: &'static [&'static str], environment: &'static [(&'static str, &'static str)] },
    Nextest,
    Servers,
    Tests,
    Sim,
    Torture,
    Tidy,
    Spec,
    Conformance,
    LangGraph,
    Studio,
    Weights,
    Count,
}

/// A named step.
struct Step {
    name: &'static str,
    is_quick: bool,
    work: Work,
}

/// A step that is one call of Cargo.
const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, is_quick: true, work: Work::Cargo { arguments, environment: &[] } }
}

/// Every step, in order.
const STEPS: [Step; 17] = [
    cargo("fmt", &["fmt", "--all", "--", "--check"]),
    cargo(
        "fmt of the local weights",
        &["fmt", "--manifest-path", WEIGHTS, "-p", "superstep-weights", "-p", "superstep-weights-cli", "--", "--check"],
    ),
    cargo("clippy", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    Step { name: "nextest is installed", is_quick: true, work: Work::Nextest },
    Step { name: "PostgreSQL, Redis and MCP servers are installed", is_quick: true, work: Work::Servers },
    Step { name: "tests", is_quick: true, work: Work::Tests },
    Step { name: "simulation", is_quick: true, work: Work::Sim },
    Step { name: "torture", is_quick: false, work: Work::Torture },
    Step {
        name: "doc tests",
        is_quick: false,
        work: Work::Cargo { arguments: &["test", "--workspace", "--doc", "--all-features"], environment: &[] },
    },
    Step {
        name: "documentation",
        is_quick: false,
        work: Work::Cargo {
            arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
            environment: &[("RUSTDOCFLAGS", "-D warnings")],
        },
    },
    Step { name: "tidy", is_quick: true, work: Work::Tidy },
    Step { name: "spec", is_quick: true, work: Work::Spec },
    Step { name: "LangGraph's suite", is_quick: false, work: Work::Conformance },
    Step { name: "LangGraph's threads", is_quick: false, work: Work::LangGraph },
    Step { name: "pages in a browser", is_quick: false, work: Work::Studio },
    Step { name: "local weights", is_quick: false, work: Work::Weights },
    Step { name: "instruction counts", is_quick: false, work: Work::Count },
];

/// Runs the steps.
///
/// # Errors
/// At the first step that fails, naming it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let quick = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--quick"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --quick", arguments.join(" "))),
    };
    let (begun, mut notes) = (Instant::now(), Vec::new());
    for step in STEPS.iter().filter(|step| step.is_quick || !quick) {
        println!("==> {}", step.name);
        let step_begun = Instant::now();
        let note = perform(workspace, &step.work, quick);
        notes.extend(note.map_err(|problem| format!("step `{}` failed: {problem}", step.name))?);
        println!("    {} ok, {:.1} s", step.name, step_begun.elapsed().as_secs_f64());
    }
    print!("{}", summary(begun.elapsed().as_secs_f64(), quick, &notes));
    Ok(())
}

/// What is told at the end: also what was not tried.
fn summary(seconds: f64, quick: bool, notes: &[String]) -> String {
    let left_out = if quick {
        ", torture, documentation, LangGraph's suite and threads, pages in a browser, local weights, and instruction \
         counts left out"
    } else {
        ""
    };
    let all = if notes.is_empty() { "everything" } else { "everything else" };
    let notes: String = notes.iter().map(|note| format!("BUT {note}\n")).collect();
    format!("{all} passed in {seconds:.1} s{left_out}\n{notes}")
}

/// Performs a step; gives what could not be done of it and is no failure.
fn perform(workspace: &Workspace, work: &Work, quick: bool) -> Result<Vec<String>, String> {
    match work {
        Work::Tests => return run_tests(workspace),
        Work::Weights => return weights::check(workspace),
        Work::Cargo { arguments, environment } => call(workspace, arguments, environment),
        Work::Nextest => ensure_nextest(workspace),
        Work::Servers => servers::ensure().and_then(|()| ensure_programs(workspace)),
        Work::Sim => sim::check(workspace, if quick { "20000" } else { "200000" }),
        Work::Torture => torture::check(workspace),
        Work::Tidy => tidy::run(workspace, &[]),
        Work::Spec => spec::run(workspace, &["--check".to_owned()]),
        Work::Conformance => conformance::run(workspace, &[]),
        Work::LangGraph => langgraph::run(workspace, &[]),
        Work::Studio => studio::run(workspace, &[]),
        Work::Count => count::run(workspace, &[]),
    }?;
    Ok(Vec::new())
}

/// Without a PostgreSQL that has pgvector, Google's emulator or an S3 server all other tests run, and what was left out is
/// told here and at the end.
fn run_tests(workspace: &Workspace) -> Result<Vec<String>, String> {
    let (mut left_out, mut notes) = (Vec::new(), Vec::new());
    if let Err(problem) = python::ensure_pgvector(workspace) {
        left_out.push("not test(with_pgvector)");
        notes.push(format!("tests with pgvector were LEFT OUT, there is no server for them: {problem}"));
    }
    if let Some(problem) = superstep_cluster::firestore::missing() {
        left_out.push("not test(on_the_emulator)");
        notes.push(format!("FIRESTORE WAS NOT TESTED: {problem}"));
    }
    if let Err(problem) = python::ensure_s3(workspace) {
        left_out.push("not test(on_a_server)");
        notes.push(format!("S3 WAS NOT TESTED, there is no server for it: {problem}"));
    }
    notes.iter().for_each(|note| println!("    {note}"));
    let (mut arguments, filter) =
        (vec!["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"], left_out.join(" and "));
    if !filter.is_empty() {
        arguments.extend(["-E", &filter]);
    }
    call(workspace, &arguments, &[])?;
    Ok(notes)
}

fn call(workspace: &Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let spoken = format!("`cargo {}`", arguments.join(" "));
    let status = workspace
        .cargo(arguments)
        .envs(environment.iter().copied())
        .status()
        .map_err(|error| format!("{spoken} could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{spoken} ended with {status}")) }
}

/// The MCP servers that others wrote and what our collector needs, where the tests look for them.
fn ensure_programs(workspace: &Workspace) -> Result<(), String> {
    let target = workspace.target()?;
    McpServers::ensure(target.join("mcp-servers"))?;
    Collector::install(&target).map(drop)
}

fn ensure_nextest(workspace: &Workspace) -> Result<(), String> {
    let answer = workspace.cargo(&["nextest", "--version"]).output();
    if answer.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("    installing cargo-nextest, once; this takes some minutes");
    call(workspace, &["install", "cargo-nextest", "--locked"], &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_names_the_call() {
        let workspace = Workspace::find().unwrap();
        let problem = call(&workspace, &["no-such-command"], &[]).unwrap_err();
        assert!(problem.starts_with("`cargo no-such-command` ended with"), "{problem}");
    }

    #[test]
    fn what_was_not_tested_is_told() {
        assert_eq!(summary(1.0, false, &[]), "everything passed in 1.0 s\n");
        let told = summary(1.0, true, &["FIRESTORE WAS NOT TESTED: there is no jar".to_owned()]);
        assert!(told.starts_with("everything else passed") && told.contains("torture"), "{told}");
        assert!(told.ends_with("\nBUT FIRESTORE WAS NOT TESTED: there is no jar\n"), "{told}");
    }

    #[test]
    fn unknown_arguments_are_refused() {
        let problem = run(&Workspace::find().unwrap(), &["--fast".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown arguments `--fast`; known: --quick");
    }
}
