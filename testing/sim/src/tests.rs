//! The whole simulation: it is reproducible, independent of the number of threads, and finds the seeded bugs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::invariants::Rule;
use crate::scenario::SCENARIOS;
use crate::seed::SeedResult;

/// Locks the process, because a seeded bug affects all runs in it.
fn lock_seeded_bugs() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a seed up to a schedule and returns the trace of that schedule.
fn perform(runtime: &DeterministicRuntime, worker: &Arc<SeedWorker>, seed: u64, schedule: u32) -> SeedResult {
    runtime.perform(perform_seed(worker.clone(), seed, Some(schedule)))
}

fn new_runtime() -> (DeterministicRuntime, Arc<SeedWorker>) {
    (DeterministicRuntime::new().unwrap(), Arc::new(SeedWorker::new().unwrap()))
}

#[test]
fn a_schedule_replays_to_the_identical_trace() {
    let _lock = lock_seeded_bugs();
    let (first_runtime, worker) = new_runtime();
    for seed in 0..SCENARIOS.len() as u64 {
        for schedule in [0, 2, 17, 60] {
            let first = perform(&first_runtime, &worker, seed, schedule).trace;
            let (runtime, worker) = new_runtime();
            let second = perform(&runtime, &worker, seed, schedule).trace;
            assert!(first.len() > 20, "seed {seed} schedule {schedule}: {first:?}");
            assert_eq!(first, second, "seed {seed} schedule {schedule}");
        }
    }
}

#[test]
fn no_scenario_breaks_a_rule() {
    let _lock = lock_seeded_bugs();
    let (runtime, worker) = new_runtime();
    for seed in 24..24 + SCENARIOS.len() as u64 {
        let result = perform(&runtime, &worker, seed, 70);
        assert_eq!(result.violation, None);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let _lock = lock_seeded_bugs();
    let total = |threads| campaign::run(&Seeds::From(3, 400), threads, "test").unwrap();
    let (one, three) = (total(1), total(3));
    assert_eq!((one.counters, one.seeds), (three.counters, three.seeds));
}

#[test]
fn a_seeded_bug_is_found_by_its_seed() {
    let _lock = lock_seeded_bugs();
    let check = |bug: SeededBug, seed: u64, rule: Rule| {
        enable(Some(bug));
        let total = campaign::run(&Seeds::List(&[seed]), 1, "test").unwrap();
        enable(None);
        assert_eq!(total.violation.map(|found| found.violation.rule), Some(rule), "{bug}");
    };
    check(SeededBug::ArrivalOrderFold, 1, Rule::HistoryUnchanged);
    check(SeededBug::EventBeforeCommit, 1, Rule::ReportedIsSaved);
    check(SeededBug::ResumeTwice, 4, Rule::ResumedOnce);
    check(SeededBug::WritesAfterCheckpoint, 1, Rule::CompleteSupersteps);
    check(SeededBug::NoFence, 1, Rule::OneWriter);
}

#[test]
fn known_seeds_are_parsed_or_rejected() {
    assert_eq!(known_seeds("# a comment\n12 # what it found\n\n7\n"), Ok(vec![12, 7]));
    assert_eq!(known_seeds("x"), Err("testing/reliability/seeds.txt: `x` is not a seed".to_owned()));
    known_seeds(KNOWN_SEEDS).unwrap();
}
