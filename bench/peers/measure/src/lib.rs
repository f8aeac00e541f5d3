//! Measures one peer: three workloads with their expected results, two runtimes, two clocks, one JSON line each.
//!
//! Depends on no engine. A peer provides the setup, one run, and the inspection of the result; only the run is timed,
//! and a wrong result is reported next to its time.

mod clock;
mod workload;

use std::fmt::Display;

use serde_json::{Value, json};

use crate::clock::{Clocks, Elapsed};
pub use crate::workload::{End, FAN_OUT, LIST, Workload};

/// Minimum number of repetitions, after one warm-up.
const REPETITIONS: usize = 7;
/// Time budget in seconds for further repetitions of short units, up to `MAX_REPETITIONS` of them.
const BUDGET_SECONDS: f64 = 0.5;
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
            let (times, mismatch) = tokio.block_on(repeat(workload, steps));
            println!("{}", self.line(workload, runtime, &times, &mismatch));
        }
    }

    /// Reports that a peer does not support a workload, with the reason.
    pub fn lacks(&self, workload: Workload, reason: &str) {
        println!(
            "{}",
            json!({ "peer": self.name, "version": self.version, "workload": workload.name(), "lacks": reason })
        );
    }

    fn line(&self, workload: Workload, runtime: &str, times: &[Elapsed], mismatch: &Option<String>) -> Value {
        json!({
            "peer": self.name, "version": self.version, "workload": workload.name(), "runtime": runtime,
            "executions": workload.executions(), "repetitions": times.len(),
            "cpu_s": clock::spread(times.iter().map(|elapsed| elapsed.cpu)),
            "wall_s": clock::spread(times.iter().map(|elapsed| elapsed.wall)),
            "ok": mismatch.is_none(), "wrong": mismatch,
        })
    }
}

/// Returns the times of all repetitions, and the first error or wrong result of any of them.
async fn repeat<G, T, E, R, U, L>(workload: Workload, steps: &Steps<R, U, L>) -> (Vec<Elapsed>, Option<String>)
where
    E: Display,
    R: AsyncFn() -> G,
    U: AsyncFn(&G) -> Result<T, E>,
    L: AsyncFn(&G, T) -> End,
{
    let (mut times, mut measured_seconds, mut first_mismatch) = (Vec::new(), 0.0, None);
    let mut is_warm = false;
    while times.len() < REPETITIONS || (measured_seconds < BUDGET_SECONDS && times.len() < MAX_REPETITIONS) {
        let prepared = (steps.ready)().await;
        let clocks = Clocks::start();
        let result = (steps.run)(&prepared).await;
        let elapsed = clocks.read();
        let mismatch = match result {
            Ok(result) => workload.mismatch(&(steps.inspect)(&prepared, result).await),
            Err(error) => Some(format!("failed: {error}")),
        };
        first_mismatch = first_mismatch.or(mismatch);
        if is_warm {
            times.push(elapsed);
            measured_seconds += elapsed.cpu.max(elapsed.wall);
        }
        is_warm = true;
    }
    (times, first_mismatch)
}
