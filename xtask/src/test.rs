//! `cargo xtask test`: runs all checks that a change must pass, the cheapest ones first.
//!
//! Stops at the first failure. Installs missing tools, limits the time of every step, and prints a summary with the
//! skipped parts and their reasons.

use std::io::IsTerminal;
use std::num::NonZero;
use std::time::{Duration, Instant};

use crate::process::{self, minutes};
use crate::tally::{self, Tally};
use crate::workspace::{WEIGHTS, Workspace};
use crate::{conformance, count, langgraph, parity, servers, sim, spec, tidy, torture, web, weights};

/// Help text of the command.
pub(crate) const HELP: &str = "Run all checks: formatting, lints, tests, short simulation and fault tests, \
                               documentation, project rules, comparisons with LangGraph, browser tests, local weights \
                               (only the library, if it changed), instruction counts [--quick: without fault tests, \
                               documentation, LangGraph, browser tests, local weights and instruction counts]";

/// The work of one step.
enum StepKind {
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
    Parity,
    Web,
    Weights,
    Count,
}

/// A named step with its time limit.
struct Step {
    name: &'static str,
    minutes: u64,
    is_quick: bool,
    work: StepKind,
}

impl Step {
    const fn new(name: &'static str, minutes: u64, work: StepKind) -> Self {
        Self { name, minutes, is_quick: true, work }
    }

    /// Creates a step that is one Cargo call.
    const fn cargo(name: &'static str, minutes: u64, arguments: &'static [&'static str]) -> Self {
        Self::new(name, minutes, StepKind::Cargo { arguments, environment: &[] })
    }

    /// Marks the step as left out by `--quick`.
    const fn thorough(self) -> Self {
        Self { is_quick: false, ..self }
    }

    const fn limit(&self) -> Duration {
        minutes(self.minutes)
    }

    /// Returns true if the step only prepares other steps and checks nothing.
    const fn is_preparation(&self) -> bool {
        matches!(self.work, StepKind::Nextest | StepKind::Servers)
    }
}

const FORMAT: [&str; 4] = ["fmt", "--all", "--", "--check"];
const FORMAT_WEIGHTS: [&str; 9] =
    ["fmt", "--manifest-path", WEIGHTS, "-p", "superstep-weights", "-p", "superstep-weights-cli", "--", "--check"];
const CLIPPY: [&str; 7] = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
const DOC_TESTS: [&str; 4] = ["test", "--workspace", "--doc", "--all-features"];
/// Builds the benchmark of peers, a separate workspace, without the peers: it uses the public API of the engine.
const PEER_BENCHMARK: [&str; 8] = [
    "check",
    "--manifest-path",
    "bench/peers/Cargo.toml",
    "--locked",
    "--package",
    "measure",
    "--package",
    "peer-superstep",
];
const DOCUMENTATION: StepKind = StepKind::Cargo {
    arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
    environment: &[("RUSTDOCFLAGS", "-D warnings")],
};

/// All steps in order. Each limit is several times the duration of the step on two busy cores without earlier builds.
const STEPS: [Step; 19] = [
    Step::cargo("fmt", 5, &FORMAT),
    Step::cargo("fmt of local weights", 5, &FORMAT_WEIGHTS),
    Step::cargo("clippy", 25, &CLIPPY),
    // Built from source if it is missing.
    Step::new("install nextest", 20, StepKind::Nextest),
    Step::new("install test servers", 10, StepKind::Servers),
    Step::new("tests", 50, StepKind::Tests),
    Step::new("simulation", 15, StepKind::Sim),
    Step::new("torture", 15, StepKind::Torture).thorough(),
    Step::cargo("doc tests", 20, &DOC_TESTS).thorough(),
    Step::new("documentation", 15, DOCUMENTATION).thorough(),
    Step::cargo("benchmark of peers", 15, &PEER_BENCHMARK).thorough(),
    Step::new("tidy", 5, StepKind::Tidy),
    Step::new("spec", 5, StepKind::Spec),
    Step::new("LangGraph conformance suite", 10, StepKind::Conformance).thorough(),
    Step::new("import of LangGraph threads", 10, StepKind::LangGraph).thorough(),
    Step::new("parity with LangGraph", 10, StepKind::Parity).thorough(),
    Step::new("web pages", 15, StepKind::Web).thorough(),
    Step::new("local weights", 30, StepKind::Weights).thorough(),
    Step::new("instruction counts", 20, StepKind::Count).thorough(),
];

/// A group of tests with a requirement that may be missing: the module of the tests, the name of the group in the
/// summary, and the function that finds or installs the requirement.
struct Optional {
    module: &'static str,
    part: &'static str,
    ensure: fn(&Workspace) -> Result<(), String>,
}

/// All optional groups. Their tests fail without their requirement, so a filter leaves them out.
const OPTIONAL: [Optional; 3] = [
    Optional {
        module: "with_pgvector",
        part: "tests with pgvector",
        ensure: |workspace| servers::run_as_child(workspace, &["pgvector"]),
    },
    Optional {
        module: "on_the_emulator",
        part: "tests with Firestore's emulator",
        ensure: |_| superstep_cluster::firestore_emulator::unavailable_reason().map_or(Ok(()), Err),
    },
    Optional {
        module: "on_a_server",
        part: "tests with an S3 server",
        ensure: |workspace| servers::run_as_child(workspace, &["s3"]),
    },
];

/// Runs the steps.
///
/// # Errors
/// Returns an error if an argument is unknown, and an error that names the first failed step.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let quick = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--quick"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --quick", arguments.join(" "))),
    };
    let (started_at, mut total, mut failure) = (Instant::now(), Tally::default(), None);
    for step in &STEPS {
        if quick && !step.is_quick {
            total.skip(1, step.name, "left out by --quick");
        } else if failure.is_some() {
            total.skip(1, step.name, "not reached");
        } else {
            failure = perform(workspace, step, &mut total);
        }
    }
    let summary = format!("{:.1} s\n{}", started_at.elapsed().as_secs_f64(), total.summary());
    match failure {
        None => println!("{summary}"),
        Some(problem) => return Err(format!("{problem}\n{summary}")),
    }
    Ok(())
}

/// Runs a step and counts its results; returns the error if it failed.
fn perform(workspace: &Workspace, step: &Step, total: &mut Tally) -> Option<String> {
    println!("==> {}", step.name);
    let started_at = Instant::now();
    let (tally, problem) = process::with_time_limit(step.limit(), || run_step(workspace, &step.work));
    if problem.is_some() || !step.is_preparation() {
        total.add(tally);
    }
    let seconds = started_at.elapsed().as_secs_f64();
    match &problem {
        None => println!("    {} ok, {seconds:.1} s", step.name),
        Some(_) => println!("    {} FAILED, {seconds:.1} s", step.name),
    }
    problem.map(|problem| format!("step `{}` failed: {problem}", step.name))
}

/// Runs the work of a step. Returns its counts, and its error if it failed.
fn run_step(workspace: &Workspace, work: &StepKind) -> (Tally, Option<String>) {
    let passed = |()| Tally::passed();
    let result = match work {
        StepKind::Tests => return run_tests(workspace),
        StepKind::Torture => torture::check(workspace),
        StepKind::Parity => parity::check(workspace),
        StepKind::Weights => weights::check_library(workspace),
        StepKind::Cargo { arguments, environment } => call(workspace, arguments, environment).map(passed),
        StepKind::Nextest => ensure_nextest(workspace).map(passed),
        StepKind::Servers => servers::run_as_child(workspace, &[]).map(passed),
        StepKind::Sim => sim::check(workspace).map(passed),
        StepKind::Tidy => tidy::run(workspace, &[]).map(passed),
        StepKind::Spec => spec::run(workspace, &["--check".to_owned()]).map(passed),
        StepKind::Conformance => conformance::run(workspace, &[]).map(passed),
        StepKind::LangGraph => langgraph::run(workspace, &[]).map(passed),
        StepKind::Web => web::run(workspace, &[]).map(passed),
        StepKind::Count => count::run(workspace, &[]).map(passed),
    };
    match result {
        Ok(tally) => (tally, None),
        Err(problem) => (Tally::failed(), Some(problem)),
    }
}

/// Seed of the property tests, so that a run depends on the commit only. `cargo nextest run` generates new cases.
const PROPERTY_TEST_SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Number of tests that run at a time, per core. Half of the time of the tests is waiting for databases, other processes
/// and timeouts: on two cores they take 450 s with one test per core.
const TESTS_PER_CORE: usize = 2;

/// Runs all tests except optional groups with a missing requirement. Returns nextest's counts, and an error on failure.
fn run_tests(workspace: &Workspace) -> (Tally, Option<String>) {
    let missing: Vec<(&Optional, String)> =
        OPTIONAL.iter().filter_map(|group| Some((group, (group.ensure)(workspace).err()?))).collect();
    let filter =
        missing.iter().map(|(group, _)| format!("not test(::{}::)", group.module)).collect::<Vec<_>>().join(" and ");
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (cores * TESTS_PER_CORE).to_string();
    let mut arguments =
        vec!["nextest", "run", "--workspace", "--all-features", "--no-fail-fast", "--test-threads", &threads];
    if !filter.is_empty() {
        arguments.extend(["-E", &filter]);
    }
    let mut command = workspace.cargo(&arguments);
    if std::env::var_os(PROPERTY_TEST_SEED.0).is_none() {
        command.env(PROPERTY_TEST_SEED.0, PROPERTY_TEST_SEED.1);
    }
    if std::io::stderr().is_terminal() {
        // The output goes through a pipe, which would turn colours off.
        command.env("CARGO_TERM_COLOR", "always");
    }
    let output = match process::passed_through(&mut command) {
        Ok(output) => output,
        Err(problem) => return (Tally::failed(), Some(problem)),
    };
    let command_line = format!("`cargo {}`", arguments.join(" "));
    let mut tally = match tally::parse_nextest_summary(&String::from_utf8_lossy(&output.stderr)) {
        Ok(tally) => tally,
        Err(problem) => {
            return (Tally::failed(), Some(format!("{command_line} ended with {}: {problem}", output.status)));
        }
    };
    let problem = match output.status {
        status if !status.success() => Some(format!("{command_line} ended with {status}")),
        _ => explain_skipped(&mut tally, &missing).err(),
    };
    tally.failed += u64::from(problem.is_some() && tally.failed == 0);
    (tally, problem)
}

/// Adds the reasons for skipped tests.
///
/// # Errors
/// Returns an error if tests should have been left out and none was, or tests were skipped without a known reason: the
/// summary would be wrong.
fn explain_skipped(tally: &mut Tally, missing: &[(&Optional, String)]) -> Result<(), String> {
    for (group, reason) in missing {
        // nextest has already counted the skipped tests of all groups together.
        let part = if missing.len() == 1 { format!("{} {}", tally.skipped, group.part) } else { group.part.to_owned() };
        tally.skip(0, &part, reason);
    }
    match (tally.skipped, missing.is_empty()) {
        (0, false) => {
            Err("nextest skipped no tests although some should be left out: was their module renamed?".to_owned())
        }
        (skipped @ 1.., true) => Err(format!("nextest skipped {skipped} tests for no known reason")),
        _ => Ok(()),
    }
}

fn call(workspace: &Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    process::run(workspace.cargo(arguments).envs(environment.iter().copied()))
}

/// Installs nextest if it is missing.
///
/// # Errors
/// Returns an error if nextest cannot be installed.
pub(crate) fn ensure_nextest(workspace: &Workspace) -> Result<(), String> {
    let version = process::output(&mut workspace.cargo(&["nextest", "--version"]));
    if version.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("    installing cargo-nextest, which takes some minutes");
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
    fn skipped_tests_require_a_reason() {
        let counts = |skipped| Tally { passed: 5, skipped, ..Tally::default() };
        let missing = [(&OPTIONAL[1], "there is no jar".to_owned())];
        let mut tally = counts(16);
        assert_eq!(explain_skipped(&mut tally, &missing), Ok(()));
        assert_eq!(
            tally.summary(),
            "skipped: 16 tests with Firestore's emulator: there is no jar\n5 passed, 0 failed, 16 skipped"
        );
        assert_eq!(explain_skipped(&mut counts(0), &[]), Ok(()));
        assert!(explain_skipped(&mut counts(0), &missing).is_err());
        assert!(explain_skipped(&mut counts(1), &[]).is_err());
    }

    #[test]
    fn the_modules_that_are_left_out_exist() {
        let files = Workspace::find().unwrap().files().unwrap();
        let tests = files.iter().filter(|file| file.path.starts_with("crates/superstep-adapters/tests/it"));
        let text: String = tests.map(|file| file.text.as_str()).collect();
        for Optional { module, .. } in &OPTIONAL {
            let exists = text.contains(&format!("mod {module};")) || text.contains(&format!("mod {module} {{"));
            assert!(exists, "{module}");
        }
    }

    #[test]
    fn unknown_arguments_are_rejected() {
        let problem = run(&Workspace::find().unwrap(), &["--fast".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown arguments `--fast`; known: --quick");
    }
}
