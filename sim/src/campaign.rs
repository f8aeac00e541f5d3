//! Many seeds on several threads, with results that do not depend on how many.
//!
//! Seeds are taken in order and counted in order: what a later seed did is left out when an earlier one ends it all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::rules::{Fact, Tally};
use crate::seed::{Bench, Found, SeedEnd, perform_seed};
use crate::stage::Stage;

/// Which seeds, and how many schedules of them.
pub(crate) enum Seeds<'a> {
    /// From this one on, until so many schedules were performed.
    From(u64, u64),
    /// These.
    List(&'a [u64]),
}

/// What came of many seeds.
#[derive(Default)]
pub(crate) struct Total {
    pub(crate) tally: Tally,
    pub(crate) seeds: u64,
    pub(crate) found: Option<Found>,
    pub(crate) time: Duration,
}

#[derive(Default)]
struct Collected {
    total: Total,
    waiting: BTreeMap<u64, SeedEnd>,
}

struct Campaign<'a> {
    seeds: &'a Seeds<'a>,
    next: AtomicU64,
    is_over: AtomicBool,
    collected: Mutex<Collected>,
}

/// Performs seeds until there are enough schedules, or a rule is broken.
///
/// # Errors
/// When the stage or the graphs cannot be built.
pub(crate) fn run(seeds: &Seeds<'_>, threads: usize, says: &str) -> Result<Total, String> {
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let campaign = Campaign { seeds, next, is_over, collected: Mutex::default() };
    let begun = Instant::now();
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| campaign.work())).collect();
        campaign.report(begun, says, || workers.iter().all(std::thread::ScopedJoinHandle::is_finished));
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    let results: Vec<Result<(), String>> = results;
    results.into_iter().collect::<Result<(), String>>()?;
    let mut total = std::mem::take(&mut campaign.collected().total);
    total.time = begun.elapsed();
    Ok(total)
}

impl Campaign<'_> {
    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seed(&self, index: u64) -> Option<u64> {
        match self.seeds {
            Seeds::From(first, _) => first.checked_add(index),
            Seeds::List(list) => list.get(usize::try_from(index).ok()?).copied(),
        }
    }

    fn work(&self) -> Result<(), String> {
        let stage = Stage::new().map_err(|error| format!("the runtime does not start: {error}"))?;
        let bench = Arc::new(Bench::new().map_err(|error| error.to_string())?);
        while !self.is_over.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = self.seed(index) else { break };
            let end = stage.perform(perform_seed(bench.clone(), seed, None));
            self.collect(index, end);
        }
        Ok(())
    }

    /// Counts what is complete from the first seed on.
    fn collect(&self, index: u64, end: SeedEnd) {
        let mut collected = self.collected();
        let Collected { total, waiting } = &mut *collected;
        waiting.insert(index, end);
        while !self.is_over.load(Ordering::Relaxed)
            && let Some(end) = waiting.remove(&total.seeds)
        {
            total.seeds += 1;
            total.tally.merge(&end.tally);
            total.found = end.found;
            let has_enough = match self.seeds {
                Seeds::From(_, wanted) => total.tally.of(Fact::Schedules) >= *wanted,
                Seeds::List(_) => false,
            };
            self.is_over.store(has_enough || total.found.is_some(), Ordering::Relaxed);
        }
    }

    /// Says about once a second how far it is.
    fn report(&self, begun: Instant, says: &str, is_done: impl Fn() -> bool) {
        let mut said = 0;
        while !is_done() {
            std::thread::sleep(Duration::from_millis(20));
            let seconds = begun.elapsed().as_secs();
            if seconds > said {
                said = seconds;
                let collected = self.collected();
                let schedules = collected.total.tally.of(Fact::Schedules);
                let violations = u8::from(collected.total.found.is_some());
                drop(collected);
                let speed = schedules as f64 / begun.elapsed().as_secs_f64();
                eprintln!("{says}: {schedules} schedules, {speed:.0} per second, {violations} violations");
            }
        }
    }
}
