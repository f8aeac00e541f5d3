//! Deterministic simulation of the engine: real runs with injected storage faults and process crashes, derived from a
//! seed.
//!
//! Each seed is a small graph and the goals of its clients. The graph runs once without faults; then once for each
//! await point at which the process crashes, crashes again during recovery, loses its thread or is cancelled, and
//! once for each way in which a call of the checkpointer can fail. The invariants are in `invariants`;
//! `testing/reliability/` describes how to repeat a run.

mod arguments;
mod campaign;
mod checkpointer_backend;
mod client;
mod client_assertions;
mod clock;
mod executor;
mod fault_plan;
mod faulty_checkpointer;
mod graphs;
mod history;
mod invariants;
mod oracle;
mod process;
mod random;
mod report;
mod scenario;
mod schedule;
mod seed;
mod simulation;
mod state;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use superstep::core::seeded_bugs::{SeededBug, enable};

use crate::arguments::{Arguments, SeededBugSelection};
use crate::campaign::{CampaignResult, Seeds};
use crate::executor::DeterministicRuntime;
use crate::invariants::Counter;
use crate::report::{Report, found_text};
use crate::seed::{SeedWorker, perform_seed};

/// Maximum number of schedules within which a seeded bug must be found.
const SEEDED_BUG_LIMIT: u64 = 100_000;
/// Minimum number of schedules from which every invariant must have been checked.
const MIN_SCHEDULES_FOR_COVERAGE: u64 = 20_000;
/// Seeds that found bugs; they always run first.
const KNOWN_SEEDS: &str = include_str!("../../reliability/seeds.txt");

fn main() -> ExitCode {
    let result = Arguments::parse(std::env::args().skip(1)).and_then(|arguments| match arguments.schedule {
        Some(schedule) => repeat(&arguments, schedule),
        None => simulate(&arguments),
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs one schedule again. Returns true if no invariant was violated.
fn repeat(arguments: &Arguments, schedule: u32) -> Result<bool, String> {
    let bug = if let SeededBugSelection::Only(bug) = arguments.seeded_bugs { Some(bug) } else { None };
    enable(bug);
    let runtime = DeterministicRuntime::new().map_err(|error| format!("the runtime does not start: {error}"))?;
    let worker = Arc::new(SeedWorker::new().map_err(|error| error.to_string())?);
    let result = runtime.perform(perform_seed(worker, arguments.seed, Some(schedule)));
    if result.trace.is_empty() && result.violation.is_none() {
        return Err(format!("seed {} has no schedule {schedule}", arguments.seed));
    }
    let mut lines = if arguments.trace { result.trace } else { Vec::new() };
    lines.push(match &result.violation {
        Some(violation) => found_text(violation, bug),
        None => format!("seed {} schedule {schedule}: no violation", arguments.seed),
    });
    // A reader that closes the pipe early is not an error.
    let _ = writeln!(std::io::stdout(), "{}", lines.join("\n"));
    Ok(result.violation.is_none())
}

/// Finds the seeded bugs, then runs the schedules without bugs. Returns true if everything is as expected.
fn simulate(arguments: &Arguments) -> Result<bool, String> {
    let started_at = Instant::now();
    let bugs: &[SeededBug] = match &arguments.seeded_bugs {
        SeededBugSelection::All => SeededBug::ALL,
        SeededBugSelection::None => &[],
        SeededBugSelection::Only(bug) => std::slice::from_ref(bug),
    };
    let seeded_bugs = bugs.iter().map(|bug| find_seeded_bug(arguments, *bug)).collect::<Result<Vec<_>, _>>()?;
    let without_bugs = !matches!(arguments.seeded_bugs, SeededBugSelection::Only(_));
    let total = if without_bugs { run_without_bugs(arguments)? } else { CampaignResult::default() };
    let checks_coverage = without_bugs && arguments.schedules >= MIN_SCHEDULES_FOR_COVERAGE;
    let unchecked = if checks_coverage { total.counters.unchecked() } else { Vec::new() };
    let report = Report { seed: arguments.seed, seeded_bugs, total, time: started_at.elapsed(), unchecked };
    if arguments.json {
        println!("{}", report.json());
        eprintln!("{}", report.text());
    } else {
        println!("{}", report.text());
    }
    Ok(report.is_good())
}

/// Returns the number of schedules needed to find a seeded bug.
fn find_seeded_bug(arguments: &Arguments, bug: SeededBug) -> Result<(SeededBug, Option<u64>), String> {
    enable(Some(bug));
    let seeds = Seeds::From(arguments.seed, SEEDED_BUG_LIMIT);
    let total = campaign::run(&seeds, arguments.threads, &format!("seeded bug `{bug}`"));
    enable(None);
    let total = total?;
    if let Some(violation) = &total.violation {
        eprintln!("seeded bug `{bug}`: {}", found_text(violation, Some(bug)));
    }
    Ok((bug, total.violation.as_ref().map(|_| total.counters.get(Counter::Schedules))))
}

/// Runs the schedules without seeded bugs, known seeds first.
fn run_without_bugs(arguments: &Arguments) -> Result<CampaignResult, String> {
    let regression_seeds = known_seeds(KNOWN_SEEDS)?;
    let first = campaign::run(&Seeds::List(&regression_seeds), arguments.threads, "known seeds")?;
    if first.violation.is_some() {
        return Ok(first);
    }
    let seeds = Seeds::From(arguments.seed, arguments.schedules);
    let mut total = campaign::run(&seeds, arguments.threads, "clean")?;
    total.counters.merge(&first.counters);
    total.seeds += first.seeds;
    total.time += if first.seeds > 0 { first.time } else { Duration::ZERO };
    Ok(total)
}

fn known_seeds(text: &str) -> Result<Vec<u64>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let seeds = lines.filter(|line| !line.is_empty());
    seeds
        .map(|line| line.parse().map_err(|_| format!("testing/reliability/seeds.txt: `{line}` is not a seed")))
        .collect()
}

#[cfg(test)]
mod tests;
