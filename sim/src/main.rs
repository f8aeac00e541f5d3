//! The deterministic simulation of the engine: real runs on a disk that lies, in processes that die, out of a seed.
//!
//! Each seed is a small graph and what clients want of it. It is run once without faults; then once for each await
//! point at which its process dies, dies again while it recovers, loses its thread or is cancelled, and once for each
//! way in which a call of the store can fail. What must hold is in `rules`; how a run is repeated in `reliability/`.

mod arguments;
mod campaign;
mod client;
mod clock;
mod disk;
mod graphs;
mod heard;
mod line;
mod plan;
mod process;
mod random;
mod record;
mod report;
mod rules;
mod scenario;
mod schedule;
mod seed;
mod sim;
mod stage;
mod store;
mod work;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use superstep::core::planted::{Bug, plant};

use crate::arguments::{Arguments, Planted};
use crate::campaign::{Seeds, Total};
use crate::report::{Report, found_text};
use crate::rules::Fact;
use crate::seed::{Bench, perform_seed};
use crate::stage::Stage;

/// A planted bug must be found within so many schedules.
const PLANTED_LIMIT: u64 = 100_000;
/// With fewer schedules not every rule can be expected to be put to the test.
const ENOUGH: u64 = 20_000;
/// Seeds that once broke a rule, performed before all others for ever.
const KNOWN_SEEDS: &str = include_str!("../../reliability/seeds.txt");

fn main() -> ExitCode {
    let done = Arguments::read(std::env::args().skip(1)).and_then(|arguments| match arguments.schedule {
        Some(schedule) => repeat(&arguments, schedule),
        None => simulate(&arguments),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Performs one schedule again. True when no rule was broken.
fn repeat(arguments: &Arguments, schedule: u32) -> Result<bool, String> {
    let bug = if let Planted::Only(bug) = arguments.planted { Some(bug) } else { None };
    plant(bug);
    let stage = Stage::new().map_err(|error| format!("the runtime does not start: {error}"))?;
    let bench = Arc::new(Bench::new().map_err(|error| error.to_string())?);
    let end = stage.perform(perform_seed(bench, arguments.seed, Some(schedule)));
    if end.trace.is_empty() && end.found.is_none() {
        return Err(format!("seed {} has no schedule {schedule}", arguments.seed));
    }
    let mut lines = if arguments.trace { end.trace } else { Vec::new() };
    lines.push(match &end.found {
        Some(found) => found_text(found, bug),
        None => format!("seed {} schedule {schedule}: no rule was broken", arguments.seed),
    });
    // Whoever has seen enough of a long trace closes the pipe, and that is no failure.
    let _ = writeln!(std::io::stdout(), "{}", lines.join("\n"));
    Ok(end.found.is_none())
}

/// Finds the planted bugs, then performs the clean schedules. True when everything is as it should be.
fn simulate(arguments: &Arguments) -> Result<bool, String> {
    let begun = Instant::now();
    let bugs: &[Bug] = match &arguments.planted {
        Planted::All => Bug::ALL,
        Planted::None => &[],
        Planted::Only(bug) => std::slice::from_ref(bug),
    };
    let planted = bugs.iter().map(|bug| find_planted(arguments, *bug)).collect::<Result<Vec<_>, _>>()?;
    let is_clean = !matches!(arguments.planted, Planted::Only(_));
    let total = if is_clean { clean(arguments)? } else { Total::default() };
    let is_enough = is_clean && arguments.schedules >= ENOUGH;
    let untried = if is_enough { total.tally.untried() } else { Vec::new() };
    let report = Report { seed: arguments.seed, planted, total, time: begun.elapsed(), untried };
    if arguments.json {
        println!("{}", report.json());
        eprintln!("{}", report.text());
    } else {
        println!("{}", report.text());
    }
    Ok(report.is_good())
}

/// How many schedules it takes to find a planted bug.
fn find_planted(arguments: &Arguments, bug: Bug) -> Result<(Bug, Option<u64>), String> {
    plant(Some(bug));
    let seeds = Seeds::From(arguments.seed, PLANTED_LIMIT);
    let total = campaign::run(&seeds, arguments.threads, &format!("planted `{bug}`"));
    plant(None);
    let total = total?;
    if let Some(found) = &total.found {
        eprintln!("planted `{bug}`: {}", found_text(found, Some(bug)));
    }
    Ok((bug, total.found.as_ref().map(|_| total.tally.of(Fact::Schedules))))
}

/// The schedules without planted bugs: the known seeds first.
fn clean(arguments: &Arguments) -> Result<Total, String> {
    let known = known_seeds(KNOWN_SEEDS)?;
    let first = campaign::run(&Seeds::List(&known), arguments.threads, "known seeds")?;
    if first.found.is_some() {
        return Ok(first);
    }
    let seeds = Seeds::From(arguments.seed, arguments.schedules);
    let mut total = campaign::run(&seeds, arguments.threads, "clean")?;
    total.tally.merge(&first.tally);
    total.seeds += first.seeds;
    total.time += if first.seeds > 0 { first.time } else { Duration::ZERO };
    Ok(total)
}

fn known_seeds(text: &str) -> Result<Vec<u64>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let seeds = lines.filter(|line| !line.is_empty());
    seeds.map(|line| line.parse().map_err(|_| format!("reliability/seeds.txt: `{line}` is no seed"))).collect()
}

#[cfg(test)]
mod tests;
