//! Many seeds on several threads, with results that do not depend on the number of threads.
//!
//! Seeds are started in order and counted in order: the result of a later seed is ignored if an earlier one ends the
//! campaign.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::executor::DeterministicRuntime;
use crate::invariants::{Counter, Counters};
use crate::seed::{FoundViolation, SeedResult, SeedWorker, perform_seed};

/// Selection of seeds.
pub(crate) enum Seeds<'a> {
    /// Seeds from the first number on, until the second number of schedules was performed.
    From(u64, u64),
    /// These seeds.
    List(&'a [u64]),
}

/// Result of many seeds.
#[derive(Default)]
pub(crate) struct CampaignResult {
    pub(crate) counters: Counters,
    pub(crate) seeds: u64,
    pub(crate) violation: Option<FoundViolation>,
    pub(crate) time: Duration,
}

#[derive(Default)]
struct CollectedResults {
    total: CampaignResult,
    waiting: BTreeMap<u64, SeedResult>,
}

struct Campaign<'a> {
    seeds: &'a Seeds<'a>,
    next: AtomicU64,
    is_over: AtomicBool,
    collected: Mutex<CollectedResults>,
}

/// Runs seeds until there are enough schedules or an invariant is violated.
///
/// # Errors
/// Returns an error if the runtime or the graphs cannot be created.
pub(crate) fn run(seeds: &Seeds<'_>, threads: usize, label: &str) -> Result<CampaignResult, String> {
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let campaign = Campaign { seeds, next, is_over, collected: Mutex::default() };
    let started_at = Instant::now();
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| campaign.work())).collect();
        campaign.report(started_at, label, || workers.iter().all(std::thread::ScopedJoinHandle::is_finished));
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    let results: Vec<Result<(), String>> = results;
    results.into_iter().collect::<Result<(), String>>()?;
    let mut total = std::mem::take(&mut campaign.collected().total);
    total.time = started_at.elapsed();
    Ok(total)
}

impl Campaign<'_> {
    fn collected(&self) -> MutexGuard<'_, CollectedResults> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seed(&self, index: u64) -> Option<u64> {
        match self.seeds {
            Seeds::From(first, _) => first.checked_add(index),
            Seeds::List(list) => list.get(usize::try_from(index).ok()?).copied(),
        }
    }

    fn work(&self) -> Result<(), String> {
        let runtime = DeterministicRuntime::new().map_err(|error| format!("the runtime does not start: {error}"))?;
        let worker = Arc::new(SeedWorker::new().map_err(|error| error.to_string())?);
        while !self.is_over.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = self.seed(index) else { break };
            let result = runtime.perform(perform_seed(worker.clone(), seed, None));
            self.collect(index, result);
        }
        Ok(())
    }

    /// Counts the results that are complete from the first seed on.
    fn collect(&self, index: u64, result: SeedResult) {
        let mut collected = self.collected();
        let CollectedResults { total, waiting } = &mut *collected;
        waiting.insert(index, result);
        while !self.is_over.load(Ordering::Relaxed)
            && let Some(result) = waiting.remove(&total.seeds)
        {
            total.seeds += 1;
            total.counters.merge(&result.counters);
            total.violation = result.violation;
            let has_enough = match self.seeds {
                Seeds::From(_, count) => total.counters.get(Counter::Schedules) >= *count,
                Seeds::List(_) => false,
            };
            self.is_over.store(has_enough || total.violation.is_some(), Ordering::Relaxed);
        }
    }

    /// Prints the progress about once per second.
    fn report(&self, started_at: Instant, label: &str, is_done: impl Fn() -> bool) {
        let mut last_report = 0;
        while !is_done() {
            std::thread::sleep(Duration::from_millis(20));
            let seconds = started_at.elapsed().as_secs();
            if seconds > last_report {
                last_report = seconds;
                let collected = self.collected();
                let schedules = collected.total.counters.get(Counter::Schedules);
                let violations = u8::from(collected.total.violation.is_some());
                drop(collected);
                let speed = schedules as f64 / started_at.elapsed().as_secs_f64();
                eprintln!("{label}: {schedules} schedules, {speed:.0} per second, {violations} violations");
            }
        }
    }
}
