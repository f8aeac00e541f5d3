//! Measures one peer: three workloads with their expected results, two runtimes, two clocks, one JSON line each.
//!
//! Depends on no engine. A peer provides the setup, one run, and the inspection of the result; only the run is timed,
//! and a wrong result is reported next to its time.

mod clock;
mod workload;

use std::fmt::Display;

use serde_json::{Value, json};

use crate::clock::{Clocks, Spent};
pub use crate::workload::{End, FAN_OUT, LIST, Workload};

/// Minimum number of repetitions, after one warm-up.
const REPETITIONS: usize = 7;
/// Time budget in seconds for further repetitions of short units, up to `MAX_REPETITIONS` of them.
const SECONDS: f64 = 0.5;
const MAX_REPETITIONS: usize = 41;

/// An engine in one version.
pub struct Peer {
    name: &'static str,
    version: &'static str,
}

/// Implementation of one workload by a peer.
pub struct Steps<R, U, L> {
    /// Creates the input of a repetition. Not timed.
    pub ready: R,
    /// Runs one repetition. Timed.
    pub run: U,
    /// Inspects the result of a repetition. Not timed.
    pub inspect: L,
}

impl Peer {
    pub fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version }
    }

    /// Measures a workload on both tokio runtimes, and prints a line for each.
    pub fn measure<G, T, E, R, U, L>(&self, workload: Workload, steps: &Steps<R, U, L>)
    where
        E: Display,
        R: AsyncFn() -> G,
        U: AsyncFn(&G) -> Result<T, E>,
        L: AsyncFn(&G, T) -> End,
    {
        for (runtime, mut builder) in [
            ("current_thread", tokio::runtime::Builder::new_current_thread()),
            ("multi_thread", tokio::runtime::Builder::new_multi_thread()),
        ] {
            let tokio = builder.worker_threads(2).enable_all().build().expect("the system gives a runtime its threads");
            let (times, problem) = tokio.block_on(repeat(workload, steps));
            println!("{}", self.line(workload, runtime, &times, &problem));
        }
    }

    /// Reports that a peer does not support a workload, with the reason.
    pub fn lacks(&self, workload: Workload, reason: &str) {
        println!(
            "{}",
            json!({ "peer": self.name, "version": self.version, "workload": workload.name(), "lacks": reason })
        );
    }

    fn line(&self, workload: Workload, runtime: &str, times: &[Spent], problem: &Option<String>) -> Value {
        json!({
            "peer": self.name, "version": self.version, "workload": workload.name(), "runtime": runtime,
            "executions": workload.executions(), "repetitions": times.len(),
            "cpu_s": clock::spread(times.iter().map(|spent| spent.cpu)),
            "wall_s": clock::spread(times.iter().map(|spent| spent.wall)),
            "ok": problem.is_none(), "wrong": problem,
        })
    }
}

/// Returns the times of all repetitions, and the first error of any of them.
async fn repeat<G, T, E, R, U, L>(workload: Workload, steps: &Steps<R, U, L>) -> (Vec<Spent>, Option<String>)
where
    E: Display,
    R: AsyncFn() -> G,
    U: AsyncFn(&G) -> Result<T, E>,
    L: AsyncFn(&G, T) -> End,
{
    let (mut times, mut used, mut first_problem) = (Vec::new(), 0.0, None);
    let mut is_warm = false;
    while times.len() < REPETITIONS || (used < SECONDS && times.len() < MAX_REPETITIONS) {
        let prepared = (steps.ready)().await;
        let clocks = Clocks::start();
        let result = (steps.run)(&prepared).await;
        let spent = clocks.read();
        let problem = match result {
            Ok(result) => workload.problem(&(steps.inspect)(&prepared, result).await),
            Err(error) => Some(format!("failed: {error}")),
        };
        first_problem = first_problem.or(problem);
        if is_warm {
            times.push(spent);
            used += spent.cpu.max(spent.wall);
        }
        is_warm = true;
    }
    (times, first_problem)
}
