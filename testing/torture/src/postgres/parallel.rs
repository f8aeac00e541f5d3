//! Concurrent rounds of a test, for tests that mostly wait.

use std::sync::{Mutex, PoisonError};

use crate::report::Report;

/// Number of violations after which a test stops.
const MAX_VIOLATIONS: usize = 8;

/// Runs rounds, `workers` at once and each with its own seed, until a count is high enough.
pub(super) fn run_concurrently(
    first_seed: u64,
    workers: usize,
    (counter, enough): (&str, u64),
    round: impl Fn(u64, &mut Report) -> Result<Vec<String>, String> + Sync,
) -> Report {
    let shared = Mutex::new((first_seed, Report::new("postgres")));
    let run_rounds = || {
        loop {
            let seed = {
                let mut total = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if total.1.get(counter) >= enough || total.1.violations.len() >= MAX_VIOLATIONS {
                    return;
                }
                total.0 += 1;
                total.0 - 1
            };
            let mut report = Report::new("postgres");
            let violations = round(seed, &mut report).unwrap_or_else(|error| vec![error]);
            report.add_violations(seed, violations);
            shared.lock().unwrap_or_else(PoisonError::into_inner).1.merge(report);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(run_rounds);
        }
    });
    shared.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_continue_until_the_counts_suffice_or_a_bug_is_found() {
        let report = run_concurrently(5, 3, ("rounds", 20), |seed, report| {
            report.count("rounds", 1);
            report.count("seeds", seed);
            Ok(Vec::new())
        });
        // Rounds in progress are finished when the count is reached.
        let rounds = report.get("rounds");
        assert!((20..23).contains(&rounds), "{rounds}");
        assert_eq!(report.get("seeds"), (5..5 + rounds).sum::<u64>());
        let failed_report = run_concurrently(1, 2, ("rounds", 20), |_, _| Err("no server".to_owned()));
        assert!((MAX_VIOLATIONS..MAX_VIOLATIONS + 2).contains(&failed_report.violations.len()));
    }
}
