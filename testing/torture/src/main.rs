//! Fault tests with real processes and real databases: everything that was acknowledged must be stored after kills,
//! full disks and I/O errors.
//!
//! Each test is a module with its own report. Workers and readers are this program itself, started as child
//! processes; `protocol` has their messages. `testing/reliability/` describes the guarantees and how much was tested.

mod arguments;
mod checkpointer;
mod child_process;
mod clock;
mod contender;
mod corruption;
mod disk_full;
mod io_errors;
mod kill_loop;
mod options;
mod postgres;
mod power_loss;
mod process_kill;
mod protocol;
mod side_effects;
mod temp_dir;
mod verify;
// Shared with `superstep-sim` by path, because both are programs without a library.
#[path = "../../sim/src/random.rs"]
mod random;
mod reader;
mod report;
mod tools;
mod two_processes;
mod worker;
mod workload;

use std::process::ExitCode;
use std::time::Instant;

use serde::de::DeserializeOwned;

use crate::arguments::Arguments;
use crate::checkpointer::CheckpointerLocation;
use crate::options::TestOptions;
use crate::report::Report;

/// A test with its name.
type FaultTest = (&'static str, fn(&TestOptions) -> Result<Report, String>);

/// All tests in the order of their execution.
const FAULT_TESTS: [FaultTest; 8] = [
    ("kill", process_kill::run_test),
    ("power", power_loss::run_test),
    ("io", io_errors::run_test),
    ("full", disk_full::run_test),
    ("damage", corruption::run_test),
    ("two", two_processes::run_test),
    ("clock", clock::run_test),
    ("postgres", postgres::run_test),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker", kind, location, args] => run_worker(kind, location, args),
        ["reader", kind, location, args] => run_reader(kind, location, args),
        ["contender", kind, location, args] => run_contender(kind, location, args),
        ["full-inside", folder, disk, seed, kills] => run_disk_full(folder, disk, seed, kills),
        _ => Arguments::parse(args.into_iter()).and_then(|arguments| run_tests(&arguments)),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the tests. Returns true if there are no violations.
fn run_tests(arguments: &Arguments) -> Result<bool, String> {
    let is_selected = |name: &str| arguments.only.as_ref().is_none_or(|only| only == name);
    let tests: Vec<&FaultTest> = FAULT_TESTS.iter().filter(|(name, _)| is_selected(name)).collect();
    if tests.is_empty() {
        let names = FAULT_TESTS.map(|(name, _)| name).join(", ");
        return Err(format!("unknown test `{}`; known: {names}", arguments.only.as_deref().unwrap_or_default()));
    }
    let mut reports = Vec::new();
    for (_, run) in tests {
        let started = Instant::now();
        let mut report = run(&TestOptions::new(arguments))?;
        report.time = started.elapsed();
        if arguments.json {
            eprintln!("{}", report.text());
        } else {
            println!("{}", report.text());
        }
        reports.push(report);
    }
    if arguments.json {
        // Skipped tests are not part of the JSON report.
        let executed = reports.iter().filter(|report| report.skipped_because.is_none());
        let reports: Vec<_> = executed.map(|report| report.json(arguments.seed)).collect();
        println!("{}", serde_json::Value::from(reports));
    }
    Ok(reports.iter().all(|report| report.violations.is_empty()))
}

fn run_worker(kind: &str, location: &str, args: &str) -> Result<bool, String> {
    let (location, args) = (CheckpointerLocation::parse(kind, location)?, parse(args)?);
    runtime()?.block_on(worker::run(&location, &args))
}

fn run_reader(kind: &str, location: &str, args: &str) -> Result<bool, String> {
    let (location, args) = (CheckpointerLocation::parse(kind, location)?, parse(args)?);
    runtime()?.block_on(reader::report_all(&location, &args));
    Ok(true)
}

fn run_contender(kind: &str, location: &str, args: &str) -> Result<bool, String> {
    let (location, args) = (CheckpointerLocation::parse(kind, location)?, parse(args)?);
    runtime()?.block_on(contender::run(&location, &args))
}

fn run_disk_full(folder: &str, disk: &str, seed: &str, kills: &str) -> Result<bool, String> {
    let options = TestOptions { seed: parse(seed)?, kills: parse(kills)? };
    println!("{}", disk_full::run_in_namespace(folder, disk, &options)?.to_value());
    Ok(true)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` cannot be parsed: {error}"))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| format!("the runtime does not start: {error}"))
}
