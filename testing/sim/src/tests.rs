//! The whole simulation: it is reproducible, independent of the number of threads, and finds the seeded bugs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::invariants::Rule;
use crate::scenario::SCENARIOS;
use crate::seed::SeedResult;

/// Locks the process, because a seeded bug affects all runs in it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a seed up to a schedule and returns the trace of that schedule.
fn perform(stage: &DeterministicRuntime, bench: &Arc<SeedWorker>, seed: u64, schedule: u32) -> SeedResult {
    stage.perform(perform_seed(bench.clone(), seed, Some(schedule)))
}

fn new_runtime() -> (DeterministicRuntime, Arc<SeedWorker>) {
    (DeterministicRuntime::new().unwrap(), Arc::new(SeedWorker::new().unwrap()))
}

#[test]
fn a_schedule_replays_to_the_identical_trace() {
    let _alone = alone();
    let (used, bench) = new_runtime();
    for seed in 0..SCENARIOS.len() as u64 {
        for schedule in [0, 2, 17, 60] {
            let first = perform(&used, &bench, seed, schedule).trace;
            let (stage, bench) = new_runtime();
            let second = perform(&stage, &bench, seed, schedule).trace;
            assert!(first.len() > 20, "seed {seed} schedule {schedule}: {first:?}");
            assert_eq!(first, second, "seed {seed} schedule {schedule}");
        }
    }
}

#[test]
fn no_scenario_breaks_a_rule() {
    let _alone = alone();
    let (stage, bench) = new_runtime();
    for seed in 24..24 + SCENARIOS.len() as u64 {
        let end = perform(&stage, &bench, seed, 70);
        assert_eq!(end.violation, None);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let _alone = alone();
    let total = |threads| campaign::run(&Seeds::From(3, 400), threads, "test").unwrap();
    let (one, three) = (total(1), total(3));
    assert_eq!((one.tally, one.seeds), (three.tally, three.seeds));
}

#[test]
fn a_seeded_bug_is_found_by_its_seed() {
    let _alone = alone();
    let check = |bug: SeededBug, seed: u64, rule: Rule| {
        enable(Some(bug));
        let total = campaign::run(&Seeds::List(&[seed]), 1, "test").unwrap();
        enable(None);
        assert_eq!(total.violation.map(|found| found.violation.rule), Some(rule), "{bug}");
    };
    check(SeededBug::ArrivalOrderFold, 1, Rule::SameLine);
    check(SeededBug::EventBeforeCommit, 1, Rule::ToldIsSaved);
    check(SeededBug::ResumeTwice, 4, Rule::AnsweredOnce);
    check(SeededBug::WritesAfterCheckpoint, 1, Rule::WholeSteps);
    check(SeededBug::NoFence, 1, Rule::OneWriter);
}

#[test]
fn known_seeds_are_parsed_or_rejected() {
    assert_eq!(known_seeds("# a comment\n12 # what it found\n\n7\n"), Ok(vec![12, 7]));
    assert_eq!(known_seeds("x"), Err("testing/reliability/seeds.txt: `x` is not a seed".to_owned()));
    known_seeds(KNOWN_SEEDS).unwrap();
}
