//! Real processes on real databases, killed, starved and lied to: what a store promised must be there afterwards.
//!
//! Each proof is a module with a report of its own. Victims and readers are this same program, started as children; what
//! they say to their parent is in `told`. What must hold, and how much of it was tried, is in `reliability/`.

mod arguments;
mod check;
mod child;
mod clock;
mod damage;
mod effects;
mod folder;
mod full;
mod io;
mod kill;
mod mover;
mod postgres;
mod power;
// The one source of numbers out of a seed; both are programs, and neither is a library of the other.
#[path = "../../sim/src/random.rs"]
mod random;
mod reader;
mod report;
mod stage;
mod store;
mod told;
mod tools;
mod trial;
mod two;
mod victim;
mod work;

use std::process::ExitCode;
use std::time::Instant;

use serde::de::DeserializeOwned;

use crate::arguments::Arguments;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;

/// A proof, by name.
type Proof = (&'static str, fn(&Stage) -> Result<Report, String>);

/// Every proof, in the order in which they are performed.
const PROOFS: [Proof; 8] = [
    ("kill", kill::prove),
    ("power", power::prove),
    ("io", io::prove),
    ("full", full::prove),
    ("damage", damage::prove),
    ("two", two::prove),
    ("clock", clock::prove),
    ("postgres", postgres::prove),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["victim", kind, place, order] => be_victim(kind, place, order),
        ["reader", kind, place, question] => be_reader(kind, place, question),
        ["mover", kind, place, errand] => be_mover(kind, place, errand),
        ["full-inside", folder, disk, seed, kills] => be_full(folder, disk, seed, kills),
        _ => Arguments::read(words.into_iter()).and_then(|arguments| prove(&arguments)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Performs the proofs. True when nothing was found.
fn prove(arguments: &Arguments) -> Result<bool, String> {
    let is_asked = |name: &str| arguments.only.as_ref().is_none_or(|only| only == name);
    let proofs: Vec<&Proof> = PROOFS.iter().filter(|(name, _)| is_asked(name)).collect();
    if proofs.is_empty() {
        let names = PROOFS.map(|(name, _)| name).join(", ");
        return Err(format!("no proof `{}`; there are {names}", arguments.only.as_deref().unwrap_or_default()));
    }
    let mut reports = Vec::new();
    for (_, perform) in proofs {
        let begun = Instant::now();
        let mut report = perform(&Stage::new(arguments))?;
        report.time = begun.elapsed();
        if arguments.json {
            eprintln!("{}", report.text());
        } else {
            println!("{}", report.text());
        }
        reports.push(report);
    }
    if arguments.json {
        // What was left out is nothing to add up.
        let performed = reports.iter().filter(|report| report.left_out.is_none());
        let reports: Vec<_> = performed.map(|report| report.json(arguments.seed)).collect();
        println!("{}", serde_json::Value::from(reports));
    }
    Ok(reports.iter().all(|report| report.violations.is_empty()))
}

fn be_victim(kind: &str, place: &str, order: &str) -> Result<bool, String> {
    let (place, order) = (Place::read(kind, place)?, parse(order)?);
    runtime()?.block_on(victim::live(&place, &order))
}

fn be_reader(kind: &str, place: &str, question: &str) -> Result<bool, String> {
    let (place, question) = (Place::read(kind, place)?, parse(question)?);
    runtime()?.block_on(reader::look(&place, &question));
    Ok(true)
}

fn be_mover(kind: &str, place: &str, errand: &str) -> Result<bool, String> {
    let (place, errand) = (Place::read(kind, place)?, parse(errand)?);
    runtime()?.block_on(mover::run(&place, &errand))
}

fn be_full(folder: &str, disk: &str, seed: &str, kills: &str) -> Result<bool, String> {
    let stage = Stage { seed: parse(seed)?, kills: parse(kills)? };
    println!("{}", full::prove_inside(folder, disk, &stage)?.whole());
    Ok(true)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` is not understood: {error}"))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| format!("the runtime does not start: {error}"))
}
