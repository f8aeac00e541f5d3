//! The simulation as a whole: it repeats itself, it is the same on any number of threads, and it finds what is planted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::rules::Rule;
use crate::scenario::SCENARIOS;
use crate::seed::SeedEnd;

/// A planted bug is planted in the whole process: whoever runs the engine here runs alone.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The seed up to a schedule, whose trace it gives.
fn perform(stage: &Stage, bench: &Arc<Bench>, seed: u64, schedule: u32) -> SeedEnd {
    stage.perform(perform_seed(bench.clone(), seed, Some(schedule)))
}

fn fresh() -> (Stage, Arc<Bench>) {
    (Stage::new().unwrap(), Arc::new(Bench::new().unwrap()))
}

#[test]
fn a_schedule_replays_to_the_identical_trace() {
    let _alone = alone();
    let (used, bench) = fresh();
    for seed in 0..SCENARIOS.len() as u64 {
        for schedule in [0, 2, 17, 60] {
            let first = perform(&used, &bench, seed, schedule).trace;
            let (stage, bench) = fresh();
            let again = perform(&stage, &bench, seed, schedule).trace;
            assert!(first.len() > 20, "seed {seed} schedule {schedule}: {first:?}");
            assert_eq!(first, again, "seed {seed} schedule {schedule}");
        }
    }
}

#[test]
fn no_scenario_breaks_a_rule() {
    let _alone = alone();
    let (stage, bench) = fresh();
    for seed in 24..24 + SCENARIOS.len() as u64 {
        let end = perform(&stage, &bench, seed, 70);
        assert_eq!(end.found, None);
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
fn a_planted_bug_is_found_where_it_bites() {
    let _alone = alone();
    let check = |bug: Bug, seed: u64, rule: Rule| {
        plant(Some(bug));
        let total = campaign::run(&Seeds::List(&[seed]), 1, "test").unwrap();
        plant(None);
        assert_eq!(total.found.map(|found| found.violation.rule), Some(rule), "{bug}");
    };
    check(Bug::ArrivalOrderFold, 1, Rule::SameLine);
    check(Bug::EventBeforeCommit, 1, Rule::ToldIsSaved);
    check(Bug::ResumeTwice, 4, Rule::AnsweredOnce);
    check(Bug::WritesAfterCheckpoint, 1, Rule::WholeSteps);
    check(Bug::NoFence, 1, Rule::OneWriter);
}

#[test]
fn known_seeds_are_read_or_refused() {
    assert_eq!(known_seeds("# a comment\n12 # what it found\n\n7\n"), Ok(vec![12, 7]));
    assert_eq!(known_seeds("x"), Err("reliability/seeds.txt: `x` is no seed".to_owned()));
    known_seeds(KNOWN_SEEDS).unwrap();
}
